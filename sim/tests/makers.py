"""Small data roots in the real formats, for tests."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ghosts_sim.landmarks.format import Landmark, SceneLandmarks, write_landmarks
from ghosts_sim.landmarks.regions import Region

FACE_PX = 32
SCAN = "tinybuildng"
STEP_M = 2.0


def viewpoint_id(number: int) -> str:
    """A 32-digit identifier like the real ones."""
    return f"{number:032x}"


def upright_rotation(heading_rad: float) -> np.ndarray:
    """A pose rotation whose skybox face 1 (+z of the cube) shows a heading, with face 0 up."""
    right, up = (
        np.array([math.cos(heading_rad), -math.sin(heading_rad), 0.0]),
        np.array([0.0, 0.0, 1.0]),
    )
    ahead = np.array([math.sin(heading_rad), math.cos(heading_rad), 0.0])
    # cube direction = −Rᵀ d: rows of −Rᵀ are the world directions of the cube's axes (x right, y up, z ahead).
    return -np.stack([right, up, ahead]).T


def connectivity_records(count: int = 4, excluded: tuple[int, ...] = ()) -> list[dict[str, Any]]:
    """A corridor of viewpoints along +y, 2 m apart, each reaching its neighbours."""
    records = []
    for row in range(count):
        pose = np.eye(4)
        pose[:3, :3] = upright_rotation(0.3 * row)
        pose[:3, 3] = 0.5, STEP_M * row, 1.5
        near = [abs(row - other) == 1 for other in range(count)]
        records.append(
            {
                "image_id": viewpoint_id(row),
                "pose": pose.ravel().tolist(),
                "included": row not in excluded,
                "visible": [row != other for other in range(count)],
                "unobstructed": near,
                "height": 1.5,
            }
        )
    return records


def episode_record(path_id: int = 7, rows: tuple[int, ...] = (0, 1, 2, 3)) -> dict[str, Any]:
    """An R2R record along the corridor."""
    return {
        "distance": STEP_M * (len(rows) - 1),
        "scan": SCAN,
        "path_id": path_id,
        "path": [viewpoint_id(row) for row in rows],
        "heading": 0.25,
        "instructions": ["Walk down the corridor.", "Go straight ahead, then stop.", "Keep going to the end."],
    }


def walked_episodes(
    scan: str, records: list[dict[str, Any]], count: int, random: np.random.Generator, first_id: int = 0
) -> list[dict[str, Any]]:
    """R2R records of 4 to 6 moves through a building's graph that visit no viewpoint twice; of 3 instructions each."""
    place = np.array([record["pose"] for record in records]).reshape(-1, 4, 4)[:, :3, 3]
    kept = [row for row, record in enumerate(records) if record["included"]]
    words = [f"word{number}" for number in range(300)]
    episodes: list[dict[str, Any]] = []
    for _ in range(100 * count):
        if len(episodes) == count:
            break
        rows = [int(random.choice(kept))]
        while len(rows) < random.integers(5, 8):
            ahead = [row for row in kept if records[rows[-1]]["unobstructed"][row] and row not in rows]
            if not ahead:
                break
            rows.append(int(random.choice(ahead)))
        if len(rows) >= 5:
            episodes.append(
                {
                    "distance": float(np.linalg.norm(np.diff(place[rows], axis=0), axis=1).sum()),
                    "scan": scan,
                    "path_id": first_id + len(episodes),
                    "path": [records[row]["image_id"] for row in rows],
                    "heading": float(random.uniform(0.0, 2.0 * math.pi)),
                    "instructions": [" ".join(random.choice(words, 26)) for _ in range(3)],
                }
            )
    return episodes


def write_skybox(folder: Path, viewpoint: str, seed: int, face_px: int = FACE_PX) -> tuple[np.ndarray, np.ndarray]:
    """Write a smooth random skybox and depth; returns what was written (BGR as decoded, depth units)."""
    random = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    coarse = random.integers(0, 256, (4, 24, 3), dtype=np.uint8)
    colour = cv2.resize(coarse, (6 * face_px, face_px), interpolation=cv2.INTER_LINEAR)
    depth = random.integers(2000, 30000, (face_px, 6 * face_px), dtype=np.uint16)
    depth[: face_px // 8, :face_px] = 0
    cv2.imwrite(str(folder / f"{viewpoint}_skybox_small.jpg"), colour)
    cv2.imwrite(str(folder / f"{viewpoint}_skybox_depth_small.png"), depth)
    return colour, depth


def make_root(folder: Path, *, count: int = 4, images: bool = True, face_px: int = FACE_PX) -> Path:
    """Write a whole data root with one corridor building and train / test splits."""
    (folder / "connectivity").mkdir(parents=True)
    (folder / "r2r").mkdir()
    (folder / "connectivity" / "scans.txt").write_text(SCAN + "\n")
    (folder / "connectivity" / f"{SCAN}_connectivity.json").write_text(json.dumps(connectivity_records(count)))
    train = [episode_record(7, tuple(range(count))), episode_record(8, tuple(reversed(range(count))))]
    test = [{key: value for key, value in episode_record(9, (0,)).items() if key != "distance"}]
    (folder / "r2r" / "R2R_train.json").write_text(json.dumps(train))
    (folder / "r2r" / "R2R_test.json").write_text(json.dumps(test))
    if images:
        for row in range(count):
            write_skybox(folder / "scans" / SCAN / "matterport_skybox_images", viewpoint_id(row), row, face_px)
    return folder


def add_landmarks(root: Path) -> None:
    """A mirror beside the second viewpoint of the corridor, and bedrooms everywhere."""
    names = [viewpoint_id(row) for row in range(4)]
    mirror = Landmark("1", "mirror", (1.3, 2.2, 1.5), 0.0, None, "detected", None, (names[1],))
    scene = SceneLandmarks(SCAN, "test", dict.fromkeys(names, Region("0", "b")), (mirror,))
    write_landmarks(root / "landmarks" / f"{SCAN}.json", scene)
