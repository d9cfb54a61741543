"""Driving along a way in steps of 0.25 m and turns of 15°."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ghosts.continuous.episode import MOVE_FORWARD, TURN_LEFT, TURN_RIGHT, Sight
from ghosts.continuous.residence import Outfit
from ghosts.geometry import heading_of, turn_rad
from ghosts.types import Pose

_AHEAD_M, _CAREFUL_M = 0.3, 0.12
"""How far ahead on the way a body aims; after a collision it aims nearer."""
_WINDOW_M = 1.0
_ARRIVED_M = 0.2
_PATIENCE = 30
"""After this many actions without progress a way is given up."""
_STUCK = 3
"""After this many steps in a row that move nothing a way is given up."""


@runtime_checkable
class Senses(Protocol):
    """What a driver perceives; `episode.ContinuousEpisode` is one."""

    @property
    def pose(self) -> Pose:
        """Of the camera, by odometry."""
        ...

    @property
    def outfit(self) -> Outfit:
        """Body and camera."""
        ...

    def look(self) -> Sight:
        """The camera's picture."""
        ...


@runtime_checkable
class Driver(Protocol):
    """Follows an instruction."""

    def follow(self, text: str, senses: Senses) -> Iterator[int]:
        """Actions, one by one; the caller takes each before it asks for the next."""
        ...


def drive(way_m: Float[np.ndarray, "n 3"], senses: Senses) -> Generator[int, None, bool]:
    """Actions that lead along a way.

    Args:
        way_m: points on the ground, some centimetres apart.
        senses: of the body.

    Yields:
        Actions.

    Returns:
        Whether the end was reached; False where the body is stuck.
    """
    at = stuck = careful = waited = 0
    spacing = _spacing(way_m)
    for _ in range(40 + 8 * len(way_m)):
        pose = senses.pose
        here = np.array([pose.x_m, pose.y_m])
        gaps = np.linalg.norm(way_m[at:, :2] - here, axis=1)
        # The nearest point of what lies ahead, and then a little farther on.
        gained = int(gaps[: max(1, round(_WINDOW_M / spacing))].argmin())
        at, waited = at + gained, 0 if gained else waited + 1
        if waited > _PATIENCE:
            return False
        if float(np.linalg.norm(way_m[-1, :2] - here)) < _ARRIVED_M and at >= len(way_m) - 1 - round(0.6 / spacing):
            return True
        ahead_m = _CAREFUL_M if careful > 0 else _AHEAD_M
        target = way_m[min(len(way_m) - 1, at + max(1, round(ahead_m / spacing))), :2]
        off = float(turn_rad(pose.heading_rad, heading_of(target - here)))
        if abs(off) > 0.55 * senses.outfit.turn_rad:
            yield TURN_RIGHT if off > 0.0 else TURN_LEFT
            continue
        yield MOVE_FORWARD
        after = senses.pose
        gone = math.hypot(after.x_m - pose.x_m, after.y_m - pose.y_m)
        slow = gone < 0.6 * senses.outfit.forward_m
        careful = 8 if slow else careful - 1
        stuck = stuck + 1 if gone < 0.1 * senses.outfit.forward_m else 0
        if stuck >= _STUCK:
            return False
    return False


def _spacing(way_m: np.ndarray) -> float:
    """Mean distance between points of a way."""
    if len(way_m) < 2:
        return 0.1
    return max(0.02, float(np.linalg.norm(np.diff(way_m[:, :2], axis=0), axis=1).mean()))
