"""Where a walker fits in a house.

A walker is an upright body 0.4 m wide. On a storey it moves on the floor; on a stair its ground rises along the flight.
Obstacles are the bounding boxes of things that block and every upright piece of the shell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from ghosts_houses.house import House, Stair

BODY_RADIUS_M = 0.2
BODY_BOTTOM_M, BODY_TOP_M = 0.08, 1.75
"""A walker is an upright cylinder. It steps over rugs and thresholds, so it begins above them."""
STAIR_BOTTOM_M = 0.45
"""On stairs it begins higher: the nose of the next step is at most 0.43 m above the line from foot to head."""
_ROOMY_M = 1.0
"""Clearance is measured up to this."""
_FLAT_LABELS = ("floor", "ceiling")


@dataclass(frozen=True)
class Obstacles:
    """Upright boxes a body must keep clear of."""

    center_m: Float[np.ndarray, "o 2"]
    half_m: Float[np.ndarray, "o 2"]
    yaw_rad: Float[np.ndarray, " o"]
    z_m: Float[np.ndarray, "o 2"]
    """Heights of bottom and top."""
    flat: Bool[np.ndarray, " o"]
    """Floors and ceilings, which only matter on stairs."""
    hole: Bool[np.ndarray, " o"]
    """Stair wells: no obstacle to a walker who takes the stair."""

    @staticmethod
    def of(house: House) -> Obstacles:
        """The obstacles of a house: blocking things, the shell, and the wells of its stairs."""
        boxes = [(t.center_m, t.half_m, t.yaw_rad, False, False) for t in house.things if t.blocks]
        shell = [piece for part in house.shell for piece in part.level_pieces()]
        boxes += [(p.center_m, p.half_m, p.yaw_rad, p.label in _FLAT_LABELS, False) for p in shell]
        for stair in house.stairs:
            (fx, fy, fz), (hx, hy, hz) = stair.foot_m, stair.head_m
            middle = ((fx + hx) / 2, (fy + hy) / 2, (fz + hz + BODY_TOP_M) / 2)
            well = (stair_length_m(stair) / 2, stair.width_m / 2, (hz + BODY_TOP_M - fz) / 2)
            boxes.append((middle, well, math.atan2(hy - fy, hx - fx), False, True))
        center = np.array([box[0] for box in boxes], float).reshape(-1, 3)
        half = np.array([box[1] for box in boxes], float).reshape(-1, 3)
        return Obstacles(
            center[:, :2],
            half[:, :2],
            np.array([box[2] for box in boxes], float),
            np.stack([center[:, 2] - half[:, 2], center[:, 2] + half[:, 2]], 1),
            np.array([box[3] for box in boxes], bool),
            np.array([box[4] for box in boxes], bool),
        )

    def clearance_m(
        self,
        start_m: Float[np.ndarray, "n 2"],
        end_m: Float[np.ndarray, "n 2"],
        z_m: Float[np.ndarray, "n 2"],
        on_stair: bool = False,
    ) -> Float[np.ndarray, " n"]:
        """Distance from segments of the plan to the nearest obstacle that overlaps a range of heights.

        Args:
            start_m: first points.
            end_m: last points (equal to the first for a standing body).
            z_m: bottom and top of the body.
            on_stair: whether floors and ceilings count and stair wells do not.
        """
        use = ~self.hole if on_stair else ~self.flat
        use &= (self.z_m[:, 0] < z_m[:, 1].max(initial=-np.inf)) & (self.z_m[:, 1] > z_m[:, 0].min(initial=np.inf))
        distance = _segment_box_distance(start_m, end_m, self.center_m[use], self.half_m[use], self.yaw_rad[use])
        overlap = (self.z_m[use, 0] < z_m[:, 1:]) & (self.z_m[use, 1] > z_m[:, :1])
        return np.where(overlap, distance, np.inf).min(1, initial=np.inf)


def _segment_box_distance(
    start_m: np.ndarray, end_m: np.ndarray, center_m: np.ndarray, half_m: np.ndarray, yaw_rad: np.ndarray
) -> np.ndarray:
    """Distance in the plane between every segment (n) and every turned rectangle (o)."""
    # One array per axis: NumPy takes twice as long over a last axis of length 2.
    cos, sin, (hx, hy) = np.cos(yaw_rad), np.sin(yaw_rad), half_m.T

    def localise(point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x, y = (point[:, axis, None] - center_m[:, axis] for axis in (0, 1))
        return x * cos + y * sin, y * cos - x * sin

    (ax, ay), (bx, by) = localise(start_m), localise(end_m)
    # Ends to the rectangle, corners to the segment; 0 when they cross.
    best = _norm(np.maximum(np.abs(ax) - hx, 0.0), np.maximum(np.abs(ay) - hy, 0.0))
    best = np.minimum(best, _norm(np.maximum(np.abs(bx) - hx, 0.0), np.maximum(np.abs(by) - hy, 0.0)))
    wx, wy = bx - ax, by - ay
    length2 = np.maximum(wx * wx + wy * wy, 1e-18)
    for cx, cy in ((-hx, -hy), (-hx, hy), (hx, -hy), (hx, hy)):
        along = np.clip(((cx - ax) * wx + (cy - ay) * wy) / length2, 0.0, 1.0)
        best = np.minimum(best, _norm(ax + along * wx - cx, ay + along * wy - cy))
    enter, leave = np.zeros(1), np.ones(1)
    for at, way, half in ((ax, wx, hx), (ay, wy, hy)):
        safe = np.where(np.abs(way) < 1e-12, 1e-12, way)
        low, high = (-half - at) / safe, (half - at) / safe
        enter, leave = np.maximum(enter, np.minimum(low, high)), np.minimum(leave, np.maximum(low, high))
    return np.where(enter <= leave, 0.0, best)


def _norm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.sqrt(x * x + y * y)


def stair_length_m(stair: Stair) -> float:
    """Horizontal length of a flight."""
    return math.hypot(stair.head_m[0] - stair.foot_m[0], stair.head_m[1] - stair.foot_m[1])


def stair_coordinates(stair: Stair, xy_m: Float[np.ndarray, "n 2"]) -> Float[np.ndarray, "n 2"]:
    """Distance along a flight from its foot, and across from its middle line (left positive)."""
    foot, head = np.array(stair.foot_m[:2]), np.array(stair.head_m[:2])
    axis = (head - foot) / stair_length_m(stair)
    delta = xy_m - foot
    return np.stack([delta @ axis, delta @ np.array([-axis[1], axis[0]])], 1)


def stair_ground_m(stair: Stair, along_m: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Height of the ground along a flight: the lower floor before its foot, the upper one beyond its head."""
    share = np.clip(along_m / stair_length_m(stair), 0.0, 1.0)
    return stair.foot_m[2] + share * (stair.head_m[2] - stair.foot_m[2])


