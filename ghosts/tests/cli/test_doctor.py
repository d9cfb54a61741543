"""A sound root is called healthy; every kind of damage is named with its file and the next command."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch

import made
from checks import unchecked
from ghosts.data.examples import DEV_UNSEEN, load_splits
from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
from ghosts.data.tile_store import TileSettings
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import weights_hash
from ghosts.run.doctor import diagnose
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.matterport.panorama import PrepareConfig, Prepared, make_note, write_panorama
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
        main(["doctor", "--data", str(root), *more])
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
    assert [task["ready"] for task in value["tasks"]] == [True] + 7 * [False]  # what can be run comes first


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
    "truncated world": (
        lambda root: (root / "world.json").write_text('{"kind": "procedural hou'),
        "world.json: not valid JSON",
        "run the command again that made this world",
    ),
    "truncated colour": (lambda root: cut(colour(root)), "truncated JPEG", "ghosts prepare --raw SCANS"),
    "truncated depth": (lambda root: cut(depth(root)), "truncated PNG", f"--scan {SCAN} --faces 32 --again"),
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
    "labels": (
        lambda root: colour(root).with_name(f"{colour(root).name[:-9]}label_small.png").write_bytes(b"x" * 99),
        "neither a JPEG nor a PNG",
        "ghosts prepare",
    ),
    "smaller labels": (
        lambda root: paint(
            colour(root).with_name(f"{colour(root).name[:-9]}label_small.png"), np.zeros((16, 96), np.uint8)
        ),
        "faces of 16 px, colour has 32 px",
        "ghosts prepare",
    ),
    "a pipe for a list": (
        lambda root: ((root / "connectivity/scans.txt").unlink(), os.mkfifo(root / "connectivity/scans.txt")),
        "not a regular file",
        "copy <scan>_conn",
    ),
    "two sizes": (
        lambda root: write_skybox(root / PICTURES, viewpoint_id(2), 1, 16),
        "faces of different sizes: 16 px",
        f"--scan {SCAN} --faces 32 --again",
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
    last = text.rstrip().splitlines()[-1]
    assert last == f"nothing is wrong, but nothing can be run yet; next: ghosts prepare --raw SCANS --out {root}"


NOTED = PrepareConfig(64, "undistorted", "top-left", parallax=False)
OPTIONS = "--faces 64 --colour undistorted --origin top-left --no-parallax"


def prepared(path: Path, **faces: int) -> Path:
    """A root whose depth files carry the notes of `ghosts prepare`; a building a name, with faces of so many pixels."""
    make_image_root(path, {"train": tuple(faces)})
    for file in (path / "scans").rglob("*_skybox_label_small.png"):
        file.unlink()  # only houses have labels
    for scan, face_px in faces.items():
        random = np.random.default_rng(face_px)
        note = make_note(replace(NOTED, faces=face_px), Prepared(0.0, 0.0, 0.1, 1.0, 0.0))
        for file in sorted((path / "scans" / scan).rglob("*_skybox_small.jpg")):
            rgb = random.integers(0, 255, (face_px, 6 * face_px, 3), dtype=np.uint8)
            readings = random.integers(2000, 9000, (face_px, 6 * face_px), dtype=np.uint16)
            write_panorama(file, file.with_name(file.name.replace("small.jpg", "depth_small.png")), rgb, readings, note)
    return path


def test_advice_keeps_the_settings_of_the_pictures(tmp_path: Path) -> None:
    root = prepared(tmp_path / "root", a=64, b=64, c=128)
    command = f"ghosts prepare --raw SCANS --out {root}"
    # The last run, with other settings, is the one that spoilt the root.
    row = {"panoramas": 3, "prepared": 3, "agreement": 0.5}
    summary = {"config": asdict(PrepareConfig(128)), "scans": {"a": row}, "missing": {"b/x": "x.png missing"}}
    (root / "prepare.json").write_text(json.dumps(summary))
    unit = f"{viewpoint_id(0)}"
    found = {item.problem: item for item in diagnose(root).findings if item.part == "images"}
    sizes = found[f"faces of different sizes: 64 px (a/{unit}), 128 px (c/{unit})"]
    assert (sizes.where, sizes.next) == (str(root / "scans" / "c"), f"{command} --scan c {OPTIONS} --again")
    missing = found["1 panoramas could not be made, first b/x: x.png missing"]
    assert missing.next == f"{command} {OPTIONS} (after downloading what is missing)"
    cameras = found["cameras of a panorama of a agree on only 50 % of what two of them see"]
    options = OPTIONS.replace("--origin top-left ", "")
    assert cameras.next == f"{command} --scan a {options} (without --origin)"

    shutil.rmtree(root / "scans" / "a")
    tasks = {task.name: task for task in diagnose(root).tasks}
    assert tasks["training, paper"].next.startswith(f"{command} --scan a --faces")
    (root / "scans" / "b" / "matterport_skybox_images" / f"{unit}_skybox_small.jpg").write_bytes(b"")
    shutil.rmtree(root / "scans" / "c")
    tasks = {task.name: task for task in diagnose(root).tasks}
    assert tasks["simulator with pictures"].next == f"{command} --scan b {OPTIONS} --again"
    assert tasks["training, paper"].next == f"{command} --scan a --scan b --scan c {OPTIONS} --again"
    shutil.rmtree(root / "scans")
    assert diagnose(root).tasks[0].next == f"{command} --faces 128"  # all that is left is the summary


@pytest.mark.parametrize(
    ("splits", "option"),
    [
        ({"train": "abc", "val_seen": "a", "val_unseen": "d"}, " --select val_seen"),
        ({"train": "abc", "val_unseen": "d"}, " --select val_unseen"),
        ({"train": "abc"}, " --select train"),
        ({"train": "abcd", "val_seen": "a"}, ""),
    ],
)
def test_a_split_to_choose_on_is_named_where_dev_unseen_cannot_be_made(
    tmp_path: Path, splits: dict[str, str], option: str
) -> None:
    root = make_image_root(tmp_path / "root", {name: tuple(scans) for name, scans in splits.items()})
    assert [task.command for task in diagnose(root).tasks[-2:]] == [
        f"ghosts train goal --preset paper --data {root} --out runs/paper{option}",
        f"ghosts train vln --preset paper-agent --data {root} --out runs/paper-agent{option}",
    ]
    assert (DEV_UNSEEN in load_splits(DataRoot(root), 3)) == (not option)


@pytest.mark.parametrize("left", ["", "[]", '[{"scan": "elsewhere"}]'])
def test_no_training_path_in_the_prepared_scans(root: Path, left: str) -> None:
    (root / TRAIN).unlink() if not left else (root / TRAIN).write_text(left)
    task = diagnose(root).tasks[-2]
    assert (task.ready, task.lacks) == (False, "a training path (none lies in the scans of this root)")
    command = f"ghosts prepare --raw SCANS --out {root} --faces 32 --connectivity FOLDER --r2r FOLDER"
    assert task.next == f"{command} (with more scans in SCANS)"


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
        main(["doctor", "--data", str(tmp_path / "none")])
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
        ("demo/world-1/connectivity/x", "no data root, but the folder of world-1", "demo/world-1"),
        ("a1/undistorted_depth_images/v_d0_0.png", "the raw Matterport3D release (1 scan)", "ghosts prepare --raw"),
    ],
)
def test_a_folder_that_is_no_root_is_told_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], make: str, what: str, command: str
) -> None:
    if make:
        (tmp_path / make).parent.mkdir(parents=True)
        (tmp_path / make).write_bytes(b"")
    looked = tmp_path / "demo" if make.startswith("demo") else tmp_path
    with pytest.raises(SystemExit) as stop:
        main(["doctor", "--data", str(looked)])
    assert stop.value.code == 1
    text = capsys.readouterr().err
    assert f"{looked}: {what}" in text
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


def test_what_the_shipped_agent_can_be_tried_with(tmp_path: Path) -> None:
    """A world of one house, as the demo makes it, has no training path and can be looked at all the same."""
    root = make_landmark_root(tmp_path / "root")
    for file in (root / "r2r").glob("*train*"):
        file.unlink()
    ready = [task.name for task in diagnose(root).tasks if task.ready]
    assert ready == [f"{what}, landmarks-agent" for what in ("viewer", "report", "evaluation")]


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
    found = diagnose(path)
    [finding] = [item for item in found.findings if item.level == "wrong"]
    assert (finding.part, finding.problem) == ("tiles", "the pictures of b have changed")
    [task] = [task for task in found.tasks if task.name == "training, houses-filter"]
    assert (task.ready, task.lacks) == (False, "tiles of b as the pictures are now")
    assert task.next.startswith(f"ghosts tiles --data {path}")
    file = path / "tiles" / "tiles.safetensors"
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    [finding] = [item for item in diagnose(path).findings if item.level == "wrong"]
    assert finding.where == str(file)
    assert "checksum differs" in finding.problem
    assert finding.next.startswith("ghosts tiles --data")


def test_instructions_are_held_against_the_houses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = shutil.copytree(made.small_world(), tmp_path / "world")
    file = root / "r2r" / "R2R_train.json"
    episodes = json.loads(file.read_text(encoding="utf-8"))
    count = 2 * made.SMALL.paths * 3
    with unchecked():
        assert f"instructions: {count} checked against their houses, 0 untrue" in run(root, capsys)[1]
        episodes[2]["instructions"][1] = "Walk into the garage."
        file.write_text(json.dumps(episodes), encoding="utf-8")
        code, text = run(root, capsys)
    assert code != 0
    assert f"{count} checked against their houses, 1 untrue" in text
    said = f"instruction {episodes[2]['path_id']}_1 is not true of house {episodes[2]['scan']}"
    assert f"wrong: {file}: {said}: enter 'walk into the garage': not there; next: ghosts world --out {root} " in text
