"""A body's steps: 0.25 m ahead or 15° to a side, sliding along what is in the way."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ghosts_houses.body.ground import CELL_M, Ground
from ghosts_sim.errors import DataError
from ghosts_sim.geometry import TAU
from ghosts_sim.types import Pose

_PIECE_M = 0.025
"""A step is taken in pieces: half a cell, so that nothing is jumped over."""
_CLIMB_M = 0.1
"""Highest change of the ground in one piece; a flight's is 0.02 m."""
_OFF_M = 1e-3
"""Sliding keeps this much more clearance, since clearance between cells is not quite even along a wall."""
_BUMP_M = 1e-3
"""A step that is shorter than it should be by more than this is a collision."""


@dataclass(frozen=True)
class BodyPose:
    """Where a body stands."""

    x_m: float
    y_m: float
    heading_rad: float
    """Clockwise from +y."""
    layer: int
    """Which of `Ground.layers` it stands on."""
    z_m: float
    """Height of the ground."""

    def camera(self, height_m: float, elevation_rad: float = 0.0) -> Pose:
        """The pose of a camera carried by the body."""
        return Pose(self.x_m, self.y_m, self.z_m + height_m, self.heading_rad, elevation_rad)


def stand(ground: Ground, x_m: float, y_m: float, z_m: float, heading_rad: float) -> BodyPose:
    """Put a body at a place; the height of the ground there tells storeys apart.

    Raises:
        DataError: it does not fit there.
    """
    layer = ground.layer_at(z_m, x_m, y_m)
    place = (round(x_m, 3), round(y_m, 3), round(z_m, 3))
    if abs(ground.height_m(x_m, y_m, layer) - z_m) > 0.5:
        raise DataError("there is no floor at this height", record=f"pose {place}", hint="choose a place in a room")
    if ground.clearance_m(x_m, y_m, layer) < ground.body.radius_m:
        raise DataError(
            f"a body of radius {ground.body.radius_m} m does not fit here: a wall, a thing or the open is in the way",
            record=f"pose {place}",
            hint="choose a place with more room, or a slimmer body",
        )
    return BodyPose(x_m, y_m, heading_rad % TAU, layer, ground.height_m(x_m, y_m, layer))


def turn(pose: BodyPose, right_rad: float) -> BodyPose:
    """Turn on the spot, positive to the right."""
    return replace(pose, heading_rad=(pose.heading_rad + right_rad) % TAU)


def forward(ground: Ground, pose: BodyPose, length_m: float) -> tuple[BodyPose, bool]:
    """Go ahead. Returns where the body stands then, and whether it bumped into something on the way."""
    dx, dy = math.sin(pose.heading_rad), math.cos(pose.heading_rad)
    now = pose
    pieces = max(1, math.ceil(length_m / _PIECE_M - 1e-9))
    piece = length_m / pieces
    for _ in range(pieces):
        after = _try(ground, now, dx * piece, dy * piece) or (
            _slide(ground, now, dx * piece, dy * piece) if ground.body.slide else None
        )
        if after is None:
            break
        now = after
    gone = math.hypot(now.x_m - pose.x_m, now.y_m - pose.y_m)
    return now, gone < length_m - _BUMP_M


def _try(ground: Ground, pose: BodyPose, dx: float, dy: float) -> BodyPose | None:
    """The pose after a small displacement; None where the body does not fit."""
    x, y = pose.x_m + dx, pose.y_m + dy
    layer = ground.settle(x, y, pose.layer)
    z = ground.height_m(x, y, layer)
    if abs(z - pose.z_m) > _CLIMB_M or ground.clearance_m(x, y, layer) < ground.body.radius_m:
        return None
    return replace(pose, x_m=x, y_m=y, layer=layer, z_m=z)


def _slide(ground: Ground, pose: BodyPose, dx: float, dy: float) -> BodyPose | None:
    """Go along the obstacle instead of into it: the part of the displacement that keeps the clearance."""
    x, y, step = pose.x_m + dx, pose.y_m + dy, CELL_M / 2
    nx = ground.clearance_m(x + step, y, pose.layer) - ground.clearance_m(x - step, y, pose.layer)
    ny = ground.clearance_m(x, y + step, pose.layer) - ground.clearance_m(x, y - step, pose.layer)
    norm = math.hypot(nx, ny)
    if norm < 1e-6:
        return None
    nx, ny = nx / norm, ny / norm
    into = dx * nx + dy * ny
    if into >= 0.0:
        return None
    return _try(ground, pose, dx + (_OFF_M - into) * nx, dy + (_OFF_M - into) * ny)
