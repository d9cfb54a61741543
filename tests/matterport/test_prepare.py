"""Whole releases: the same bytes however the work is done, and after any interruption."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import sleep

import cv2
import numpy as np
import pytest

from ghosts_houses.render.panorama import frames_of
from ghosts_houses.render.raycast import Frames, cast
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.images import read_skybox_depth, read_skybox_rgb
from ghosts_sim.matterport.graphs import take_episodes, take_graphs
from ghosts_sim.matterport.panorama import PrepareConfig, read_note
from ghosts_sim.matterport.prepare import (
    check_space,
    find_prepared,
    plan_release,
    prepare_release,
    summarise,
    write_summary,
)
from ghosts_sim.matterport.raw import COLOUR, DEPTH, PARAMETERS, SKYBOX, RawRelease
from ghosts_sim.renderer import PanoramaRenderer
from ghosts_sim.store import PanoramaStore
from ghosts_sim.types import Intrinsics, Pose
from matterport.release import SCAN, ReleaseConfig, Shot, make_shots, scene, write_graph, write_release

SMALL = PrepareConfig(64)


def digests(root: Path) -> dict[str, str]:
    files = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def prepare_all(raw: Path, root: Path, config: PrepareConfig = SMALL, workers: int = 1) -> dict[str, str]:
    release = RawRelease([raw])
    plan = plan_release(release, root, config)
    failed = prepare_release([raw], root, config, plan.todo, workers)
    assert failed == {}
    write_summary(root, summarise(release, root, config, plan))
    return digests(root)


@pytest.fixture(scope="module")
def one(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Prepared in one process."""
    root = tmp_path_factory.mktemp("one") / "root"
    return root, prepare_all(raw, root)


def test_files_are_what_the_simulator_reads(one: tuple[Path, dict[str, str]], shots: list[Shot]) -> None:
    root, found = one
    assert len(found) == 2 * len(shots) + 1
    store = PanoramaStore(root / "scans")
    for shot in shots:
        panorama = store.load(SCAN, shot.viewpoint)
        assert panorama.face_px == 64
        note = read_note(store.paths(SCAN, shot.viewpoint)[1], SMALL)
        assert note is not None
        assert panorama.depth is not None
        assert note.holes_after == round(float((panorama.depth == 0).mean()), 6)


def test_ranks_share_the_work_and_write_the_same_bytes(
    raw: Path, one: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    release = RawRelease([raw])
    shares = [plan_release(release, tmp_path, SMALL, share=(rank, 2)).todo for rank in range(2)]
    assert [len(share) for share in shares] == [1, 1]
    for rank in (1, 0):
        plan = plan_release(release, tmp_path, SMALL, share=(rank, 2))
        prepare_release([raw], tmp_path, SMALL, plan.todo)
    write_summary(tmp_path, summarise(release, tmp_path, SMALL, plan_release(release, tmp_path, SMALL)))
    assert digests(tmp_path) == one[1]


# Dies as if killed from outside: after the colour file of the second panorama, before its depth file.
KILLED = """
import os, signal, sys
from pathlib import Path
import ghosts_sim.matterport.panorama as panorama
from ghosts_sim.matterport.prepare import plan_release, prepare_release
from ghosts_sim.matterport.raw import RawRelease
writes, write = [], panorama.write_image
def dying(*arguments, **options):
    write(*arguments, **options)
    writes.append(1)
    if len(writes) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
panorama.write_image = dying
raw, root = map(Path, sys.argv[1:])
config = panorama.PrepareConfig(64)
prepare_release([raw], root, config, plan_release(RawRelease([raw]), root, config).todo)
"""


def test_goes_on_after_kill_9(raw: Path, one: tuple[Path, dict[str, str]], shots: list[Shot], tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, raw, tmp_path], capture_output=True, timeout=120)
    assert done.returncode == -signal.SIGKILL
    first = find_prepared(tmp_path, SCAN, shots[0].viewpoint, SMALL)
    assert first is not None
    assert find_prepared(tmp_path, SCAN, shots[1].viewpoint, SMALL) is None
    kept = PanoramaStore(tmp_path / "scans").paths(SCAN, shots[0].viewpoint)[1]
    before = kept.stat().st_mtime_ns
    assert plan_release(RawRelease([raw]), tmp_path, SMALL).todo == ((SCAN, shots[1].viewpoint),)
    assert prepare_all(raw, tmp_path) == one[1]
    assert kept.stat().st_mtime_ns == before


