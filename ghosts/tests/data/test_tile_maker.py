"""Tiles from pictures: equal to the direct computation, made once, resumable, shared out over processes."""

from __future__ import annotations

import math
import os
import shutil
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ghosts.data.tile_store as store
from forked import Forked
from ghosts.data.bank import load_tile_bank
from ghosts.data.reading import reading_of
from ghosts.data.tile_maker import TileMaker, build_tiles, check_space, plan_work, sweep_on_cpu, sweep_on_device
from ghosts.data.tile_store import JOINED, PARTS, TileSettings, included, read_tiles
from ghosts.equations import project
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.camera_torch import make_bank
from ghosts.mapping.points import points_from_rgbd
from ghosts.mapping.saved_backbone import save_backbone, weights_hash
from ghosts.methods.ghost.presets import tiny
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.geometry import camera_to_world, snap_origin
from ghosts_sim.renderer import PanoramaRenderer
from ghosts_sim.types import Grid, Intrinsics
from image_roots import make_image_root

CHANNELS = 8
SCANS = ("house0", "house1", "house2")
READING = replace(reading_of(tiny()), channels=CHANNELS)
CPU = torch.device("cpu")
CAMERA = Intrinsics(96, 64, math.radians(60.0))
"""Small, for speed. Of an even number of features across: the ray of a middle one would follow a border of cells."""


def small_backbone(seed: int = 0) -> SmallBackbone:
    torch.manual_seed(seed)
    return SmallBackbone(CHANNELS).eval().requires_grad_(False)


def make_maker(root: DataRoot, seed: int = 0) -> TileMaker:
    model = small_backbone(seed)
    return TileMaker(root, model, TileSettings(weights_hash(model), CHANNELS, 0.5, camera=CAMERA), CPU, batch=2)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_image_root(tmp_path_factory.mktemp("data") / "root", {"train": SCANS}, count=2)


@pytest.fixture(scope="module")
def made(pictures: Path) -> Path:
    """A folder with the tiles of all buildings."""
    maker = make_maker(DataRoot(pictures))
    folder = pictures / "tiles"
    assert build_tiles(maker, folder, plan_work(maker, folder))
    return folder


@pytest.fixture
def copy(pictures: Path, made: Path, tmp_path: Path) -> DataRoot:
    """A copy of the root to spoil, with its tiles."""
    shutil.copytree(pictures, tmp_path / "copy")
    return DataRoot(tmp_path / "copy")


def test_stored_tiles_equal_direct_projection(pictures: Path, made: Path) -> None:
    root = DataRoot(pictures)
    bank, _ = load_tile_bank(root, SCANS, READING)
    grid = Grid(96, 96, 0.5)
    renderer = PanoramaRenderer(root.graph, root.panoramas())
    model = small_backbone()
    for scan, row in (("house0", 0), ("house2", 1)):
        graph = root.graph(scan)
        sweep = renderer.sweep([scan], [graph.ids[row]], camera=CAMERA)
        poses = torch.from_numpy(
            camera_to_world(graph.position_m[row], np.arange(12) * np.pi / 6.0, np.full(12, -np.pi / 6.0))
        )[None]
        with torch.no_grad():
            features = model(torch.from_numpy(sweep.rgb[0]))[None]
        points = points_from_rgbd(features, torch.from_numpy(sweep.depth_m), poses, CAMERA)
        origin = snap_origin(graph.position_m[[row], :2], grid)
        expected, observed = project(points, torch.from_numpy(origin), grid)

        _, rows = bank.gather(np.array([bank.tile(scan, row)]))
        corner = np.round(origin[0, ::-1] / 0.5 - 48).astype(int)
        place = torch.from_numpy(bank.cells[rows] - corner)
        assert bank.features is not None
        dense = torch.zeros(CHANNELS, 96, 96)
        dense[:, place[:, 0], place[:, 1]] = bank.features[rows].float().T
        seen = torch.zeros(96, 96, dtype=torch.bool)
        seen[place[:, 0], place[:, 1]] = True
        assert torch.equal(seen, observed[0, 0])
        assert 20 < int(seen.sum()) < 400
        torch.testing.assert_close(dense, expected[0].float(), atol=2e-3, rtol=1e-3)  # float16 storage


