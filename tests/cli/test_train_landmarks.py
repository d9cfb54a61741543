"""What of the landmarks is shown, by command-line options, from training through the checkpoint to evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ghosts.cli import main
from ghosts.data.dataset import open_dataset
from ghosts.run.load import load_run
from ghosts.weights.checkpoint import LAST, load_checkpoint
from ghosts.world.dataroot import DataRoot
from landmark_world import make_landmark_root

SMALL = [
    *("--preset", "tiny", "--device", "cpu", "--model.mapper.rows", "32", "--model.mapper.cols", "32"),
    *("--model.mapper.features", "8", "--model.mapper.channels", "8", "--train.batch", "4", "--train.iterations", "2"),
    *("--train.log-every", "2", "--train.evaluate-every", "2", "--select-examples", "4"),
]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_landmark_root(tmp_path_factory.mktemp("combs") / "root")


@pytest.mark.parametrize(
    ("option", "missing"),
    [
        ("--landmarks.no-floor", {"structure"}),
        ("--landmarks.no-objects", {"object"}),
        ("--landmarks.no-rooms", {"room"}),
        ("--landmarks.floor", set()),
    ],
)
def test_each_part_can_be_left_out(data: Path, tmp_path: Path, option: str, missing: set[str]) -> None:
    run = tmp_path / "run"
    main(["train", "goal", *SMALL, option, "--data", str(data), "--out", str(run)])
    reading = load_run(run).reading
    tiles = open_dataset(DataRoot(data), reading).bank.labels
    assert reading.labels is not None
    assert tiles is not None
    shown = {reading.labels.labels[number].kind for number in np.unique(tiles.label)}
    assert shown == {"structure", "object", "room"} - missing
    table = tmp_path / "table"
    where = ["--data", str(data), "--splits", "dev_unseen", "--device", "cpu", "--out", str(table)]
    main(["eval", "goal", "--run", str(run), *where])
    (summary,) = table.glob("*.json")
    assert len(json.loads(summary.read_text())["splits"]["dev_unseen"]["models"]["tiny"]["success"]["steps"]) == 8


def test_nothing_to_see(data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    options = [f"--landmarks.no-{name}" for name in ("floor", "objects", "rooms")]
    with pytest.raises(SystemExit):
        main(["train", "goal", *SMALL, *options, "--data", str(data), "--out", str(tmp_path)])
    captured = capfd.readouterr()
    text = " ".join((captured.out + captured.err).replace("│", " ").split())
    assert "objects, rooms and floor are all off: nothing to see" in text


def test_word_vectors(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are recorded with the run; the trained model is loaded and goes on without the file."""
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("chair 1 0\nlamp 0 1\nsofa 1 1\n")
    run = tmp_path / "run"
    arguments = ["train", "goal", *SMALL, "--landmarks.word-vectors", str(vectors), "--data", str(data)]
    main([*arguments, "--out", str(run)])
    assert "vectors.txt: 3 of " in capsys.readouterr().out
    record = load_checkpoint(run / LAST).about["word_vectors"]
    assert (record["file"], record["found"], record["dimension"]) == ("vectors.txt", 3, 2)
    vectors.unlink()
    assert load_run(run / LAST).experiment.landmarks.word_vectors == str(vectors)
    with pytest.raises(SystemExit):
        main([*arguments, "--out", str(tmp_path / "other")])
    assert "no such file" in capsys.readouterr().err
