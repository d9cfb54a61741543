"""Driving: what depth images tell of the space, ways along it, baselines, and an agent that chooses its places."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from rich.console import Console

from act.makers import small_model
from checks import unchecked
from continuous.conftest import SMALL, residences
from ghosts.act.candidates import Candidates
from ghosts.act.planner import Planner
from ghosts.act.tracker import GoalTracker
from ghosts.cli import eval as eval_command
from ghosts.cli import film as film_command
from ghosts.cli._continuous import EvalCe, _choosers, drive_demo
from ghosts.continuous.agent import ContinuousAgent, Habits, Look, _distances, make_agent
from ghosts.continuous.drive import DRIVERS, Driver, drive, driven, make_driver
from ghosts.continuous.episode import MAX_STEPS, ContinuousEpisode, houses_of, open_episode
from ghosts.continuous.occupancy import CELL_M, Reachable, Space, bump, reach, see
from ghosts.continuous.picture import filmstrip
from ghosts.continuous.record import Drive
from ghosts.continuous.residence import TRAINED, Outfit
from ghosts.continuous.rollout import answers
from ghosts.continuous.scores import CeScores
from ghosts.errors import ConfigError, DataError, UnknownNameError
from ghosts.geometry import TAU
from ghosts.language.episodes import each_instruction
from ghosts.language.tokens import Vocabulary
from ghosts.mapping.backbone import SmallBackbone
from ghosts.types import Intrinsics, Pose
from ghosts.world.houses.body.ground import make_ground
from ghosts.world.houses.house import House
from ghosts.world.houses.mesh.renderers import axial_m
from ghosts.world.houses.render.raycast import cast, upload
from ghosts.world.houses.solids import Solids
from world.houses.conftest import STOREY_M, handmade_house

CAMERA = Intrinsics(128, 128, math.pi / 2)
LOOKING_DOWN = Intrinsics(128, 128, TRAINED.hfov_rad)


def views(
    house: House, x: float, y: float, z: float, camera: Intrinsics = CAMERA, tilt: float = 0.0
) -> tuple[np.ndarray, list[Pose]]:
    """Depth images all around a place, straight from the solids."""
    from ghosts.world.houses.mesh.renderers import frames_of

    poses = [Pose(x, y, z, TAU * k / 12, tilt) for k in range(12)]
    distance = cast(upload(Solids.of(house.primitives)), frames_of(poses, camera, "cpu")).distance
    return axial_m(distance.nan_to_num(posinf=0.0).numpy(), camera).astype(np.float32), poses


def looked(house: House, *places: tuple[float, float, float], camera: Intrinsics = CAMERA, tilt: float = 0.0) -> Space:
    space = Space.around(Pose(*places[0], 0.0), 1.25)
    for place in places:
        space = see(space, *views(house, *place, camera, tilt), camera, 1.25)
    return space


def reached(known: Reachable, x: float, y: float) -> bool:
    return bool(np.isfinite(known.distance_m[(slice(None), *known.space.cell(x, y))]).any())


@pytest.fixture(scope="module")
def house() -> House:
    return handmade_house()


def test_what_can_be_reached_is_where_a_body_fits(house: House) -> None:
    space = looked(house, (2.5, 4.5, 1.25))
    known = reach(space, 2.5, 4.5, 0.0, 0.15, 1.5)
    ground = make_ground(house)
    places = known.places_m(*np.nonzero(np.isfinite(known.distance_m)))
    room = np.array([ground.clearance_m(x, y, 0) for x, y, _ in places.tolist()])
    assert len(room) > 800  # 8 m² of the living room and beyond
    # Nobody sees the back of a television above the floor.
    assert (room >= 0.1 - CELL_M / 2).mean() > 0.99
    assert reached(known, 4.5, 4.0)
    assert not reached(known, 1.0, 6.5)  # in the sofa
    assert not reached(known, 5.06, 6.0)  # in the wall
    gap = math.hypot(1.5, 1.0)
    assert gap <= known.distance_m[0][space.cell(4.0, 3.5)] < 1.6 * gap


def test_frontiers_lie_at_the_edge_of_what_is_known(house: House) -> None:
    known = reach(looked(house, (2.5, 4.5, 1.25)), 2.5, 4.5, 0.0, 0.15, 1.5)
    places = known.places_m(*np.nonzero(known.frontier))[:, :2]
    assert len(places) > 3
    # The living room is in sight; unknown is what lies behind its doors.
    inside = (places[:, 0] < 4.9) & (places[:, 1] > 2.9)
    assert inside.mean() < 0.2
    assert np.linalg.norm(places - (2.5, 4.5), axis=1).min() > 1.5


def test_stairs_are_a_way(house: House) -> None:
    space = looked(
        house, (1.2, 0.6, 1.25), (3.2, 0.55, 0.7 + 1.25), (5.0, 0.55, 1.96 + 1.25), (6.9, 0.7, STOREY_M + 1.25)
    )
    known = reach(space, 1.2, 0.6, 0.0, 0.15, 1.5)
    top = known.nearest(6.8, 0.6, STOREY_M)
    assert known.places_m(*np.array([top]).T)[0] == pytest.approx((6.8, 0.6, STOREY_M), abs=0.06)
    way = known.way_m(top)
    assert way[0, 2] == pytest.approx(0.0, abs=0.06)
    assert np.abs(np.diff(way[:, 2])).max() < 0.31
    assert (np.abs(way[(way[:, 0] > 2.4) & (way[:, 0] < 6.0), 1] - 0.55) < 0.5).all()


def test_only_steps_are_climbed() -> None:
    """The front of a chest is seen at every height, which looked like steps."""
    empty = Space.around(Pose(0.0, 0.0, 1.25, 0.0), 1.25)
    row, col = empty.cell(0.0, 0.0)
    floor = 1 << empty.bin(0.0)
    for height, climbed in ((2, True), (3, False), (6, False)):
        columns = empty.columns.copy()
        columns[row - 20 : row + 21, col - 20 : col + 21] = floor
        chest = columns[row + 8 : row + 15, col - 5 : col + 6]
        chest[:] = sum(floor << k for k in range(height + 1))  # its front and sides
        chest[1:-1, 1:-1] = floor << height  # its top
        known = reach(replace(empty, columns=columns, below=columns), 0.0, 0.0, 0.0, 0.15, 1.5)
        assert reached(known, 0.0, 1.7)
        assert reached(known, 0.0, 1.1) == climbed


def test_walls_that_go_on_above_the_eyes_are_no_ledges(house: House) -> None:
    """A camera that looks down sees walls up to its own height, which looked like their tops."""
    space = looked(house, (1.5, 0.55, 1.25), (3.2, 0.55, 0.7 + 1.25), camera=LOOKING_DOWN, tilt=TRAINED.elevation_rad)
    known = reach(space, 3.2, 0.55, 0.7, 0.15, 1.5)
    x, y, z = known.places_m(*np.nonzero(np.isfinite(known.distance_m))).T
    assert z.max() > 1.5
    on_stairs = (x > 2.2) & (x < 6.3) & (y > 0.0) & (y < 1.3)
    assert z[~on_stairs].max() < 0.25


def test_stairs_are_seen_from_their_head_and_remembered_from_their_foot(house: House) -> None:
    """Whoever stands at the head of stairs does not see the first steps at its feet."""
    head, middle, foot = (6.7, 0.55, STOREY_M + 1.25), (4.0, 0.55, 1.26 + 1.25), (1.5, 0.55, 1.25)
    above = looked(house, head, camera=LOOKING_DOWN, tilt=TRAINED.elevation_rad)
    down = reach(above, 6.7, 0.55, STOREY_M, 0.15, 1.5)
    lowest = down.places_m(*np.nonzero(np.isfinite(down.distance_m)))[:, 2].min()
    assert lowest < STOREY_M - 1.0
    walked = looked(house, head, middle, foot, camera=LOOKING_DOWN, tilt=TRAINED.elevation_rad)
    up = reach(walked, 1.5, 0.55, 0.0, 0.15, 1.5)
    back = up.way_m(up.nearest(6.7, 0.55, STOREY_M))
    assert back[-1] == pytest.approx((6.7, 0.55, STOREY_M), abs=0.11)
    assert np.abs(np.diff(back[:, 2])).max() < 0.21


def test_both_storeys_can_be_reached_where_one_lies_above_the_other(house: House) -> None:
    """Whoever has gone upstairs finds the way back down, to places below where it stands."""
    stairs = (1.2, 0.6, 1.25), (3.2, 0.55, 0.7 + 1.25), (5.0, 0.55, 1.96 + 1.25), (6.9, 0.7, STOREY_M + 1.25)
    space = looked(house, *stairs, (6.9, 2.0, STOREY_M + 1.25), (6.9, 1.8, 1.25))
    up = reach(space, 6.9, 0.7, STOREY_M, 0.15, 1.5)
    both = np.isfinite(up.distance_m).sum(0) > 1
    assert both.any()
    row, col = np.argwhere(both)[0]
    low, high = sorted(up.places_m(np.array([0, 1]), np.array([row, row]), np.array([col, col]))[:, 2])
    assert (low, high) == (pytest.approx(0.0, abs=0.35), pytest.approx(STOREY_M, abs=0.35))
    start = up.nearest(1.2, 0.6, 0.0)
    assert up.way_m(start)[-1] == pytest.approx((1.2, 0.6, 0.0), abs=0.1)
    assert up.distance_m[start] > 5.0  # down the stairs, not through the floor


def test_walks_from_the_start_lead_through_no_ceiling() -> None:
    spots = np.array([(0.0, 0.0, 0.0), (4.0, 0.0, 2.0), (4.0, 2.0, 2.8)])
    from_start = _distances(spots)
    assert from_start((0.5, 0.0, 0.0)) == pytest.approx(0.5)
    assert from_start((0.5, 2.0, 2.8)) == pytest.approx(math.hypot(4.0, 2.0) + 3.5)
    assert _distances(spots[:1])((3.0, 0.0, 0.0), 5.0) == 5.0  # what lies beyond a railing is far to walk


def test_heights_move_along_with_the_storeys(house: House) -> None:
    """One storey up a body's own height was out of what is known, and two storeys up nothing could be added."""
    space = looked(house, (2.5, 4.5, 1.25), (2.5, 4.2, STOREY_M + 1.25))
    known = reach(space, 2.5, 4.2, STOREY_M, 0.15, 1.5)
    assert reached(known, 3.2, 4.0)
    assert not reached(known, 1.2, 5.9)  # in the bed
    here = known.nearest(2.5, 4.2, STOREY_M)
    assert known.places_m(*np.array([here]).T)[0] == pytest.approx((2.5, 4.2, STOREY_M), abs=0.06)
    below = int(space.columns[space.cell(4.2, 4.5)])
    assert below >> space.bin(0.0) & 1  # the floor below is still known
    for far_m in (2 * STOREY_M, 12.0, -12.0):
        depth, poses = views(house, 2.5, 4.5, 1.25)
        there = see(space, depth, [Pose(p.x_m, p.y_m, far_m + 1.25, p.heading_rad) for p in poses], CAMERA, 1.25)
        assert 0 <= there.bin(far_m) < 64
        assert reached(reach(there, 2.5, 4.5, far_m, 0.15, 1.5), 3.5, 4.5)


