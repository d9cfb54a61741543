"""A made-up data root of landmarks, with the sizes of R2R's, so that training can be timed without any data.

Buildings are lattices of viewpoints with objects around them, paths are walks, instructions are random words: nothing
can be learned here, but a batch costs what a real one costs.
"""

from __future__ import annotations

import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float

from ghosts.config import Experiment
from ghosts.data.bank import TileBank
from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.reading import reading_of
from ghosts_sim import geometry
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.files import write_json, write_text
from ghosts_sim.landmarks.format import Landmark, SceneLandmarks, write_landmarks
from ghosts_sim.landmarks.regions import Region

SIDE, STEP_M = 8, 2.2  # 64 viewpoints per building, R2R's mean distance between neighbours
OBJECTS = 2  # per viewpoint, as REVERIE places them
SIGHT_M = 1.3  # less than REVERIE's 2 m, for want of walls
PATHS, MOVES = 12, 5
WORDS, LENGTH = 500, (12, 48)
VIEW_M = 4.0
"""Reach of a panorama's tile: it covers 2 % of a map of 96 × 96 cells of 0.5 m, as those of houses do."""


def synthetic_data(experiment: Experiment, houses: int, folder: Path, seed: int = 0) -> Dataset:
    """A data root with at least so many training buildings, written to a folder and read by the ordinary reader.

    Args:
        experiment: what is run on it; one on images gets tiles of random features.
        houses: training buildings.
        folder: empty or missing.
        seed: of everything random.
    """
    # Every eighth building is held out for development.
    scans = [f"synthetic{number:04d}" for number in range(houses + houses // 7 + 1)]
    random = np.random.default_rng(seed)
    write_text(folder / "connectivity" / "scans.txt", "\n".join(scans) + "\n")
    records: list[dict[str, Any]] = []
    for number, scan in enumerate(scans):
        records += _write_building(folder, scan, number, random)
    write_json(folder / "r2r" / "R2R_train.json", records)
    reading = reading_of(replace(experiment, data=replace(experiment.data, observation="landmarks")), training=True)
    data = open_dataset(DataRoot(folder), reading)
    if experiment.data.observation != "images":
        return data
    bank = image_bank(data, experiment.model.mapper.features, random)
    return replace(data, bank=bank, reading=replace(data.reading, source="images", labels=None))


def image_bank(data: Dataset, channels: int, random: np.random.Generator) -> TileBank:
    """Tiles like those of panoramas: every cell around a viewpoint, with random features."""
    bank, cell_m = data.bank, data.reading.grid.cell_m
    reach = round(VIEW_M / cell_m)
    ticks = np.arange(-reach, reach + 1)
    around = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), -1).reshape(-1, 2)
    around = around[np.hypot(*around.T) <= reach]
    xy_m = np.array([data.root.graph(scan).position_m[row, :2] for scan, row in bank.numbers])
    centre = geometry.lattice_cells(xy_m[:, ::-1], cell_m)
    cells = (centre[:, None] + around).reshape(-1, 2).astype(np.int32)
    features = torch.from_numpy(random.standard_normal((len(cells), channels), np.float32)).half()
    starts = np.arange(len(xy_m) + 1, dtype=np.int64) * len(around)
    return TileBank(bank.numbers, (0.0,), starts, cells, features=features)


def _write_building(folder: Path, scan: str, number: int, random: np.random.Generator) -> list[dict[str, Any]]:
    """Write connectivity and landmarks of one building; return its paths."""
    count = SIDE * SIDE
    place = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), -1).reshape(-1, 2)
    xyz = np.concatenate([STEP_M * place + random.uniform(-0.5, 0.5, (count, 2)), np.full((count, 1), 1.5)], 1)
    linked = np.abs(place[:, None] - place).sum(-1) == 1
    visible = np.abs(place[:, None] - place).sum(-1) <= 2
    ids = [f"{number * count + row:032x}" for row in range(count)]
    connectivity = []
    for row, name in enumerate(ids):
        pose = np.eye(4)
        pose[:3, 3] = xyz[row]
        flags = {"visible": visible[row].tolist(), "unobstructed": linked[row].tolist()}
        connectivity.append({"image_id": name, "pose": pose.ravel().tolist(), "included": True, "height": 1.5, **flags})
    write_json(folder / "connectivity" / f"{scan}_connectivity.json", connectivity)
    scene = SceneLandmarks(scan, "ghosts bench growth", _rooms(ids, place), _objects(ids, xyz, random))
    write_landmarks(folder / "landmarks" / f"{scan}.json", scene)
    return [_path(scan, number * PATHS + path, ids, xyz, linked, random) for path in range(PATHS)]


def _rooms(ids: list[str], place: np.ndarray) -> dict[str, Region | None]:
    """Rooms of 2 × 2 viewpoints."""
    corner = place // 2
    return {name: Region(f"{x}-{y}", "abhkl"[(x + y) % 5]) for name, (x, y) in zip(ids, corner.tolist())}


def _objects(ids: list[str], xyz: Float[np.ndarray, "n 3"], random: np.random.Generator) -> tuple[Landmark, ...]:
    labels = _words(300)
    objects = []
    for key in range(OBJECTS * len(ids)):
        row = key % len(ids)
        x, y, z = (xyz[row] + random.uniform(-1.5, 1.5, 3)).tolist()
        near = np.flatnonzero(np.hypot(xyz[:, 0] - x, xyz[:, 1] - y) < SIGHT_M)
        seen = tuple(ids[other] for other in sorted({row, *near.tolist()}))
        # Deviations of the real ones: triangulated, by one ray, without any.
        sigma = (0.05, 0.25, 0.25, 0.77)[key % 4]
        label = labels[int(random.integers(len(labels)))]
        objects.append(Landmark(str(key), label, (x, y, z), sigma, None, "detected", None, seen))
    return tuple(objects)


def _path(
    scan: str, number: int, ids: list[str], xyz: np.ndarray, linked: np.ndarray, random: np.random.Generator
) -> dict[str, Any]:
    """A walk that does not turn back, with an instruction of random words."""
    rows = [int(random.integers(len(ids)))]
    for _ in range(MOVES):
        ways = [int(other) for other in np.flatnonzero(linked[rows[-1]]) if other not in rows]
        if not ways:
            break
        rows.append(int(random.choice(ways)))
    texts = [random.choice(_words(WORDS), int(random.integers(*LENGTH))) for _ in range(3)]
    steps = np.diff(xyz[rows, :2], axis=0)
    return {
        "path_id": number,
        "scan": scan,
        "path": [ids[row] for row in rows],
        "heading": float(geometry.heading_of(steps[0])) % geometry.TAU,
        "distance": float(np.hypot(*steps.T).sum()),
        "instructions": [" ".join(words) for words in texts],
    }


def _words(count: int) -> list[str]:
    """Different words."""
    letters = string.ascii_lowercase
    return [f"{letters[k % 26]}{letters[k // 26 % 26]}{letters[k * 7 % 26]}" for k in range(count)]
