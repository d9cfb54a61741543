"""Rectangles that things cover, and stretches of wall that are taken."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from ghosts_houses.house import Thing, reach_m
from ghosts_houses.plan.slots import Rect


def around(half_m: tuple[float, float, float], x_m: float, y_m: float, yaw_rad: float) -> Rect:
    """Axis-aligned rectangle around a turned box of the given half extents."""
    hx, hy = reach_m(half_m, yaw_rad)
    return Rect(x_m - hx, y_m - hy, x_m + hx, y_m + hy)


def in_front(half_m: tuple[float, float, float], x_m: float, y_m: float, yaw_rad: float, depth_m: float) -> Rect:
    """The floor before a box, as wide as the box."""
    reach = half_m[0] + depth_m / 2
    x, y = x_m + math.cos(yaw_rad) * reach, y_m + math.sin(yaw_rad) * reach
    return grow(around((depth_m / 2, half_m[1], 0.0), x, y, yaw_rad), -0.01)


def footprint(thing: Thing) -> Rect:
    """Axis-aligned rectangle around a thing."""
    return around(thing.half_m, thing.center_m[0], thing.center_m[1], thing.yaw_rad)


def overlap(a: Rect, b: Rect, margin: float = 0.0) -> bool:
    """Whether two rectangles come closer than `margin`."""
    return a.x0 < b.x1 + margin and b.x0 < a.x1 + margin and a.y0 < b.y1 + margin and b.y0 < a.y1 + margin


def hits(rect: Rect, others: Iterable[Rect], margin: float = 0.0) -> bool:
    """Whether a rectangle comes closer than `margin` to any of the others (as `overlap`; asked most often)."""
    x0, y0, x1, y1 = rect
    for a, b, c, d in others:  # noqa: SIM110 (a generator takes a third longer)
        if x0 < c + margin and a < x1 + margin and y0 < d + margin and b < y1 + margin:
            return True
    return False


def grow(rect: Rect, by: float) -> Rect:
    """A rectangle with a margin all round."""
    return Rect(rect.x0 - by, rect.y0 - by, rect.x1 + by, rect.y1 + by)


@dataclass(frozen=True)
class WallUse:
    """A stretch of a wall that is taken between two heights (above the floor)."""

    side: str
    low: float
    high: float
    bottom_m: float
    top_m: float
