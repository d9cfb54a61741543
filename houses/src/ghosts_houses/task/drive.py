"""Driving along a way in steps of 0.25 m and turns of 15°, and drivers without a model."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from ghosts_houses.task.episode import MOVE_FORWARD, STOP, TURN_LEFT, TURN_RIGHT, ContinuousEpisode, Sight
from ghosts_houses.task.residence import Outfit
from ghosts_sim.errors import UnknownNameError
from ghosts_sim.geometry import heading_of, turn_rad
from ghosts_sim.types import Pose

_AHEAD_M, _CAREFUL_M = 0.3, 0.12
"""How far ahead on the way a body aims; after a collision it aims nearer."""
_WINDOW_M = 1.0
_ARRIVED_M = 0.2
_PATIENCE = 30
"""After this many actions without progress a way is given up."""
_STUCK = 3
"""After this many steps in a row that move nothing a way is given up."""
_STOP_SHARE = 0.02
"""VLN-CE's random agent stops with the share of STOP among its training actions."""
_TURNS, _STEPS = 23, 37
"""VLN-CE's hand-coded agent turns to a random heading and goes 37 steps ahead, the average length of its paths."""
DRIVERS = ("random", "stop", "hand-coded", "oracle")


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

    @property
    def actions_left(self) -> int:
        """How many it may still take."""
        ...

    def look(self) -> Sight:
        """The camera's picture."""
        ...


Driver = Callable[[str, Senses], Iterator[int]]
"""An instruction and senses to actions, one by one; the caller takes each before it asks for the next."""


def driven(driver: Driver, episode: ContinuousEpisode) -> Iterator[int]:
    """Let a driver act until it stops or has no steps left; yields every action once it was taken."""
    for action in driver(episode.instruction.text, episode):
        episode.act(action)
        yield action
        if episode.over:
            return


def drive(way_m: Float[np.ndarray, "n 3"], senses: Senses) -> Generator[int, None, bool]:
    """Actions that lead along a way.

    Args:
        way_m: points on the ground, some centimetres apart.
        senses: of the body.

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


def make_driver(name: str, episode: ContinuousEpisode) -> Driver:
    """A driver without a model, by name.

    Raises:
        UnknownNameError: there is no such driver.
    """
    if name == "oracle":
        return along(episode.residence.way_m(episode.stance, episode.goal))
    drivers: dict[str, Driver] = {"random": _random, "stop": _stop, "hand-coded": _hand_coded}
    if name not in drivers:
        raise UnknownNameError("driver", name, DRIVERS)
    return drivers[name]


def along(way_m: Float[np.ndarray, "n 3"]) -> Driver:
    """A driver that follows a way on the ground, whatever it is told, and stops at its end."""

    def follow(text: str, senses: Senses) -> Iterator[int]:
        yield from drive(way_m, senses)
        yield STOP

    return follow


def _random(text: str, senses: Senses) -> Iterator[int]:
    """Any action, as often as in demonstrations."""
    rng = np.random.default_rng([0, len(text)])
    while True:
        yield int(rng.choice(4, p=[_STOP_SHARE, 0.68, 0.15, 0.15]))


def _stop(text: str, senses: Senses) -> Iterator[int]:
    yield STOP


def _hand_coded(text: str, senses: Senses) -> Iterator[int]:
    """Turns to a random heading, goes as far as demonstrations do, and turns where it is stuck."""
    rng = np.random.default_rng([0, len(text)])
    for _ in range(int(rng.integers(_TURNS + 1))):
        yield TURN_RIGHT
    for _ in range(_STEPS):
        before = senses.pose
        yield MOVE_FORWARD
        if (before.x_m, before.y_m) == (senses.pose.x_m, senses.pose.y_m):
            yield TURN_LEFT
    yield STOP
