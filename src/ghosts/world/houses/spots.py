"""Rectangles that things cover, and stretches of wall that are taken."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ghosts.world.houses.house import Thing
from ghosts.world.houses.layout import Rect


def footprint(thing: Thing) -> Rect:
    """Axis-aligned rectangle around a thing."""
    c, s = abs(math.cos(thing.yaw_rad)), abs(math.sin(thing.yaw_rad))
    hx, hy = thing.half_m[0] * c + thing.half_m[1] * s, thing.half_m[0] * s + thing.half_m[1] * c
    x, y, _ = thing.center_m
    return Rect(x - hx, y - hy, x + hx, y + hy)


def overlap(a: Rect, b: Rect, margin: float = 0.0) -> bool:
    """Whether two rectangles come closer than `margin`."""
    return a.x0 < b.x1 + margin and b.x0 < a.x1 + margin and a.y0 < b.y1 + margin and b.y0 < a.y1 + margin


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