def test_a_place_on_the_border_of_two_cells_belongs_to_the_one_above() -> None:
    space = Space.around(Pose(0.0, 0.0, 1.25, 0.0), 1.25)
    row, col = space.cell(0.0, 0.0)
    # Cells are 0.1 m wide around the start: these are borders, whichever cell has an even number.
    for k in range(-4, 5):
        there = space.corner_m + 0.1 * np.array([col + k, row + k, space.bin(0.0) + k]) + 1e-9
        assert space.cell(*there[:2].tolist()) == (row + k, col + k)
        assert space.bin(float(there[2])) == space.bin(0.0) + k
        below = there - 2e-9
        assert space.cell(*below[:2].tolist()) == (row + k - 1, col + k - 1)


def test_a_bump_closes_a_cell(house: House) -> None:
    space = looked(house, (2.5, 4.5, 1.25))
    x, y = 3.5, 4.5
    known = reach(bump(space, x, y), 2.5, 4.5, 0.0, 0.15, 1.5)
    assert not reached(known, x, y)
    assert reached(known, x + 0.5, y)


def first(world: Path, outfit: Outfit = SMALL) -> ContinuousEpisode:
    root = houses_of(world)
    instruction = next(iter(each_instruction(root.episodes("val_unseen"))))
    return open_episode(residences(world, outfit), root, instruction)


