from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch

from agent.makers import CAMERA, small_config, small_model
from checks import unchecked
from ghosts.agent.sensors import Detection, NamedLabels
from ghosts.agent.tracker import GoalTracker
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.label_tiles import label_tiles
from ghosts.mapping.landmark_views import LandmarkView
from ghosts.methods.ghost.model import GoalModel
from ghosts.words.tokens import Vocabulary
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import lattice_corner
from ghosts_sim.types import Pose

POSE = Pose(10.2, -4.1, 1.5, 0.4, -0.5)


WORDS = Vocabulary(("<pad>", "<unk>", "go", "ahead"))
LABELS = ("chair", "bed", "thing")


class Labels(NamedLabels):
    """Two known names; all others are things."""

    def __init__(self) -> None:
        pass

    def read(self, names: Sequence[str]) -> tuple[np.ndarray, None]:
        return np.array([LABELS.index(name) if name in LABELS else 2 for name in names]), None

    def known(self, name: str) -> bool:
        return self.read([name])[0][0] != 2


def tracker() -> GoalTracker:
    """One that sees images."""
    model = small_model()
    torch.manual_seed(1)
    return GoalTracker(model, WORDS, SmallBackbone(8), margin_m=3.0)


def labelled_tracker() -> GoalTracker:
    """One that is told what stands where."""
    return GoalTracker(small_model(labels=len(LABELS)), WORDS, labels=Labels(), margin_m=3.0)


