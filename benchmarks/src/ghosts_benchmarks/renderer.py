"""How many RGB-D frames per second are rendered from panoramas: whole sweeps on the CPU, single views on a GPU."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from scipy.spatial.transform import Rotation

from ghosts.mapping.camera_torch import make_bank, render_views, view_matrices
from ghosts_sim import geometry
from ghosts_sim.graph import NavGraph, shortest_walks
from ghosts_sim.renderer import SWEEP_CAMERA, SWEEP_HEADINGS, PanoramaRenderer
from ghosts_sim.store import Panorama, PanoramaStore
from ghosts_sim.types import Intrinsics

LARGE = Intrinsics(640, 480, math.radians(60.0))


@dataclass(frozen=True)
class Row:
    """One measurement."""

    what: str
    device: str
    frames_per_s: float


def measure_renderer(device: str, *, seconds: float = 3.0) -> list[Row]:
    """Measure all rows on a device ("cpu" or "cuda"), each for so many seconds after a warm-up."""
    store = _MadeUp()
    return _cpu_rows(store, seconds) if device == "cpu" else _gpu_rows(store, seconds, device)


def _cpu_rows(store: _MadeUp, seconds: float) -> list[Row]:
    rows = []
    renderer = PanoramaRenderer(lambda scan: store.graph, store)
    for batch in (1, 4):

        def once(step: int, batch: int = batch) -> None:
            names = [store.graph.ids[(step * batch + k) % len(store.graph.ids)] for k in range(batch)]
            renderer.sweep([store.graph.scan] * batch, names)

        rate = _rate(once, batch * SWEEP_HEADINGS, seconds, warm_up=2)
        size = f"{SWEEP_CAMERA.width} × {SWEEP_CAMERA.height}"
        rows.append(Row(f"{SWEEP_HEADINGS}-view sweeps of {size}, batch {batch}", "cpu", rate))
    return rows


def _gpu_rows(store: _MadeUp, seconds: float, device: str) -> list[Row]:
    graph = store.graph
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
        rows.append(Row(f"{camera.width} × {camera.height}, batch {batch}", device, rate))
    return rows


def _rate(
    once: Callable[[int], None],
    frames: int,
    seconds: float,
    *,
    warm_up: int,
    after: Callable[[], None] = lambda: None,
) -> float:
    """Frames per second: the median of ten equal stretches, so that a neighbour's burst on the machine counts once."""
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


class _MadeUp(PanoramaStore):
    """Panoramas with texture at all scales and noise-free depth, at random orientations, in memory."""

    def __init__(self) -> None:
        super().__init__(Path("made-up"))
        count, face_px = 24, 512  # Matterport's face size
        random, size = np.random.default_rng(0), (6 * face_px, face_px)
        ids, position, ones = tuple(f"{row:032x}" for row in range(count)), np.zeros((count, 3)), np.ones(count)
        rotation, edges = Rotation.random(count, random_state=0).as_matrix(), np.zeros((count, count), bool)
        walks = shortest_walks(position, edges)
        self.graph = NavGraph("bench", ids, position, rotation, ones, ones.astype(bool), edges, edges, *walks)
        self._panoramas: dict[str, Panorama] = {}
        for viewpoint in ids:
            scales = [cv2.resize(random.uniform(0, 60, (k, 6 * k, 3)), size) for k in (4, 16, 64, 256)]
            depth = cv2.resize(random.uniform(4000, 30000, (8, 48)), size)
            colour = np.sum(scales, axis=0).astype(np.uint8)
            self._panoramas[viewpoint] = Panorama.from_rgb(colour, depth.astype(np.uint16))

    def load(self, scan: str, viewpoint: str) -> Panorama:
        """The panorama of a viewpoint."""
        return self._panoramas[viewpoint]
