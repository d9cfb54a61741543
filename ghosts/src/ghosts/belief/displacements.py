"""The displacements of a motion kernel as constants: where each leads, and which headings belong to it
(paper, section 4.2).

Displacement k = ky · K + kx of a kernel of K × K cells means dy = ky − K // 2 rows and dx = kx − K // 2 columns.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Bool, Float64
from torch import Tensor

from ghosts.belief.histogram import heading_weights
from ghosts_sim.geometry import TAU


@lru_cache(maxsize=32)
def displacements(size: int) -> np.ndarray:
    """(dx, dy) of every kernel entry in cells, shape K² × 2."""
    steps = np.arange(size) - size // 2
    dy, dx = np.meshgrid(steps, steps, indexing="ij")
    return np.stack([dx, dy], -1).reshape(-1, 2)


def arrival_headings(headings: int, size: int) -> Float64[Tensor, "c k"]:
    """Weight of each new heading bin after each displacement: clamped cosine, summing to 1 over bins.

    "Do not move" has no direction and weight 0 here: it keeps its heading (the released code turns it to +x).
    """
    delta = displacements(size)
    weights = heading_weights(torch.from_numpy(np.arctan2(delta[:, 1], delta[:, 0])), headings).T.contiguous()
    weights[:, len(delta) // 2] = 0.0
    return weights


def egocentric_rotation(headings: int, size: int) -> Float64[Tensor, "c k k"]:
    """Matrices that turn egocentric kernel logits (forward = +x) to each source heading.

    Row k of matrix θ samples the egocentric kernel at R_θ⁻¹ δ_k: an exact permutation for multiples of 90°; for the
    diagonals of Θ = 8 bilinear, coordinates clamped to the kernel's border. Rows sum to 1. Θ = 1: no rotation.
    """
    delta, half = displacements(size), size // 2
    matrices = np.zeros((headings, size * size, size * size))
    for matrix, angle in zip(matrices, np.arange(headings) * (TAU / headings)):
        cos, sin = np.cos(angle), np.sin(angle)
        # Rounding makes multiples of 90° land on whole cells.
        ego = np.round(delta @ np.array([[cos, -sin], [sin, cos]]), 9)
        ego = np.clip(ego, -half, half) + half
        low = np.minimum(np.floor(ego).astype(int), max(size - 2, 0))
        part = ego - low
        for corner_x in (0, 1):
            for corner_y in (0, 1):
                weight = np.abs(1 - corner_x - part[:, 0]) * np.abs(1 - corner_y - part[:, 1])
                col, row = np.minimum(low + np.array([corner_x, corner_y]), size - 1).T
                np.add.at(matrix, (np.arange(size * size), row * size + col), weight)
    return torch.from_numpy(matrices)


@lru_cache(maxsize=64)
def on_device(
    constant: Callable[[int, int], Tensor], headings: int, size: int, device: torch.device, dtype: torch.dtype
) -> Tensor:
    """A constant of this module where it is needed.

    Not a buffer: a model cast to bfloat16 would round it, and mass would leak.
    """
    with torch.inference_mode(False):
        return constant(headings, size).to(device, dtype)


def stays_on_map(size: int, rows: int, cols: int, device: torch.device | None = None) -> Bool[Tensor, "k y x"]:
    """Whether a displacement from a cell ends on the map."""
    # While a network is exported for maps of any size, rows and columns are symbols, which nothing remembers.
    make = _stays if isinstance(rows, int) and isinstance(cols, int) else _stays.__wrapped__
    return make(size, rows, cols, device)


@lru_cache(maxsize=64)
def _stays(size: int, rows: int, cols: int, device: torch.device | None) -> Bool[Tensor, "k y x"]:
    with torch.inference_mode(False):
        delta = torch.from_numpy(displacements(size)).to(device)
        row = torch.arange(rows, device=device) + delta[:, 1, None]
        col = torch.arange(cols, device=device) + delta[:, 0, None]
        return ((row >= 0) & (row < rows))[:, :, None] & ((col >= 0) & (col < cols))[:, None, :]
