"""What makes training and acting fast: observed cells alone, strided views, fused kernels, captured CUDA graphs.

`choose` says when each is used. `ghosts.equations` has the slow and readable versions.
"""
