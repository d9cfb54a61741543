"""Drivers without a model: baselines for the scores, and the oracle."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np

from ghosts_houses.task.episode import ContinuousEpisode
from ghosts_sim.errors import UnknownNameError
from ghosts_sim.geometry import TAU
from ghosts_sim.motion import MOVE_FORWARD, STOP, TURN_LEFT, TURN_RIGHT, Driver, Embodiment, along

_SHARES = {STOP: 0.02, MOVE_FORWARD: 0.68, TURN_LEFT: 0.15, TURN_RIGHT: 0.15}
"""VLN-CE's random agent acts with the shares of its training actions."""
_PATH_M = 9.25
"""VLN-CE's hand-coded agent goes this far, the average length of its paths."""
DRIVERS = ("random", "stop", "hand-coded", "oracle")


def driven(driver: Driver, episode: ContinuousEpisode) -> Iterator[int]:
    """Let a driver act until it stops or has no steps left; yields every action once it was taken."""
    for action in driver(episode.instruction.text, episode):
        episode.act(action)
        yield action
        if episode.over:
            return


def make_driver(name: str, episode: ContinuousEpisode) -> Driver:
    """A driver without a model, by name. What is random in it follows from the episode's building and `instr_id`.

    Raises:
        UnknownNameError: there is no such driver.
    """
    if name == "oracle":
        return along(episode.simulator.way_m(episode.body_pose, episode.goal))
    item = episode.instruction
    seed = zlib.crc32(f"{item.episode.scan} {item.instr_id}".encode())
    drivers: dict[str, Driver] = {
        "random": lambda text, robot: _random(seed),
        "stop": lambda text, robot: iter([STOP]),
        "hand-coded": lambda text, robot: _hand_coded(seed, robot),
    }
    if name not in drivers:
        raise UnknownNameError("driver", name, DRIVERS)
    return drivers[name]


def _random(seed: int) -> Iterator[int]:
    """Any action, as often as in demonstrations."""
    rng = np.random.default_rng(seed)
    while True:
        yield int(rng.choice(list(_SHARES), p=list(_SHARES.values())))


def _hand_coded(seed: int, robot: Embodiment) -> Iterator[int]:
    """Turns to a random heading, goes as far as demonstrations do, and turns where it is stuck."""
    rng = np.random.default_rng(seed)
    for _ in range(int(rng.integers(round(TAU / robot.body.turn_rad)))):
        yield TURN_RIGHT
    for _ in range(round(_PATH_M / robot.body.forward_m)):
        before = robot.pose
        yield MOVE_FORWARD
        if (before.x_m, before.y_m) == (robot.pose.x_m, robot.pose.y_m):
            yield TURN_LEFT
    yield STOP
