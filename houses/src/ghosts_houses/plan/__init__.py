"""Where rooms lie, what they are, how they are joined, and the shell around them."""
