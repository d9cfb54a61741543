"""A drop-in for the original simulator's Python module: `import ghosts.mattersim as MatterSim`.

Same functions, defaults, order, rounding, errors and state fields as `peteanderson80/Matterport3DSimulator`, without
OpenGL. Two things are better on purpose: depth keeps 0.25 mm steps (the original renders it through an 8-bit buffer,
steps of 64 mm), and a missing or damaged file is named. Random viewpoints are uniform and seeded, but in another order.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import SupportsFloat, SupportsIndex

import numpy as np

from ghosts.errors import DataError
from ghosts.types import Intrinsics
from ghosts.world.camera import faces_in_view, sample_depth, sample_rgb
from ghosts.world.depth_fill import fill_depth
from ghosts.world.graph import NavGraph, load_graph
from ghosts.world.navigation import DEFAULT_ELEVATION_LIMITS_RAD, View, candidates, look, turn
from ghosts.world.store import ByteCache, Panorama, PanoramaStore

__all__ = ["SimState", "Simulator", "ViewPoint", "cbf"]


@dataclass
class ViewPoint:
    """A location, as seen from the camera."""

    viewpointId: str
    ix: int
    x: float
    y: float
    z: float
    rel_heading: float = 0.0
    rel_elevation: float = 0.0
    rel_distance: float = 0.0


@dataclass
class SimState:
    """What `getState` returns for each environment of the batch."""

    scanId: str = ""
    step: int = 0
    rgb: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 3), np.uint8))
    """Height × width × BGR, uint8."""
    depth: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 1), np.uint16))
    """Height × width × 1, uint16, distance along the optical axis, 0.25 mm a unit, 0 = no reading."""
    location: ViewPoint | None = None
    heading: float = 0.0
    elevation: float = 0.0
    viewIndex: int = 0
    navigableLocations: list[ViewPoint] = field(default_factory=list)


class Simulator:
    """The simulator. Settings other than camera and elevation limits are fixed once it is initialised."""

    def __init__(self) -> None:
        self._dataset_path, self._graph_path = "./data/v1/scans/", "./connectivity"
        self._width, self._height, self._vfov = 320, 240, 0.8
        self._elevation_limits = DEFAULT_ELEVATION_LIMITS_RAD
        self._rendering, self._discretised, self._restricted = True, False, True
        self._preloading, self._depth = False, False
        self._batch, self._cache_size, self._seed = 1, 200, 1
        self._initialised = False
        self._graphs: dict[str, NavGraph] = {}
        self._states: list[SimState] = []
        self.resetTimers()

    def setDatasetPath(self, path: str) -> None:
        """Folder that holds a folder for every scan."""
        if not self._initialised:
            self._dataset_path = str(path)

    def setNavGraphPath(self, path: str) -> None:
        """Folder of the connectivity files and `scans.txt`."""
        if not self._initialised:
            self._graph_path = str(path)

    def setRenderingEnabled(self, value: bool) -> None:
        """Whether images are made; navigation works without."""
        if not self._initialised:
            self._rendering = bool(value)

    def setCameraResolution(self, width: int, height: int) -> None:
        """Image size in pixels."""
        self._width, self._height = int(width), int(height)

    def setCameraVFOV(self, vfov: float) -> None:
        """Vertical field of view in radians."""
        self._vfov = float(vfov)

    def setElevationLimits(self, min: float, max: float) -> bool:
        """Limit the camera's elevation; accepted only when −π/2 < min < 0 < max < π/2."""
        if -math.pi / 2 < min < 0.0 < max < math.pi / 2:
            self._elevation_limits = (float(min), float(max))
            return True
        return False

    def setDiscretizedViewingAngles(self, value: bool) -> None:
        """Restrict views to 12 headings × 3 elevations."""
        if not self._initialised:
            self._discretised = bool(value)

    def setRestrictedNavigation(self, value: bool) -> None:
        """Whether only viewpoints within the field of view are navigable (the default)."""
        if not self._initialised:
            self._restricted = bool(value)

    def setPreloadingEnabled(self, value: bool) -> None:
        """Read all panoramas of a scan when it is first visited."""
        if not self._initialised:
            self._preloading = bool(value)

    def setDepthEnabled(self, value: bool) -> None:
        """Whether depth is rendered."""
        if not self._initialised:
            self._depth = bool(value)

    def setBatchSize(self, size: int) -> None:
        """Number of environments stepped together."""
        if not self._initialised:
            self._batch = int(size)

    def setCacheSize(self, size: int) -> None:
        """Number of panoramas kept in memory."""
        if not self._initialised:
            self._cache_size = int(size)

    def setSeed(self, seed: int) -> None:
        """Seed of `newRandomEpisode`."""
        if not self._initialised:
            self._seed = int(seed)

    def initialize(self) -> None:
        """Read the navigation graphs; from here on the settings are fixed. Called by `newEpisode` if need be."""
        if self._initialised:
            return
        self._graphs = _load_graphs(Path(self._graph_path))
        self._store = PanoramaStore(Path(self._dataset_path), depth=self._depth, cache_bytes=0)
        # The original counts panoramas, not bytes: one unit each.
        self._panoramas: ByteCache[Panorama] = ByteCache(max(self._cache_size, 1), lambda panorama: 1)
        self._random = random.Random(self._seed)
        self._states = [
            SimState(
                rgb=np.zeros((self._height, self._width, 3), np.uint8),
                depth=np.zeros((self._height, self._width, 1), np.uint16),
            )
            for _ in range(self._batch)
        ]
        self._initialised = True

    def newEpisode(
        self,
        scanId: Sequence[str],
        viewpointId: Sequence[str],
        heading: Sequence[SupportsFloat],
        elevation: Sequence[SupportsFloat],
    ) -> None:
        """Start an episode in each environment.

        Raises:
            ValueError: a viewpoint is unknown or excluded, a file is missing, or a list is not as long as the batch.
            IndexError: a scan is unknown.
        """
        start = time.perf_counter()
        self.initialize()
        for name, values in (
            ("scanId", scanId),
            ("viewpointId", viewpointId),
            ("heading", heading),
            ("elevation", elevation),
        ):
            self._check_length(name, values)
        rows = [_row(self._graph(scan), viewpoint) for scan, viewpoint in zip(scanId, viewpointId)]
        for state, scan, row, h, e in zip(self._states, scanId, rows, heading, elevation):
            state.scanId, state.step = scan, 0
            state.location = _location(self._graph(scan), row)
            self._set_view(state, self._look(float(h), float(e)))
        self._refresh(start)

    def newRandomEpisode(self, scanId: Sequence[str]) -> None:
        """Start each environment at a random included viewpoint, level, with a random heading."""
        self.initialize()
        self._check_length("scanId", scanId)
        viewpoints = []
        for scan in scanId:
            graph = self._graph(scan)
            included = np.flatnonzero(graph.included)
            if not included.size:
                raise RuntimeError(f"MatterSim: ScanId: {scan} has no included viewpoints!")
            viewpoints.append(graph.ids[self._random.choice(included.tolist())])
        headings = [self._random.uniform(0.0, 2.0 * math.pi) for _ in scanId]
        self.newEpisode(scanId, viewpoints, headings, [0.0] * len(scanId))

    def getState(self) -> list[SimState]:
        """The state of every environment."""
        return self._states

    def makeAction(
        self, index: Sequence[SupportsIndex], heading: Sequence[SupportsFloat], elevation: Sequence[SupportsFloat]
    ) -> None:
        """Move each environment to a navigable location, then turn its camera.

        Args:
            index: into `navigableLocations`; 0 stays.
            heading: change in radians (with discretised views only its sign counts).
            elevation: likewise.

        Raises:
            RuntimeError: no episode was started.
            ValueError: an index is out of range (the message names it and its environment).
        """
        start = time.perf_counter()
        if not self._initialised or self._states[0].location is None:
            raise RuntimeError("MatterSim: newEpisode must be called before makeAction")
        for name, values in (("index", index), ("heading", heading), ("elevation", elevation)):
            self._check_length(name, values)
        for number, (state, choice) in enumerate(zip(self._states, index)):
            if not 0 <= int(choice) < len(state.navigableLocations):
                raise ValueError(
                    f"MatterSim: Invalid action index: {choice} in environment {number} of {len(self._states)}"
                )
        for state, choice, h, e in zip(self._states, index, heading, elevation):
            state.location = _location(self._graph(state.scanId), state.navigableLocations[choice].ix)
            state.step += 1
            view = View(state.heading, state.elevation, state.viewIndex)
            limits = self._elevation_limits
            self._set_view(
                state,
                turn(view, float(h), float(e), discretised=self._discretised, elevation_limits_rad=limits),
            )
        self._refresh(start)

    def close(self) -> None:
        """Drop caches and states; settings may be changed again afterwards."""
        self._initialised, self._graphs, self._states = False, {}, []

    def resetTimers(self) -> None:
        """Start timing anew."""
        self._frames, self._load_s, self._render_s, self._total_s = 0, 0.0, 0.0, 0.0

    def timingInfo(self) -> str:
        """Rendered frames and where the time went since the timers were reset."""
        rate = self._frames / self._total_s if self._total_s > 0.0 else 0.0
        return (
            f"Rendered {self._frames} frames in {self._total_s:.3f} s ({rate:.1f} fps): "
            f"loading {self._load_s:.3f} s, rendering {self._render_s:.3f} s"
        )

    def _check_length(self, name: str, values: Sequence[object]) -> None:
        if len(values) != self._batch:
            raise ValueError(f"MatterSim: {name} has {len(values)} entries, the batch size is {self._batch}")

    def _graph(self, scan: str) -> NavGraph:
        if scan not in self._graphs:
            raise IndexError("map::at")  # what the original says
        return self._graphs[scan]

    def _look(self, heading: float, elevation: float) -> View:
        return look(heading, elevation, discretised=self._discretised, elevation_limits_rad=self._elevation_limits)

    def _set_view(self, state: SimState, view: View) -> None:
        state.heading, state.elevation, state.viewIndex = view.heading_rad, view.elevation_rad, view.index

    def _refresh(self, start: float) -> None:
        hfov = self._vfov * self._width / self._height if self._restricted else None
        for state in self._states:
            graph = self._graph(state.scanId)
            assert state.location is not None
            view = View(state.heading, state.elevation, state.viewIndex)
            state.navigableLocations = [
                _location(graph, item.row, item.turn_rad, item.rise_rad, item.distance_m)
                for item in candidates(graph, state.location.ix, view, hfov)
            ]
            if self._rendering:
                self._render(state, graph)
        self._total_s += time.perf_counter() - start

    def _render(self, state: SimState, graph: NavGraph) -> None:
        assert state.location is not None
        began = time.perf_counter()
        if self._preloading:
            for row in np.flatnonzero(graph.included):
                self._panorama(state.scanId, graph.ids[row])
        panorama = self._panorama(state.scanId, state.location.viewpointId)
        loaded = time.perf_counter()
        camera = Intrinsics(self._width, self._height, self._vfov)
        rotation = graph.rotation[state.location.ix]
        view = faces_in_view(camera, rotation, state.heading, state.elevation, panorama.face_px)
        state.rgb = sample_rgb(panorama, view, bgr=True)
        if self._depth:
            state.depth = sample_depth(panorama, view)[..., None]
        self._frames += 1
        self._load_s += loaded - began
        self._render_s += time.perf_counter() - loaded

    def _panorama(self, scan: str, viewpoint: str) -> Panorama:
        def read() -> Panorama:
            try:
                return self._store.load(scan, viewpoint)
            except DataError as error:
                kind = "depth" if "depth" in str(error.file) else "RGB"
                raise ValueError(f"MatterSim: Could not open skybox {kind} files at: {error.file} ({error})") from error

        return self._panoramas.get((scan, viewpoint), read)


