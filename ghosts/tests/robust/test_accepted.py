"""Files that were accepted though wrong, or ended in a traceback, and are refused in words now."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from crafted import respoilt
from forked import Forked
from ghosts.config import from_dict, to_dict
from ghosts.data.tile_store import JOINED, read_tiles
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.run.load import load_run
from ghosts.view.record_json import from_json, to_json
from ghosts.weights.checkpoint import load_checkpoint
from ghosts_sim.cli import main
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.graph import load_graph
from ghosts_sim.matterport.conf import parse_conf
from ghosts_sim.matterport.graphs import take_episodes, take_graphs
from ghosts_sim.matterport.prepare import SUMMARY, write_summary
from landmark_world import SCANS, small_experiment


def told(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """What a command that refuses prints."""
    with pytest.raises(SystemExit) as caught:
        main([str(word) for word in words])
    assert caught.value.code == 1
    return capsys.readouterr().err


@pytest.fixture
def root(combs: Path, tmp_path: Path) -> Path:
    """A data root of its own."""
    return Path(shutil.copytree(combs, tmp_path / "root"))


def test_a_scan_listed_twice(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`ghosts tiles` never ended, and the doctor counted the building twice."""
    root = Path(shutil.copytree(photos, tmp_path / "root"))
    (root / "connectivity" / "scans.txt").write_text("houseA\nhouseB\nhouseA\n")
    expected = "scans.txt: listed twice (got 'houseA'); remove one of the two lines"
    assert expected in told(capsys, "tiles", "--data", root, "--backbone", "houses-backbone", "--device", "cpu")
    with pytest.raises(SystemExit):
        main(["doctor", "--data", str(root)])
    captured = capsys.readouterr()
    assert "listed twice" in captured.out


def episodes_of(root: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    path = root / "r2r" / "R2R_train.json"
    records = json.loads(path.read_text())
    change(records[0])
    path.write_text(json.dumps(records))
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda item: item.update(heading=1e39), "field 'heading': expected a finite number of radians"),
        (lambda item: item.update(distance=-1.0), "field 'distance': expected a finite number of metres"),
        (lambda item: item.update(instructions=["go \ud800"]), "half a character"),
        (lambda item: item.update(path=item["path"][::-2]), "nobody can walk straight"),
        (lambda item: item.pop("heading"), "field 'heading': missing"),
    ],
)
def test_episodes_are_checked_before_they_are_taken(
    root: Path, tmp_path: Path, change: Callable[[dict[str, Any]], object], words: str
) -> None:
    episodes_of(root, change)
    take_graphs(root / "connectivity", tmp_path / "new", list(SCANS))
    with pytest.raises(DataError, match=words):
        take_episodes(root / "r2r", tmp_path / "new", list(SCANS))
    assert not (tmp_path / "new" / "r2r").exists()


def test_taking_a_folder_into_itself_keeps_it(root: Path) -> None:
    before = (root / "r2r" / "R2R_train.json").read_bytes()
    assert take_episodes(root / "r2r", root, ["none"])["train"] == (0, 40)
    assert (root / "r2r" / "R2R_train.json").read_bytes() == before


@pytest.mark.parametrize("name", ["/etc/hostname", "../x", "a\0b", "a\nb", ".", "", "x" * 300])
def test_viewpoints_that_are_paths(root: Path, name: str) -> None:
    path = root / "connectivity" / f"{SCANS[0]}_connectivity.json"
    records = json.loads(path.read_text())
    records[0]["image_id"] = name
    path.write_text(json.dumps(records))
    with pytest.raises(DataError, match=r"field 'image_id': cannot be part of a file's name"):
        load_graph(path)
    path.write_text(json.dumps(records).replace('"image_id": ', '"image_id": "x", "image_id": ', 1))
    with pytest.raises(DataError, match="twice"):
        load_graph(path)


SETTINGS = {
    "hidden": (lambda s: s["model"]["language"].update(hidden=200_000), "do not fit the settings"),
    "hidden, 12 GB": (lambda s: s["model"]["language"].update(hidden=20_000), "do not fit the settings"),
    "channels": (lambda s: s["model"]["mapper"].update(channels=10**7), "do not fit the settings"),
    "features": (lambda s: s["model"]["mapper"].update(features=10**8), "do not fit the settings"),
    "kernel": (lambda s: s["model"]["mapper"].update(kernel=100_001), "do not fit the settings"),
    "rows": (lambda s: s["model"]["mapper"].update(rows=20_000), "mapper.rows must be at most 1024"),
    "vocabulary": (
        lambda s: s["model"]["language"].update(vocabulary=1 << 40),
        r"language\.vocabulary must lie in 3\.\.",
    ),
    "levels": (
        lambda s: s["model"]["filter"]["observation"].update(levels=70_000),
        "observation.levels must lie in 1..64",
    ),
    "held out": (
        lambda s: s["train"].update(hold_out="x"),
        "hold_out must be a whole number or nothing, got 'x'",
    ),
    "steps": (lambda s: s["model"]["language"].update(steps=10**9), "language.steps must lie in 1..256"),
    "no name": (lambda s: s.pop("name"), r"experiment\.name is missing"),
    "method": (lambda s: s.update(method=["ghost"]), "field 'experiment': expected an object that names its method"),
    "purpose": (lambda s: s.update(purpose=["goal"]), "field 'purpose': expected goal or vln"),
}


@pytest.mark.parametrize("kind", SETTINGS)
def test_settings_in_a_checkpoint(run: Path, tmp_path: Path, kind: str) -> None:
    change, words = SETTINGS[kind]
    settings = json.loads(json.dumps(load_checkpoint(run).about["experiment"]))
    change(settings)
    with pytest.raises(DataError, match=words):
        load_run(respoilt(run, tmp_path / "x.safetensors", experiment=settings))