def drive_to_end(driver: Driver, episode: ContinuousEpisode) -> CeScores:
    assert len(list(driven(driver, episode))) == episode.steps
    return episode.scores


def test_the_oracle_arrives_and_the_other_baselines_keep_to_their_rules(world: Path) -> None:
    found = {}
    for name in DRIVERS:
        episode = first(world)
        found[name] = drive_to_end(make_driver(name, episode), episode)
        assert episode.over
    assert found["stop"].steps_taken == 1.0
    assert found["oracle"].success == 1.0
    assert found["oracle"].spl > 0.85
    assert found["oracle"].collisions == 0.0
    assert 38.0 <= found["hand-coded"].steps_taken <= 37 * 2 + 25
    with pytest.raises(
        UnknownNameError, match="unknown driver 'lucky'; choose one of hand-coded, oracle, random, stop"
    ):
        make_driver("lucky", first(world))


def test_a_way_into_a_wall_is_given_up(world: Path) -> None:
    episode = first(world)
    away = np.array([[episode.stance.x_m + 0.1 * k, episode.stance.y_m, 0.0] for k in range(300)])
    actions = drive(away, episode)
    arrived = None
    for _ in range(MAX_STEPS):
        try:
            episode.act(next(actions))
        except StopIteration as end:
            arrived = end.value
            break
    assert arrived is False
    assert episode.steps < 200


