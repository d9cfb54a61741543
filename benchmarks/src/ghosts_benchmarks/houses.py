"""How many RGB-D frames each renderer of houses draws per second of processor time, and how near it is to `exact`."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from ghosts_houses.house import House
from ghosts_houses.make import make_house
from ghosts_houses.mesh.renderers import RENDERERS, make_renderer
from ghosts_houses.render.panorama import Pictures
from ghosts_sim.errors import MissingExtraError
from ghosts_sim.types import Intrinsics, Pose

NEAR_M = 0.002
"""Depths this near to the exact ones count as the same."""


@dataclass(frozen=True)
class Row:
    """One renderer."""

    renderer: str
    ready_s: float
    """Processor time until the first picture: light and mesh are made, or read from the cache."""
    frames_per_s: float
    """Pictures per second of processor time."""
    depth_share: float
    """Share of pixels, outlines apart, whose depth is within 2 mm of `exact`'s."""
    psnr_db: float
    """Mean likeness of its colours to `exact`'s; infinite for itself."""


def measure_houses(seed: int, *, frames: int = 60, size_px: int = 256, device: str = "cpu") -> Iterator[Row]:
    """Measure every renderer that can run here at random poses of one house; on a GPU `exact` alone, in batches."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    house, camera = make_house(seed), Intrinsics(size_px, size_px, math.pi / 2)
    poses = random_poses(house, frames, np.random.default_rng(seed))
    batch = 1 if device == "cpu" else min(frames, 64)
    reference: list[Pictures] = []
    try:
        for name in RENDERERS if device == "cpu" else RENDERERS[:1]:
            start = time.process_time()
            try:
                renderer = make_renderer(name, house, device=device)
            except MissingExtraError:
                continue
            ready_s = time.process_time() - start
            renderer.render(poses[:batch], camera)
            start = time.process_time()
            drawn = [renderer.render(poses[k : k + batch], camera) for k in range(0, frames, batch)]
            spent_s = time.process_time() - start
            reference = reference or drawn
            yield Row(name, ready_s, frames / spent_s, depth_share(reference, drawn), psnr_db(reference, drawn))
    finally:
        cv2.setNumThreads(threads)


def random_poses(house: House, count: int, rng: np.random.Generator) -> list[Pose]:
    """Cameras 1.25 m above random places of random rooms, looking level in random directions."""
    poses = []
    for _ in range(count):
        room = house.rooms[int(rng.integers(len(house.rooms)))]
        x, y = rng.uniform(room.x0_m + 0.3, room.x1_m - 0.3), rng.uniform(room.y0_m + 0.3, room.y1_m - 0.3)
        poses.append(Pose(float(x), float(y), room.floor_z_m + 1.25, float(rng.uniform(0.0, 2 * math.pi))))
    return poses


def depth_share(exact: list[Pictures], drawn: list[Pictures]) -> float:
    """Share of pixels whose depths agree, outlines of things and jumps of depth apart."""
    same = count = 0
    kernel = np.ones((3, 3), np.uint8)
    for a, b in zip(exact, drawn, strict=True):
        for label, near, far in zip(a.label, a.depth_m, b.depth_m):
            low, high = cv2.erode(near, kernel), cv2.dilate(near, kernel)
            inner = (cv2.erode(label, kernel) == cv2.dilate(label, kernel)) & (high - low < 0.08 * near)
            same += int((np.abs(near - far)[inner] < NEAR_M).sum())
            count += int(inner.sum())
    return same / max(count, 1)


def psnr_db(exact: list[Pictures], drawn: list[Pictures]) -> float:
    """Mean signal-to-noise ratio of colours."""
    errors = [float(((a.rgb.astype(float) - b.rgb) ** 2).mean()) for a, b in zip(exact, drawn, strict=True)]
    return float(np.mean([10 * math.log10(255.0**2 / error) if error else math.inf for error in errors]))
