"""The floor in a depth image: how high the camera is above it, and whether the pose says it is level."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ghosts_sim.geometry import pixel_rays
from ghosts_sim.rotations import level
from ghosts_sim.types import Intrinsics

_STEP = 8
"""One in so many rows and columns is looked at."""
_PLANES = 48
_OFF_M, _OFF_SHARE = 0.03, 0.015
"""Points are on a plane up to so far off it, plus this share of their distance."""
_LEAST = 0.05
"""Of the points with a normal that a floor has at least."""
_UNDER_M, _UNDER = 0.2, 0.02
"""At most this share of all points lie more than 0.2 m under a floor."""
_SAME_M = 0.25
"""A camera keeps its height above the floor to this, unless it is carried up or down."""
_LOWEST_M, _HIGHEST_M = 0.15, 2.5


@dataclass(frozen=True)
class Floor:
    """A plane that everything seen stands on."""

    camera_m: float
    """The camera's height above it."""
    tilt_deg: float
    """Between its normal and up."""
    up: tuple[float, float, float]
    """Its normal, in the world."""


def find_floor(
    depth_m: Float[np.ndarray, "h w"],
    camera_to_world: Float[np.ndarray, "4 4"],
    camera: Intrinsics,
    usual_m: float | None = None,
) -> Floor | None:
    """The floor in an image, tilted at most 60°; None where none is seen.

    Of all planes with nothing under them it is the one as high as the floor was, else the one with the most points.

    Args:
        depth_m: along the optical axis, 0 = no reading.
        camera_to_world: its pose.
        camera: whose image it is.
        usual_m: the camera's height above the floor, where it is known.
    """
    thin = np.s_[_STEP // 2 :: _STEP, _STEP // 2 :: _STEP]
    depth = depth_m[thin]
    points = (pixel_rays(camera)[thin] * depth[..., None]) @ camera_to_world[:3, :3].T
    at, normals = _with_normals(points, depth)
    steep = normals[:, 2] > 0.5
    if len(at) < 50 or steep.sum() < _LEAST * len(at):
        return None
    everything, found = points[depth > 0], []
    off_m = _OFF_M + _OFF_SHARE * np.linalg.norm(at, axis=1)
    for seed in np.flatnonzero(steep)[np.linspace(0, int(steep.sum()) - 1, _PLANES).astype(int)].tolist():
        normal, level = normals[seed], at[seed] @ normals[seed]
        for _ in range(2):  # its own points give a better plane than one normal
            on = (np.abs(at @ normal - level) < off_m) & (normals @ normal > 0.9)
            if on.sum() < _LEAST * len(at):
                break
            middle = at[on].mean(0)
            away = at[on] - middle
            normal = np.linalg.eigh(away.T @ away)[1][:, 0]
            normal = normal * (1.0 if normal[2] > 0 else -1.0)
            level = middle @ normal
        count, camera_m = int(on.sum()), float(-level)
        under = float((everything @ normal < level - _UNDER_M).mean())
        if count >= _LEAST * len(at) and under < _UNDER and _LOWEST_M < camera_m < _HIGHEST_M:
            x, y, z = normal.tolist()
            found.append((count, Floor(camera_m, math.degrees(math.acos(min(1.0, z))), (x, y, z))))
    if not found:
        return None
    as_before = [item for item in found if usual_m is not None and abs(item[1].camera_m - usual_m) < _SAME_M]
    return max(as_before or found, key=lambda item: item[0])[1]


def floor_up(
    depth_m: Float[np.ndarray, "h w"], camera_to_world: Float[np.ndarray, "4 4"], camera: Intrinsics
) -> tuple[float, float, float] | None:
    """Which way is up in a world that is not level, by the floor in one image; None where no floor is seen.

    `Pose.from_matrix(matrix, up=…)` takes it. The camera may be tilted and rolled by up to 60°.

    Args:
        depth_m: along the optical axis, 0 = no reading.
        camera_to_world: its pose in that world.
        camera: whose image it is.
    """
    turn = level(-camera_to_world[:3, 1])
    upright = np.eye(4)
    upright[:3, :3] = turn @ camera_to_world[:3, :3]
    floor = find_floor(depth_m, upright, camera)
    if floor is None:
        return None
    x, y, z = (turn.T @ floor.up).tolist()
    return x, y, z


def _with_normals(
    points: Float[np.ndarray, "h w 3"], depth: Float[np.ndarray, "h w"]
) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3"]]:
    """Points, relative to the camera, whose neighbours lie on the same surface, and its normals towards the camera."""
    corner, beside, under = depth[:-1, :-1], depth[:-1, 1:], depth[1:, :-1]
    here = points[:-1, :-1]
    normals = np.cross(points[1:, :-1] - here, points[:-1, 1:] - here)
    length = np.linalg.norm(normals, axis=-1)
    flat = (corner > 0) & (beside > 0) & (under > 0) & (length > 1e-9)
    flat &= np.maximum(np.abs(beside - corner), np.abs(under - corner)) < 0.15 * corner
    at, normals = here[flat], normals[flat] / length[flat][:, None]
    return at, -normals * np.sign((normals * at).sum(1))[:, None]
