"""Which solids reach into each other: furniture is put where none do, and houses are checked for it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ghosts.world.houses.house import Primitive

SUNK_M = 0.012
"""Solids that reach deeper than this into each other count as overlapping; less is a cushion's dent or a rounding."""
_ROUND = {"box": (1.0, 1.0), "cylinder": (0.8, 1.0), "sphere": (0.7, 0.7)}
"""Share of its bounding box, across and up, that stands for a solid."""


def depths_m(a: Sequence[Primitive], b: Sequence[Primitive]) -> Float[np.ndarray, "a b"]:
    """How deep every solid of `a` reaches into every solid of `b`; 0 or less where they are apart.

    Boxes are exact (separating axes); rounder solids stand for the boxes they nearly fill.
    """
    (ca, ha, xa), (cb, hb, xb) = _boxes(a), _boxes(b)
    delta = cb[None] - ca[:, None]
    depth = ha[:, None, 2] + hb[None, :, 2] - np.abs(delta[..., 2])
    for axes in (xa[:, None], xb[None]):
        for axis in (axes, np.stack([-axes[..., 1], axes[..., 0]], -1)):
            reach = _reach(ha[:, None], xa[:, None], axis) + _reach(hb[None], xb[None], axis)
            depth = np.minimum(depth, reach - np.abs((delta[..., :2] * axis).sum(-1)))
    return depth


def sunk(a: Sequence[Primitive], b: Sequence[Primitive]) -> bool:
    """Whether any solid of `a` visibly reaches into one of `b`."""
    return len(a) > 0 and len(b) > 0 and bool((depths_m(a, b) > SUNK_M).any())


def _boxes(parts: Sequence[Primitive]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres, half extents and directions of the own x axes of the boxes that stand for solids."""
    share = np.array([(_ROUND[p.shape][0], *_ROUND[p.shape]) for p in parts])
    half = np.array([p.half_m for p in parts]) * share
    axis = np.array([(math.cos(p.yaw_rad), math.sin(p.yaw_rad)) for p in parts])
    return np.array([p.center_m for p in parts]), half, axis


def _reach(half: np.ndarray, own: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Half extent of turned boxes along an axis of the plan."""
    across = own[..., 0] * axis[..., 1] - own[..., 1] * axis[..., 0]
    return np.abs((own * axis).sum(-1)) * half[..., 0] + np.abs(across) * half[..., 1]
