"""Where in a sequence something stands, as sines and cosines."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor


def positional_encoding(steps: int, size: int) -> Float[Tensor, "t d"]:
    """Vaswani's sines and cosines: sine in even, cosine in odd columns."""
    position = torch.arange(steps, dtype=torch.float32)[:, None]
    rate = torch.exp(torch.arange(0, size, 2, dtype=torch.float32) * (-math.log(10000.0) / size))
    return torch.stack([torch.sin(position * rate), torch.cos(position * rate)], -1).reshape(steps, size)
