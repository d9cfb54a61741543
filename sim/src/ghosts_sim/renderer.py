"""Batches of views and panoramic sweeps from panoramas, as arrays that the mapper takes. It keeps caches, no state."""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from ghosts_sim import geometry
from ghosts_sim.camera import faces_in_view, sample_depth_m, sample_rgb
from ghosts_sim.graph import NavGraph
from ghosts_sim.store import PanoramaStore
from ghosts_sim.types import Intrinsics, Sweep

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

SWEEP_CAMERA = Intrinsics(width=320, height=256, vfov_rad=math.radians(60.0))
"""The paper's camera (supplement, "Simulator")."""
SWEEP_HEADINGS = 12
SWEEP_ELEVATION_RAD = math.radians(-30.0)


class PanoramaRenderer:
    """Renders what a camera at a viewpoint sees, by default several views at once, one per core.

    `graph_of` gives the navigation graph of a scan, as `DataRoot.graph` does.
    """

    def __init__(
        self, graph_of: Callable[[str], NavGraph], store: PanoramaStore, *, threads: int | None = None
    ) -> None:
        self.graph_of, self.store, self._threads = graph_of, store, threads

    def render(
        self,
        scans: Sequence[str],
        viewpoints: Sequence[str],
        views: Sequence[Sequence[tuple[float, float]]],
        camera: Intrinsics,
    ) -> Sweep:
        """Render given views of several viewpoints.

        Args:
            scans: building of each viewpoint, `b` of them.
            viewpoints: identifiers.
            views: for each viewpoint `v` pairs (heading, elevation) in radians.
            camera: size and field of view.

        Returns:
            A `Sweep` of `b × v` images; depth is 0 where there is no reading or the store holds no depth.
        """
        batch, count = len(viewpoints), len(views[0]) if views else 0
        rgb = np.empty((batch, count, camera.height, camera.width, 3), np.uint8)
        depth = np.zeros((batch, count, camera.height, camera.width), np.float32)
        poses = np.empty((batch, count, 4, 4))
        rows = [self.graph_of(scan).index(viewpoint) for scan, viewpoint in zip(scans, viewpoints)]
        for number, (scan, row, pairs) in enumerate(zip(scans, rows, views)):
            heading, elevation = np.array(pairs, float).T
            poses[number] = geometry.camera_to_world(self.graph_of(scan).position_m[row], heading, elevation)

        def one(item: int) -> None:
            number, view = divmod(item, count)
            graph, row = self.graph_of(scans[number]), rows[number]
            panorama = self.store.load(scans[number], viewpoints[number])
            heading, elevation = views[number][view]
            seen = faces_in_view(camera, graph.rotation[row], heading, elevation, panorama.face_px).ready()
            sample_rgb(panorama, seen, out=rgb[number, view])
            if panorama.faces_depth is not None:
                sample_depth_m(panorama, seen, out=depth[number, view])

        for_each(one, batch * count, self._threads)
        return Sweep(rgb, depth, poses, camera)

    def sweep(
        self,
        scans: Sequence[str],
        viewpoints: Sequence[str],
        *,
        camera: Intrinsics = SWEEP_CAMERA,
        headings: int = SWEEP_HEADINGS,
        elevation_rad: float = SWEEP_ELEVATION_RAD,
    ) -> Sweep:
        """Render a whole panoramic sweep of several viewpoints: `headings` views, evenly spaced from +y clockwise."""
        ring = [(step * geometry.TAU / headings, elevation_rad) for step in range(headings)]
        return self.render(scans, viewpoints, [ring] * len(viewpoints), camera)


def for_each(work: Callable[[int], object], count: int, threads: int | None = None) -> None:
    """Run `work(0…count−1)` on several threads, all cores by default; the caller's is one of them."""
    threads = min(threads or os.cpu_count() or 1, count)
    items = iter(range(count))

    def take() -> None:
        for item in items:
            work(item)

    if threads <= 1:
        take()
        return
    with _opencv.alone():
        helpers = [_pool(os.getpid()).submit(take) for _ in range(threads - 1)]
        try:
            take()
        finally:
            for helper in helpers:
                if not helper.cancel():  # one that never began has nothing left to do
                    helper.result()


@lru_cache(maxsize=1)
def _pool(process: int) -> ThreadPoolExecutor:
    """Threads that wait for work: starting them takes as long as an image. A forked process needs its own."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="ghosts-render")


class _OpenCV:
    """Keeps OpenCV from using threads of its own beside ours: they spin while they wait, and take a third of a core.

    Only where somebody has loaded OpenCV.
    """

    def __init__(self) -> None:
        self._lock, self._users, self._threads = threading.Lock(), 0, 0
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before_fork, after_in_parent=self._in_parent, after_in_child=self._forget)

    def _before_fork(self) -> None:
        """A forked process has none of OpenCV's threads, but would wait for them for ever: they end first."""
        self._lock.acquire()
        self._stop()

    def _in_parent(self) -> None:
        self._go_on()
        self._lock.release()

    def _forget(self) -> None:
        self._users = 0
        self._lock.release()

    def _stop(self) -> None:
        opencv = sys.modules.get("cv2")
        if opencv is not None:
            self._threads = self._threads if self._users else opencv.getNumThreads()
            opencv.setNumThreads(1)

    def _go_on(self) -> None:
        if self._users == 0 and self._threads:
            sys.modules["cv2"].setNumThreads(self._threads)

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._lock:
            if self._users == 0:
                self._stop()
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                self._go_on()


_opencv = _OpenCV()
