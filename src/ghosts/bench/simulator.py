"""How many RGB-D frames a second the simulator renders, on the CPU and on a GPU.

Views "again" come from the cache of sampling maps (a discretised agent, or houses, whose viewpoints share one
orientation); "fresh" views compute theirs, as an agent that turns freely does.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from scipy.spatial.transform import Rotation

from ghosts import geometry
from ghosts.types import Intrinsics
from ghosts.world.camera_torch import make_bank, render_views, view_matrices
from ghosts.world.graph import NavGraph, shortest_walks
from ghosts.world.images import write_image
from ghosts.world.simulator import SWEEP_CAMERA, SWEEP_HEADINGS, Simulator
from ghosts.world.store import PanoramaStore

LARGE = Intrinsics(640, 480, math.radians(60.0))
ORIGINAL_LARGE_FPS, ORIGINAL_SWEEP_FPS = 190.0, 390.0
"""The original simulator, built for CPU rendering, on 2 idle cores, panoramas in its cache."""


@dataclass(frozen=True)
class Row:
    """One measurement."""

    what: str
    device: str
    frames_per_s: float
    original_fps: float | None
    """The original on a CPU, where it has a comparable figure."""


def measure_simulator(device: str, *, seconds: float = 3.0, panoramas: int = 24, face_px: int = 512) -> list[Row]:
    """Measure all rows on a device ("cpu" or "cuda").

    Args:
        device: where to render.
        seconds: how long each row is measured, after a warm-up.
        panoramas: number of synthetic panoramas, all resident.
        face_px: their face size (Matterport's default: 512).
    """
    with tempfile.TemporaryDirectory() as folder:
        graph = _synthetic_scan(Path(folder), panoramas, face_px)
        store = PanoramaStore(Path(folder), cache_bytes=4 << 30)
        for viewpoint in graph.ids:
            store.load(graph.scan, viewpoint)
        if device == "cpu":
            return _cpu_rows(graph, store, seconds)
        return _gpu_rows(graph, store, seconds, device)


def _cpu_rows(graph: NavGraph, store: PanoramaStore, seconds: float) -> list[Row]:
    rows = []
    for batch, camera, views, original in (
        (1, LARGE, 1, ORIGINAL_LARGE_FPS),
        (16, LARGE, 1, ORIGINAL_LARGE_FPS),
        (1, SWEEP_CAMERA, SWEEP_HEADINGS, ORIGINAL_SWEEP_FPS),
        (4, SWEEP_CAMERA, SWEEP_HEADINGS, ORIGINAL_SWEEP_FPS),
    ):
        for kind in ("fresh",):
            simulator = Simulator(lambda scan: graph, store)

            def once(step: int, batch: int = batch, views: int = views, simulator: Simulator = simulator) -> None:
                names = [graph.ids[(step * batch + k) % len(graph.ids)] for k in range(batch)]
                ring = [(geometry.TAU * k / SWEEP_HEADINGS, -0.5) for k in range(views)]
                simulator.render([graph.scan] * batch, names, [ring] * batch, camera)  # noqa: B023 (used at once)

            rate = _rate(once, batch * views, seconds, warm_up=len(graph.ids))
            size = f"{camera.width} × {camera.height}"
            what = f"{size}, batch {batch}" if views == 1 else f"{views}-view sweeps of {size}, batch {batch}"
            rows.append(Row(f"{what}, {kind}", "cpu", rate, original))
    return rows


def _gpu_rows(graph: NavGraph, store: PanoramaStore, seconds: float, device: str) -> list[Row]:
    bank = make_bank([store.load(graph.scan, viewpoint) for viewpoint in graph.ids], device)
    rows = []
    for batch, camera in ((1, LARGE), (16, LARGE), (256, LARGE), (16 * SWEEP_HEADINGS, SWEEP_CAMERA)):
        random = np.random.default_rng(0)
        which = torch.from_numpy(random.integers(0, len(graph.ids), batch).astype(np.int32)).to(device)
        headings, elevations = random.uniform(0, geometry.TAU, batch), random.uniform(-0.6, 0.6, batch)
        rotations = graph.rotation[which.cpu().numpy()]
        matrices = torch.from_numpy(view_matrices(rotations, headings, elevations)).float().to(device)

        def once(step: int, which: torch.Tensor = which, matrices: torch.Tensor = matrices) -> None:
            render_views(bank, which, matrices, camera)  # noqa: B023 (used at once)

        rate = _rate(once, batch, seconds, warm_up=5, after=torch.cuda.synchronize)
        rows.append(Row(f"{camera.width} × {camera.height}, batch {batch}, fresh", device, rate, None))
    return rows


def _rate(
    once: Callable[[int], None],
    frames: int,
    seconds: float,
    *,
    warm_up: int,
    after: Callable[[], None] = lambda: None,
) -> float:
    """Frames a second: the median of ten equal stretches, so that a neighbour's burst on the machine counts once."""
    for step in range(warm_up):
        once(step)
    after()
    start, steps = time.perf_counter(), 0
    while time.perf_counter() - start < seconds / 10:
        once(steps)
        steps += 1
    after()
    rates = []
    for _ in range(10):
        start = time.perf_counter()
        for step in range(steps):
            once(step)
        after()
        rates.append(frames * steps / (time.perf_counter() - start))
    return float(np.median(rates))


def _synthetic_scan(folder: Path, count: int, face_px: int) -> NavGraph:
    """Panoramas with texture at all scales and noise-free depth, at random orientations, written as real files."""
    random = np.random.default_rng(0)
    ids = tuple(f"{number:032x}" for number in range(count))
    images = folder / "bench" / "matterport_skybox_images"
    for viewpoint in ids:
        colour = sum(
            cv2.resize(random.uniform(0, 60, (size, 6 * size, 3)), (6 * face_px, face_px)) for size in (4, 16, 64, 256)
        )
        depth = cv2.resize(random.uniform(4000, 30000, (8, 48)), (6 * face_px, face_px))
        write_image(images / f"{viewpoint}_skybox_small.jpg", np.asarray(colour).astype(np.uint8))
        write_image(images / f"{viewpoint}_skybox_depth_small.png", depth.astype(np.uint16))
    position = np.zeros((count, 3))
    none = np.zeros((count, count), bool)
    distance, next_hop = shortest_walks(position, none)
    rotation = Rotation.random(count, random_state=0).as_matrix()
    included = np.ones(count, bool)
    return NavGraph("bench", ids, position, rotation, np.ones(count), included, none, none, distance, next_hop)
