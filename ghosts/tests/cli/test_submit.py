"""`ghosts train vln`, `ghosts eval vln` and `ghosts submit`, as a user types them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ghosts.config import ModelConfig, experiment_values
from ghosts.methods.ghost.settings import AgentExperiment, FilterExperiment
from ghosts.run.load import find_checkpoint, load_run
from ghosts.weights.checkpoint import load_checkpoint, save_checkpoint
from ghosts_sim.cli import main
from landmark_world import make_landmark_root
from methods.test_speaker import speaker_experiment
from view_fixtures import save_untrained

TINY = ("--train.iterations", "2", "--train.checkpoint-every", "2", "--train.evaluate-every", "2")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submit")
    root = make_landmark_root(folder / "root")
    seen = json.loads((root / "r2r" / "R2R_val_seen.json").read_text())
    test = [
        {key: value for key, value in record.items() if key != "distance"} | {"path": record["path"][:1]}
        for record in seen[:3]
    ]
    test[0]["instructions"][0] += " xqzt"
    (root / "r2r" / "R2R_test.json").write_text(json.dumps(test))
    for name in ("agent", "seq2seq"):
        place = ("--data", str(root), "--out", str(folder / name), "--device", "cpu", "--threads", "0")
        main(["train", "vln", "--preset", f"tiny-{name}", *place, *TINY])
    return folder


def run(*words: object) -> None:
    main([str(word) for word in words])


def without_acting(experiment: AgentExperiment) -> FilterExperiment:
    """The agent's filter as one that was trained alone."""
    parts = experiment.model
    model = ModelConfig(parts.language, parts.mapper, parts.filter, parts.policy)
    return FilterExperiment(experiment.name, model, data=experiment.data)