class Chooser:
    """Stands for a planner: chooses by a rule, and remembers what it was shown."""

    def __init__(self, rule: Callable[[Candidates], torch.Tensor]) -> None:
        self.rule, self.seen = rule, list[Candidates]()

    def __call__(
        self, candidates: Candidates, beliefs: torch.Tensor, start: torch.Tensor, grid: object
    ) -> torch.Tensor:
        self.seen.append(candidates)
        assert beliefs.shape[0] == len(start) == 1
        return self.rule(candidates)


def agent(planner: object, **habits: object) -> tuple[ContinuousAgent, list[Look]]:
    torch.manual_seed(1)
    tracker = GoalTracker(small_model(), Vocabulary(("<pad>", "<unk>", "go")), SmallBackbone(8))
    looks: list[Look] = []
    return ContinuousAgent(tracker, planner, Habits(**habits), looks.append), looks  # type: ignore[arg-type]


def test_an_agent_explores_and_stops_where_most_belief_is_near(world: Path) -> None:
    def rule(candidates: Candidates) -> torch.Tensor:
        """On while it may, the farthest place first; then stop."""
        going = bool((~candidates.visited).any())
        return torch.where(
            candidates.visited, 0.0 if going else -candidates.from_start_m, 1.0 + candidates.from_agent_m
        )

    chooser = Chooser(rule)
    driver, looks = agent(chooser, looks=3)
    episode = first(world, Outfit(rgb_px=24, depth_px=128, texel_m=0.5, renderer="baked"))
    start = episode.stance
    with unchecked():
        scores = drive_to_end(driver.follow, episode)
    assert episode.stopped
    assert [int(item.visited.sum()) for item in chooser.seen][-1] == 3
    assert scores.path_length > 4.0
    last = looks[-1].estimate
    spots = [(episode.stance.x_m, episode.stance.y_m), *((look.pose.x_m, look.pose.y_m) for look in looks)]
    worth = last.near(np.array(spots))
    assert worth[0] > max(worth[1:]) - 0.05  # a metre of way has to gain something
    assert worth[0] > 0.8 * last.near(np.array([last.position_m]))[0]
    for item in chooser.seen[:-1]:
        xy = item.xyz_m[:, :2]
        apart = torch.cdist(xy, xy) + 99.0 * torch.eye(len(xy))
        ahead = ~item.visited
        assert apart[ahead].min() > 1.2
        assert bool((item.from_agent_m[ahead] >= 1.2).all())
        assert item.from_agent_m[item.visited].min() == 0.0
    assert looks[0].pose.x_m == start.x_m
    assert looks[0].estimate.mass.sum() == pytest.approx(1.0, abs=1e-4)


