"""A small building with objects at known places, written as the raw files `ghosts landmarks` reads."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

SCAN = "sCene1"
# Two rooms side by side; viewpoint e stands on stairs, 1 m up.
CAMERAS = {
    "a": (0.3, 0.2, 1.5),
    "b": (2.1, 0.4, 1.5),
    "c": (1.2, 1.9, 1.5),
    "d": (6.2, 0.3, 1.5),
    "e": (8.2, 0.3, 2.5),
}
ROOMS = {"a": ("0", "b"), "b": ("0", "b"), "c": ("0", "b"), "d": ("1", "h"), "e": ("2", "s")}
EDGES = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "d"), ("d", "e")]
OBJECTS = {  # true position, name, viewpoints with bearing, viewpoints without
    "7": ((1.1, 0.9, 0.8), "sofa#chair", "abc", ""),
    "8": ((1.5, -0.4, 1.9), "lamp", "ab", ""),
    "9": ((6.9, 1.5, 1.0), "bed", "d", ""),
    "10": ((6.0, -0.9, 1.2), "window", "", "d"),
}


@dataclass(frozen=True)
class RawWorld:
    """Where the raw files are, and the truth."""

    folder: Path
    truth: dict[str, np.ndarray]

    @property
    def arguments(self) -> list[str]:
        return [
            *("--connectivity", str(self.folder / "connectivity")),
            *("--bbox", str(self.folder / "BBox")),
            *("--regions", str(self.folder / "regions")),
        ]


def boxes_of(camera: np.ndarray, point: np.ndarray) -> tuple[list[int], list[list[float]]]:
    """Whole boxes of a small object in all views, from first principles: no code of the package."""
    views, boxes = [], []
    for view in range(36):
        heading, elevation = np.deg2rad(30.0 * (view % 12)), np.deg2rad(30.0 * (view // 12 - 1))
        forward = np.array(
            [np.sin(heading) * np.cos(elevation), np.cos(heading) * np.cos(elevation), np.sin(elevation)]
        )
        right = np.array([np.cos(heading), -np.sin(heading), 0.0])
        down = np.cross(forward, right)
        x, y, z = right @ (point - camera), down @ (point - camera), forward @ (point - camera)
        if z <= 0.05:
            continue
        focal = 240.0 / np.tan(np.deg2rad(30.0))
        u, v = 320.0 + focal * x / z, 240.0 + focal * y / z
        if 25 < u < 615 and 25 < v < 455:
            views.append(view)
            boxes.append([u - 20.0, v - 10.0, 40.0, 20.0])
    return views, boxes


@pytest.fixture
def raw_world(tmp_path: Path) -> RawWorld:
    """Connectivity, BBox folder and region file of one building."""
    folder = tmp_path / "raw"
    for name in ("connectivity", "BBox", "regions"):
        (folder / name).mkdir(parents=True)
    names = list(CAMERAS)
    linked = {frozenset(edge) for edge in EDGES}
    records = []
    for name, (x, y, z) in CAMERAS.items():
        flags = [frozenset((name, other)) in linked for other in names]
        pose = [1.0, 0.0, 0.0, x, 0.0, 1.0, 0.0, y, 0.0, 0.0, 1.0, z, 0.0, 0.0, 0.0, 1.0]
        records.append(
            {"image_id": name, "pose": pose, "included": True, "visible": flags, "unobstructed": flags, "height": 1.5}
        )
    (folder / "connectivity" / f"{SCAN}_connectivity.json").write_text(json.dumps(records))
    (folder / "connectivity" / "scans.txt").write_text(f"{SCAN}\n")
    lines = [f"{k} {name} {ROOMS[name][0]} {ROOMS[name][1]}" for k, name in enumerate(names)]
    (folder / "regions" / f"{SCAN}.panorama_to_region.txt").write_text("\n".join(lines) + "\n")
    truth = {name: np.array(entry[0]) for name, entry in OBJECTS.items()}
    for viewpoint, camera in CAMERAS.items():
        listing = {}
        for name, (position, label, seen, blind) in OBJECTS.items():
            if viewpoint in seen:
                views, boxes = boxes_of(np.array(camera), np.array(position))
                assert views
                listing[name] = {"name": label, "visible_pos": views, "bbox2d": boxes}
            elif viewpoint in blind:
                listing[name] = {"name": label, "visible_pos": [], "bbox2d": []}
        (folder / "BBox" / f"{SCAN}_{viewpoint}.json").write_text(json.dumps({viewpoint: listing}))
    return RawWorld(folder, truth)


@pytest.fixture
def built_root(raw_world: RawWorld, tmp_path: Path) -> Path:
    """A data root made from the raw files by the command itself."""
    from ghosts_sim.cli.landmarks import main

    r2r = raw_world.folder / "r2r"
    r2r.mkdir()
    path = {"path_id": 1, "scan": SCAN, "path": ["a", "b", "d"], "heading": 0.0, "distance": 6.0}
    (r2r / "R2R_train.json").write_text(json.dumps([{**path, "instructions": ["Go past the sofa."]}]))
    root = tmp_path / "root"
    main([*raw_world.arguments, "--out", str(root), "--r2r", str(r2r)])
    return root
