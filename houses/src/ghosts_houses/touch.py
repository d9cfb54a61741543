"""Which solids reach into each other: furniture is put where none do, and houses are checked for it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ghosts_houses.house import Primitive

SUNK_M = 0.012
"""Solids that reach deeper than this into each other count as overlapping; less is a cushion's dent or a rounding."""
_ROUND = {"box": (1.0, 1.0), "cylinder": (0.8, 1.0), "sphere": (0.7, 0.7)}
"""Share of its bounding box, across and up, that stands for a solid."""

Axis = tuple[np.ndarray, np.ndarray]
"""A direction in the plan."""


def depths_m(a: Sequence[Primitive], b: Sequence[Primitive]) -> Float[np.ndarray, "a b"]:
    """How deep every solid of `a` reaches into every solid of `b`; 0 or less where they are apart.

    Boxes are exact (separating axes); rounder solids stand for the boxes they nearly fill.
    """
    (*ca, xa, ya, wa, da, ta), (*cb, xb, yb, wb, db, tb) = _boxes(a)[..., None], _boxes(b)[:, None]
    x, y, z = (there - here for here, there in zip(ca, cb))
    depth = ta + tb - np.abs(z)
    for c, s in ((xa, ya), (xb, yb)):
        for axis in ((c, s), (-s, c)):
            reach = _reach(wa, da, (xa, ya), axis) + _reach(wb, db, (xb, yb), axis)
            depth = np.minimum(depth, reach - np.abs(x * axis[0] + y * axis[1]))
    return depth


def sunk(a: Sequence[Primitive], b: Sequence[Primitive]) -> bool:
    """Whether any solid of `a` visibly reaches into one of `b`."""
    return len(a) > 0 and len(b) > 0 and bool((depths_m(a, b) > SUNK_M).any())


def _boxes(parts: Sequence[Primitive]) -> np.ndarray:
    """The boxes that stand for solids: rows of x, y, z, the direction of their own x axis, and half extents."""
    rows = []
    for part in parts:
        across, up = _ROUND[part.shape]
        wide, deep, tall = part.half_m
        turn = math.cos(part.yaw_rad), math.sin(part.yaw_rad)
        rows.append((*part.center_m, *turn, wide * across, deep * across, tall * up))
    return np.array(rows).T


def _reach(wide: np.ndarray, deep: np.ndarray, own: Axis, axis: Axis) -> np.ndarray:
    """Half extent of turned boxes along an axis of the plan."""
    (c, s), (x, y) = own, axis
    return np.abs(c * x + s * y) * wide + np.abs(c * y - s * x) * deep
