"""Tiles on disk: one memory-mapped safetensors file for all buildings, made of parts that are whole or not there.

`tiles.safetensors` holds `cells` and `features` of every building, one after the other, and in its header a JSON index:
what the tiles were made with, and for each building its viewpoints, cell counts, pictures and checksum. While tiles are
being made, each building is a file of the same format under `parts/`; when all are there they are joined. A building is
made again when the backbone, the grid, the camera or its pictures changed, and only then.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float16, Int32
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ghosts.mapping.tiles import Tiles
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError, GhostsError
from ghosts_sim.files import atomic_path, is_finite, is_name, listed, parse_json, remove_leftovers, sha256_file
from ghosts_sim.locks import in_turn
from ghosts_sim.renderer import SWEEP_CAMERA, SWEEP_ELEVATION_RAD, SWEEP_HEADINGS
from ghosts_sim.types import Intrinsics

FORMAT = "ghosts-tiles-1"
FOLDER = "tiles"
"""Where tiles lie in a data root by default."""
JOINED, PARTS = "tiles.safetensors", "parts"
AGAIN = "make them again with: ghosts tiles --data ROOT --backbone FILE"


@dataclass(frozen=True)
class TileSettings:
    """What tiles depend on besides the pictures."""

    backbone: str
    """Hash of the backbone's weights."""
    channels: int
    """Of the backbone's features."""
    cell_m: float
    """Side of a map cell."""
    height_clip_m: float = 5.0
    """Points more than this above the camera are dropped."""
    camera: Intrinsics = SWEEP_CAMERA
    headings: int = SWEEP_HEADINGS
    elevation_rad: float = SWEEP_ELEVATION_RAD

    @property
    def fingerprint(self) -> str:
        """Hash of all settings: tiles with different fingerprints must not be mixed."""
        return hashlib.sha256(json.dumps([FORMAT, asdict(self)], sort_keys=True).encode()).hexdigest()[:32]


@dataclass(frozen=True)
class FileState:
    """State of a building's files: `stat` is quick to compare, `content` holds when files were merely copied."""

    stat: str
    content: str


@dataclass(frozen=True)
class TiledBuilding:
    """Index entry of one building."""

    scan: str
    viewpoints: tuple[str, ...]
    """Included viewpoints, in the order of the navigation graph."""
    counts: tuple[int, ...]
    """Cells of each viewpoint's tile."""
    pictures: FileState
    checksum: str
    """Of its cells and features."""


@dataclass(frozen=True, eq=False)
class StoredTiles:
    """A file of tiles, memory-mapped: nothing is read before it is used."""

    path: Path
    settings: TileSettings
    buildings: tuple[TiledBuilding, ...]
    cells: Int32[Tensor, "n 2"]
    features: Float16[Tensor, "n c"]

    def tiles(self, scan: str) -> tuple[TiledBuilding, Tiles]:
        """A building's index entry and its tiles (views of the file)."""
        first = 0
        for building in self.buildings:
            end = first + sum(building.counts)
            if building.scan == scan:
                rows = slice(first, end)
                return building, Tiles(self.features[rows], self.cells[rows], building.counts, self.settings.cell_m)
            first = end
        raise DataError(f"no tiles of building {scan}", file=self.path, hint=AGAIN)

    def verify(self, scans: Iterable[str]) -> None:
        """Compare checksums.

        Raises:
            DataError: a building's cells or features are not what was written.
        """
        for scan in scans:
            building, tiles = self.tiles(scan)
            if checksum(tiles) != building.checksum:
                raise DataError("damaged (the checksum differs)", file=self.path, record=scan, hint=AGAIN)
            if not torch.isfinite(tiles.features).all():
                raise DataError("features that are not finite", file=self.path, record=scan, hint=AGAIN)


def included(root: DataRoot, scan: str) -> list[int]:
    """Rows of a building's included viewpoints, in file order."""
    return np.flatnonzero(root.graph(scan).included).tolist()


