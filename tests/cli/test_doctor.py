"""A sound root is called healthy; every kind of damage is named with its file and the next command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

from ghosts.cli import main
from ghosts.learn.backbone import weights_hash
from ghosts.learn.doctor import diagnose
from ghosts.learn.image_tiles import TileMaker, build_tiles, plan_work
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.tile_store import TileSettings
from ghosts.world.dataroot import DataRoot
from image_roots import make_image_root, write_labelled_skybox
from landmark_world import make_landmark_root
from makers import SCAN, make_root, viewpoint_id, write_skybox

PICTURES = f"scans/{SCAN}/matterport_skybox_images"


def colour(root: Path, row: int = 1) -> Path:
    return root / PICTURES / f"{viewpoint_id(row)}_skybox_small.jpg"


def depth(root: Path, row: int = 1) -> Path:
    return root / PICTURES / f"{viewpoint_id(row)}_skybox_depth_small.png"


def run(root: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, str]:
    try:
        main(["doctor", str(root), *more])
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    return code, capsys.readouterr().out


def test_a_sound_root(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(root, capsys)
    assert code == 0
    assert "1 scans, 4 viewpoints" in text
    assert "pictures of 1 scans, faces of 32 px; landmarks of 0" in text
    assert "test 1, train 2" in text
    assert "ready: simulator with pictures" in text
    assert "not ready: training, paper: lacks tiles with 768 channels; next: ghosts tiles --data" in text
    assert text.rstrip().endswith("healthy")
    code, text = run(root, capsys, "--json")
    value = json.loads(text)
    assert value["healthy"] is True
    assert value["inventory"]["pictured"] == [SCAN]
    assert [task["ready"] for task in value["tasks"]] == [True, False, False, False, False]


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-200])


def paint(path: Path, value: np.ndarray) -> None:
    assert cv2.imwrite(str(path), value)


def edit(path: Path, change: Callable[[list], object]) -> None:
    records = json.loads(path.read_text())
    change(records)
    path.write_text(json.dumps(records))


GRAPH, TRAIN = f"connectivity/{SCAN}_connectivity.json", "r2r/R2R_train.json"
DAMAGE: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "truncated colour": (lambda root: cut(colour(root)), "truncated JPEG", "ghosts prepare --raw SCANS"),
    "truncated depth": (lambda root: cut(depth(root)), "truncated PNG", f"--scan {SCAN} --again"),
    "empty file": (lambda root: depth(root).write_bytes(b""), "the file is empty", "ghosts prepare"),
    "no colour": (lambda root: colour(root).unlink(), "colour of 1 of 4 viewpoints", "ghosts prepare"),
    "no depth": (lambda root: depth(root).unlink(), "depth of 1 of 4 viewpoints", "ghosts prepare"),
    "one colour": (lambda root: paint(colour(root), np.full((32, 192, 3), 7, np.uint8)), "same colour", "ghosts"),
    "no reading": (
        lambda root: paint(depth(root), np.zeros((32, 192), np.uint16)),
        "no depth reading at all",
        "ghosts",
    ),
    "one distance": (lambda root: paint(depth(root), np.full((32, 192), 9, np.uint16)), "every reading is", "ghosts"),
    "8 bit": (lambda root: paint(depth(root), np.zeros((32, 192), np.uint8)), "expected a 16-bit image", "ghosts"),
    "not six faces": (lambda root: paint(colour(root), np.eye(32, dtype=np.uint8)), "six square faces", "ghosts"),
    "smaller depth": (
        lambda root: paint(depth(root), np.arange(16 * 96, dtype=np.uint16).reshape(16, 96)),
        "faces of 16 px, colour has 32 px",
        "ghosts prepare",
    ),
    "two sizes": (
        lambda root: write_skybox(root / PICTURES, viewpoint_id(2), 1, 16),
        "faces of different sizes: 16 px",
        "",
    ),
    "broken graph": (lambda root: (root / GRAPH).write_text("[{]"), "not valid JSON", "take the released file again"),
    "no scans": (lambda root: (root / "connectivity/scans.txt").write_text(""), "names no scan", "copy <scan>_conn"),
    "unknown viewpoint": (
        lambda root: edit(root / TRAIN, lambda records: records[0]["path"].append("nowhere")),
        "no such viewpoint in scan",
        "take the released file again",
    ),
    "wrong length": (
        lambda root: edit(root / TRAIN, lambda records: [item.update(distance=99.0) for item in records]),
        "2 of 2 paths are not as long as they say",
        "",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(root: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    spoil, problem, command = DAMAGE[name]
    spoil(root)
    code, text = run(root, capsys)
    assert code == 1
    [line] = [line for line in text.splitlines() if line.startswith("wrong: ") and problem in line]
    assert command in line
    assert str(root) in line
    assert text.rstrip().endswith("something is wrong")


def test_missing_parts_are_no_illness(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = make_root(tmp_path / "root", images=False)
    for path in (root / "r2r").iterdir():
        path.unlink()
    code, text = run(root, capsys)
    assert code == 0
    assert f"no pictures; next: ghosts prepare --raw SCANS --out {root}" in text
    assert "no R2R_<split>.json; next: ghosts prepare" in text
    assert "not ready: training, paper: lacks a usable R2R_train.json" in text


def test_pictures_of_a_used_scan_must_be_there(root: Path) -> None:
    (root / "scans" / SCAN).rename(root / "scans" / "other")
    found = diagnose(root)
    assert not found.healthy
    assert any("which paths run through" in item.problem for item in found.findings)


def test_a_sample_looks_at_some(root: Path) -> None:
    asked: list[tuple[int, int]] = []
    cut(colour(root, 1))
    found = diagnose(root, sample=2, report=lambda done, total: asked.append((done, total)))
    assert asked == [(1, 2), (2, 2)]  # viewpoints 0 and 2
    assert found.healthy
    assert not diagnose(root).healthy


def test_no_root_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["doctor", str(tmp_path / "none")])
    assert stop.value.code == 1
    assert "expected a data root" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("make", "what", "command"),
    [
        ("", "an empty folder", "ghosts world --out"),
        (
            "notes/todo.txt",
            "no data root (no connectivity/, scans/ or r2r/)",
            "ghosts landmarks --bbox FOLDER --regions",
        ),
        (
            "scans/a/matterport_skybox_images/x.jpg",
            "a data root without its navigation graphs",
            "--connectivity FOLDER",
        ),
        ("a1/undistorted_depth_images/v_d0_0.png", "the raw Matterport3D release (1 scan)", "ghosts prepare --raw"),
    ],
)
def test_a_folder_that_is_no_root_is_told_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: str, what: str, command: str
) -> None:
    if make:
        (tmp_path / make).parent.mkdir(parents=True)
        (tmp_path / make).write_bytes(b"")
    with pytest.raises(SystemExit) as stop:
        main(["doctor", str(tmp_path)])
    assert stop.value.code == 1
    text = capsys.readouterr().err
    assert f"{tmp_path}: {what}" in text
    assert command in text


@pytest.mark.parametrize(
    ("change", "level", "problem", "command"),
    [
        ({}, None, "", ""),
        ({"agreement": 0.5}, "wrong", "agree on only 50 % of what two of them see", "(without --origin)"),
        ({"graph_turn_deg": 90.0}, "wrong", "turned against each other by 90.0°", "take the released graph"),
        ({"prepared": 3}, "note", "1 panoramas could not be made, first", "after downloading what is missing"),
    ],
)
def test_what_prepare_found_out_is_told(
    root: Path, change: dict[str, float], level: str | None, problem: str, command: str
) -> None:
    row = {"panoramas": 4, "prepared": 4, "agreement": 0.99, "graph_turn_deg": 0.1} | change
    missing = {f"{SCAN}/{viewpoint_id(3)}": "x.png missing"} if row["prepared"] == 3 else {}
    (root / "prepare.json").write_text(json.dumps({"scans": {SCAN: row}, "missing": missing}))
    found = [item for item in diagnose(root).findings if item.where.endswith("prepare.json")]
    assert [item.level for item in found] == ([level] if level else [])
    assert all(problem in item.problem and command in item.next for item in found)


def test_a_summary_that_is_none(root: Path) -> None:
    (root / "prepare.json").write_text('{"scans": []}')
    assert [item.problem for item in diagnose(root).findings if item.level == "wrong"] == [
        "not a summary of ghosts prepare"
    ]


def test_landmarks(tmp_path: Path) -> None:
    root = make_landmark_root(tmp_path / "root")
    found = diagnose(root)
    assert found.healthy
    assert {task.name: task.ready for task in found.tasks}["training, landmarks-filter"]
    path = root / "landmarks" / "comb2.json"
    path.write_text(path.read_text().replace("position_m", "position_ft", 1))
    found = diagnose(root)
    [finding] = [item for item in found.findings if item.level == "wrong"]
    assert (finding.part, finding.where) == ("landmarks", str(path))
    assert "position_m" in finding.problem
    [task] = [task for task in found.tasks if task.name == "training, landmarks-filter"]
    assert (task.ready, task.lacks) == (False, "landmarks of comb2")


def test_tiles_that_are_damaged_or_out_of_date(tmp_path: Path) -> None:
    path = make_image_root(tmp_path / "root", {"train": ("a", "b")})
    torch.manual_seed(0)
    model = SmallBackbone(64).eval().requires_grad_(False)
    root = DataRoot(path)
    maker = TileMaker(root, model, TileSettings(weights_hash(model), 64, 0.5), torch.device("cpu"))
    assert build_tiles(maker, path / "tiles", plan_work(maker, path / "tiles"))
    found = diagnose(path)
    assert found.healthy
    ready = {task.name: task.ready for task in found.tasks}
    assert (ready["training, houses-filter"], ready["training, paper"]) == (True, False)
    assert any("there are some with 64" in task.lacks for task in found.tasks)

    pictures = path / "scans" / "b" / "matterport_skybox_images"
    write_labelled_skybox(pictures, viewpoint_id(0), np.random.default_rng(9), 32)
    [finding] = [item for item in diagnose(path).findings if item.level == "wrong"]
    assert (finding.part, finding.problem) == ("tiles", "the pictures of b have changed")
    file = path / "tiles" / "tiles.safetensors"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    [finding] = [item for item in diagnose(path).findings if item.level == "wrong"]
    assert finding.where == str(file)
    assert "checksum differs" in finding.problem
    assert finding.next.startswith("ghosts tiles --data")
