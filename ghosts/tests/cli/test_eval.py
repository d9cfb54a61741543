from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from lightning_fabric import Fabric

from experiments import task_of
from ghosts.cli._runs import EvalOptions, group_runs
from ghosts.data.examples import Selection, load_splits
from ghosts.evaluate.goal import GoalScores, evaluate_goal
from ghosts.evaluate.table import ScoredRun
from ghosts.run.load import Run, load_run
from ghosts.train.trainer import RunFiles, train
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError
from landmark_world import SCANS, load, make_landmark_root, small_experiment


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root, and runs of two seeds."""
    folder = tmp_path_factory.mktemp("world")
    make_landmark_root(folder / "root")
    for seed in (0, 1):
        experiment = small_experiment(iterations=2, seed=seed)
        data = load(folder / "root", experiment)
        task = task_of(experiment, data, Selection("val_seen", data.examples("val_seen")[:1]))
        train(task, Fabric(accelerator="cpu", devices=1), RunFiles.of(folder / f"run{seed}"))
    return folder


def test_table_of_two_seeds_and_the_hand_coded_row(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = world / "table"
    runs = ["--run", str(world / "run0"), "--run", str(world / "run1" / "best.safetensors")]
    arguments = ["eval", "goal", "--preset", "hand-coded", *runs, "--data", str(world / "root"), "--device", "cpu"]
    main([*arguments, "--split", "val_seen", "--split", "dev_unseen", "--examples", "6", "--out", str(out)])
    summary = json.loads((out / "goal.json").read_text())
    assert list(summary["splits"]) == ["val_seen", "dev_unseen"]
    split = summary["splits"]["dev_unseen"]
    assert split["instructions"] == 6
    assert list(split["models"]) == ["hand-coded", "tiny"]
    assert [run["seed"] for run in split["models"]["tiny"]["runs"]] == [0, 1]
    assert len(split["models"]["tiny"]["success"]["steps"]) == 8
    assert summary["experiments"]["tiny"]["method"] == "ghost"
    assert {"ghosts", "torch", "command"} <= summary["provenance"].keys()
    # The numbers are those of the function itself.
    data = load(world / "root", small_experiment())
    examples = [data.examples("dev_unseen")[24 * k // 6] for k in range(6)]
    models = [load_run(world / f"run{seed}").model for seed in (0, 1)]
    averages = [float(evaluate_goal(model, data, examples).error_m.mean()) for model in models]
    found = split["models"]["tiny"]["error_m"]
    assert found["average"] == pytest.approx(np.mean(averages), rel=1e-5)
    assert found["sd"] == pytest.approx(np.std(averages, ddof=1), rel=1e-3)
    printed = capsys.readouterr().out
    assert "dev_unseen: 6 instructions of 6 paths, up to 2 seeds: mean ± s.d." in printed
    assert f"{found['average']:.2f} ± {found['sd']:.2f}" in printed
    markdown = (out / "goal.md").read_text()
    assert "| Success rate (%) | hand-coded |" in markdown
    assert str(world) not in markdown


def test_held_out_buildings_are_scored_and_named(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A val_seen like R2R's, with a building that is held out for development."""
    root = tmp_path / "root"
    shutil.copytree(world / "root", root)
    paths = json.loads((root / "r2r" / "R2R_train.json").read_text())
    chosen = [record | {"path_id": 1000 + record["path_id"]} for record in paths if record["scan"] in SCANS[2:4]]
    (root / "r2r" / "R2R_val_seen.json").write_text(json.dumps(chosen))
    words = ["--data", str(root), "--split", "val_seen", "--device", "cpu"]
    note = f"val_seen: 24 of 48 instructions lie in buildings that no run was trained on ({SCANS[3]}); --trained-only"
    for kind in (["goal", "--preset", "hand-coded"], ["vln", "--baseline", "stop"]):
        main(["eval", *kind, *words, "--out", str(tmp_path)])
        printed = capsys.readouterr().out
        assert "val_seen: 48 instructions of 16 paths" in printed
        assert note in printed
        assert note in (tmp_path / f"{kind[0]}.md").read_text()
        main(["eval", *kind, *words, "--trained-only"])
        printed = capsys.readouterr().out
        assert "val_seen: 24 instructions of 8 paths" in printed
        assert "no run was trained on" not in printed


