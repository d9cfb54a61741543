"""Driving: an agent that chooses its places, scores and films."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import cv2
import numpy as np
import pytest
import torch
from rich.console import Console

from agent.makers import small_model
from checks import unchecked
from ghosts.agent.candidates import Candidates
from ghosts.agent.planner import Planner
from ghosts.agent.tracker import GoalTracker
from ghosts.cli import eval as eval_command
from ghosts.cli import film as film_command
from ghosts.cli._continuous import EvalCe, _choosers, drive_demo
from ghosts.cli._runs import names_of_runs
from ghosts.driving.agent import ContinuousAgent, Look
from ghosts.driving.drive_record import Drive
from ghosts.driving.drives import answers, make_agent
from ghosts.driving.places import Exploration, _distances
from ghosts.mapping.backbone import SmallBackbone
from ghosts.words.tokens import Vocabulary
from ghosts_houses.task.drive import driven
from ghosts_houses.task.episode import ContinuousEpisode, houses_of, open_episode
from ghosts_houses.task.scores import CeScores
from ghosts_houses.task.simulator import SimulatorConfig
from ghosts_sim.episodes import each_instruction
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.motion import Driver
from residing import SMALL, simulators


def first(world: Path, config: SimulatorConfig = SMALL) -> ContinuousEpisode:
    root = houses_of(world)
    instruction = next(iter(each_instruction(root.episodes("val_unseen"))))
    return open_episode(simulators(world, config), root, instruction)


def drive_to_end(driver: Driver, episode: ContinuousEpisode) -> CeScores:
    assert len(list(driven(driver, episode))) == episode.steps
    return episode.scores


def test_walks_from_the_start_lead_through_no_ceiling() -> None:
    spots = np.array([(0.0, 0.0, 0.0), (4.0, 0.0, 2.0), (4.0, 2.0, 2.8)])
    from_start = _distances(spots)
    assert from_start((0.5, 0.0, 0.0), 0.0) == pytest.approx(0.5)
    assert from_start((0.5, 2.0, 2.8), 0.0) == pytest.approx(math.hypot(4.0, 2.0) + 3.5)
    assert _distances(spots[:1])((3.0, 0.0, 0.0), 5.0) == 5.0  # what lies beyond a railing is far to walk


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


def agent(planner: object, **settings: object) -> tuple[ContinuousAgent, list[Look]]:
    torch.manual_seed(1)
    tracker = GoalTracker(small_model(), Vocabulary(("<pad>", "<unk>", "go")), SmallBackbone(8))
    looks: list[Look] = []
    return ContinuousAgent(tracker, planner, Exploration(**settings), looks.append), looks  # type: ignore[arg-type]


def test_an_agent_explores_and_stops_where_most_belief_is_near(world: Path) -> None:
    def rule(candidates: Candidates) -> torch.Tensor:
        """On while it may, the farthest place first; then stop."""
        going = bool((~candidates.visited).any())
        return torch.where(
            candidates.visited, 0.0 if going else -candidates.from_start_m, 1.0 + candidates.from_agent_m
        )

    chooser = Chooser(rule)
    driver, looks = agent(chooser, looks=3)
    episode = first(world, SimulatorConfig(rgb_px=24, depth_px=128, texel_m=0.5, renderer="baked"))
    start = episode.body_pose
    with unchecked():
        scores = drive_to_end(driver.follow, episode)
    assert episode.stopped
    assert [int(item.visited.sum()) for item in chooser.seen][-1] == 3
    assert scores.path_length > 4.0
    last = looks[-1].estimate
    spots = [(episode.body_pose.x_m, episode.body_pose.y_m), *((look.pose.x_m, look.pose.y_m) for look in looks)]
    worth = last.mass_near(np.array(spots))
    assert worth[0] > max(worth[1:]) - 0.05  # a metre of way has to gain something
    assert worth[0] > 0.8 * last.mass_near(np.array([last.position_m]))[0]
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
    episode = open_episode(simulators(world, SMALL), root, instruction, 200)
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
def test_settings_out_of_range(setting: dict) -> None:
    with pytest.raises(ConfigError, match=next(iter(setting))):
        Exploration(**setting)


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
        choose(open_episode(simulators(world), root, other))
    monkeypatch.setattr(
        "ghosts.driving.drives.load_run", lambda run: SimpleNamespace(experiment=SimpleNamespace(acts=False))
    )
    with pytest.raises(ConfigError, match="was not trained to act; add --planner"):
        make_agent(Path("some-filter"), Path("houses-backbone"))


@pytest.mark.parametrize("acts", [False, True])
def test_a_run_that_cannot_act_drives_by_the_planner_alone(
    world: Path, acts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = SimpleNamespace(experiment=SimpleNamespace(acts=acts))
    monkeypatch.setattr("ghosts.run.load.load_run", lambda run: opened)
    monkeypatch.setattr("ghosts.driving.drives.make_agent", lambda run, backbone, planner: SimpleNamespace(follow=None))
    options = EvalCe(data=world, run=(Path("filter"),), planner=True)
    names = [name for name in _choosers(options, houses_of(world)) if name.startswith("filter")]
    assert names == ["filter"] * acts + ["filter, planner"]


def test_runs_of_one_name_all_drive(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two files have the same name, and one is called like a baseline."""
    monkeypatch.setattr("ghosts.driving.drives.make_agent", lambda run, backbone, planner: SimpleNamespace(follow=run))
    runs = (Path("a/best.safetensors"), Path("b/best.safetensors"), Path("c/random"))
    drivers = _choosers(EvalCe(data=world, run=runs, baseline=("random",)), houses_of(world))
    assert list(drivers) == ["a/best", "b/best", "c/random", "random"]
    assert names_of_runs([Path("x/landmarks-agent"), Path("best")]) == ["landmarks-agent", "best"]


def test_the_demo_drives_and_draws(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    driver, _ = agent(Chooser(lambda candidates: candidates.visited.float()))
    monkeypatch.setattr("ghosts.driving.drives.make_agent", lambda run, backbone: driver)
    monkeypatch.setattr("ghosts_houses.cli.world.main", lambda arguments, hint: None)
    monkeypatch.setattr("ghosts_houses.task.simulator.TRAINED_CAMERA", SMALL)
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
    monkeypatch.setattr("ghosts.driving.drives.make_agent", lambda run, backbone, planner: driver)
    monkeypatch.setattr("ghosts_houses.task.simulator.TRAINED_CAMERA", SMALL)
    filmed: list[Drive] = []
    monkeypatch.setattr("ghosts.view.drive_film.drive_pictures", lambda drive, scene, report: filmed.append(drive))
    monkeypatch.setattr("ghosts.view.film.write_pictures", lambda out, pictures, per_second: 7)
    film = ["--data", str(world), "--drive", "--out", str(tmp_path / "drive.gif")]
    with unchecked():
        film_command.main(film)
    assert "drive.gif: 7 pictures of a drive of episode " in capsys.readouterr().out
    assert filmed[0].episode.stopped
    assert [taken for taken, _ in filmed[0].looks] == [12]
    with pytest.raises(ConfigError, match="--drive films one run that drives by itself; leave out --photo"):
        film_command.main([*film, "--photo"])
