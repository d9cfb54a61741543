"""Labels of least energy on a graph of pixels, by cuts.

The energy is a cost of every pixel's label plus a cost of every two neighbours with different labels. A label is
offered to all pixels at once, and the best set of pixels to take it is a minimal cut (α-expansion; Boykov, Veksler and
Zabih, 2001), so whole regions change hands, which no pixel would do alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

if TYPE_CHECKING:
    from jaxtyping import Float64, Int64

_UNITS = 1000.0  # capacities are whole numbers: the energy is kept to three decimals


@dataclass(frozen=True)
class Energy:
    """What labels of pixels cost. Neighbours with labels k ≠ l cost `weight · (1 + step · min(|height_k − height_l|,
    1))`: surfaces should meet where they are equal."""

    own: Float64[np.ndarray, "pixels labels"]
    """Cost of each label for each pixel."""
    first: Int64[np.ndarray, " pairs"]
    second: Int64[np.ndarray, " pairs"]
    """Neighbours."""
    weight: Float64[np.ndarray, " pairs"]
    height: Float64[np.ndarray, "pairs labels"]
    """Of each label between the two neighbours."""
    step: float

    def between(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Cost of each pair when its pixels have these labels."""
        pair = np.arange(self.first.size)
        gap = np.minimum(np.abs(self.height[pair, one] - self.height[pair, other]), 1.0)
        return np.where(one == other, 0.0, self.weight * (1.0 + self.step * gap))

    def of(self, label: np.ndarray) -> float:
        """Cost of a labelling."""
        pairs = self.between(label[self.first], label[self.second])
        return float(self.own[np.arange(label.size), label].sum() + pairs.sum())


def least_energy(energy: Energy, label: Int64[np.ndarray, " pixels"], sweeps: int) -> Int64[np.ndarray, " pixels"]:
    """Better labels, from those given: after enough sweeps over all labels no single offer makes them cheaper."""
    least, idle, labels = energy.of(label), 0, energy.own.shape[1]
    for offer in list(range(labels)) * sweeps:
        takers, idle = _takers(energy, label, offer), idle + 1
        if takers.any():
            taken = np.where(takers, offer, label)
            cost = energy.of(taken)
            if cost < least - 1.0 / _UNITS:
                label, least, idle = taken, cost, 0
        if idle == labels:
            break
    return label


def _takers(energy: Energy, label: np.ndarray, offer: int) -> np.ndarray:
    """Which pixels should take a label: those on the sink's side of the minimal cut."""
    first, second, pixels = energy.first, energy.second, label.size
    same = np.full(first.size, offer)
    neither = energy.between(label[first], label[second])
    one, other = energy.between(same, label[second]), energy.between(label[first], same)
    # For x = 1 where a pixel takes it: neither + (one − neither) x₁ − one x₂ + (one + other − neither) (1 − x₁) x₂.
    gain = energy.own[:, offer] - energy.own[np.arange(pixels), label]
    gain += np.bincount(first, one - neither, pixels) - np.bincount(second, one, pixels)
    if gain.min() >= 0.0:
        return np.zeros(pixels, bool)
    source, sink, every = pixels, pixels + 1, np.arange(pixels)
    tails = np.concatenate([np.full(pixels, source), every, first])
    heads = np.concatenate([every, np.full(pixels, sink), second])
    room = np.concatenate([np.maximum(gain, 0.0), np.maximum(-gain, 0.0), np.maximum(one + other - neither, 0.0)])
    some = room >= 1.0 / _UNITS
    whole = np.rint(room[some] * _UNITS).astype(np.int32)
    graph = coo_matrix((whole, (tails[some], heads[some])), (pixels + 2, pixels + 2)).tocsr()
    rest = graph - maximum_flow(graph, source, sink).flow
    rest.data = np.maximum(rest.data, 0)
    rest.eliminate_zeros()
    takes = np.ones(pixels + 2, bool)
    takes[breadth_first_order(rest, source, return_predecessors=False)] = False
    return takes[:pixels]