def test_an_agent_that_is_sure_looks_around_once(world: Path) -> None:
    driver, looks = agent(Chooser(lambda candidates: candidates.visited.float()))
    episode = first(world)
    with unchecked():
        scores = drive_to_end(driver.follow, episode)
    assert episode.stopped
    assert scores.steps_taken >= 11 * 2 + 1  # 12 views, two turns apart, and the stop
    assert len(looks) == 1


def test_an_agent_stops_before_its_actions_end(world: Path) -> None:
    driver, looks = agent(Chooser(lambda candidates: (~candidates.visited).float()))
    root = houses_of(world)
    instruction = next(iter(each_instruction(root.episodes("val_unseen"))))
    episode = open_episode(residences(world, SMALL), root, instruction, 200)
    with unchecked():
        drive_to_end(driver.follow, episode)
    assert episode.stopped
    assert len(looks) > 1


def test_the_true_planner_drives_an_episode(world: Path) -> None:
    driver, _ = agent(Planner(), looks=2)
    episode = first(world)
    with unchecked():
        drive_to_end(driver.follow, episode)
    assert episode.over


@pytest.mark.parametrize("setting", [{"looks": 0}, {"view_rad": 0.0}, {"spacing_m": 0.0}, {"range_m": -1.0}])
def test_habits_out_of_range(setting: dict) -> None:
    with pytest.raises(ConfigError, match=next(iter(setting))):
        Habits(**setting)


def answer_file(world: Path, path: Path) -> Path:
    """What an agent would hand in that walks every reference."""
    root = houses_of(world)
    records = [
        {"instr_id": item.instr_id, "trajectory": [[name, 0.0, 0.0] for name in item.episode.path]}
        for item in each_instruction(root.episodes("val_unseen"))
    ]
    path.write_text(json.dumps(records), encoding="utf-8")
    return path


