"""The motion step, equation 3 of the paper (section 4.2): b̄_t = b_{t−1} * g(a_t, M).

    b̄(θ', x) = Σ_θ Σ_δ g_θ(θ', δ; x − δ) b(θ, x − δ)

The kernel g differs from cell to cell: mass leaves a heading θ and a cell by a distribution of their own over new
headings θ' and displacements δ, numbered as in `displacements`. `equations.move` has the sums as loops. Here they are
matrix products, and one move of each displacement's mass by that displacement (`fast.strided.displace`).

Given any weights, `JointKernel` drops mass that they send off the map, as the released code does. The motion models
never send any: their kernels are normalised over the displacements that stay on the map. So no mass is lost, and the
ghost is assumed to stay on the map.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.fast.choose import distribute
from ghosts.fast.strided import displace


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

    "Do not move" keeps its heading.
    """

    map_weights: Float[Tensor, "n k y x"]
    """m: non-negative, 0 where the displacement leaves the map."""
    language_weights: Float[Tensor, "n c k"]
    """l: non-negative, already turned to each source heading."""
    arrival: Float[Tensor, "c k"]
    """Weights of the new heading (`arrival_headings`)."""
    inverse: Float[Tensor, "n c p"]
    """1 / Z (`motion.inverse_normaliser`), for the cells in a row."""
    stay: Float[Tensor, "n c p"]
    """Probability to stay."""

    def propagate(self, belief: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        """Mass after the step."""
        flat = belief.flatten(2)
        flow = (flat * self.inverse).view_as(belief)
        moved = distribute(self.map_weights, self.language_weights, flow, self.arrival)
        return torch.addcmul(moved.flatten(2), flat, self.stay).view_as(belief)

    def gather(self, message: Float[Tensor, "n c y x"]) -> Float[Tensor, "n c y x"]:
        """Expected message at each state's destination."""
        ahead = displace((self.arrival.mT @ message.flatten(2)).view_as(self.map_weights), back=True)
        moved = self.language_weights @ (ahead * self.map_weights).flatten(2)
        return torch.addcmul(message.flatten(2) * self.stay, moved, self.inverse).view_as(message)


KernelAt = Callable[[int], Kernel]
"""The kernel of filter step t, built when it is asked for."""