def image(seed: int, views: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    shape = (CAMERA.height, CAMERA.width) if views is None else (views, CAMERA.height, CAMERA.width)
    return random.integers(0, 256, (*shape, 3), dtype=np.uint8), random.uniform(0.5, 3.0, shape).astype(np.float32)


def test_before_anything_is_seen_the_goal_is_near_the_start() -> None:
    robot = tracker()
    estimate = robot.goal(robot.start("go ahead", POSE))
    assert estimate.mass.sum() == pytest.approx(1.0, abs=1e-5)
    assert len(repr(estimate)) < 300
    start = estimate.trajectory[0].sum(0)
    row, col = np.unravel_index(start.argmax(), start.shape)
    # A cell is 1 m wide, so its centre is at most 0.5 m away on each axis.
    assert abs(estimate.x_m[col] - POSE.x_m) <= 0.5 + 1e-9
    assert abs(estimate.y_m[row] - POSE.y_m) <= 0.5 + 1e-9
    assert estimate.trajectory.shape == (4, 4, 12, 12)
    assert np.allclose(estimate.trajectory.sum((1, 2, 3)), 1.0, atol=1e-5)
    assert 0.0 < estimate.entropy_nats < math.log(4 * 12 * 12)


def test_nowhere_is_more_mass_within_three_metres_than_at_the_position() -> None:
    robot = tracker()
    state = robot.observe(robot.start("go ahead", POSE), *image(0), POSE, CAMERA)
    estimate = robot.goal(state)
    x_m, y_m = np.meshgrid(estimate.x_m, estimate.y_m)

    def near(x: float, y: float) -> float:
        return float(estimate.mass[np.hypot(x_m - x, y_m - y) < 3.0].sum())

    # A part of the cells at the rim lies within 3 m: they are counted whole here, or not at all.
    assert near(*estimate.position_m) > 0.9 * max(map(near, x_m.flat, y_m.flat))
    places = np.stack([x_m.ravel(), y_m.ravel()], 1)
    found = estimate.near(np.array([estimate.position_m, *places]))
    assert found[0] == found.max()
    assert np.allclose(found[1:], [near(x, y) for x, y in places], atol=0.08)
    assert estimate.near(np.array([(1e4, 0.0), (POSE.x_m, -1e4)])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("trust", "near_m", "looks", "advice"),
    [(1.0, 0.0, 0, "stop"), (1.0, 30.0, 5, "go"), (0.4, 0.0, 1, "look"), (0.4, 0.0, 2, "ask")],
)
def test_advice_follows_confidence_and_place(trust: float, near_m: float, looks: int, advice: str) -> None:
    robot = tracker()
    estimate = robot.goal(robot.start("go ahead", POSE))
    mass = np.zeros_like(estimate.mass)
    mass[2, 3] = 1.0
    at = (float(estimate.x_m[3]), float(estimate.y_m[2]))
    goal = replace(estimate, mass=mass, position_m=at, confidence=0.99 * trust, trust=trust)
    pose = Pose(at[0] + near_m, at[1], 1.5, 0.0)
    assert goal.advice(pose, looks) == advice
    assert goal.arrived(pose) == (near_m == 0.0 and trust == 1.0)


def test_states_are_not_changed_by_later_calls() -> None:
    robot = tracker()
    first = robot.observe(robot.start("go ahead", POSE), *image(0), POSE, CAMERA)
    before = robot.goal(first).mass.copy()
    second = robot.observe(first, *image(1), POSE, CAMERA)
    assert np.abs(robot.goal(second).mass - before).max() > 1e-7
    assert np.array_equal(robot.goal(first).mass, before)


def test_views_taken_together_are_one_observation() -> None:
    robot = tracker()
    rgb, depth = image(3, views=2)
    poses = [POSE, Pose(POSE.x_m, POSE.y_m, POSE.z_m, 2.0, -0.5)]
    together = robot.observe(robot.start("go ahead", POSE), rgb, depth, poses, CAMERA)
    swapped = robot.observe(robot.start("go ahead", POSE), rgb[::-1], depth[::-1], poses[::-1], CAMERA)
    torch.testing.assert_close(together.map.map, swapped.map.map, rtol=1e-4, atol=1e-6)
    alone = robot.observe(robot.start("go ahead", POSE), rgb[0], depth[0], POSE, CAMERA)
    assert int(together.map.observed.sum()) > int(alone.map.observed.sum())


def test_the_map_grows_and_nothing_moves_in_the_world() -> None:
    robot = tracker()
    state = robot.observe(robot.start("go ahead", POSE), *image(0), POSE, CAMERA)
    far = Pose(POSE.x_m + 9.0, POSE.y_m - 2.0, POSE.z_m, 1.0, -0.5)
    grown = robot.observe(state, np.zeros_like(image(0)[0]), np.zeros_like(image(0)[1]), far, CAMERA)  # sees nothing
    assert (grown.grid.rows, grown.grid.cols) == (24, 40)
    seen, seen_grown = state.map.observed[0, 0].nonzero().double(), grown.map.observed[0, 0].nonzero().double()

    def world(cells: torch.Tensor, which) -> np.ndarray:
        size = torch.tensor([which.grid.rows, which.grid.cols])
        origin = torch.tensor(which.origin_xy_m[::-1])
        return ((cells - (size - 1) / 2) * which.grid.cell_m + origin).numpy()

    assert np.allclose(world(seen, state), world(seen_grown, grown))
    near, wide = robot.goal(state), robot.goal(grown)
    start_near, start_wide = near.trajectory_xy_m[0], wide.trajectory_xy_m[0]
    assert np.linalg.norm(start_near - [POSE.x_m, POSE.y_m]) < 1.0
    assert np.linalg.norm(start_wide - [POSE.x_m, POSE.y_m]) < 1.0
    assert wide.x_m[0] == near.x_m[0]
    assert np.allclose(wide.x_m[: len(near.x_m)], near.x_m)


def test_landmarks_land_where_they_are() -> None:
    robot = labelled_tracker()
    east = Pose(0.0, 0.0, 1.0, math.pi / 2)  # looking along +x: two ahead and one to the right is (2, −1)
    state = robot.start("go ahead", east)
    state = robot.observe_landmarks(state, [Detection("chair", (1.1, 0.3, 2.1))], east)
    (row, col) = state.map.observed[0, 0].nonzero()[0].tolist()
    assert ((col - 11.5) * 0.5, (row - 11.5) * 0.5) == (2.25, -1.25)
    same = robot.observe_landmarks(state, [], east)
    assert torch.equal(same.map.map, state.map.map)


@pytest.mark.parametrize("size", [24, 25])
def test_a_landmark_on_a_border_is_where_training_puts_it(size: int) -> None:
    """The chair at (0.5, 0.5) m: in cell (1, 1) of the world's lattice, and in no other."""
    seen = LandmarkView(np.zeros(1, np.int64), np.array([[0.5, 0.5, 1.0]]), np.ones(1))
    (trained,) = label_tiles([seen], 0.5).cells.tolist()
    assert trained == [1, 1]
    config = small_config()
    config = replace(config, mapper=replace(config.mapper, rows=size, cols=size), filter=replace(config.filter, pool=1))
    robot = GoalTracker(GoalModel(config, len(LABELS)), WORDS, labels=Labels(), margin_m=1.0)
    north = Pose(0.0, 0.0, 1.0, 0.0)
    state = robot.observe_landmarks(robot.start("go ahead", north), [Detection("chair", (0.5, 0.0, 0.5))], north)
    corner = lattice_corner(state.origin_xy_m, state.grid)[::-1]
    assert (state.map.observed[0, 0].nonzero().numpy() + corner).tolist() == [trained]


def test_a_label_counts_once_in_a_cell() -> None:
    robot, north = labelled_tracker(), Pose(0.0, 0.0, 1.0, 0.0)
    state = robot.start("go ahead", north)
    near = [Detection("chair", (0.1, 0.0, 2.1)), Detection("bed", (0.2, 0.0, 2.2)), Detection("chair", (0.3, 0.5, 2.3))]
    twice, once = robot.observe_landmarks(state, near, north), robot.observe_landmarks(state, near[:2], north)
    torch.testing.assert_close(twice.map.map, once.map.map)
    chairs = robot.observe_landmarks(state, near[::2], north)
    assert (chairs.map.map - once.map.map).abs().max() > 1e-4  # the bed is missing
    assert (
        int(robot.observe_landmarks(state, [*near, Detection("chair", (0.6, 0.0, 2.1))], north).map.observed.sum()) == 2
    )


def test_wrong_input_is_named() -> None:
    robot, (rgb, depth) = tracker(), image(0)
    state = robot.start("go ahead", POSE)
    with pytest.raises(ConfigError, match=r"need rgb \(1, 32, 40, 3\).*got \(1, 40, 32, 3\)"):
        robot.observe(state, rgb.swapaxes(0, 1), depth, POSE, CAMERA)
    for nothing in ("", "  "):
        with pytest.raises(ConfigError, match="no words"):
            robot.start(nothing, POSE)
    bare = GoalTracker(small_model(), WORDS)
    with pytest.raises(ConfigError, match="cannot read images"):
        bare.observe(bare.start("go ahead", POSE), rgb, depth, POSE, CAMERA)
    with pytest.raises(ConfigError, match="knows no labels"):
        bare.observe_landmarks(bare.start("go ahead", POSE), [], POSE)


def test_a_detection_says_what_is_wrong_with_it() -> None:
    told = r"xyz_m of detection 'chair' must be three finite numbers .* got \(nan, 0.0, 1.0\)"
    with pytest.raises(ConfigError, match=told):
        Detection("chair", (math.nan, 0.0, 1.0))
    with pytest.raises(ConfigError, match=r"a detection's label must be a name, such as 'chair', got ' '"):
        Detection(" ", (0.0, 0.0, 1.0))


@pytest.mark.parametrize("text", ["", "  \n"])
def test_an_instruction_needs_words(text: str) -> None:
    with pytest.raises(ConfigError, match=r"the instruction has no words, got .*; write a sentence"):
        tracker().start(text, POSE)


def test_a_start_needs_a_pose() -> None:
    with (
        unchecked(),
        pytest.raises(ConfigError, match=r"must be a ghosts_sim.types.Pose\(x_m, .*\), got None"),
    ):
        tracker().start("go ahead", None)  # type: ignore[arg-type]


def test_unknown_words_cost_confidence_and_are_named() -> None:
    robot = tracker()
    known, half, none = (
        robot.goal(robot.observe(robot.start(text, POSE), *image(0), POSE, CAMERA))
        for text in ("go ahead go", "go 前进 qwop", "前进 🙂 qwop")
    )
    assert known.notes == ()
    assert half.notes == ("2 of 3 words unknown: 前进, qwop",)
    assert none.notes == ("3 of 3 words unknown: 前进, 🙂, qwop",)
    for estimate, trust in ((known, 1.0), (half, 19 / 27), (none, 0.0)):  # 1 − (2/3)³
        near = np.hypot(estimate.x_m[None] - estimate.position_m[0], estimate.y_m[:, None] - estimate.position_m[1])
        # Cells at the rim are counted whole here, or not at all.
        assert estimate.confidence == pytest.approx(estimate.mass[near < 3.0].sum() * trust, abs=0.08 * trust)
        assert estimate.near(np.array([estimate.position_m])) == pytest.approx([estimate.confidence], abs=1e-6)
    assert none.confidence == 0.0
    assert not none.sure
    assert replace(known, confidence=0.5).sure
    assert not replace(known, confidence=0.49).sure
    assert robot.start("go " * 81, POSE).notes == ("cut after 80 words (1 left out)",)


def test_unknown_labels_are_named_once() -> None:
    robot = labelled_tracker()
    state = robot.start("go ahead", POSE)
    seen = [
        Detection("chair", (0.1, 0.0, 2.1)),
        Detection("fridge", (0.2, 0.0, 2.2)),
        Detection("fridge", (0.3, 0.0, 2.0)),
    ]
    with pytest.warns(UserWarning, match="does not know 'fridge' and takes them for unknown objects"):
        state = robot.observe_landmarks(state, seen, POSE)
    assert state.unknown == ("fridge",)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        state = robot.observe_landmarks(state, seen, POSE)
    assert robot.goal(state).notes == ("labels unknown: fridge",)


def test_images_in_the_wrong_range_are_refused_and_missing_depth_is_no_reading() -> None:
    robot = tracker()
    state, (rgb, depth) = robot.start("go ahead", POSE), image(0)
    with pytest.raises(ConfigError, match=r"rgb holds values 0 to 255, got float64 up to 1.00; multiply it by 255"):
        robot.observe(state, rgb / 255.0, depth, POSE, CAMERA)
    gaps, zeros = depth.copy(), depth.copy()
    gaps[::3], gaps[1::6], gaps[4::12], gaps[10::12] = math.nan, math.inf, 1e30, -1.0
    zeros[::3], zeros[1::3] = 0.0, 0.0
    first, second = (robot.goal(robot.observe(state, rgb, item, POSE, CAMERA)) for item in (gaps, zeros))
    assert np.array_equal(first.mass, second.mass)


def test_one_wrong_number_does_not_spoil_a_map() -> None:
    """A NaN pixel once made every later belief NaN; a pose 1.4 km away took 2.2 GB."""
    robot, (rgb, depth) = tracker(), image(0)
    state = robot.observe(robot.start("go ahead", POSE), rgb, depth, POSE, CAMERA)
    spoilt = rgb.astype(np.float32)
    spoilt[3, 5, 1] = math.nan
    with pytest.raises(ConfigError, match="values 0 to 255, got nan at view 0, row 3, column 5"):
        robot.observe(state, spoilt, depth, POSE, CAMERA)
    with pytest.raises(ConfigError, match=r"depth_m holds metres, got .* to .*; divide millimetres by 1000"):
        robot.observe(state, rgb, depth * 1000.0, POSE, CAMERA)
    far = replace(POSE, x_m=1400.0)
    with pytest.raises(ConfigError, match=r"a pose at x 1400\.0 m, y -4\.1 m needs a map of \d+ m, more than 250 m"):
        robot.observe(state, rgb, depth, far, CAMERA)
    seen = labelled_tracker()
    with pytest.raises(ConfigError, match=r"needs a map of \d+ m, more than 250 m; .*largest_m=1\d\d\d"):
        seen.observe_landmarks(seen.start("go ahead", POSE), [], far)
    # What lies far from a good pose falls off the map.
    for beyond in (1e9, -1e30):
        told = seen.observe_landmarks(seen.start("go ahead", POSE), [Detection("chair", (beyond, 0.0, 2.0))], POSE)
        assert not bool(told.map.observed.any())


def test_an_estimate_draws_itself() -> None:
    pytest.importorskip("matplotlib", reason="drawing needs ghosts[viz]")
    robot = tracker()
    estimate = robot.goal(robot.start("go qwop", POSE))
    (axes,) = estimate.plot().axes
    shown = {line.get_label(): line.get_xydata() for line in axes.lines}
    assert shown["best guess"].tolist() == [list(estimate.position_m)]
    np.testing.assert_allclose(shown["likely trajectory"], estimate.trajectory_xy_m)
    assert axes.get_title() == f"{100 * estimate.confidence:.0f} % within 3 m; 1 of 2 words unknown: qwop"
    assert estimate.plot(axes) is axes.figure
