"""`ghosts backbone` on a small world, and its file given to `ghosts tiles`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ghosts.mapping.saved_backbone import load_backbone
from ghosts.weights.checkpoint import load_checkpoint
from ghosts_houses.render.scene import LABELS
from ghosts_sim.cli import main as ghosts
from image_roots import make_image_root
from makers import make_root


def test_trains_and_describes_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_image_root(tmp_path / "root", {"train": ("a", "b"), "val_unseen": ("c",)}, count=2)
    out = tmp_path / "weights" / "b.safetensors"
    small = ["--train.width", "32", "--train.height", "32", "--train.batch", "4", "--train.held-out-views", "6"]
    arguments = ["backbone", "--data", str(root), "--out", str(out), "--device", "cpu", "--iterations", "3", *small]
    ghosts(arguments)
    output = capsys.readouterr().out
    assert "2 panoramas of 1 houses, scored on 2 of 1 others" in output
    assert "pixel_accuracy" in output
    about = load_checkpoint(out).about
    assert about["houses"] == ["a"]
    assert about["labels"] == list(LABELS)
    assert about["config"]["iterations"] == 3
    assert {"command", "torch", "ghosts", "scores"} <= about.keys()
    rows = [json.loads(line) for line in out.with_suffix(".log.jsonl").read_text().splitlines()]
    trained = ["episodes_per_s", "iteration", "learning_rate", "loss", "waiting"]
    assert [sorted(row) for row in rows] == [trained, ["iteration", "mean_iou", "pixel_accuracy"]]
    assert load_backbone(out).channels == 64
    with pytest.raises(SystemExit):
        ghosts(arguments)
    assert "there already; remove it" in capsys.readouterr().err


def test_wants_safetensors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ghosts(["backbone", "--data", str(make_root(tmp_path / "root")), "--out", str(tmp_path / "b.pt")])
    assert "end --out in .safetensors" in capsys.readouterr().err
