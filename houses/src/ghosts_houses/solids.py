"""The solids of a house as arrays, and where lines cross them: the one intersector of pictures and lines of sight.

A walker's lines of sight have double precision (`graph.sight`), pictures have single precision on any device
(`render.raycast`). Both call `crossing`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ghosts_houses.arrays import Array, Axes, dot
from ghosts_houses.house import Primitive
from ghosts_sim.errors import ConfigError

AABB, BOX, CYLINDER, ELLIPSOID = FORMS = range(4)
TINY = 1e-8
"""Components of a ray nearer to zero become this: exactly zero would make 0 · ∞ between parallel faces."""


@dataclass(frozen=True)
class Solids:
    """Primitives as arrays; their order is the order of the primitives."""

    form: Array
    """`n`: 0 axis-aligned box, 1 turned or sloping box, 2 upright cylinder, 3 ellipsoid."""
    center: Array
    """`n 3`"""
    half: Array
    """`n 3`: half extents along its own axes, of which quarter turns have been taken out."""
    turn: Array
    """`n 3`: cosine and sine of the remaining yaw, and the slope of a box; (1, 0, 0) for form 0."""
    first: Array
    """`n`: large fixed surfaces that hide others; the ray caster begins with them."""

    @staticmethod
    def of(primitives: Sequence[Primitive]) -> Solids:
        """Put primitives into NumPy arrays."""
        if not primitives:
            raise ConfigError("a scene needs at least one primitive; there is nothing to draw")
        forms, halves, turns = [], [], []
        for part in primitives:
            quarter = part.yaw_rad / (math.pi / 2)
            square = abs(quarter - round(quarter)) < 1e-6 and not part.slope
            half, turn = part.half_m, (math.cos(part.yaw_rad), math.sin(part.yaw_rad), part.slope)
            if square:
                half = (half[1], half[0], half[2]) if round(quarter) % 2 else half
                turn = (1.0, 0.0, 0.0)
            box = AABB if square else BOX
            forms.append({"box": box, "cylinder": CYLINDER, "sphere": ELLIPSOID}[part.shape])
            halves.append(half)
            turns.append(turn)
        first = [part.label in ("wall", "floor", "ceiling") and max(part.half_m) > 0.3 for part in primitives]
        center = np.array([part.center_m for part in primitives])
        return Solids(np.array(forms), center, np.array(halves), np.array(turns), np.array(first))

    @property
    def reach_m(self) -> Axes:
        """Half extents of the bounding boxes along the world's axes, `n` each."""
        (x, y, z), (c, s, slope) = self.half.T, abs(self.turn).T
        return x * c + y * s, x * s + y * c, z + x * slope

    def only(self, keep: Array) -> Solids:
        """Some of the solids, by a mask or by indices."""
        return Solids(self.form[keep], self.center[keep], self.half[keep], self.turn[keep], self.first[keep])


def crossing(xp: Any, form: int, ray: Axes, offset: Axes, half: Axes, turn: Axes) -> tuple[Array, Array]:
    """Where lines enter and leave solids of one form, as multiples of their rays.

    All arrays are given axis by axis and broadcast against each other.

    Args:
        xp: the library of the arrays, `numpy` or `torch`.
        form: one of `FORMS`.
        ray: direction of each line; for axis-aligned boxes its reciprocals, which many boxes share.
        offset: from the start of the line to the solid's centre.
        half: as in `Solids`.
        turn: cosine, sine and slope, as in `Solids`.

    Returns:
        Enter and leave; a line that misses has NaN or enters after it leaves.
    """
    if form == AABB:
        return _box(xp, ray, offset, half)
    ray, offset = _turned(ray, turn), _turned(offset, turn)
    if form == BOX:
        ray, offset = ((x, y, z - turn[2] * x) for x, y, z in (ray, offset))
        return _box(xp, [xp.reciprocal(xp.where(xp.abs(r) < TINY, TINY, r)) for r in ray], offset, half)
    if form == ELLIPSOID:
        return _ball(xp, ray, offset, half)
    (enter, leave), lid = _ball(xp, ray[:2], offset[:2], half[:2]), _slab(xp, xp.reciprocal(ray[2]), offset[2], half[2])
    return xp.maximum(enter, lid[0]), xp.minimum(leave, lid[1])


def _turned(vector: Axes, turn: Axes) -> tuple[Array, Array, Array]:
    """A vector in the solids' own frames."""
    (x, y, z), (c, s) = vector, turn[:2]
    return x * c + y * s, y * c - x * s, z


def _slab(xp: Any, inverse: Array, offset: Array, half: Array) -> tuple[Array, Array]:
    """Between two parallel faces, by the reciprocal of the ray."""
    a, b = (offset - half) * inverse, (offset + half) * inverse
    return xp.minimum(a, b), xp.maximum(a, b)


def _box(xp: Any, inverse: Axes, offset: Axes, half: Axes) -> tuple[Array, Array]:
    (enter, leave), *others = (_slab(xp, *axis) for axis in zip(inverse, offset, half, strict=True))
    for first, last in others:
        enter, leave = xp.maximum(enter, first), xp.minimum(leave, last)
    return enter, leave


def _ball(xp: Any, ray: Axes, offset: Axes, half: Axes) -> tuple[Array, Array]:
    """In units of the half extents every disc or ball is the unit one; the root is NaN where a line misses it."""
    scale = [xp.reciprocal(h) for h in half]
    d, e = ([v * k for v, k in zip(vector, scale, strict=True)] for vector in (ray, offset))
    a, b, c = dot(d, d), dot(d, e), dot(e, e)
    root = xp.sqrt(b * b - a * (c - 1.0))
    return (b - root) / a, (b + root) / a
