"""`ghosts tiles` makes, keeps, complains; `ghosts backbone` trains, and its file is given to it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ghosts.config import DataConfig
from ghosts.data.dataset import open_dataset
from ghosts.data.reading import reading_of
from ghosts.data.tile_store import JOINED
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import load_backbone, save_backbone
from ghosts.weights.checkpoint import load_checkpoint
from ghosts_houses.render.scene import LABELS
from ghosts_sim.cli import main as ghosts
from ghosts_sim.dataroot import DataRoot
from image_roots import make_image_root
from landmark_world import small_experiment
from makers import make_root


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A data root and a backbone."""
    torch.manual_seed(0)
    save_backbone(tmp_path / "b.safetensors", SmallBackbone(8), [], {})
    return make_image_root(tmp_path / "root", {"train": ("a", "b")}, count=2), tmp_path / "b.safetensors"


def test_makes_tiles_once(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    root, backbone = files
    arguments = ["tiles", "--data", str(root), "--backbone", str(backbone), "--device", "cpu"]
    ghosts(arguments)
    output = capsys.readouterr().out
    assert "2 of 2 buildings to make: about 0 MB" in output
    assert "2 buildings made, 0 were up to date" in output
    bank = open_dataset(DataRoot(root), reading_of(replace(small_experiment(), data=DataConfig("images")))).bank
    assert len(bank.numbers) == 4
    assert bank.features is not None
    assert bank.features.shape[1] == 8
    before = (root / "tiles" / JOINED).stat().st_ino
    ghosts(arguments)
    assert "0 buildings made, 2 were up to date" in capsys.readouterr().out
    assert (root / "tiles" / JOINED).stat().st_ino == before
    ghosts([*arguments, "--cell-m", "0.25"])
    assert "2 buildings made, 0 were up to date" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--data": "nowhere"}, "no such folder"),
        ({"--backbone": "nowhere.safetensors"}, "train one with: ghosts backbone"),
        ({"--device": "tpu"}, "device must be cpu, cuda or auto"),
        ({"--batch": "0"}, "--batch must be at least 1, got 0"),
    ],
)
def test_complains(
    files: tuple[Path, Path], capsys: pytest.CaptureFixture[str], change: dict[str, str], message: str
) -> None:
    options = {"--data": str(files[0]), "--backbone": str(files[1]), "--device": "cpu"} | change
    with pytest.raises(SystemExit) as caught:
        ghosts(["tiles", *(word for pair in options.items() for word in pair)])
    assert caught.value.code == 1
    assert message in capsys.readouterr().err


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
