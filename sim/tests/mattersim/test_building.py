"""What simulators share: each file is read once, and forgotten with the last simulator."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ghosts_sim.mattersim as MatterSim
import ghosts_sim.mattersim.v1 as older
from ghosts_sim.graph import load_graph
from ghosts_sim.mattersim import building
from ghosts_sim.store import Panorama, PanoramaStore
from makers import SCAN, connectivity_records, viewpoint_id, write_skybox

CACHE, LARGE = 20, 35  # panoramas that are kept, and that a building has


@pytest.fixture
def graphs_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the connectivity files that were read."""
    read: list[str] = []

    def count(path: Path) -> Any:
        read.append(path.name)
        return load_graph(path)

    monkeypatch.setattr(building, "load_graph", count)
    return read


@pytest.fixture
def panoramas_read(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Scans and viewpoints whose pictures were decoded."""
    read: list[tuple[str, str]] = []
    load = PanoramaStore._read

    def count(self: PanoramaStore, scan: str, viewpoint: str) -> Panorama:
        read.append((scan, viewpoint))
        return load(self, scan, viewpoint)

    monkeypatch.setattr(PanoramaStore, "_read", count)
    return read


def make_buildings(folder: Path, sizes: dict[str, int]) -> Path:
    """Data root of corridors whose panoramas are all one picture."""
    (folder / "connectivity").mkdir(parents=True)
    (folder / "connectivity" / "scans.txt").write_text("\n".join(sizes))
    write_skybox(folder, "all", 0, face_px=8)
    for scan, count in sizes.items():
        records = connectivity_records(count, excluded=(2,))
        (folder / "connectivity" / f"{scan}_connectivity.json").write_text(json.dumps(records))
        pictures = folder / "scans" / scan / "matterport_skybox_images"
        pictures.mkdir(parents=True)
        for row in range(count):
            for kind in ("small.jpg", "depth_small.png"):
                os.link(folder / f"all_skybox_{kind}", pictures / f"{viewpoint_id(row)}_skybox_{kind}")
    return folder


def simulator(root: Path, batch: int = 1, *, preloading: bool = False, rendering: bool = True) -> MatterSim.Simulator:
    sim = MatterSim.Simulator()
    sim.setDatasetPath(str(root / "scans"))
    sim.setNavGraphPath(str(root / "connectivity"))
    sim.setCameraResolution(16, 12)
    sim.setBatchSize(batch)
    sim.setPreloadingEnabled(preloading)
    sim.setRenderingEnabled(rendering)
    return sim


def test_preloading_reads_each_panorama_of_a_large_building_once(
    tmp_path: Path, panoramas_read: list[tuple[str, str]]
) -> None:
    """More panoramas than the cache holds: each is read once, and never again."""
    sim = simulator(make_buildings(tmp_path / "root", {"large": LARGE, "small": 4}), 2, preloading=True)
    sim.setCacheSize(CACHE)
    for _ in range(2):
        for row in range(3, LARGE):
            sim.newEpisode(["large", "small"], [viewpoint_id(row), viewpoint_id(row % 2)], [0, 0], [0, 0])
    included = [("large", row) for row in range(LARGE) if row != 2] + [("small", row) for row in (0, 1, 3)]
    assert sorted(panoramas_read) == [(scan, viewpoint_id(row)) for scan, row in included]


def test_a_panorama_that_cannot_be_preloaded_is_named(tmp_path: Path, panoramas_read: list[tuple[str, str]]) -> None:
    root = make_buildings(tmp_path / "root", {"house": 5})
    missing = root / "scans" / "house" / "matterport_skybox_images" / f"{viewpoint_id(3)}_skybox_small.jpg"
    kept = missing.read_bytes()
    missing.unlink()
    sim = simulator(root, preloading=True)
    with pytest.raises(ValueError, match=viewpoint_id(3)):
        sim.newEpisode(["house"], [viewpoint_id(0)], [0], [0])
    missing.write_bytes(kept)
    sim.newEpisode(["house"], [viewpoint_id(0)], [0], [0])
    assert sim.getState()[0].rgb.any()


def test_simulators_share_what_they_have_read(
    tmp_path: Path, graphs_read: list[str], panoramas_read: list[tuple[str, str]]
) -> None:
    root = make_buildings(tmp_path / "root", {"house": 4, "other": 4})
    (root / "v1").mkdir()
    (root / "v1" / "scans").symlink_to(root / "scans")
    sims = []
    for number in range(64):
        sim = simulator(root, preloading=number % 2 == 0)
        sim.newEpisode(["house"], [viewpoint_id(number % 2)], [0], [0])
        sims.append(sim)
    one = older.Simulator()
    one.setNavGraphPath(str(root / "connectivity"))
    one.setRenderingEnabled(False)
    one.newEpisode("house", viewpoint_id(0), 0, 0)
    assert graphs_read == ["house_connectivity.json"]
    assert len(panoramas_read) == 3
    assert one._buildings["house"] is sims[0]._buildings["house"]
    del sims, sim, one
    gc.collect()
    assert not building._buildings
    assert not building._panoramas
    simulator(root, rendering=False).newEpisode(["house"], [viewpoint_id(0)], [0], [0])
    assert len(graphs_read) == 2


def test_a_changed_graph_is_read_again(tmp_path: Path, graphs_read: list[str]) -> None:
    root = make_buildings(tmp_path / "root", {SCAN: 4})
    before, after = simulator(root, rendering=False), simulator(root, rendering=False)
    before.newEpisode([SCAN], [viewpoint_id(3)], [0], [0])
    (root / "connectivity" / f"{SCAN}_connectivity.json").write_text(json.dumps(connectivity_records(6)))
    after.newEpisode([SCAN], [viewpoint_id(5)], [0], [0])
    with pytest.raises(ValueError, match="Could not find viewpointId"):
        before.newEpisode([SCAN], [viewpoint_id(5)], [0], [0])
    assert len(graphs_read) == 2


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads Linux's /proc")
def test_sixty_four_simulators_take_little_memory(navigation: Path) -> None:
    """With R2R's largest building among others: far less than 200 MB beyond what Python and its packages take."""
    graphs = navigation / "connectivity"
    scans = (graphs / "scans.txt").read_text().split()
    code = f"""
import json
from pathlib import Path
import ghosts_sim.mattersim as MatterSim

def megabytes():
    return int(next(row.split()[1] for row in Path("/proc/self/status").open() if row.startswith("VmRSS"))) / 1024

before, sims = megabytes(), []
for number in range(64):
    sim, scan = MatterSim.Simulator(), {scans!r}[number % {len(scans)}]
    sim.setNavGraphPath({str(graphs)!r})
    sim.setRenderingEnabled(False)
    sim.setCameraResolution(640, 480)
    sim.initialize()
    sim.newRandomEpisode([scan])
    sims.append(sim)
print(megabytes() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 100.0