def test_damaged_panoramas_are_made_again(
    raw: Path, one: tuple[Path, dict[str, str]], shots: list[Shot], tmp_path: Path
) -> None:
    root = Path(shutil.copytree(one[0], tmp_path / "root"))
    colour, depth, _ = PanoramaStore(root / "scans").paths(SCAN, shots[0].viewpoint)
    for path, change in ((depth, lambda data: data[:-99] + bytes(9) + data[-90:]), (colour, lambda data: data[:-99])):
        whole = path.read_bytes()
        path.write_bytes(change(whole))
        assert find_prepared(root, SCAN, shots[0].viewpoint, SMALL) is not None  # its note is sound
        assert plan_release(RawRelease([raw]), root, SMALL).todo == ((SCAN, shots[0].viewpoint),)
        path.write_bytes(whole)
    assert plan_release(RawRelease([raw]), root, SMALL).todo == ()


@pytest.fixture(scope="module")
def eight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Raw files of eight tiny panoramas."""
    config = ReleaseConfig(80, 64, 67.0, 66.5, (2, -2), skybox_px=48, discs=4)
    shots = make_shots(config, 4)
    shots += [
        replace(shot, viewpoint=shot.viewpoint[::-1], position_m=(x + 0.2, y + 0.1, z))
        for shot in shots
        for x, y, z in [shot.position_m]
    ]
    folder = tmp_path_factory.mktemp("eight")
    write_release(folder, config, shots)
    return folder


def finished(root: Path) -> list[Path]:
    return sorted(root.glob("scans/*/*/*_skybox_depth_small.png"))


def test_two_processes_and_kill_9_give_the_bytes_of_one(eight: Path, tmp_path: Path) -> None:
    tiny = PrepareConfig(32)
    one = prepare_all(eight, tmp_path / "one", tiny)
    assert len(one) == 2 * 8 + 1

    killed = tmp_path / "killed"
    command = [
        sys.executable,
        "-c",
        "from ghosts_sim.cli import main; main()",
        "prepare",
        "--raw",
        eight,
        "--out",
        killed,
    ]
    words = [str(word) for word in [*command, "--faces", 32, "--workers", 2]]
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: bool(finished(killed)) or run.poll() is not None)
    assert run.poll() is None
    workers = children(run.pid)
    assert len(workers) >= 2
    run.kill()
    assert run.wait() == -signal.SIGKILL
    wait_until(lambda: not any(alive(worker) for worker in workers))  # they notice that nobody waits for them
    before = {path: path.stat().st_mtime_ns for path in finished(killed)}
    assert 1 <= len(before) < 8
    assert prepare_all(eight, killed, tiny, workers=2) == one
    assert all(path.stat().st_mtime_ns == written for path, written in before.items())


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(20_000):
        if condition():
            return
        sleep(0.005)
    raise AssertionError("still not so after 100 s")


def children(process: int) -> list[int]:
    """Processes started by another, from Linux's list of them."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        found += [int(entry.name)] if parent == process else []
    return found


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_other_settings_make_all_again(raw: Path, one: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(one[0], root)
    release = RawRelease([raw])
    assert plan_release(release, root, SMALL).todo == ()
    for other in (PrepareConfig(48), PrepareConfig(64, "undistorted"), PrepareConfig(64, origin="top-left")):
        assert len(plan_release(release, root, other).todo) == 2
    after = prepare_all(raw, root, PrepareConfig(64, "undistorted"))
    assert after.keys() == one[1].keys()
    assert all(after[name] != one[1][name] for name in after)


def test_the_simulator_sees_the_rooms(
    raw: Path, one: tuple[Path, dict[str, str]], shots: list[Shot], tmp_path: Path
) -> None:
    """Prepared files with the released graph: views of any heading show what stands there."""
    root = tmp_path / "root"
    config = PrepareConfig(192)
    prepare_all(raw, root, config)
    assert take_graphs(raw.parents[1] / "connectivity", root, [SCAN]) == []
    data = DataRoot(root)
    renderer = PanoramaRenderer(data.graph, data.panoramas())
    camera = Intrinsics(128, 96, 1.0)
    sweep = renderer.sweep([SCAN], [shots[1].viewpoint], camera=camera, headings=6, elevation_rad=-0.3)
    for number in range(6):
        frame: Frames = frames_of([Pose(*shots[1].position_m, number * np.pi / 3.0, -0.3)], camera, "cpu")
        hits = cast(scene(), frame)
        z = (hits.distance / np.linalg.norm(frame.rays(), axis=-1))[0]
        assert (np.abs(sweep.depth_m[0, number] - z) < 0.02 * z).mean() > 0.93, number
    summary = summarise(RawRelease([raw]), root, config, plan_release(RawRelease([raw]), root, config))
    assert summary["scans"][SCAN]["graph_turn_deg"] < 0.01
    assert summary["scans"][SCAN]["graph_shift_m"] < 0.003


def test_a_wrong_graph_shows_in_the_summary(raw: Path, one: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    root = tmp_path / "root"
    path = raw.parents[1] / "connectivity" / f"{SCAN}_connectivity.json"
    records = json.loads(path.read_text())
    for record in records:
        pose = np.array(record["pose"]).reshape(4, 4)
        pose[:3, :3] = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) @ pose[:3, :3]
        record["pose"] = pose.ravel().tolist()
    (root / "connectivity").mkdir(parents=True)
    (root / "connectivity" / path.name).write_text(json.dumps(records))
    release = RawRelease([raw])
    row = summarise(release, root, SMALL, plan_release(release, root, SMALL))["scans"][SCAN]
    assert row["graph_turn_deg"] == pytest.approx(90.0, abs=0.01)


def test_what_cannot_be_made_is_told_and_the_rest_is_made(raw: Path, shots: list[Shot], tmp_path: Path) -> None:
    spoilt = tmp_path / "raw"
    shutil.copytree(raw, spoilt)
    (spoilt / SCAN / DEPTH / f"{shots[0].viewpoint}_d1_2.png").unlink()
    face = spoilt / SCAN / SKYBOX / f"{shots[1].viewpoint}_skybox3_sami.jpg"
    face.write_bytes(face.read_bytes()[:2000])
    release = RawRelease([spoilt])
    plan = plan_release(release, tmp_path / "out", SMALL)
    assert plan.incomplete == {(SCAN, shots[0].viewpoint): f"{DEPTH}/{shots[0].viewpoint}_d1_2.png missing"}
    failed = prepare_release([spoilt], tmp_path / "out", SMALL, plan.todo)
    assert "truncated JPEG" in failed[SCAN, shots[1].viewpoint]
    assert str(face) in failed[SCAN, shots[1].viewpoint]
    summary = summarise(release, tmp_path / "out", SMALL, plan, failed)
    assert summary["scans"][SCAN]["prepared"] == 0
    assert len(summary["missing"]) == 2
    with pytest.raises(UnknownNameError, match="unknown scan 'attic'"):
        plan_release(release, tmp_path / "out", SMALL, ["attic"])
    with pytest.raises(DataError, match=r"need about .* MB are free; choose another folder"):
        check_space(tmp_path, 10**9, SMALL)


def test_episodes_of_other_scans_are_left_out(raw: Path, shots: list[Shot], tmp_path: Path) -> None:
    episode = {
        "distance": 2.2,
        "scan": SCAN,
        "path_id": 1,
        "path": [shot.viewpoint for shot in shots],
        "heading": 0.0,
        "instructions": ["Go to the passage."],
    }
    other = {**episode, "scan": "elsewhere", "path_id": 2}
    source = tmp_path / "source"
    source.mkdir()
    (source / "R2R_train.json").write_text(json.dumps([episode, other]))
    (source / "R2R_val_unseen.json").write_text(json.dumps([other]))
    assert take_episodes(source, tmp_path / "root", [SCAN]) == {"train": (1, 2), "val_unseen": (0, 1)}
    take_graphs(raw.parents[1] / "connectivity", tmp_path / "root", [SCAN, "elsewhere"])
    root = DataRoot(tmp_path / "root")
    assert root.scans == [SCAN]
    assert root.splits == ["train"]
    assert [item.path_id for item in root.episodes("train")] == [1]
    with pytest.raises(DataError, match=r"no R2R_<split>\.json here"):
        take_episodes(tmp_path, tmp_path / "root", [SCAN])
    with pytest.raises(DataError, match="no navigation graph of these scans"):
        take_graphs(tmp_path, tmp_path / "root", [SCAN])


def test_the_note_does_not_disturb_readers(one: tuple[Path, dict[str, str]], shots: list[Shot], tmp_path: Path) -> None:
    colour, depth, _ = PanoramaStore(one[0] / "scans").paths(SCAN, shots[0].viewpoint)
    assert read_skybox_rgb(colour).shape == (64, 384, 3)
    assert read_skybox_depth(depth).shape == (64, 384)
    (tmp_path / "cut.png").write_bytes(depth.read_bytes()[:60])
    (tmp_path / "text.png").write_text("no picture")
    for name in ("cut.png", "text.png", "none.png"):
        assert read_note(tmp_path / name, SMALL) is None


def spoilt_release(raw: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(raw, tmp_path / "spoilt"))


def rewrite(raw: Path, kind: str, viewpoint: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change some images of a kind of one panorama."""
    for file in sorted((raw / SCAN / kind).glob(f"{viewpoint}_*"))[:9]:
        image = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        assert image is not None
        assert cv2.imwrite(str(file), change(image))


@pytest.mark.parametrize(
    ("kind", "change", "words"),
    [
        (DEPTH, lambda image: image[::2, ::2], r"the depth image 0_0 has 80 × 64 pixels, its camera's centre is at \("),
        # Half of them, cut by so little that the centre is still near the middle.
        (DEPTH, lambda image: image[:-2], "the depth image ._. has 160 × 12[68] pixels, most others 160 × 12[68]"),
        (COLOUR, lambda image: image[::2, ::2], "the colour image 0_0 has 80 × 64 pixels"),
    ],
)
def test_images_of_another_size_are_refused(
    raw: Path, shots: list[Shot], tmp_path: Path, kind: str, change: Callable[[np.ndarray], np.ndarray], words: str
) -> None:
    """Nine images of one panorama at half their size: the other panoramas are made."""
    spoilt, config = spoilt_release(raw, tmp_path), replace(SMALL, colour="undistorted")
    rewrite(spoilt, kind, shots[0].viewpoint, change)
    plan = plan_release(RawRelease([spoilt]), tmp_path / "root", config)
    failed = prepare_release([spoilt], tmp_path / "root", config, plan.todo)
    assert list(failed) == [(SCAN, shots[0].viewpoint)]
    assert re.search(words, failed[SCAN, shots[0].viewpoint])


def test_a_panorama_without_any_depth_is_refused(raw: Path, shots: list[Shot], tmp_path: Path) -> None:
    spoilt = spoilt_release(raw, tmp_path)
    for file in (spoilt / SCAN / DEPTH).glob(f"{shots[0].viewpoint}_*"):
        image = cv2.imread(str(file), cv2.IMREAD_UNCHANGED)
        assert image is not None
        cv2.imwrite(str(file), np.zeros_like(image))
    plan = plan_release(RawRelease([spoilt]), tmp_path / "root", SMALL)
    failed = prepare_release([spoilt], tmp_path / "root", SMALL, plan.todo)
    assert "no depth reading in any of its images" in failed[SCAN, shots[0].viewpoint]


def test_one_damaged_camera_file_costs_its_own_scan(raw: Path, shots: list[Shot], tmp_path: Path) -> None:
    """The summary is written all the same, and names what is missing."""
    spoilt = spoilt_release(raw, tmp_path)
    other = "zzOther"
    shutil.copytree(spoilt / SCAN, spoilt / other)
    for file in (spoilt / other / PARAMETERS).iterdir():
        file.write_text("scan rubbish\n")
        file.rename(file.with_name(f"{other}.conf"))
    root = tmp_path / "root"
    write_graph(root / "connectivity", shots)
    shutil.copyfile(
        root / "connectivity" / f"{SCAN}_connectivity.json", root / "connectivity" / f"{other}_connectivity.json"
    )
    release = RawRelease([spoilt])
    plan = plan_release(release, root, SMALL)
    failed = prepare_release([spoilt], root, SMALL, plan.todo)
    summary = summarise(release, root, SMALL, plan, failed)
    assert (summary["scans"][SCAN]["prepared"], summary["scans"][other]["prepared"]) == (len(shots), 0)
    assert set(summary["missing"]) == {f"{other}/{shot.viewpoint}" for shot in shots}
    assert summary["scans"][SCAN]["lowest_agreement"] <= summary["scans"][SCAN]["agreement"]


def test_a_viewpoint_of_the_graph_without_raw_images_is_told(raw: Path, shots: list[Shot], tmp_path: Path) -> None:
    write_graph(tmp_path / "connectivity", shots)
    path = tmp_path / "connectivity" / f"{SCAN}_connectivity.json"
    records = json.loads(path.read_text())
    for record in records:
        for name in ("visible", "unobstructed"):
            record[name].append(False)
    records.append(records[0] | {"image_id": "lonely", "visible": [False] * 3, "unobstructed": [False] * 3})
    for name in ("visible", "unobstructed"):
        records[-1][name] = [False] * len(records)
    path.write_text(json.dumps(records))
    release = RawRelease([raw])
    plan = plan_release(release, tmp_path, SMALL)
    prepare_release([raw], tmp_path, SMALL, plan.todo)
    told = summarise(release, tmp_path, SMALL, plan)["missing"]
    assert list(told) == [f"{SCAN}/lonely"]
    assert "without raw images: download them, or take it out of the graph" in told[f"{SCAN}/lonely"]


def test_the_scan_one_stands_in(raw: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(raw / SCAN)
    assert RawRelease([Path()]).scans == [SCAN]
