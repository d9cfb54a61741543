"""What makes training and acting fast: fused kernels and captured CUDA graphs. The readable versions are elsewhere."""
