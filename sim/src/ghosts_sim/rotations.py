"""How a camera is turned: angles, quaternions and matrices into each other, and worlds that are not level.

A camera's matrix has its right, its down and its forward as columns (an *optical* frame, as in OpenCV, and as ROS
suffixes it in REP-103). ROS's *body* frame has forward, left and up.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts_sim.errors import ConfigError

if TYPE_CHECKING:
    from jaxtyping import Float

OPTICAL, BODY = "optical", "body"
_BODY_FROM_OPTICAL = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
_RIGID = 1e-2
"""Poses are written with few digits: a matrix may be so far from a rotation, a quaternion from length 1."""


def roll(rotation: Float[np.ndarray, "... 3 3"], roll_rad: Any) -> Float[np.ndarray, "... 3 3"]:
    """The same camera turned about its axis; positive: its right side goes down."""
    sine, cosine = np.sin(roll_rad)[..., None], np.cos(roll_rad)[..., None]
    right, down, forward = (rotation[..., k] for k in range(3))
    return np.stack([cosine * right + sine * down, cosine * down - sine * right, forward], -1)


def angles_of(rotation: Float[np.ndarray, "3 3"]) -> tuple[float, float, float]:
    """Heading (from 0 to 2π), elevation and roll of a camera, in radians. One that looks straight up or down has no
    roll."""
    elevation = math.asin(max(-1.0, min(1.0, rotation[2, 2])))
    if math.hypot(rotation[0, 2], rotation[1, 2]) < 1e-9:
        return _wrapped(math.atan2(-rotation[1, 0], rotation[0, 0])), elevation, 0.0
    heading = _wrapped(math.atan2(rotation[0, 2], rotation[1, 2]))
    return heading, elevation, math.atan2(-rotation[2, 0], -rotation[2, 1])


def _wrapped(angle_rad: float) -> float:
    """From 0 to 2π, never 2π itself, to which a tiny negative angle is rounded."""
    wrapped = angle_rad % (2.0 * math.pi)
    return wrapped if wrapped < 2.0 * math.pi else 0.0


def checked_rotation(matrix: Any) -> Float[np.ndarray, "3 3"]:
    """The nearest rotation to a matrix that is almost one.

    Raises:
        ConfigError: it is none: it scales, or it mirrors.
    """
    found = np.asarray(matrix, float)
    if found.shape != (3, 3) or not np.isfinite(found).all():
        raise ConfigError(f"a rotation has 3 × 3 finite numbers, got {found.tolist()}")
    if np.abs(found @ found.T - np.eye(3)).max() > _RIGID:
        raise ConfigError(
            f"not a rotation: its rows are {np.linalg.norm(found, axis=1).round(3).tolist()} long, or not at right "
            "angles; give camera to world without scale"
        )
    if np.linalg.det(found) < 0.0:
        raise ConfigError(
            "this matrix mirrors (determinant −1); one axis has the wrong sign: x right, y down, z forward"
        )
    left, _, right = np.linalg.svd(found)
    return left @ right


def from_quaternion(xyzw: Any) -> Float[np.ndarray, "3 3"]:
    """The rotation of a quaternion in ROS's order, x y z w.

    Raises:
        ConfigError: it has not the length 1.
    """
    found = np.asarray(xyzw, float)
    if found.shape != (4,) or not np.isfinite(found).all() or abs(np.linalg.norm(found) - 1.0) > _RIGID:
        raise ConfigError(f"a quaternion has four numbers x, y, z, w of length 1, got {found.tolist()}")
    x, y, z, w = (found / np.linalg.norm(found)).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def to_quaternion(rotation: Float[np.ndarray, "3 3"]) -> tuple[float, float, float, float]:
    """The quaternion x y z w of a rotation, with w at least 0."""
    (a, b, c), (d, e, f), (g, h, i) = rotation.tolist()
    # The eigenvector of the largest eigenvalue: no case is special (Bar-Itzhack 2000).
    symmetric = [
        [a - e - i, b + d, c + g, h - f],
        [b + d, e - a - i, f + h, c - g],
        [c + g, f + h, i - a - e, d - b],
        [h - f, c - g, d - b, a + e + i],
    ]
    x, y, z, w = np.linalg.eigh(np.array(symmetric) / 3.0)[1][:, 3].tolist()
    return (x, y, z, w) if w >= 0.0 else (-x, -y, -z, -w)


def from_frame(rotation: Float[np.ndarray, "3 3"], frame: str) -> Float[np.ndarray, "3 3"]:
    """The optical frame to the world, from a frame of the camera to the world.

    Raises:
        ConfigError: the frame is neither `optical` nor `body`.
    """
    if frame not in (OPTICAL, BODY):
        raise ConfigError(
            f"frame must be 'optical' (x right, y down, z forward) or 'body' (x forward, y left, z up), got {frame!r}"
        )
    return rotation if frame == OPTICAL else rotation @ _BODY_FROM_OPTICAL


def to_frame(rotation: Float[np.ndarray, "3 3"], frame: str) -> Float[np.ndarray, "3 3"]:
    """Inverse of `from_frame`."""
    return rotation if from_frame(rotation, frame) is rotation else rotation @ _BODY_FROM_OPTICAL.T


def level(up: Any) -> Float[np.ndarray, "3 3"]:
    """The smallest rotation of a world after which a direction points up, along z.

    Raises:
        ConfigError: the direction has no length.
    """
    found = np.asarray(up, float)
    length = float(np.linalg.norm(found)) if found.shape == (3,) else math.nan
    if not (math.isfinite(length) and length > 0.0):
        raise ConfigError(f"up must be a direction of three numbers, such as (0, 0, 1), got {found.tolist()}")
    x, y, z = (found / length).tolist()
    if z < -1.0 + 1e-9:
        return np.diag([1.0, -1.0, -1.0])
    return np.array(
        [[1 - x * x / (1 + z), -x * y / (1 + z), -x], [-x * y / (1 + z), 1 - y * y / (1 + z), -y], [x, y, z]]
    )