def standing_room_m(obstacles: Obstacles, xy_m: Float[np.ndarray, "n 2"], floor_z_m: float) -> Float[np.ndarray, " n"]:
    """Distance from points of a storey's floor to the nearest obstacle of a standing body; infinite beyond a metre."""
    best = np.full(len(xy_m), np.inf)
    if not len(xy_m):
        return best
    low, high = xy_m.min(0) - _ROOMY_M, xy_m.max(0) + _ROOMY_M
    for center, half, yaw in _in_the_way(obstacles, floor_z_m):
        about = float(np.hypot(*half))
        if (center + about >= low).all() and (center - about <= high).all():
            np.minimum(best, _gap_m(xy_m - center, half, yaw), out=best)
    return np.where(best <= _ROOMY_M, best, np.inf)


def lattice_room_m(
    obstacles: Obstacles, xs_m: Float[np.ndarray, " x"], ys_m: Float[np.ndarray, " y"], floor_z_m: float, reach_m: float
) -> Float[np.ndarray, "x y"]:
    """The same for a lattice of points; only distances up to a reach are looked for, the others may be infinite."""
    best = np.full((len(xs_m), len(ys_m)), np.inf)
    for center, half, yaw in _in_the_way(obstacles, floor_z_m):
        about = float(np.hypot(*half)) + reach_m
        i, j = (slice(*np.searchsorted(side, (c - about, c + about))) for side, c in zip((xs_m, ys_m), center))
        points = np.stack(np.meshgrid(xs_m[i], ys_m[j], indexing="ij"), -1)
        best[i, j] = np.minimum(best[i, j], _gap_m(points - center, half, yaw))
    return best


