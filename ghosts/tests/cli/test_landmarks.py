"""`ghosts landmarks` on a small building, and its advice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ghosts.run.doctor import diagnose
from ghosts_sim.cli import main as ghosts
from ghosts_sim.dataroot import DataRoot

SCAN = "tiny1"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """One viewpoint that lists a lamp straight ahead and a bed somewhere."""
    folder = tmp_path / "raw"
    for name in ("connectivity", "BBox", "regions", "r2r"):
        (folder / name).mkdir(parents=True)
    pose = [1.0, 0, 0, 0, 0, 1.0, 0, 0, 0, 0, 1.0, 1.5, 0, 0, 0, 1.0]
    flags = {"visible": [False], "unobstructed": [False]}
    record = {"image_id": "v", "pose": pose, "included": True, "height": 1.5} | flags
    (folder / "connectivity" / f"{SCAN}_connectivity.json").write_text(json.dumps([record]))
    (folder / "connectivity" / "scans.txt").write_text(f"{SCAN}\n")
    (folder / "regions" / f"{SCAN}.panorama_to_region.txt").write_text("0 v 0 b\n")
    lamp = {"name": "lamp", "visible_pos": [12], "bbox2d": [[310, 230, 20, 20]]}
    bed = {"name": "bed", "visible_pos": [], "bbox2d": []}
    (folder / "BBox" / f"{SCAN}_v.json").write_text(json.dumps({"v": {"1": lamp, "2": bed}}))
    path = {"path_id": 1, "scan": SCAN, "path": ["v"], "heading": 0.0, "distance": 0.0, "instructions": ["Stay."]}
    (folder / "r2r" / "R2R_train.json").write_text(json.dumps([path]))
    return folder


def with_more_buildings(raw: Path) -> Path:
    """Three buildings more, each with a path of its own; the last one has none to train on."""
    for number, scan in enumerate(("tiny2", "tiny3", "tiny4"), 2):
        for folder, name in (("connectivity", "{}_connectivity.json"), ("regions", "{}.panorama_to_region.txt")):
            shutil.copyfile(raw / folder / name.format(SCAN), raw / folder / name.format(scan))
        shutil.copyfile(raw / "BBox" / f"{SCAN}_v.json", raw / "BBox" / f"{scan}_v.json")
        split = raw / "r2r" / ("R2R_val_unseen.json" if scan == "tiny4" else "R2R_train.json")
        records = json.loads((raw / "r2r" / "R2R_train.json").read_text())
        mine = records[0] | {"path_id": number, "scan": scan}
        split.write_text(json.dumps([mine] if scan == "tiny4" else [*records, mine]))
    (raw / "connectivity" / "scans.txt").write_text("tiny1\ntiny2\ntiny3\ntiny4\n")
    return raw


def arguments(raw: Path, out: Path, *more: str) -> list[str]:
    named = ("connectivity", "regions")
    return [
        "landmarks",
        *(word for name in named for word in (f"--{name}", str(raw / name))),
        *("--bbox", str(raw / "BBox"), "--out", str(out), *more),
    ]


def test_makes_a_complete_root_with_r2r(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "root"
    ghosts(arguments(raw, out, "--r2r", str(raw / "r2r")))
    root = DataRoot(out)
    assert (root.scans, root.splits, root.has_landmarks) == ([SCAN], ["train"], True)
    assert len(root.episodes("train")) == 1
    summary = json.loads((out / "landmarks" / "summary.json").read_text())
    assert summary["objects"] == 2
    assert summary["methods"]["ray"]["objects"] == summary["methods"]["near"]["objects"] == 1
    printed = capsys.readouterr().out
    assert "1 buildings written, 0 were up to date" in printed
    assert "Not a complete data root" not in printed


def test_a_root_of_some_buildings_is_complete_in_itself(raw: Path, tmp_path: Path) -> None:
    out, r2r = tmp_path / "root", str(with_more_buildings(raw) / "r2r")
    ghosts(arguments(raw, out, "--r2r", r2r, "--scan", "tiny1", "--scan", "tiny3"))
    root = DataRoot(out)
    assert (root.scans, root.splits) == (["tiny1", "tiny3"], ["train"])
    assert sorted(file.name for file in (out / "connectivity").iterdir()) == [
        "scans.txt", "tiny1_connectivity.json", "tiny3_connectivity.json",
    ]  # fmt: skip
    assert [episode.scan for episode in root.episodes("train")] == ["tiny1", "tiny3"]
    assert [finding for finding in diagnose(out).findings if finding.part != "images"] == []
    # What was there before stays a part of it.
    ghosts(arguments(raw, out, "--r2r", r2r, "--scan", "tiny4", "--scan", "tiny1"))
    root = DataRoot(out)
    assert (root.scans, root.splits) == (["tiny1", "tiny3", "tiny4"], ["train", "val_unseen"])
    assert [finding for finding in diagnose(out).findings if finding.part != "images"] == []


def test_buildings_without_training_paths_are_refused_before_the_work(
    raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        ghosts(arguments(with_more_buildings(raw), tmp_path / "root", "--r2r", str(raw / "r2r"), "--scan", "tiny4"))
    told = capsys.readouterr().err
    assert "R2R_train.json: no path through tiny4; add a building with training paths, such as --scan tiny1" in told
    assert not (tmp_path / "root").exists()


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda raw: (raw / "regions" / f"{SCAN}.panorama_to_region.txt").unlink(), "panorama_to_region.txt"),
        (
            lambda raw: (raw / "regions" / f"{SCAN}.panorama_to_region.txt").write_text("0 w 0 b\n"),
            f"viewpoints of this file and of {SCAN}_connectivity.json differ",
        ),
        (lambda raw: (raw / "connectivity" / f"{SCAN}_connectivity.json").unlink(), "no <scan>_connectivity.json"),
        (lambda raw: (raw / "BBox" / f"{SCAN}_v.json").write_text("{"), "not valid JSON"),
        (lambda raw: (raw / "r2r" / "R2R_train.json").unlink(), "no R2R_*.json in this folder"),
    ],
)
def test_errors_exit_with_one_line(raw: Path, tmp_path: Path, capsys, break_it, message: str) -> None:
    break_it(raw)
    with pytest.raises(SystemExit) as caught:
        ghosts(arguments(raw, tmp_path / "root", "--r2r", str(raw / "r2r")))
    assert caught.value.code == 1
    assert message in capsys.readouterr().err


def test_unknown_scan_suggests(raw: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ghosts(arguments(raw, tmp_path / "root", "--scan", "tiny2"))
    assert "did you mean 'tiny1'" in capsys.readouterr().err