def checksum(tiles: Tiles) -> str:
    """SHA-256 of cells and features."""
    digest = hashlib.sha256(np.ascontiguousarray(tiles.cells.numpy()).data)
    digest.update(np.ascontiguousarray(tiles.features.numpy()).data)
    return digest.hexdigest()


def pictures_of(root: DataRoot, scan: str) -> FileState:
    """State of the files a building's tiles are made from: its pictures and its navigation graph."""
    files = _files(root, scan)
    with ThreadPoolExecutor(8) as pool:
        content = list(pool.map(sha256_file, files))
    return FileState(_stat(root, scan), _digest([file.name for file in files], content))


def unchanged(root: DataRoot, building: TiledBuilding) -> bool:
    """Whether a building's tiles still show its viewpoints and pictures."""
    graph = root.graph(building.scan)
    if tuple(graph.ids[row] for row in included(root, building.scan)) != building.viewpoints:
        return False
    if _stat(root, building.scan) == building.pictures.stat:
        return True
    return pictures_of(root, building.scan).content == building.pictures.content


def _files(root: DataRoot, scan: str) -> list[Path]:
    graph, store = root.graph(scan), root.panoramas()
    files = [root.path / "connectivity" / f"{scan}_connectivity.json"]
    for row in included(root, scan):
        files.extend(store.paths(scan, graph.ids[row])[:2])
    for file in files:
        if not file.is_file():
            raise DataError(
                "no such file",
                file=file,
                hint=f"make the pictures of building {scan} with: ghosts prepare (for houses: ghosts world)",
            )
    return files


def _stat(root: DataRoot, scan: str) -> str:
    files = _files(root, scan)
    states = [file.stat() for file in files]
    return _digest([file.name for file in files], [(state.st_size, state.st_mtime_ns) for state in states])


def _digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()


def write_tiles(path: Path, settings: TileSettings, entries: Sequence[tuple[TiledBuilding, Tiles]]) -> None:
    """Write a file of tiles, whole or not at all, one building at a time: memory stays small.

    Args:
        path: the file.
        settings: what the tiles were made with.
        entries: buildings with their tiles, float16 on the CPU.
    """
    rows = sum(len(tiles.cells) for _, tiles in entries)
    width = 2 * settings.channels
    index = {"format": FORMAT, "settings": asdict(settings), "buildings": [asdict(building) for building, _ in entries]}
    # Features first: they start 8-byte aligned whatever the number of cells.
    header = json.dumps(
        {
            "__metadata__": {"index": json.dumps(index)},
            "features": {"dtype": "F16", "shape": [rows, settings.channels], "data_offsets": [0, rows * width]},
            "cells": {"dtype": "I32", "shape": [rows, 2], "data_offsets": [rows * width, rows * (width + 8)]},
        }
    ).encode()
    header += b" " * (-len(header) % 8)
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for _, tiles in entries:
            file.write(np.ascontiguousarray(tiles.features.numpy(), "<f2").data)
        for _, tiles in entries:
            file.write(np.ascontiguousarray(tiles.cells.numpy(), "<i4").data)


