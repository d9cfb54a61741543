"""Motion kernels: how mass leaves a cell, and the two ways to apply them.

A kernel is a *distributing* (transposed) convolution that varies over the map: entry (θ, θ', k; y, x) is the
probability to go from heading θ of cell (y, x) to heading θ' of cell (y + dy, x + dx). Displacement k = ky · K + kx
means dy = ky − K // 2 rows and dx = kx − K // 2 columns. Three facts keep it fast:

* moving channel k of a tensor by its displacement is a strided view of the padded tensor (`displace`): no scatter, no
  196-channel `fold`;
* with the released code's factors m(k; x) · l_θ(k), the normaliser Σ_k m l_θ and the mixture over source headings are
  matrix products with the 49 × Θ matrix l, so that nothing larger than 49 channels exists;
* the new heading depends on k alone, so it is one more product, with a constant Θ × 49 matrix.

**The map's edge.** Given any weights, `JointKernel` drops mass that they send off the map, as the released code does.
The motion models never send any: their kernels are normalised over the displacements that stay on the map. So mass is
conserved exactly, and the demonstrator is assumed to stay on the map.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from ghosts.fast.fused import can_fuse, distribute
from ghosts_sim.geometry import heading_bins, heading_weights

STAY_WEIGHT = 1e-18
"""Added to "do not move": where map and language exclude every displacement (more than 41 nats apart), mass stays.
Small enough not to be seen, large enough that 1 / Z² stays finite in float32 gradients."""


class _Displace(torch.autograd.Function):
    """Channel (ky, kx) moved by `sign` times its displacement; its adjoint is the same with the sign turned round."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, sign: int) -> Tensor:
        ctx.sign = sign
        batch, channels, rows, cols = values.shape
        size = math.isqrt(channels)
        half = size // 2
        padded = F.pad(values, (half, half, half, half)).contiguous()
        item, plane, row, col = padded.stride()
        # Moved forwards, target cell z reads source z − δ: padded row z + 2·half − ky. Moved back: row z + ky.
        offset = padded.storage_offset() + (2 * half * (row + col) if sign > 0 else 0)
        strides = (item, size * plane - sign * row, plane - sign * col, row, col)
        moved = padded.as_strided((batch, size, size, rows, cols), strides, offset)
        return moved.reshape(batch, channels, rows, cols)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _Displace.apply(gradients[0], -ctx.sign), None