def test_submission_for_a_split_without_goals(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = world / "submission.json"
    run("submit", "--run", world / "agent", "--data", world / "root", "--out", out, "--device", "cpu")
    assert "1 of 9 instructions hold unknown words: xqzt\n" in capsys.readouterr().out
    run("submit", "--check", out, "--data", world / "root")
    assert "9 instructions of split test, all in order" in capsys.readouterr().out
    assert len(json.loads(out.read_text())) == 9


def test_wrong_submissions_exit_with_one(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = world / "wrong.json"
    wrong.write_text("[]")
    with pytest.raises(SystemExit, match="1"):
        run("submit", "--check", wrong, "--data", world / "root")
    assert "missing" in capsys.readouterr().err
    for words in ((), ("--run", world / "agent", "--check", wrong)):
        with pytest.raises(SystemExit, match="1"):
            run("submit", "--data", world / "root", *words)
        assert "name either --run RUN" in capsys.readouterr().err


def test_table_of_agents_planner_and_baselines(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("eval", "vln", "--run", world / "agent", "--run", world / "seq2seq", "--planner", "--data", world / "root")
    run(*words, "--split", "dev_unseen", "--examples", "6", "--out", world / "table", "--device", "cpu")
    summary = json.loads((world / "table" / "vln.json").read_text())
    rows = summary["splits"]["dev_unseen"]["models"]
    assert list(rows) == ["tiny-agent", "tiny-agent, planner", "tiny-seq2seq", "random", "stop", "shortest"]
    assert rows["shortest"]["SPL"]["mean"] == 1.0
    assert rows["stop"]["TL"]["mean"] == 0.0
    text = capsys.readouterr().out
    assert "Chasing Ghosts, images [1]" in text
    assert "| shortest |" in (world / "table" / "vln.md").read_text()
    assert "instructions/s" in text
    speed = json.loads((world / "table" / "speed.json").read_text())
    assert set(speed["seconds"]["dev_unseen"]) == set(rows)
    run(*words, "--split", "dev_unseen", "--examples", "6", "--out", world / "again", "--device", "cpu")
    # Nothing in the file says when or where it was written: two evaluations are equal byte by byte.
    assert (world / "again" / "vln.json").read_bytes() == (world / "table" / "vln.json").read_bytes()
    run(*words, "--split", "dev_unseen", "--examples", "6", "--out", world / "small", "--device", "cpu", "--batch", 2)
    assert json.loads((world / "small" / "vln.json").read_text())["splits"] == summary["splits"]


def test_runs_of_one_name_are_all_in_the_table(world: Path) -> None:
    """Two files have the same name, and one run is called like a baseline."""
    stored = load_checkpoint(world / "agent" / "best.safetensors")
    for folder, name in (("a", "random"), ("b", "tiny-agent")):
        about = {**stored.about, "experiment": {**stored.about["experiment"], "name": name}}
        (world / folder).mkdir()
        save_checkpoint(world / folder / "best.safetensors", stored.tensors, about)
    runs = [word for folder in "ab" for word in ("--run", world / folder / "best.safetensors")]
    words = ("--split", "dev_unseen", "--examples", "2", "--baseline", "random", "--device", "cpu")
    run("eval", "vln", *runs, "--data", world / "root", *words, "--out", world / "same")
    summary = json.loads((world / "same" / "vln.json").read_text())
    rows = summary["splits"]["dev_unseen"]["models"]
    assert list(rows) == ["random (a/best)", "tiny-agent", "random"]
    assert rows["random (a/best)"]["TL"] != rows["random"]["TL"]
    assert {name: own["name"] for name, own in summary["experiments"].items()} == {
        "a/best": "random",
        "b/best": "tiny-agent",
    }


def test_a_speaker_has_a_say(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    speaker = save_untrained(world / "speaker.safetensors", world / "root", speaker_experiment())
    place = ("--run", world / "agent", "--data", world / "root", "--device", "cpu", "--pragmatic", speaker)
    run("eval", "vln", *place, "--split", "dev_unseen", "--baseline", "none", "--examples", 2)
    assert "tiny-agent, pragmatic" in capsys.readouterr().out
    run("submit", *place, "--out", world / "said.json")
    assert "9 instructions of split test" in capsys.readouterr().out
    policy = "--pragmatic weighs the choices of a learned policy on a belief; leave out --planner"
    for words, message in (
        (("--planner",), policy),
        (("--pragmatic-weight", -1), "--pragmatic-weight must not be negative, got -1"),
        (("--pragmatic", "landmarks-agent"), "landmarks-agent does not speak"),
    ):
        with pytest.raises(SystemExit, match="1"):
            run("eval", "vln", *place, *words)
        assert message in capsys.readouterr().err


def test_published_rows_are_not_set_beside_procedural_houses(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marker = world / "root" / "world.json"
    words = ("eval", "vln", "--baseline", "stop", "--data", world / "root", "--split", "dev_unseen", "--examples", 2)
    for houses in (True, False):
        if houses:
            marker.write_text("{}")
        run(*words, "--device", "cpu")
        marker.unlink(missing_ok=True)
        assert ("[1]" in capsys.readouterr().out) is not houses


def test_mistakes_are_explained(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stored = load_checkpoint(find_checkpoint(world / "agent"))
    experiment = load_run(world / "agent").experiment
    goal, true, words = world / "goal.safetensors", world / "true.safetensors", world / "seq2seq"
    save_checkpoint(goal, stored.tensors, {**stored.about, "experiment": experiment_values(without_acting(experiment))})
    knowing = replace(experiment, train=replace(experiment.train, true_beliefs=True))
    save_checkpoint(true, stored.tensors, {**stored.about, "experiment": experiment_values(knowing)})
    cases = {
        "ghosts submit: goal predicts goals and was not trained to act; add --planner": ("submit", "--run", goal),
        "ghosts eval: goal predicts goals and was not trained to act; add": ("eval", "vln", "--run", goal),
        f"{true} acts on the true trajectory, which no test split shows": ("submit", "--run", true),
        "did you mean 'random'": ("eval", "vln", "--baseline", "randon"),
        "nothing to evaluate": ("eval", "vln", "--baseline", "none"),
        "unknown split 'val_unsen'": ("eval", "vln", "--split", "val_unsen"),
        f"{words} predicts no goals; score how it acts with: ghosts eval vln --run {words}": (
            "eval",
            "goal",
            "--run",
            words,
        ),
        "leave out --planner": ("eval", "vln", "--run", world / "seq2seq", "--planner"),
        "did you mean 'tiny-agent'": ("train", "vln", "--preset", "tiny-agnt"),
        "did you mean 'vln'": ("train", "vlm"),
    }
    for message, line in cases.items():
        data = ("--data", world / "root") if len(line) > 2 else ()
        with pytest.raises(SystemExit, match="1"):
            run(*line, *data)
        assert message in capsys.readouterr().err


def test_goal_evaluation_reads_an_agents_filter(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(
        *("eval", "goal", "--run", world / "agent", "--data", world / "root", "--split", "dev_unseen"),
        *("--examples", "4", "--device", "cpu", "--threads", "0"),
    )
    assert "Success rate" in capsys.readouterr().out
