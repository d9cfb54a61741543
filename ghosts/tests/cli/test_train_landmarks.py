"""What of the landmarks is shown, by command-line options, from training through the checkpoint to evaluation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ghosts.data.dataset import open_dataset
from ghosts.run.load import load_run
from ghosts.weights.checkpoint import LAST, load_checkpoint
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from landmark_world import make_landmark_root
from trainings import small_options

SMALL = small_options()


@pytest.mark.parametrize(
    ("option", "missing"),
    [
        ("--landmarks.no-floor", {"structure"}),
        ("--landmarks.no-objects", {"object"}),
        ("--landmarks.no-rooms", {"room"}),
        ("--landmarks.floor", set()),
    ],
)
def test_each_part_can_be_left_out(combs: Path, tmp_path: Path, option: str, missing: set[str]) -> None:
    run = tmp_path / "run"
    main(["train", "goal", *SMALL, option, "--data", str(combs), "--out", str(run)])
    reading = load_run(run).reading
    tiles = open_dataset(DataRoot(combs), reading).bank.labels
    assert reading.labels is not None
    assert tiles is not None
    shown = {reading.labels.labels[number].kind for number in np.unique(tiles.label)}
    assert shown == {"structure", "object", "room"} - missing
    table = tmp_path / "table"
    where = ["--data", str(combs), "--split", "dev_unseen", "--device", "cpu", "--out", str(table)]
    main(["eval", "goal", "--run", str(run), *where])
    (summary,) = table.glob("*.json")
    assert len(json.loads(summary.read_text())["splits"]["dev_unseen"]["models"]["tiny"]["success"]["steps"]) == 8


def test_words_and_labels_by_their_meaning(tmp_path: Path) -> None:
    """The run needs no file beside the package's to be loaded, and knows labels that it was not trained on."""
    data = make_landmark_root(tmp_path / "root")
    options = ["--landmarks.vectors", "--model.language.vectors", "--data", str(data), "--out", str(tmp_path / "run")]
    main(["train", "goal", *SMALL, *options])
    run = load_run(tmp_path / "run" / LAST)
    assert run.reading.open_words
    assert run.reading.vocabulary is not None
    assert run.reading.vocabulary.stand_ins(["settee"]) == ["sofa"]
    assert run.reading.vocabulary.id("amid") >= len(run.reading.vocabulary)
    learned = {name.removesuffix(".weight") for name in load_checkpoint(tmp_path / "run" / LAST).tensors}
    for embedding in ("language.encoder.embedding", "features.embedding"):
        assert {f"model/{embedding}.own", f"model/{embedding}.project"} <= learned
    file = data / "landmarks" / "comb3.json"
    file.write_text(file.read_text().replace('"bed"', '"abbey"'))
    found = open_dataset(DataRoot(data), run.reading)
    assert found.labels is not None
    assert [label.name for label in found.labels.new] == ["abbey"]
    assert found.labels == run.reading.labels
