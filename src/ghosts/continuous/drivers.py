"""Drivers without a model: random, stop, hand-coded, and along a given way (the oracle; a discrete agent's answer)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ghosts.continuous.drive import Driver, Senses, drive
from ghosts.continuous.episode import MOVE_FORWARD, STOP, TURN_LEFT, TURN_RIGHT, ContinuousEpisode
from ghosts.errors import UnknownNameError

_STOP_SHARE = 0.02
"""VLN-CE's random agent stops with the share of STOP among its training actions."""
_TURNS, _STEPS = 23, 37
"""VLN-CE's hand-coded agent turns to a random heading and goes 37 steps ahead, the average length of its paths."""
DRIVERS = ("random", "stop", "hand-coded", "oracle")


@dataclass(frozen=True)
class RandomDriver:
    """Any action, as often as in demonstrations."""

    def follow(self, text: str, senses: Senses) -> Iterator[int]:
        """See `Driver`."""
        rng = np.random.default_rng([0, len(text)])
        while True:
            yield int(rng.choice(4, p=[_STOP_SHARE, 0.68, 0.15, 0.15]))


@dataclass(frozen=True)
class StopDriver:
    """Stops at once."""

    def follow(self, text: str, senses: Senses) -> Iterator[int]:
        """See `Driver`."""
        yield STOP


@dataclass(frozen=True)
class HandCodedDriver:
    """Turns to a random heading, goes as far as demonstrations do, and turns where it is stuck."""

    def follow(self, text: str, senses: Senses) -> Iterator[int]:
        """See `Driver`."""
        rng = np.random.default_rng([0, len(text)])
        for _ in range(int(rng.integers(_TURNS + 1))):
            yield TURN_RIGHT
        for _ in range(_STEPS):
            before = senses.pose
            yield MOVE_FORWARD
            if (before.x_m, before.y_m) == (senses.pose.x_m, senses.pose.y_m):
                yield TURN_LEFT
        yield STOP


@dataclass(frozen=True)
class WayDriver:
    """Drives along a way on the ground and stops at its end."""

    way_m: np.ndarray

    def follow(self, text: str, senses: Senses) -> Iterator[int]:
        """See `Driver`."""
        yield from drive(self.way_m, senses)
        yield STOP


def make_driver(name: str, episode: ContinuousEpisode) -> Driver:
    """A driver without a model, by name.

    Raises:
        UnknownNameError: there is no such driver.
    """
    if name == "oracle":
        return WayDriver(episode.residence.way_m(episode.stance, episode.goal))
    drivers: dict[str, Driver] = {
        "random": RandomDriver(),
        "stop": StopDriver(),
        "hand-coded": HandCodedDriver(),
    }
    if name not in drivers:
        raise UnknownNameError("driver", name, DRIVERS)
    return drivers[name]