def test_sweeps_from_resident_panoramas_equal_the_simulators(pictures: Path) -> None:
    root = DataRoot(pictures)
    maker = make_maker(root)
    rows = included(root, "house1")
    bank = make_bank([root.panoramas().load("house1", root.graph("house1").ids[row]) for row in rows], "cpu")
    rgb, depth = sweep_on_device(bank, root.graph("house1").rotation[rows[1:]], 1, maker.settings)
    expected, distance = sweep_on_cpu(
        PanoramaRenderer(root.graph, root.panoramas()), "house1", rows[1:], maker.settings
    )
    assert (rgb.int() - expected.int()).abs().max() <= 1
    # A ray through a texel's border may round either way.
    assert ((depth - distance).abs() < 1e-4).float().mean() > 0.999
    tiles = maker.building("house1", partial(maker._gpu, bank, "house1"))
    _, others = next(maker.buildings(["house1"]))
    assert tiles.counts == others.counts
    torch.testing.assert_close(tiles.features.float(), others.features.float(), atol=0.05, rtol=0.05)


def test_nothing_is_made_twice_and_a_new_backbone_makes_all_again(copy: DataRoot) -> None:
    folder = copy.path / "tiles"
    maker = make_maker(copy)
    assert plan_work(maker, folder).todo == ()  # also: copied pictures are the same pictures
    before = read_tiles(folder / JOINED).features.clone()
    other = make_maker(copy, seed=1)
    work = plan_work(other, folder)
    assert sorted(work.todo) == list(SCANS)
    assert build_tiles(other, folder, work)
    after = read_tiles(folder / JOINED)
    assert after.settings.backbone == weights_hash(small_backbone(1))
    assert after.features.shape == before.shape
    assert not torch.equal(after.features, before)


def test_only_a_changed_building_is_made_again(copy: DataRoot) -> None:
    folder = copy.path / "tiles"
    colour, *_ = copy.panoramas().paths("house1", copy.graph("house1").ids[0])
    shutil.copyfile(copy.panoramas().paths("house0", copy.graph("house0").ids[0])[0], colour)
    with pytest.raises(DataError, match=r"pictures of building house1 have changed .*ghosts tiles --data"):
        load_tile_bank(copy, SCANS, READING)
    maker = make_maker(copy)
    work = plan_work(maker, folder)
    assert work.todo == ("house1",)
    done: list[str] = []
    assert build_tiles(maker, folder, work, lambda scan, tiles: done.append(f"{scan} {len(tiles)}"))
    assert done == ["house1 2"]
    load_tile_bank(copy, SCANS, READING)


