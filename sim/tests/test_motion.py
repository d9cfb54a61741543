"""Driving along a way, with a body on an open floor: no house, no pictures."""

from __future__ import annotations

import doctest
import math
from collections.abc import Iterator

import numpy as np
import pytest

from ghosts_sim import motion
from ghosts_sim.errors import ConfigError
from ghosts_sim.motion import MOVE_FORWARD, STOP, TURN_RIGHT, Body, Embodiment, RgbdFrame, along, drive
from ghosts_sim.types import Intrinsics, Pose


class OpenFloor:
    """A body that bumps into nothing."""

    def __init__(self, body: Body, heading_rad: float = 0.0) -> None:
        self.body, self.pose = body, Pose(0.0, 0.0, body.camera_m, heading_rad)
        self.camera, self.actions_left = Intrinsics(8, 8, 1.0), 2000

    def look(self) -> RgbdFrame:
        raise AssertionError("nobody looks while driving")

    def act(self, action: int) -> None:
        step = self.body.forward_m if action == MOVE_FORWARD else 0.0
        turn = 0.0 if action == MOVE_FORWARD else self.body.turn_rad * (1 if action == TURN_RIGHT else -1)
        x, y, heading = self.pose.x_m, self.pose.y_m, self.pose.heading_rad
        self.pose = Pose(x + step * math.sin(heading), y + step * math.cos(heading), self.body.camera_m, heading + turn)


def corner() -> np.ndarray:
    """3 m to the north, then 4 m to the west, a point every 5 cm."""
    north = [(0.0, 0.05 * k, 0.0) for k in range(60)]
    return np.array(north + [(-0.05 * k, 3.0, 0.0) for k in range(81)])


def test_examples_in_docstrings() -> None:
    failed, tried = doctest.testmod(motion)
    assert (failed, tried) == (0, 1)


@pytest.mark.parametrize("heading_rad", [0.0, 3.0])
@pytest.mark.parametrize(("forward_m", "turn_deg"), [(0.25, 15.0), (0.25, 3.0), (0.05, 15.0), (0.5, 15.0), (0.5, 45.0)])
def test_bodies_of_all_steps_arrive(forward_m: float, turn_deg: float, heading_rad: float) -> None:
    robot = OpenFloor(Body(forward_m=forward_m, turn_rad=math.radians(turn_deg)), heading_rad)
    assert isinstance(robot, Embodiment)
    actions = []
    for action in along(corner())("north, then left", robot):
        actions.append(action)
        robot.act(action)
    assert actions[-1] == STOP
    assert math.hypot(robot.pose.x_m + 4.0, robot.pose.y_m - 3.0) < max(0.2, 0.8 * forward_m)
    assert actions.count(MOVE_FORWARD) * forward_m < 7.6 + forward_m


def test_a_body_that_does_not_move_gives_up() -> None:
    arrived = []

    def follow() -> Iterator[int]:
        arrived.append((yield from drive(corner(), OpenFloor(Body()))))

    assert list(follow()) == [MOVE_FORWARD] * 3
    assert arrived == [False]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"radius_m": 0.5}, "radius_m must lie in 0.02..0.4, got 0.5"),
        ({"height_m": 3.0}, "height_m must lie in 0.5..1.9, got 3"),
        ({"forward_m": 0.0}, r"forward_m must lie in \(0, 2\], got 0"),
        ({"turn_rad": 4.0}, "turn_rad must lie in"),
        ({"camera_m": 3.0}, "camera_m must lie in 0.1..2, got 3"),
    ],
)
def test_sizes_out_of_range(settings: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Body(**settings)
