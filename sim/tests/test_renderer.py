"""Sweeps and data roots."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from ghosts_sim import geometry
from ghosts_sim.camera import faces_in_view, sample_depth_m, sample_rgb
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.renderer import SWEEP_CAMERA, PanoramaRenderer, for_each
from ghosts_sim.types import Intrinsics
from makers import SCAN, episode_record, make_root, viewpoint_id, walked_episodes


def test_sweep_is_the_paper_s_and_each_view_is_right(root: Path) -> None:
    data = DataRoot(root)
    renderer = PanoramaRenderer(data.graph, data.panoramas())
    sweep = renderer.sweep([SCAN, SCAN], [viewpoint_id(1), viewpoint_id(3)])
    assert sweep.rgb.shape == (2, 12, 256, 320, 3)
    assert sweep.depth_m.shape == (2, 12, 256, 320)
    graph = data.graph(SCAN)
    for number, row in enumerate((1, 3)):
        panorama = data.panoramas().load(SCAN, viewpoint_id(row))
        for view in (0, 5, 11):
            heading = view * math.pi / 6
            seen = faces_in_view(
                SWEEP_CAMERA, graph.rotation[row], heading, math.radians(-30), panorama.face_px
            ).ready()
            np.testing.assert_array_equal(sweep.rgb[number, view], sample_rgb(panorama, seen))
            expected = sample_depth_m(panorama, seen)
            np.testing.assert_array_equal(sweep.depth_m[number, view], expected)
            pose = geometry.camera_to_world(graph.position_m[row], heading, math.radians(-30))
            np.testing.assert_allclose(sweep.camera_to_world[number, view], pose)


def test_threads_and_caches_do_not_change_the_images(root: Path) -> None:
    data = DataRoot(root)
    names = [viewpoint_id(row) for row in (0, 1, 2, 3, 0, 2)]
    camera = Intrinsics(40, 30, 1.0)
    plain = PanoramaRenderer(data.graph, data.panoramas(cache_bytes=0), threads=1)
    busy = PanoramaRenderer(data.graph, data.panoramas(), threads=4)
    expected = plain.sweep([SCAN] * 6, names, camera=camera)
    for _ in range(2):
        found = busy.sweep([SCAN] * 6, names, camera=camera)
        np.testing.assert_array_equal(found.rgb, expected.rgb)
        np.testing.assert_array_equal(found.depth_m, expected.depth_m)


def test_work_is_shared_out_and_errors_come_back() -> None:
    done: list[int] = []
    for_each(done.append, 50, threads=4)
    assert sorted(done) == list(range(50))

    def fail(item: int) -> None:
        if item == 3:
            raise ValueError(f"item {item}")

    for threads in (1, 2, 8):
        with pytest.raises(ValueError, match="item 3"):
            for_each(fail, 6, threads)
    for_each(fail, 0)


def test_data_root_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ghosts world --out"):
        DataRoot(tmp_path / "none")
    (tmp_path / "bare").mkdir()
    with pytest.raises(DataError, match="no connectivity/ folder"):
        DataRoot(tmp_path / "bare")
    data = DataRoot(make_root(tmp_path / "root", images=False))
    with pytest.raises(UnknownNameError, match="did you mean 'train'"):
        data.episodes("trian")
    with pytest.raises(UnknownNameError, match="unknown scan"):
        data.graph("nowhere")
    with pytest.raises(DataError, match=r"no scans/ folder.*ghosts prepare --raw"):
        data.panoramas()
    (tmp_path / "root" / "world.json").write_text('{"command": "ghosts world --out DIR --houses 3"}')
    with pytest.raises(DataError, match=r"no scans/ folder.*ghosts world --out .*root --houses 3"):
        data.panoramas()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scan": "other"}, "scan without navigation graph"),
        ({"path": [viewpoint_id(0), viewpoint_id(77)]}, "no such viewpoint in scan"),
        (
            {"path": [viewpoint_id(0), viewpoint_id(2)]},
            f"nobody can walk straight from viewpoint {viewpoint_id(0)} to {viewpoint_id(2)}",
        ),
    ],
)
def test_paths_are_checked_against_the_graph(tmp_path: Path, change: dict, words: str) -> None:
    root = make_root(tmp_path / "root", images=False)
    (root / "r2r" / "R2R_train.json").write_text(json.dumps([{**episode_record(3), **change}]))
    with pytest.raises(DataError, match=words) as caught:
        DataRoot(root).episodes("train")
    assert "record 3" in str(caught.value)


def test_opening_a_data_root_does_not_import_torch(root: Path) -> None:
    code = (
        "import sys; from ghosts_sim.dataroot import DataRoot; from ghosts_sim.renderer import PanoramaRenderer;"
        f"d = DataRoot({str(root)!r}); d.graph({SCAN!r}); d.episodes('train'); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_ninety_buildings_cost_little_memory(navigation: Path, tmp_path: Path) -> None:
    """Opening seven real buildings, repeated to 90, and as many paths as R2R stays under 300 MB of resident memory."""
    files = sorted((navigation / "connectivity").glob("*_connectivity.json"))
    folder, r2r = tmp_path / "root" / "connectivity", tmp_path / "root" / "r2r"
    folder.mkdir(parents=True)
    r2r.mkdir()
    random, train = np.random.default_rng(0), []
    for number in range(90):
        source, name = files[number % len(files)], f"building{number:02d}"
        (folder / f"{name}_connectivity.json").symlink_to(source)
        if number < len(files):
            walked = walked_episodes(name, json.loads(source.read_text()), 167, random, 1000 * number)
            train += [{**record, "path_id": record["path_id"] + 200 * k} for k in range(4) for record in walked]
    assert len(train) == 4676
    (r2r / "R2R_train.json").write_text(json.dumps(train))
    (r2r / "R2R_val_seen.json").write_text(json.dumps(train[:340]))
    code = (
        "import os; os.fsync = lambda file: None;"  # as in `conftest`
        "from pathlib import Path; from ghosts_sim.dataroot import DataRoot;"
        f"d = DataRoot({str(tmp_path / 'root')!r}); [d.graph(s) for s in d.scans]; assert len(d.scans) == 90;"
        "d.episodes('train'); d.episodes('val_seen');"
        # Not getrusage: its maximum is inherited from the process that started this one.
        "print(next(row.split()[1] for row in Path('/proc/self/status').open() if row.startswith('VmHWM')))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) / 1024 < 300


def _render_in_fork() -> None:
    for_each(lambda item: None, 4, threads=2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_process_renders_too() -> None:
    """OpenCV's threads are not forked: a process that waited for them would wait for ever (Gymnasium forks)."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(4)
    cv2.GaussianBlur(np.zeros((512, 512), np.uint8), (0, 0), 3)  # starts OpenCV's threads
    forked = multiprocessing.get_context("fork").Process(target=_render_in_fork)
    forked.start()
    forked.join(60)
    try:
        assert forked.exitcode == 0
        assert cv2.getNumThreads() == 4
    finally:
        forked.kill()
        cv2.setNumThreads(before)