def displace(values: Float[Tensor, "n k y x"], *, back: bool = False) -> Float[Tensor, "n k y x"]:
    """Move channel k by its displacement: out[k, y + dy, x + dx] = in[k, y, x]; what leaves the map is dropped.

    Args:
        values: K² channels, K odd.
        back: move by the opposite displacement (the adjoint).
    """
    return _Displace.apply(values, -1 if back else 1)


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
    weights = heading_weights(np.arctan2(delta[:, 1], delta[:, 0]), headings).T
    weights[:, len(delta) // 2] = 0.0
    return torch.from_numpy(np.ascontiguousarray(weights))


def egocentric_rotation(headings: int, size: int) -> Float64[Tensor, "c k k"]:
    """Matrices that turn egocentric kernel logits (forward = +x) to each source heading.

    Row k of matrix θ samples the egocentric kernel at R_θ⁻¹ δ_k: an exact permutation for multiples of 90°; for the
    diagonals of Θ = 8 bilinear, coordinates clamped to the kernel's border. Rows sum to 1. Θ = 1: no rotation.
    """
    delta, half = displacements(size), size // 2
    matrices = np.zeros((headings, size * size, size * size))
    for matrix, angle in zip(matrices, heading_bins(headings)):
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


@lru_cache(maxsize=64)
def stays_on_map(size: int, rows: int, cols: int, device: torch.device | None = None) -> Bool[Tensor, "k y x"]:
    """Whether a displacement from a cell ends on the map."""
    with torch.inference_mode(False):
        delta = torch.from_numpy(displacements(size)).to(device)
        row = torch.arange(rows, device=device) + delta[:, 1, None]
        col = torch.arange(cols, device=device) + delta[:, 0, None]
        return ((row >= 0) & (row < rows))[:, :, None] & ((col >= 0) & (col < cols))[:, None, :]


def inverse_normaliser(
    map_weights: Float[Tensor, "n k y x"], language_weights: Float[Tensor, "n t c k"]
) -> tuple[Float[Tensor, "n t c p"], Float[Tensor, "n t c p"]]:
    """1 / Z_θ(x), Z_θ(x) = Σ_k m(k; x) l_θ(k), and the probability to stay: of all T steps at once."""
    flat, centre = map_weights.flatten(2), map_weights.shape[1] // 2
    total = (language_weights.flatten(1, 2) @ flat).unflatten(1, language_weights.shape[1:3])
    inverse = 1.0 / (total + STAY_WEIGHT)
    still = flat[:, None, None, centre] * language_weights[..., centre, None] + STAY_WEIGHT
    return inverse, still * inverse


@runtime_checkable
class Kernel(Protocol):
    """One step of the demonstrator, for every map of a batch."""

    def propagate(self, belief: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        """Predict: where the mass is after the step."""

    def gather(self, message: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        """The adjoint: the message's expectation over where each state goes (smoothing's backward pass)."""


@dataclass(frozen=True)
class JointKernel:
    """The paper's kernel: any distribution over new heading and displacement, for every source heading and cell."""

    weights: Float[Tensor, "n c ok y x"]
    """Source heading; new heading · K² + displacement; summing to 1 over that axis."""

    def propagate(self, belief: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        """Mass after the step."""
        batch, headings, rows, cols = belief.shape
        leaving = torch.einsum("ncyx,nckyx->nkyx", belief, self.weights)
        arrived = displace(leaving.reshape(batch * headings, -1, rows, cols))
        return arrived.sum(1).reshape(belief.shape)

    def gather(self, message: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        """Expected message at each state's destination."""
        batch, headings, rows, cols = message.shape
        entries = self.weights.shape[2] // headings
        spread = message[:, :, None].expand(-1, -1, entries, -1, -1).reshape(-1, entries, rows, cols)
        ahead = displace(spread, back=True).reshape(batch, headings * entries, rows, cols)
        return torch.einsum("nkyx,nckyx->ncyx", ahead, self.weights)


@dataclass(frozen=True)
class FactorisedKernel:
    """The released code's kernel: g_θ(k; x) = m(k; x) l_θ(k) / Z_θ(x), the new heading following from k.

    "Do not move" keeps its heading, with a weight raised by `STAY_WEIGHT` so that Z is never 0.
    """

    map_weights: Float[Tensor, "n k y x"]
    """m: non-negative, 0 where the displacement leaves the map."""
    language_weights: Float[Tensor, "n c k"]
    """l: non-negative, already turned to each source heading."""
    arrival: Float[Tensor, "c k"]
    """Weights of the new heading (`arrival_headings`)."""
    inverse: Float[Tensor, "n c p"]
    """1 / Z (`inverse_normaliser`), for the cells in a row."""
    stay: Float[Tensor, "n c p"]
    """Probability to stay."""

    def propagate(self, belief: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        """Mass after the step."""
        flat = belief.flatten(2)
        return torch.addcmul(self._moved(flat * self.inverse), flat, self.stay).view_as(belief)

    def _moved(self, flow: Float[Tensor, "n c p"]) -> Float[Tensor, "n c p"]:
        """What arrives of the mass that moves, given the mass over its normaliser."""
        if can_fuse(flow):  # pragma: no cover - needs a GPU
            rows, cols = self.map_weights.shape[-2:]
            planes = flow.unflatten(2, (rows, cols))
            return distribute(self.map_weights, self.language_weights, planes, self.arrival).flatten(2)
        leaving = self.map_weights * (self.language_weights.mT @ flow).view_as(self.map_weights)
        return self.arrival @ displace(leaving).flatten(2)

    def gather(self, message: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        """Expected message at each state's destination."""
        ahead = displace((self.arrival.mT @ message.flatten(2)).view_as(self.map_weights), back=True)
        moved = self.language_weights @ (ahead * self.map_weights).flatten(2)
        return torch.addcmul(message.flatten(2) * self.stay, moved, self.inverse).view_as(message)


KernelAt = Callable[[int], Kernel]
"""The kernel of filter step t, built when it is asked for."""
