"""Symmetries of the world: an episode mirrored or rotated, for training, and for a second opinion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ghosts.words.tokens import Vocabulary


@dataclass(frozen=True)
class Symmetry:
    """A symmetry of the world applied to an episode: mirrored (x → −x) first, then rotated."""

    mirrored: bool = False
    quarters: int = 0
    """Quarter rotations counter-clockwise."""
    variant: int = 0
    """The tile bank's variant, rotated by its own angle before everything else."""

    def cells(self, cells: Int[np.ndarray, "n 2"]) -> Int[np.ndarray, "n 2"]:
        """Lattice cells (row, column) after mirror and quarter rotations."""
        row, col = cells[:, 0], cells[:, 1]
        if self.mirrored:
            col = -1 - col
        for _ in range(self.quarters % 4):
            row, col = col, -1 - row
        return np.stack([row, col], 1)

    def points(self, xy_m: Float[np.ndarray, "*n 2"], angle_rad: float) -> Float[np.ndarray, "*n 2"]:
        """Positions after the variant's angle, mirror and quarter rotations."""
        x, y = xy_m[..., 0], xy_m[..., 1]
        cos, sin = np.cos(angle_rad), np.sin(angle_rad)
        x, y = cos * x - sin * y, sin * x + cos * y
        if self.mirrored:
            x = -x
        for _ in range(self.quarters % 4):
            x, y = -y, x
        return np.stack([x, y], -1)

    def headings(self, heading_rad: Any, angle_rad: float) -> Any:
        """Headings after the variant's angle, mirror and quarter rotations."""
        rotated = heading_rad - angle_rad
        return (-rotated if self.mirrored else rotated) - self.quarters * np.pi / 2.0

    def undo(self, maps: Float[Tensor, "*n y x"]) -> Float[Tensor, "*n y x"]:
        """Square maps of the mirrored and rotated world as maps of the world itself.

        Both have their origin in the middle, and mirrors and quarter rotations lead from cells to cells.
        """
        maps = torch.rot90(maps, self.quarters, (-2, -1))
        return maps.flip(-1) if self.mirrored else maps


SYMMETRIES = tuple(Symmetry(mirrored, quarters) for mirrored in (False, True) for quarters in range(4))
"""All symmetries of a square map: four rotations, the first of which changes nothing, then the mirrored ones."""


@lru_cache(maxsize=8)
def mirrored_words(vocabulary: Vocabulary) -> Int[np.ndarray, " ids"]:
    """Word ids with left and right swapped ("left" ↔ "right", "leftmost" ↔ "rightmost", …)."""
    parts, first = [], 0
    for words in vocabulary.parts:
        known = {word: number for number, word in enumerate(words)}
        swap = np.arange(len(words))
        for word, number in known.items():
            for here, there in (("left", "right"), ("right", "left")):
                if word.startswith(here):
                    swap[number] = known.get(word.replace(here, there), number)
        parts.append(swap + first)
        first += len(words)
    return np.concatenate(parts)