def test_what_was_held_out_is_the_runs_own(world: Path) -> None:
    """A run that was trained on all buildings has seen all of them, whatever is held out by default."""
    root, run = DataRoot(world / "root"), load_run(world / "run0")
    everywhere = replace(run, reading=replace(run.reading, hold_out=0))
    examples = load_splits(root, run.reading.steps)["train"] + load_splits(root, run.reading.steps)["dev_unseen"]
    splits, held = {"train": examples, "val_seen": examples}, {SCANS[3]}

    def said(options: EvalOptions, *runs: Run) -> tuple[list[str], set[str]]:
        held_out = options.held_out(runs, root)
        chosen = replace(options, trained_only=True).chosen(splits, root, held_out)
        notes = [note for note in options.notes(runs, splits, root, held_out) if "val_seen:" in note]
        return notes, {item.scan for item in chosen["val_seen"]}

    options, scans = EvalOptions(split=("val_seen",)), {item.scan for item in examples}
    assert said(options, everywhere) == ([], scans)
    notes, scored = said(options, run)
    assert f"buildings that no run was trained on ({SCANS[3]})" in notes[0]
    assert scored == scans - held
    notes, scored = said(options, everywhere, run)
    assert f"buildings that not every run was trained on ({SCANS[3]})" in notes[0]
    assert scored == scans - held
    for options in (EvalOptions(), EvalOptions(split=("dev_unseen",))):
        with pytest.raises(ConfigError, match=r"not trained on the same buildings \(train.hold_out: 0, None\)"):
            options.held_out([everywhere, run], root)


def test_all_splits_by_default(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(
        ["eval", "goal", "--preset", "hand-coded", "--data", str(world / "root"), "--examples", "2", "--device", "cpu"]
    )
    printed = capsys.readouterr().out
    assert "val_seen: 2 instructions" in printed
    assert "dev_unseen: 2 instructions" in printed
    assert "seeds" not in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "nothing to evaluate; name --run RUN, or --preset hand-coded"),
        (["--preset", "tiny"], "preset 'tiny' needs training; run: ghosts train goal --preset tiny"),
        (["--preset", "hand-coder"], "did you mean 'hand-coded'?"),
        (["--run", "no/such/run"], "no such run"),
        (["--preset", "hand-coded", "--split", "val_sen"], "unknown split 'val_sen'"),
        (["--preset", "hand-coded", "--batch", "0"], "--batch must be at least 1, got 0"),
        (["--preset", "hand-coded", "--examples", "-3"], "--examples must not be negative, got -3"),
    ],
)
def test_wrong_words(world: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["eval", "goal", *arguments, "--data", str(world / "root")])
    assert stopped.value.code == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["goal", "--preset", "hand-coded"], "nothing but a training split; to score that, add --split train"),
        (["vln"], "nothing but a training split; to score that, add --split train"),
    ],
)
def test_nothing_to_score(
    tmp_path: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two buildings, none held out: the table would be empty."""
    root = tmp_path / "root"
    make_landmark_root(root)
    (root / "r2r" / "R2R_val_seen.json").unlink()
    train = json.loads((root / "r2r" / "R2R_train.json").read_text())
    (root / "r2r" / "R2R_train.json").write_text(json.dumps([path for path in train if path["scan"] in SCANS[:2]]))
    with pytest.raises(SystemExit, match="1"):
        main(["eval", *arguments, "--data", str(root), "--device", "cpu"])
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gaol"], "unknown thing to evaluate 'gaol'; did you mean 'goal'?"),
        (["--run", "A"], "name what to evaluate, goal or vln or ce, first: ghosts eval goal --run A"),
    ],
)
def test_an_unknown_evaluation(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        main(["eval", *arguments])
    assert capsys.readouterr().err == f"ghosts eval: {message}\n"


def test_groups_differ_in_their_seed_alone() -> None:
    blank = np.zeros((1, 1))
    scores = {"s": GoalScores(("1_0",), blank, blank > 0, blank, blank, blank, blank)}
    base = small_experiment()
    wider = replace(base, model=replace(base.model, mapper=replace(base.model.mapper, channels=16)))
    other = replace(base, name="other")

    def seeded(experiment: object, seed: int) -> object:
        return replace(experiment, train=replace(experiment.train, seed=seed))

    runs = [
        (seeded(base, 0), ScoredRun("a", 0, 1, scores)),
        (seeded(wider, 0), ScoredRun("b", 0, 1, scores)),
        (seeded(base, 1), ScoredRun("c", 1, 1, scores)),
        (seeded(other, 0), ScoredRun("d", 0, 1, scores)),
        (seeded(other, 0), ScoredRun("copy of d", 0, 1, scores)),  # no second seed: nothing to take a deviation of
        (seeded(other, 2), ScoredRun("e", 2, 1, scores)),
        (seeded(other, 0), ScoredRun("d", 0, 1, scores)),  # of another folder
    ]
    groups = {name: [run.name for _, run in members] for name, members in group_runs(runs).items()}
    others = {"other (d)": ["d", "e"], "other (copy of d)": ["copy of d"], "other (d)'": ["d"]}
    assert groups == {"tiny (a)": ["a", "c"], "tiny (b)": ["b"]} | others
