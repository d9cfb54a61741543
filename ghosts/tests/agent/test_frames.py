"""A robot's input that is wrong is refused, or the likely cause is noted."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from agent.makers import CAMERA
from agent.test_tracker import POSE, image, tracker
from ghosts.agent.frames import BoundingBox, motion_notes, to_views
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Pose

RGB, DEPTH = image(0)


def some(value: float, share: float) -> np.ndarray:
    """Depth with another value in a share of the image."""
    depth = np.full(DEPTH.shape, 2.0, np.float32)
    depth.reshape(-1)[: round(share * depth.size)] = value
    return depth


@pytest.mark.parametrize(
    ("depth_m", "pose", "told"),
    [
        ((DEPTH * 1000).astype(np.uint16), POSE, r"uint16; cameras that give whole millimetres .* / 1000"),
        (DEPTH * 1000, POSE, "divide millimetres by 1000"),
        (-DEPTH, POSE, "100% of depth_m is negative, down to -.*sign"),
        (DEPTH, [], "pose must be a Pose"),
        (DEPTH, Pose(10200.0, -4100.0, 1500.0, 0.4), "check the pose"),
        (DEPTH[:5], POSE, "registered to colour"),
    ],
)
def test_what_is_certainly_wrong_is_refused(depth_m: np.ndarray, pose: Any, told: str) -> None:
    robot = tracker()
    with pytest.raises(ConfigError, match=told):
        robot.observe(robot.start("go ahead", POSE), RGB, depth_m, pose, CAMERA)


@pytest.mark.parametrize(
    ("depth_m", "pose", "told"),
    [
        (np.zeros_like(DEPTH), POSE, "no pixel of the depth image has a reading"),
        (np.full_like(DEPTH, np.nan), POSE, "no pixel of the depth image has a reading"),
        (some(0.0, 0.95), POSE, "only 5.0% of the depth image has a reading"),
        (some(-1.0, 0.25), POSE, "25.0% of the depth is negative and was left out"),
        (some(65.535, 0.5), POSE, r"50.0% of the depth is 65.535 m \(65535, Kinect's mark"),
        (some(65535.0, 0.5), POSE, "50.0% of the depth is beyond 100 m"),
        (DEPTH / 1000, POSE, "half of the depth is nearer than 0.00.* is it in metres"),
        (DEPTH * 15, POSE, "half of the depth is farther than 2.*is it in metres"),
        (DEPTH * 15, POSE, "only .*% of the depth lands on the map"),
        (DEPTH, replace(POSE, heading_rad=90.0), "heading 90 rad is more than two turns: are these degrees"),
        (DEPTH, replace(POSE, x_m=POSE.x_m + 5.0), r"moved 5.0 m since the last observation: are positions in metres"),
    ],
)
def test_what_is_odd_is_noted(depth_m: np.ndarray, pose: Pose, told: str) -> None:
    robot = tracker()
    state = robot.observe(robot.start("go ahead", POSE), RGB, some(2.0, 1.0), POSE, CAMERA)
    assert robot.goal(state).notes == ()
    state = robot.observe(state, RGB, depth_m, pose, CAMERA)
    assert [note for note in robot.goal(state).notes if re.search(told, note)]
    assert math.isclose(robot.goal(state).mass.sum(), 1.0, abs_tol=1e-4)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.5, "moved 2.8 m in 0.5 s"), (2.0, None), (-1.0, "time went back by 1 s"), (None, None)]
)
def test_speed_is_noted_where_time_is_known(seconds: float | None, told: str | None) -> None:
    notes = motion_notes(POSE, replace(POSE, x_m=POSE.x_m + 2.0, y_m=POSE.y_m + 2.0), seconds)
    assert len(notes) == (told is not None)
    assert all(str(told) in note for note in notes)


def test_torch_and_numpy_are_the_same_and_views_need_no_colours() -> None:
    for value in (RGB, RGB.astype(np.float32)):
        plain, _ = to_views(value, DEPTH, POSE, CAMERA)
        same, _ = to_views(torch.from_numpy(value), torch.from_numpy(DEPTH), [POSE], CAMERA)
        assert plain.rgb is not None
        np.testing.assert_array_equal(plain.rgb, same.rgb)
        np.testing.assert_array_equal(plain.depth_m, same.depth_m)
    views, notes = to_views(None, None, POSE, CAMERA)
    assert (views.rgb, views.depth_m.any(), notes) == (None, False, ())


@pytest.mark.parametrize(
    ("label", "edges", "sure", "told"),
    [
        (" ", (0, 0, 1, 1), 1.0, "must be a name"),
        ("chair", (0.0, 0.0, 1.0, math.nan), 1.0, "left, top, right, bottom"),
        ("chair", (50.0, 60.0, 20.0, 30.0), 1.0, "a middle and a size"),
        ("chair", (0.0, 0.0, 1.0, 1.0), 90.0, r"confidence of 'chair' must lie in \[0, 1\], got 90"),
    ],
)
def test_boxes_say_what_is_wrong_with_them(label: str, edges: Any, sure: float, told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        BoundingBox(label, tuple(map(float, edges)), sure)
