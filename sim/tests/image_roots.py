"""Data roots of several small buildings with pictures and labels, for tests of tiles, backbone and training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from makers import STEP_M, connectivity_records, viewpoint_id

PALETTE = np.array([[20, 20, 20], [200, 60, 40], [40, 180, 60], [50, 70, 210], [220, 210, 60]], np.uint8)
"""RGB of labels 0 to 4."""
TEXTS = ("Walk down the long corridor and stop.", "Go straight ahead, then stop.", "Turn around and keep going.")


def write_labelled_skybox(folder: Path, viewpoint: str, random: np.random.Generator, face_px: int) -> None:
    """Blocks of labels in their colours, a little noisy; walls 1.5 to 5 m away."""
    folder.mkdir(parents=True, exist_ok=True)
    size = 6 * face_px, face_px
    labels = cv2.resize(
        random.integers(0, len(PALETTE), (2, 12), dtype=np.uint8), size, interpolation=cv2.INTER_NEAREST
    )
    colour = PALETTE[labels].astype(int) + random.integers(-12, 13, (face_px, 6 * face_px, 3))
    depth = cv2.resize(random.uniform(6000, 20000, (2, 12)), size, interpolation=cv2.INTER_LINEAR).astype(np.uint16)
    depth[: face_px // 8, :face_px] = 0
    bgr = np.clip(colour, 0, 255).astype(np.uint8)[..., ::-1]
    cv2.imwrite(str(folder / f"{viewpoint}_skybox_small.jpg"), bgr, [cv2.IMWRITE_JPEG_QUALITY, 95])
    cv2.imwrite(str(folder / f"{viewpoint}_skybox_depth_small.png"), depth)
    cv2.imwrite(str(folder / f"{viewpoint}_skybox_label_small.png"), labels)


def make_image_root(
    folder: Path, splits: dict[str, tuple[str, ...]], *, count: int = 3, face_px: int = 32, seed: int = 0
) -> Path:
    """Write a data root.

    Args:
        folder: where.
        splits: buildings of each split.
        count: viewpoints per building, in a corridor.
        face_px: side of a skybox face.
        seed: of the pictures.
    """
    scans = sorted({scan for names in splits.values() for scan in names})
    for name in ("connectivity", "r2r"):
        (folder / name).mkdir(parents=True)
    (folder / "connectivity" / "scans.txt").write_text("\n".join(scans) + "\n")
    for number, scan in enumerate(scans):
        (folder / "connectivity" / f"{scan}_connectivity.json").write_text(json.dumps(connectivity_records(count)))
        random = np.random.default_rng([seed, number])
        for row in range(count):
            pictures = folder / "scans" / scan / "matterport_skybox_images"
            write_labelled_skybox(pictures, viewpoint_id(row), random, face_px)
    path_id = 0
    for split, names in splits.items():
        records: list[dict[str, Any]] = []
        for scan in names:
            for rows in (range(count), range(count - 1, -1, -1)):
                path_id += 1
                path = [viewpoint_id(row) for row in rows]
                records.append(
                    {
                        "distance": STEP_M * (count - 1),
                        "scan": scan,
                        "path_id": path_id,
                        "path": path,
                        "heading": 0.25,
                        "instructions": list(TEXTS),
                    }
                )
        (folder / "r2r" / f"R2R_{split}.json").write_text(json.dumps(records))
    return folder