def test_lists_and_choices_in_settings() -> None:
    sound = to_dict(small_experiment())
    assert from_dict(FilterExperiment, json.loads(json.dumps(sound)), "x").name == "tiny"
    with pytest.raises(
        ConfigError, match=r"x\.data\.observation must be one of landmarks, images, any, got 'pictures'"
    ):
        from_dict(FilterExperiment, sound | {"data": {"observation": "pictures"}}, "x")


def test_cameras_beyond_belief() -> None:
    lens = "intrinsics_matrix 1076 0 630.1 0 1076.1 510.2 0 0 1\n"
    line = "scan v_d0_0.png v_i0_0.jpg 1 0 0 {} 0 1 0 0.25 0 0 1 1.5 0 0 0 1\n"
    assert parse_conf(lens + line.format(0.5), Path("x.conf"))["v"]
    for far in ("1e39", "-1e308", "2e6"):
        with pytest.raises(DataError, match=r"x\.conf, line 2: no camera has numbers beyond 1000000 \(got "):
            parse_conf(lens + line.format(far), Path("x.conf"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda value: value["frames"][0].update(seen_m2=None), "field 'seen_m2': expected a finite number"),
        (lambda value: value["frames"][0].update(confidence=float("nan")), "field 'confidence'"),
        (lambda value: value["frames"][0].update(error_m=1e308), "field 'error_m'"),
        (lambda value: value["frames"][0]["choice"].update(moves=""), "field 'choice.moves': expected viewpoints"),
        (lambda value: value["frames"][0]["choice"].update(visited=[1.0]), "field 'choice.visited'"),
        (lambda value: value["frames"][0].update(goal_xy_m=[0.0, float("inf")]), "field 'goal_xy_m'"),
        (lambda value: value.update(start_heading_rad="x"), "field 'start_heading_rad'"),
        (lambda value: value.update(walk=[1, 2]), "malformed"),
        (lambda value: value.update(instr_id=0), "malformed"),
        (lambda value: value["frames"][0].update(goal_seen=1), "malformed"),
        (lambda value: value["motion"]["language"][0][0].__setitem__(0, float("nan")), "field 'motion'"),
        (lambda value: value["unknown"].__setitem__(0, 0.5), "malformed"),
        (lambda value: value["action_attention"].pop(), "malformed"),
        (lambda value: value["action_attention"][0].__setitem__(0, float("nan")), "malformed"),
    ],
)
def test_records(record: Any, change: Callable[[dict[str, Any]], object], words: str) -> None:
    value = json.loads(json.dumps(to_json(record)))
    assert from_json(value).scan == record.scan
    change(value)
    with pytest.raises(DataError, match=words):
        from_json(value)


@pytest.mark.parametrize("scan", [[], {}, None, "../x", 7])
def test_the_index_of_tiles(photos: Path, tmp_path: Path, scan: object) -> None:
    content = (photos / "tiles" / JOINED).read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    index = json.loads(header["__metadata__"]["index"])
    index["buildings"][0]["scan"] = scan
    header["__metadata__"]["index"] = json.dumps(index)
    written = json.dumps(header).encode()
    (tmp_path / JOINED).write_bytes(len(written).to_bytes(8, "little") + written + content[8 + length :])
    with pytest.raises(DataError, match="the list of its buildings is damaged"):
        read_tiles(tmp_path / JOINED)


def test_a_summary_of_many_digits(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(shutil.copytree(photos, tmp_path / "root"))
    (root / "prepare.json").write_text('{"scans": {"houseA": {"prepared": ' + "9" * 4000 + "}}}")
    with pytest.raises(SystemExit):
        main(["doctor", "--data", str(root)])
    assert "Traceback" not in capsys.readouterr().err


def test_a_terminal_without_letters(combs: Path, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with ± in it on a terminal of ASCII is printed, and the file is written."""
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, encoding="ascii"))
    main(f"eval goal --run {run} --data {combs} --out {tmp_path / 'out'} --examples 2 --device cpu".split())
    sys.stdout.flush()
    text = printed.getvalue().decode("ascii")
    assert "dev_unseen: 2 instructions of 2 paths" in text
    assert "?" in text
    assert (tmp_path / "out" / "goal.json").is_file()


SMALL = ("--rooms", "5", "7", "--storeys", "1", "1")


def test_ctrl_c_with_workers(tmp_path: Path) -> None:
    """Both the command and its workers get the signal, as from a terminal; one line is all that is printed."""

    def command(*words: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" starts programs deaf to it
        main([str(word) for word in words])

    words = ["world", "--out", tmp_path, "--houses", "400", "--paths", "2", "--workers", "2", "--no-images", *SMALL]
    process = Forked(partial(command, *words), session=True)
    process.wait_until(lambda: bool(list(tmp_path.glob("houses/*.json"))))
    os.killpg(process.pid, signal.SIGINT)
    assert process.end() == 130
    assert process.errors() == "ghosts world: interrupted; the same command goes on where it stopped\n"


def test_prepared_twice_at_once(tmp_path: Path) -> None:
    """Summaries of two processes that prepare different scans hold both."""

    def write(name: str) -> None:
        for k in range(60):
            write_summary(tmp_path, {"config": {}, "scans": {f"{name}{k}": {}}, "missing": {}})

    both = [Forked(partial(write, name)) for name in "ab"]
    assert [process.end() for process in both] == [0, 0]
    write_summary(tmp_path, {"config": {}, "scans": {}, "missing": {}})
    assert set(json.loads((tmp_path / SUMMARY).read_text())["scans"]) == {
        f"{name}{k}" for name in "ab" for k in range(60)
    }
