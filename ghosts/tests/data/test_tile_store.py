"""The tile store: what is written is what is read, memory-mapped; damage and staleness are noticed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from checks import unchecked
from ghosts.data.tile_store import (
    JOINED,
    PARTS,
    TileSettings,
    find_tiles,
    join_parts,
    pictures_of,
    read_tiles,
    unchanged,
    write_part,
)
from ghosts.mapping.tiles import Tiles
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.types import Intrinsics
from image_roots import make_image_root

SETTINGS = TileSettings(backbone="abc", channels=5, cell_m=0.5)
SCANS = ["left", "right"]


@pytest.fixture
def data(tmp_path: Path) -> DataRoot:
    return DataRoot(make_image_root(tmp_path / "root", {"train": ("left", "right")}, face_px=16))


def random_tiles(seed: int) -> Tiles:
    generator = torch.Generator().manual_seed(seed)
    counts = (4, 0, 3)
    cells = torch.randint(-40, 40, (7, 2), generator=generator, dtype=torch.int32)
    return Tiles(torch.randn(7, 5, generator=generator).half(), cells, counts, 0.5)


def write(folder: Path, data: DataRoot, scan: str, seed: int, settings: TileSettings = SETTINGS) -> None:
    write_part(folder, data, scan, settings, pictures_of(data, scan), random_tiles(seed))


def test_joined_file_holds_every_building(data: DataRoot, tmp_path: Path) -> None:
    folder = tmp_path / "tiles"
    write(folder, data, "right", 1)
    assert not join_parts(folder, data, SETTINGS, SCANS)
    assert not (folder / JOINED).exists()
    write(folder, data, "left", 0)
    assert join_parts(folder, data, SETTINGS, SCANS)
    assert not (folder / PARTS).exists()
    stored = read_tiles(folder / JOINED)
    assert stored.settings == SETTINGS
    assert [building.scan for building in stored.buildings] == SCANS
    for seed, scan in enumerate(SCANS):
        building, tiles = stored.tiles(scan)
        expected = random_tiles(seed)
        assert building.counts == tiles.counts == (4, 0, 3)
        assert building.viewpoints == data.graph(scan).ids
        assert torch.equal(tiles.features, expected.features)
        assert torch.equal(tiles.cells, expected.cells)
    stored.verify(SCANS)
    # A plain safetensors file, for anyone to read.
    assert torch.equal(load_file(folder / JOINED)["features"][7:], random_tiles(1).features)


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_features_are_memory_mapped(data: DataRoot, tmp_path: Path) -> None:
    folder = tmp_path / "tiles"
    for seed, scan in enumerate(SCANS):
        write(folder, data, scan, seed)
    join_parts(folder, data, SETTINGS, SCANS)
    stored = read_tiles(folder / JOINED)
    mapped = [line.split() for line in Path("/proc/self/maps").read_text().splitlines() if line.endswith(JOINED)]
    spans = [tuple(int(end, 16) for end in words[0].split("-")) for words in mapped]
    for tensor in (stored.features, stored.cells):
        assert any(low <= tensor.data_ptr() < high for low, high in spans)


@pytest.mark.parametrize("place", [-1, -60])
def test_damage_is_noticed(data: DataRoot, tmp_path: Path, place: int) -> None:
    folder = tmp_path / "tiles"
    write(folder, data, "left", 0)
    join_parts(folder, data, SETTINGS, ["left"])
    path = folder / JOINED
    whole = bytearray(path.read_bytes())
    whole[place] ^= 1
    path.write_bytes(whole)
    with pytest.raises(DataError, match=r"record left: damaged .*ghosts tiles"):
        read_tiles(path).verify(["left"])
    assert find_tiles(folder, data, SETTINGS, ["left"]) == {}
    path.write_bytes(whole[:-5])
    with pytest.raises(DataError, match="damaged"):
        read_tiles(path)
    assert find_tiles(folder, data, SETTINGS, ["left"]) == {}


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no tiles here; make them with: ghosts tiles"):
        read_tiles(tmp_path / JOINED)
    (tmp_path / JOINED).write_bytes(b"")
    with pytest.raises(DataError, match="damaged"):
        read_tiles(tmp_path / JOINED)


@pytest.mark.parametrize("value", [None, [], {}])
def test_a_setting_that_is_no_number(data: DataRoot, tmp_path: Path, value: object) -> None:
    write(tmp_path, data, "left", 0)
    path = tmp_path / PARTS / "left.safetensors"
    with safe_open(path, framework="pt") as file:
        index, tensors = json.loads(file.metadata()["index"]), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    index["settings"]["height_clip_m"] = value
    save_file(tensors, path, {"index": json.dumps(index)})
    with unchecked(), pytest.raises(DataError, match="the list of its buildings is damaged"):
        read_tiles(path)


@pytest.mark.parametrize(
    "change",
    [
        {"backbone": "abd"},
        {"channels": 6},
        {"cell_m": 0.25},
        {"height_clip_m": 4.0},
        {"camera": Intrinsics(320, 240, 1.0)},
        {"headings": 8},
        {"elevation_rad": 0.0},
    ],
)
def test_fingerprint_covers_every_setting(data: DataRoot, tmp_path: Path, change: dict) -> None:
    other = replace(SETTINGS, **change)
    assert other.fingerprint != SETTINGS.fingerprint
    write(tmp_path, data, "left", 0)
    assert list(find_tiles(tmp_path, data, SETTINGS, SCANS)) == ["left"]
    assert find_tiles(tmp_path, data, other, SCANS) == {}


def test_copied_pictures_are_the_same_and_changed_ones_are_not(data: DataRoot, tmp_path: Path) -> None:
    write(tmp_path, data, "left", 0)
    building = read_tiles(tmp_path / PARTS / "left.safetensors").buildings[0]
    colour, depth, _ = data.panoramas().paths("left", building.viewpoints[1])
    os.utime(colour, ns=(1, 1))
    assert unchanged(data, building)
    content = bytearray(depth.read_bytes())
    content[-20] ^= 1
    depth.write_bytes(content)
    assert not unchanged(data, building)
    colour.unlink()
    with pytest.raises(DataError, match="no such file"):
        unchanged(data, building)


def test_changed_graph_makes_tiles_stale(data: DataRoot, tmp_path: Path) -> None:
    write(tmp_path, data, "left", 0)
    building = read_tiles(tmp_path / PARTS / "left.safetensors").buildings[0]
    file = data.path / "connectivity" / "left_connectivity.json"
    file.write_text(file.read_text().replace('"included": true', '"included": false', 1))
    assert not unchanged(DataRoot(data.path), building)