def test_eval_ce_scores_baselines_and_answers(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = answer_file(world, tmp_path / "perfect.json")
    out = tmp_path / "scores"
    drivers = ["--baseline", "stop", "--baseline", "oracle"]
    options = [
        *drivers,
        "--answers",
        str(told),
        "--examples",
        "4",
        "--out",
        str(out),
    ]
    eval_command.main(["ce", "--data", str(world), *options])
    printed = capsys.readouterr().out
    assert "perfect, walked" in printed
    means = json.loads((out / "ce.json").read_text(encoding="utf-8"))["drivers"]
    assert means["stop"]["means"]["success"] == 0.0
    assert means["oracle"]["means"]["success"] == means["perfect, walked"]["means"]["success"] == 1.0
    assert len(means["oracle"]["episodes"]) == 4
    assert means["perfect, walked"]["means"]["ndtw"] > 0.8
    assert "| oracle | 4 |" in (out / "ce.md").read_text(encoding="utf-8")


def test_eval_ce_tells_what_it_cannot_do(world: Path, root: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing to evaluate; name --run RUN, --answers FILE or --baseline oracle"):
        eval_command.main(["ce", "--data", str(world), "--baseline", "none"])
    with pytest.raises(UnknownNameError, match="unknown baseline 'shortest'"):
        eval_command.main(["ce", "--data", str(world), "--baseline", "shortest"])
    with pytest.raises(ConfigError, match="--examples must not be negative, got -1"):
        eval_command.main(["ce", "--data", str(world), "--examples", "-1"])


def test_an_answer_that_is_missing_and_a_run_that_cannot_act_are_told(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = houses_of(world)
    choose = answers(answer_file(world, tmp_path / "perfect.json"), root, "val_unseen")
    other = next(iter(each_instruction(root.episodes("train"))))
    with pytest.raises(DataError, match="no answer; name the file of this split"):
        choose(open_episode(residences(world), root, other))
    monkeypatch.setattr("ghosts.continuous.agent.load_run", lambda run: SimpleNamespace(acts=False))
    with pytest.raises(ConfigError, match="was not trained to act; add --planner"):
        make_agent(Path("some-filter"), Path("houses-backbone"))


@pytest.mark.parametrize("acts", [False, True])
def test_a_run_that_cannot_act_drives_by_the_planner_alone(
    world: Path, acts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ghosts.run.load.load_run", lambda run: SimpleNamespace(acts=acts))
    monkeypatch.setattr(
        "ghosts.continuous.agent.make_agent", lambda run, backbone, planner: SimpleNamespace(follow=None)
    )
    options = EvalCe(data=world, run=(Path("filter"),), planner=True)
    names = [name for name in _choosers(options, houses_of(world)) if name.startswith("filter")]
    assert names == ["filter"] * acts + ["filter, planner"]


def test_the_demo_drives_and_draws(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver, _ = agent(Chooser(lambda candidates: candidates.visited.float()))
    monkeypatch.setattr("ghosts.continuous.agent.make_agent", lambda run, backbone: driver)
    monkeypatch.setattr("ghosts.cli.world.main", lambda arguments: None)
    monkeypatch.setattr("ghosts.continuous.residence.TRAINED", SMALL)
    with unchecked():
        drive_demo(tmp_path, world, 6, 1, Console(width=200))
    printed = capsys.readouterr().out
    assert "23 actions, 0.0 m, 0 bumps" in printed
    assert "0 of 1 instructions reached their goal" in printed
    (picture,) = tmp_path.glob("drive-*.jpg")
    assert cv2.imread(str(picture)).shape == (32, 2 * 64, 3)


def test_a_drive_is_filmed(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver, _ = agent(Chooser(lambda candidates: candidates.visited.float()), view_rad=math.pi)
    monkeypatch.setattr("ghosts.continuous.agent.make_agent", lambda run, backbone, planner: driver)
    monkeypatch.setattr("ghosts.run.load.load_run", lambda run: SimpleNamespace(acts=True))
    monkeypatch.setattr("ghosts.continuous.residence.TRAINED", SMALL)
    filmed: list[Drive] = []
    monkeypatch.setattr("ghosts.view.drive_film.drive_pictures", lambda drive, report: filmed.append(drive))
    monkeypatch.setattr("ghosts.view.film.write_pictures", lambda out, pictures, per_second: 7)
    film = ["--data", str(world), "--drive", "--out", str(tmp_path / "drive.gif")]
    with unchecked():
        film_command.main(film)
    assert "drive.gif: 7 pictures of a drive of episode " in capsys.readouterr().out
    assert filmed[0].episode.stopped
    assert [taken for taken, _ in filmed[0].looks] == [12]
    with pytest.raises(ConfigError, match="--drive films one run that drives by itself; leave out --photo"):
        film_command.main([*film, "--photo"])


def test_a_filmstrip_keeps_first_and_last() -> None:
    pictures = [np.full((4, 6, 3), k, np.uint8) for k in range(21)]
    strip = filmstrip(pictures, most=3)
    assert strip.shape == (8, 12, 3)
    assert (strip[0, 0, 0], strip[0, 6, 0], strip[4, 0, 0], strip[4, 6, 0]) == (0, 10, 20, 255)