def read_tiles(path: Path) -> StoredTiles:
    """Open a file of tiles; checksums are compared by `verify`.

    Raises:
        DataError: the file is missing, damaged or of another version.
    """
    if not path.is_file():
        raise DataError("no tiles here", file=path, hint="make them with: ghosts tiles --data ROOT --backbone FILE")
    try:
        with safe_open(path, framework="pt") as file:
            index = parse_json((file.metadata() or {}).get("index", "null"), path)
            cells, features = file.get_tensor("cells"), file.get_tensor("features")
    except (SafetensorError, OSError, DataError):
        raise DataError("not a file of tiles, or a damaged one", file=path, hint=AGAIN) from None
    found = index.get("format") if isinstance(index, dict) else None
    if found != FORMAT:
        raise DataError("not a file of tiles this version reads", file=path, field="format", value=found, hint=AGAIN)
    try:
        settings = TileSettings(**{**index["settings"], "camera": Intrinsics(**index["settings"]["camera"])})
        measures = (settings.cell_m, settings.height_clip_m, settings.headings, settings.elevation_rad)
        if not all(is_finite(value) for value in (*asdict(settings.camera).values(), *measures)):
            raise ValueError
        buildings = tuple(_building(entry) for entry in index["buildings"])
        rows = sum(sum(building.counts) for building in buildings)
        sound = min((count for building in buildings for count in building.counts), default=0) >= 0
        sound = sound and (cells.dtype, features.dtype) == (torch.int32, torch.float16)
        if not sound or tuple(cells.shape) != (rows, 2) or tuple(features.shape) != (rows, settings.channels):
            raise ValueError
    except (GhostsError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise DataError("the list of its buildings is damaged", file=path, field="index", hint=AGAIN) from None
    return StoredTiles(path, settings, buildings, cells, features)


def _building(entry: dict[str, Any]) -> TiledBuilding:
    viewpoints, counts = tuple(entry["viewpoints"]), tuple(entry["counts"])
    if not all(type(count) is int for count in counts) or len(counts) != len(viewpoints):
        raise ValueError(f"counts of {entry['scan']}")
    pictures = FileState(**entry["pictures"])
    texts = (*viewpoints, pictures.stat, pictures.content, entry["checksum"])
    if not is_name(entry["scan"]) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"names of {entry['scan']}")
    return TiledBuilding(entry["scan"], viewpoints, counts, pictures, entry["checksum"])


def write_part(
    folder: Path, root: DataRoot, scan: str, settings: TileSettings, pictures: FileState, tiles: Tiles
) -> None:
    """Write one building's tiles under `parts/`."""
    graph = root.graph(scan)
    names = tuple(graph.ids[row] for row in included(root, scan))
    building = TiledBuilding(scan, names, tiles.counts, pictures, checksum(tiles))
    write_tiles(folder / PARTS / f"{scan}.safetensors", settings, [(building, tiles)])


def find_tiles(folder: Path, root: DataRoot, settings: TileSettings, scans: Iterable[str]) -> dict[str, StoredTiles]:
    """Buildings whose tiles are there, whole and up to date, with the file that holds them."""
    found = {}
    paths = [folder / JOINED, *listed(folder / PARTS, "*.safetensors")]
    files = {path: opened for path in paths if (opened := _try(path)) and opened.settings == settings}
    for scan in scans:
        for path in (folder / PARTS / f"{scan}.safetensors", folder / JOINED):
            if path in files and _usable(files[path], root, scan):
                found[scan] = files[path]
                break
    return found


def _try(path: Path) -> StoredTiles | None:
    try:
        return read_tiles(path)
    except DataError:
        return None


def _usable(stored: StoredTiles, root: DataRoot, scan: str) -> bool:
    building = next((building for building in stored.buildings if building.scan == scan), None)
    if building is None or not unchanged(root, building):
        return False
    return checksum(stored.tiles(scan)[1]) == building.checksum


def join_parts(folder: Path, root: DataRoot, settings: TileSettings, scans: Sequence[str]) -> bool:
    """Join all buildings in one file and remove the parts, once every building is there.

    Any number of processes may call this when they are done with their share; one of them does the work.

    Returns:
        Whether the joined file holds all of `scans` now.
    """
    with in_turn(folder):
        found = find_tiles(folder, root, settings, scans)
        if len(found) < len(scans):
            return False
        if any(stored.path != folder / JOINED for stored in found.values()):
            write_tiles(folder / JOINED, settings, [found[scan].tiles(scan) for scan in scans])
        for part in listed(folder / PARTS, "*.safetensors"):
            part.unlink(missing_ok=True)
        remove_leftovers(folder / PARTS)
        if (folder / PARTS).is_dir() and not os.listdir(folder / PARTS):
            (folder / PARTS).rmdir()
        return True