def test_damaged_tiles_are_refused_and_repaired(copy: DataRoot, made: Path) -> None:
    path = copy.path / "tiles" / JOINED
    good = path.read_bytes()
    spoilt = bytearray(good)
    spoilt[len(good) // 2] ^= 8
    path.write_bytes(spoilt)
    with pytest.raises(DataError, match=r"damaged .*repair with: ghosts tiles"):
        load_tile_bank(copy, SCANS, READING)
    maker = make_maker(copy)
    work = plan_work(maker, path.parent)
    assert len(work.todo) == 1
    build_tiles(maker, path.parent, work)
    assert torch.equal(read_tiles(path).features, read_tiles(made / JOINED).features)


def test_work_is_shared_out(pictures: Path, tmp_path: Path) -> None:
    maker = make_maker(DataRoot(pictures))
    first, second = (plan_work(maker, tmp_path, rank, 2) for rank in range(2))
    assert (first.todo, second.todo) == (("house0", "house2"), ("house1",))
    assert not build_tiles(maker, tmp_path, first)
    assert not (tmp_path / JOINED).exists()
    # A process that starts late has the same share.
    assert plan_work(maker, tmp_path, 1, 2).todo == ("house1",)
    assert build_tiles(maker, tmp_path, second)
    assert [building.scan for building in read_tiles(tmp_path / JOINED).buildings] == list(SCANS)


def stored_maker(root: DataRoot) -> TileMaker:
    """With the backbone as it comes back from its file."""
    model = small_backbone()
    model.load_state_dict({name: value.half().float() for name, value in model.state_dict().items()})
    return TileMaker(root, model, TileSettings(weights_hash(model), CHANNELS, 0.5, camera=CAMERA), CPU, batch=1)


@pytest.fixture
def small_camera(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the command has no option for."""
    monkeypatch.setattr(store, "TileSettings", partial(TileSettings, camera=CAMERA))


@pytest.fixture(scope="module")
def whole(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file that one process writes without interruption."""
    maker, folder = stored_maker(DataRoot(pictures)), tmp_path_factory.mktemp("whole")
    assert build_tiles(maker, folder, plan_work(maker, folder))
    return (folder / JOINED).read_bytes()


def words(root: Path, backbone: Path, out: Path) -> list[str]:
    """What follows `ghosts`."""
    places = ["--data", str(root), "--backbone", str(backbone), "--out", str(out)]
    return ["tiles", *places, "--device", "cpu", "--batch", "1"]


@pytest.mark.usefixtures("small_camera")
def test_two_processes_write_the_same_file_as_one(
    pictures: Path, whole: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is the test's own."""
    places = pictures, tmp_path / "b.safetensors", tmp_path / "two"
    save_backbone(tmp_path / "b.safetensors", small_backbone(), [], {})
    second = Forked(partial(main, words(*places)), RANK="1", WORLD_SIZE="2")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    main(words(*places))
    assert second.end() == 0, second.errors()
    assert (tmp_path / "two" / JOINED).read_bytes() == whole
    assert not (tmp_path / "two" / PARTS).exists()


def killed(words: list[str]) -> None:
    """A command that dies as if killed from outside, in the middle of writing the second building."""
    writes, pack = [], store.struct.pack

    class Dying:
        def pack(self, *values: Any) -> bytes:
            writes.append(values)
            if len(writes) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return pack(*values)

    store.struct = Dying()
    main(words)


@pytest.mark.usefixtures("small_camera")
def test_goes_on_after_kill_9(pictures: Path, whole: bytes, tmp_path: Path) -> None:
    save_backbone(tmp_path / "b.safetensors", small_backbone(), [], {})
    process = Forked(partial(killed, words(pictures, tmp_path / "b.safetensors", tmp_path / "out")))
    assert process.end() == -signal.SIGKILL, process.errors()
    assert [path.name for path in (tmp_path / "out" / PARTS).glob("[!.]*")] == ["house0.safetensors"]
    kept = (tmp_path / "out" / PARTS / "house0.safetensors").stat().st_mtime_ns
    maker = stored_maker(DataRoot(pictures))
    work = plan_work(maker, tmp_path / "out")
    assert work.todo == ("house1", "house2")
    assert (tmp_path / "out" / PARTS / "house0.safetensors").stat().st_mtime_ns == kept
    assert build_tiles(maker, tmp_path / "out", work)
    assert (tmp_path / "out" / JOINED).read_bytes() == whole
    assert not (tmp_path / "out" / PARTS).exists()


def test_errors_name_the_command(copy: DataRoot, tmp_path: Path) -> None:
    command = f"ghosts tiles --data {copy.path} --backbone FILE --cell-m 0.5"
    with pytest.raises(ConfigError, match=r"8 channels, the model expects 64.*--model.mapper.features 8"):
        load_tile_bank(copy, SCANS, replace(READING, channels=64))
    with pytest.raises(ConfigError, match=r"cells of 0\.5 m"):
        load_tile_bank(copy, SCANS, replace(READING, grid=Grid(96, 96, 0.25)))
    with pytest.raises(ConfigError, match="another backbone"):
        load_tile_bank(copy, SCANS, replace(READING, tiles="0"))
    load_tile_bank(copy, SCANS, replace(READING, channels=None, tiles="0"))  # asks for no features
    with pytest.raises(DataError, match="no tiles of building attic"):
        load_tile_bank(copy, ["attic"], READING)
    shutil.rmtree(copy.path / "tiles")
    with pytest.raises(DataError) as caught:
        load_tile_bank(copy, SCANS, READING)
    assert command in str(caught.value)
    with pytest.raises(DataError, match="are free; choose another folder"):
        check_space(tmp_path / "not" / "yet", 1e18)


def test_buildings_without_pictures_are_left_out(copy: DataRoot) -> None:
    shutil.rmtree(copy.path / "scans" / "house1")
    work = plan_work(make_maker(copy), copy.path / "tiles")
    assert work.scans == ("house0", "house2")
    assert work.left_out == ("house1",)
    colour, *_ = copy.panoramas().paths("house0", copy.graph("house0").ids[0])
    colour.unlink()
    with pytest.raises(DataError, match="no such file"):
        plan_work(make_maker(copy), copy.path / "tiles")