def _in_the_way(obstacles: Obstacles, floor_z_m: float) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Middle, half sides and turn of what stands in the way of a body on a storey's floor."""
    low, high = floor_z_m + BODY_BOTTOM_M, floor_z_m + BODY_TOP_M
    use = ~obstacles.flat & (obstacles.z_m[:, 0] < high) & (obstacles.z_m[:, 1] > low)
    return zip(obstacles.center_m[use], obstacles.half_m[use], obstacles.yaw_rad[use])


def _gap_m(delta_m: Float[np.ndarray, "*n 2"], half_m: np.ndarray, yaw_rad: float) -> np.ndarray:
    """Distance from points, seen from the middle of a turned rectangle, to the rectangle."""
    cos, sin = math.cos(yaw_rad), math.sin(yaw_rad)
    x = np.maximum(np.abs(delta_m[..., 0] * cos + delta_m[..., 1] * sin) - half_m[0], 0.0)
    y = np.maximum(np.abs(delta_m[..., 1] * cos - delta_m[..., 0] * sin) - half_m[1], 0.0)
    return np.hypot(x, y)


def walkable_floor(
    obstacles: Obstacles, start_m: Float[np.ndarray, "n 2"], end_m: Float[np.ndarray, "n 2"], floor_z_m: float
) -> Bool[np.ndarray, " n"]:
    """Whether a body can walk straight from point to point on one storey."""
    body = np.tile([floor_z_m + BODY_BOTTOM_M, floor_z_m + BODY_TOP_M], (len(start_m), 1))
    return obstacles.clearance_m(start_m, end_m, body) >= BODY_RADIUS_M


def walkable_stair(obstacles: Obstacles, stair: Stair, start_m: Any, end_m: Any) -> bool:
    """Whether a body can walk straight between two points on or beside a flight, entering it at its ends.

    Both points are x, y and the height of the ground.
    """
    start, end = np.asarray(start_m[:2], float), np.asarray(end_m[:2], float)
    pieces = max(1, math.ceil(float(np.linalg.norm(end - start)) / 0.1))
    share = np.linspace(0.0, 1.0, pieces + 1)[:, None]
    points = start + share * (end - start)
    place = stair_coordinates(stair, points)
    on_flight = (place[:, 0] > 1e-6) & (place[:, 0] < stair_length_m(stair) - 1e-6)
    if (on_flight & (np.abs(place[:, 1]) > stair.width_m / 2 - BODY_RADIUS_M + 1e-6)).any():
        return False
    ground = stair_ground_m(stair, place[:, 0])
    # The upper floor may reach over the foot of the flight (and the lower under its head): no way from there.
    if abs(ground[0] - start_m[2]) > 0.1 or abs(ground[-1] - end_m[2]) > 0.1:
        return False
    near = (place[:, 0] > -0.3) & (place[:, 0] < stair_length_m(stair) + 0.3)
    bottom = np.where(near[:-1] | near[1:], STAIR_BOTTOM_M, BODY_BOTTOM_M)
    low, high = np.minimum(ground[:-1], ground[1:]), np.maximum(ground[:-1], ground[1:])
    body = np.stack([low + bottom, high + BODY_TOP_M], 1)
    return bool((obstacles.clearance_m(points[:-1], points[1:], body, on_stair=True) >= BODY_RADIUS_M - 0.02).all())
