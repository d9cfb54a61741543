"""What a robot's depth and words tell of the space around it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driving.test_occupancy import views
from ghosts.agent.frames import BoundingBox, Description, to_views
from ghosts.agent.sensors import Detection, Views
from ghosts.agent.tracker import GoalTracker
from ghosts.driving.floor import find_floor, floor_up
from ghosts.driving.surroundings import PLACE_M, Reader, Surroundings
from ghosts.mapping.labels import FLOOR, VIEWPOINT
from ghosts.run.tracker import load_tracker
from ghosts_houses.body.ground import make_ground
from ghosts_sim.errors import ConfigError
from ghosts_sim.landmarks.captioners import read_lines
from ghosts_sim.rotations import level
from ghosts_sim.types import Intrinsics, Pose
from handmade import handmade_house

CAMERA = Intrinsics(128, 128, math.pi / 2)
HERE = (2.5, 4.5, 1.25)
TILT = math.radians(-25)
BOX = (60.0, 60.0, 68.0, 68.0)


@pytest.fixture(scope="module")
def around() -> Views:
    return views(handmade_house(), *HERE, CAMERA, TILT)


@pytest.fixture(scope="module")
def tracker() -> GoalTracker:
    return load_tracker("landmarks-agent")


def reader(tracker: GoalTracker) -> Reader:
    """How the shipped model reads what is around it."""
    assert isinstance(tracker.surroundings, Surroundings)
    assert tracker.surroundings.reader is not None
    return tracker.surroundings.reader


def names_at(seen: Surroundings, name: str) -> np.ndarray:
    """Where a label lies."""
    assert seen.reader is not None
    points, _ = seen.points()
    labels = (*seen.reader.labels.labels.labels, *seen.reader.labels.labels.new)
    return points.xyz_m[[labels[number].name == name for number in points.label_id]]


def test_the_floor_is_found_and_a_wrong_pose_tilts_it(around: Views) -> None:
    found = [find_floor(depth, matrix, CAMERA) for depth, matrix in zip(around.depth_m, around.camera_to_world)]
    floors = [floor for floor in found if floor is not None]
    assert len(floors) >= 10
    assert [floor.camera_m for floor in floors] == pytest.approx([1.25] * len(floors), abs=0.05)
    assert max(floor.tilt_deg for floor in floors) < 2.0
    wrong = Pose(*HERE, 0.0, -TILT).matrix
    floor = find_floor(around.depth_m[0], wrong, CAMERA)
    assert floor is not None
    assert floor.tilt_deg == pytest.approx(50.0, abs=2.0)
    odd = replace(around, rgb=None, depth_m=around.depth_m[:1], camera_to_world=wrong[None])
    # A world that is not level is levelled by its floor.
    turn = level((0.3, -0.2, 0.9))
    up = floor_up(
        around.depth_m[0],
        np.block([[turn @ around.camera_to_world[0, :3, :3], np.zeros((3, 1))], [0, 0, 0, 1]]),
        CAMERA,
    )
    assert up == pytest.approx(tuple(turn[:, 2]), abs=0.03)
    assert "the floor seems tilted by" in Surroundings().see(odd).notes[0]


def test_depth_gives_floor_ways_and_where_one_can_stand(around: Views, tracker: GoalTracker) -> None:
    seen, ground = Surroundings(reader(tracker)).see(around), make_ground(handmade_house())
    free = names_at(seen, FLOOR)
    assert len(free) > 500
    # Within 0.5 m of the camera the floor is given, as in training.
    away = np.hypot(*(free[:, :2] - HERE[:2]).T) > 0.8
    assert np.mean([ground.clearance_m(x, y, 0) > 0.0 for x, y, _ in free[away].tolist()]) > 0.97
    ways = names_at(seen, VIEWPOINT)
    assert 2 <= len(ways) < 12
    assert np.hypot(*(ways[:, :2] - HERE[:2]).T).min() > 1.0
    spots = np.array([(4.5, 4.0), (1.0, 6.5), (40.0, 40.0)])  # free, in the sofa, never seen
    assert seen.standable(spots).tolist() == [True, False, True]
    grid = seen.occupancy()
    assert grid is not None
    col, row = ((spots[:2] - grid.corner_xy_m) / grid.cell_m).astype(int).T
    window = np.s_[row[1] - 2 : row[1] + 3, col[1] - 2 : col[1] + 3]
    assert grid.values[row[0], col[0]] == 0
    assert (grid.values[window] == 100).mean() > 0.4
    assert not (grid.values[window] == 0).any()
    assert Surroundings().occupancy() is None


def test_a_robot_that_goes_far_keeps_what_is_near(around: Views, tracker: GoalTracker) -> None:
    seen, spots = Surroundings(reader(tracker)).see(around), np.array([(4.5, 4.0), (1.0, 6.5)])
    for away_m in (18.0, 40.0, 300.0):
        far, away = around.camera_to_world.copy(), np.array([away_m, -away_m])
        far[:, :2, 3] += away
        there = seen.see(replace(around, camera_to_world=far))
        assert there.standable(spots + away).tolist() == [True, False]
        # What is 48 m behind is forgotten: there it is not known where one can stand.
        assert there.standable(spots).tolist() == [True, away_m > 20.0]
        assert len(names_at(there, VIEWPOINT)) >= 2


def test_words_lie_where_the_camera_looks(around: Views, tracker: GoalTracker) -> None:
    start = Surroundings(reader(tracker))
    told = Description("a kitchen", (BoundingBox("chair", BOX), BoundingBox("stove", BOX)))
    seen = start.see(around, {0: told})
    assert seen.undescribed(around) == list(range(1, 12))
    ahead = names_at(seen, "kitchen")
    np.testing.assert_allclose(ahead[:, :2] - HERE[:2], [(0, 1), (0, 2), (0, 3), (0, 0)], atol=1e-6)
    depth_m = float(np.median(around.depth_m[0, 62:66, 62:66]))
    level_m = depth_m * math.cos(TILT)
    for name in ("chair", "stove"):  # a detection, and an object for which the model has no detection
        np.testing.assert_allclose(names_at(seen, name)[:, :2], [(HERE[0], HERE[1] + level_m)], atol=0.05)
    point = Detection.from_box("chair", BOX, around.depth_m[0], CAMERA)
    assert point is not None
    assert point.xyz_m == pytest.approx((0.0, 0.0, depth_m), abs=1e-6)
    assert Detection.from_box("chair", BOX, np.zeros((128, 128)), CAMERA) is None
    again = seen.see(around, {0: Description("a chair")})
    assert len(names_at(again, "kitchen")) == 0
    moved = around.camera_to_world.copy()
    moved[:, 0, 3] += PLACE_M + 0.1
    onward = seen.see(replace(around, camera_to_world=moved))
    assert (len(seen.places_m), len(onward.places_m), len(onward.said)) == (1, 2, 0)


def test_words_are_read_as_those_of_training(tracker: GoalTracker) -> None:
    """A camera without depth, 1.5 m up, is a viewpoint of R2R: the same pixels give the same points."""
    camera, edges = Intrinsics(640, 480, math.radians(60.0)), (200.0, 100.0, 320.0, 420.0)
    line: dict[str, Any] = {"viewpoint": "a", "heading": 60.0, "text": "a kitchen with a table", "boxes": []}
    line["boxes"] = [{"label": "chair", "box": list(edges), "confidence": 0.8}]
    views = read_lines(json.dumps(line).encode(), Path("lines"))["a"]
    at = np.array([1.0, 2.0, 1.5])
    expected = reader(tracker).pictures.points(views, at)
    pose = Pose(*at.tolist(), math.radians(60.0))
    told = {0: Description("a kitchen with a table", (BoundingBox("chair", edges, 0.8),))}
    seen = Surroundings(reader(tracker)).see(to_views(None, None, pose, camera)[0], told)
    points, _ = seen.points()
    floor = reader(tracker).labels.labels.structure_id(FLOOR)
    said = points.label_id != floor
    assert points.label_id[said].tolist() == expected.label_id.tolist()
    assert len(expected.label_id) > 8
    np.testing.assert_allclose(points.xyz_m[said], expected.xyz_m, atol=1e-6)
    np.testing.assert_allclose(points.weight[said], expected.weight)


def test_a_place_is_one_observation(around: Views, tracker: GoalTracker) -> None:
    state = tracker.start("Walk to the stove.", Pose(*HERE, 0.0))
    poses = [Pose.from_matrix(matrix) for matrix in around.camera_to_world]
    stove = Description("", (BoundingBox("stove", BOX),))
    assert tracker.describe is None
    for pose, depth_m in zip(poses, around.depth_m):
        state = tracker.observe(state, None, depth_m, pose, CAMERA, stove)
        assert not state.map.observed.any()
    at_once = tracker.observe(tracker.start("Walk to the stove.", poses[0]), None, around.depth_m, poses, CAMERA)
    seen, whole = tracker.map(state), tracker.map(at_once)
    assert seen.observed.sum() > whole.observed.sum() > 100  # by the stoves
    assert not (seen.observed & seen.frontier).any()
    assert tracker.goal(state).notes == ()
    on = replace(poses[0], x_m=HERE[0] + PLACE_M + 0.5)
    left = tracker.observe(state, None, None, on, CAMERA)
    np.testing.assert_array_equal(left.map.observed[0, 0], seen.observed)
    # The ✕ is where one may be able to stand.
    goal = tracker.goal(left)
    assert left.seen is not None
    assert left.seen.standable(np.array([goal.position_m])).all()
    assert goal.near(np.array([goal.position_m])) == pytest.approx([goal.confidence])
    with pytest.raises(ConfigError, match="started by another tracker"):
        load_tracker("landmarks-agent").goal(left)
    with pytest.raises(ConfigError, match="1 views need as many descriptions, got 2"):
        tracker.observe(state, None, None, on, CAMERA, [stove, stove])