def cbf(depth: np.ndarray, intensity: np.ndarray, mask: np.ndarray, result: np.ndarray) -> None:
    """Fill missing 8-bit depth in place of `result`, as the original does (column-major images, NYUv2's filter).

    Args:
        depth: uint8, height × width.
        intensity: uint8 guide.
        mask: non-zero where depth is missing.
        result: uint8 (or bool) array written to.
    """
    missing = np.asarray(mask) != 0
    filled = fill_depth(np.asarray(depth, np.float32) / 255.0, np.asarray(intensity, np.float32) / 255.0, missing)
    values = np.where(missing, (filled * 255.0).astype(np.uint8), depth)
    result.view(np.uint8)[...] = values


def _load_graphs(folder: Path) -> dict[str, NavGraph]:
    listing = folder / "scans.txt"
    try:
        names = listing.read_text(encoding="utf-8").split()
    except OSError:
        raise ValueError(f"MatterSim: Could not open list of scans at: {listing}, is path valid?") from None
    graphs = {}
    for name in names:
        path = folder / f"{name}_connectivity.json"
        if not path.is_file():
            raise ValueError(f"MatterSim: Could not open navigation graph file: {path}, is path valid?")
        graphs[name] = load_graph(path)
    return graphs


def _row(graph: NavGraph, viewpoint: str) -> int:
    if viewpoint not in graph.ids:
        raise ValueError(f"MatterSim: Could not find viewpointId: {viewpoint}, is viewpoint id valid?")
    row = graph.index(viewpoint)
    if not graph.included[row]:
        raise ValueError(f"MatterSim: ViewpointId: {viewpoint}, is excluded from the connectivity graph.")
    return row


def _location(graph: NavGraph, row: int, turn: float = 0.0, rise: float = 0.0, distance: float = 0.0) -> ViewPoint:
    x, y, z = graph.position_m[row].astype(np.float32).tolist()
    return ViewPoint(graph.ids[row], row, x, y, z, turn, rise, distance)
