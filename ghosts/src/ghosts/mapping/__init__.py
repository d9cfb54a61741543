"""From observations to the semantic map: backbone, projection, conv-GRU mapper."""
