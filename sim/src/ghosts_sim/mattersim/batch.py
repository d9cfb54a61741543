"""The newer interface: a batch of environments stepped together, lists for every argument."""

from __future__ import annotations

import operator
import os
import time
from functools import partial
from pathlib import Path
from typing import Any, Sequence, SupportsFloat, SupportsIndex, Union

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.mattersim.building import HERE, Building, Location, Panoramas, State, open_building, open_panoramas
from ghosts_sim.mattersim.minstd import Minstd, random_row
from ghosts_sim.mattersim.settings import Settings, flag, real, text, unsigned, whole
from ghosts_sim.mattersim.walker import Painter, Walker
from ghosts_sim.navigation import View
from ghosts_sim.store import Panorama, PanoramaStore

Texts = Union[Sequence[Union[str, bytes]], np.ndarray]
Numbers = Union[Sequence[SupportsFloat], np.ndarray]
Indices = Union[Sequence[SupportsIndex], np.ndarray]


class ViewPoint(Location):
    """A location, as seen from the camera."""

    __slots__ = ()

    x = property(lambda self: self._place[2], doc="Metres in the world.")
    y = property(lambda self: self._place[3], doc="Metres in the world.")
    z = property(lambda self: self._place[4], doc="Metres in the world.")


class SimState(State):
    """What `getState` returns for each environment. It is the environment itself: the next action changes it."""

    __slots__ = ("__weakref__", "_here", "_pictures", "_places", "_size", "_walker")

    def __init__(self, height: int, width: int) -> None:
        self._walker = Walker()
        self._here: ViewPoint | None = None
        self._places: list[ViewPoint] | None = None
        self._size = (height, width)
        self._pictures: tuple[np.ndarray, np.ndarray] | None = None

    scanId = property(lambda self: self._walker.scan, doc="The building.")
    step = property(lambda self: self._walker.step, doc="Actions since the episode began.")
    rgb = property(lambda self: self._images()[0], doc="Height × width × BGR, uint8; the next action draws over it.")
    depth = property(
        lambda self: self._images()[1],
        doc="Height × width × 1, uint16: distance along the optical axis, 0.25 mm per unit, 0 = no reading.",
    )
    heading = property(lambda self: self._walker.view[0], doc="Radians clockwise from +y.")
    elevation = property(lambda self: self._walker.view[1], doc="Radians above the horizon.")
    viewIndex = property(lambda self: self._walker.view[2], doc="Of 36 discretised views; 0 with free ones.")

    @property
    def location(self) -> ViewPoint | None:
        """Where it stands; None before the first episode."""
        walker = self._walker
        if self._here is None and walker.building is not None:
            self._here = ViewPoint(walker.building.places[walker.row])
        return self._here

    @property
    def navigableLocations(self) -> list[ViewPoint]:
        """Where it may go, the present location first."""
        return list(self._reach())

    def _images(self) -> tuple[np.ndarray, np.ndarray]:
        """Made when they are asked for: 64 simulators that draw nothing would hold 98 MB of black."""
        if self._pictures is None:
            self._pictures = np.zeros((*self._size, 3), np.uint8), np.zeros((*self._size, 1), np.uint16)
        return self._pictures

    def _reach(self) -> list[ViewPoint]:
        """Looked up when it is asked for: most turns of a camera are followed by another."""
        if self._places is None:
            here = self._here or self.location
            self._places = [here] if here is not None else []
            for place, item in self._walker.reach():
                self._places.append(ViewPoint(place, item))
        return self._places

    def _begin(self, *episode: Any) -> None:
        self._walker.start(*episode)
        self._here = self._places = None

    def _go(self, to: ViewPoint | None, view: View, hfov: float | None) -> None:
        """Take a step, to a navigable location or (None) to where it stands."""
        walker = self._walker
        if to is not None:
            walker.row = to._place[1]
            to._item = HERE  # a program that holds it sees its distances become 0, as in the original
            self._here = to
        walker.view, walker.hfov_rad, self._places = view, hfov, None
        walker.step += 1


class Simulator(Settings):
    """The simulator. Settings other than camera and elevation limits are fixed once it is initialised.

    As in C++, a method never calls what a subclass may have overridden.
    """

    def __init__(self) -> None:
        super().__init__("./data/v1/scans/")
        self._restricted, self._preloading, self._depth = True, False, False
        self._batch, self._cache_size, self._seed = 1, 200, 1
        self._states: list[SimState] = []
        self._scans: set[str] | None = None
        self._painter: Painter | None = None
        Simulator.resetTimers(self)

    def setDatasetPath(self, path: str) -> None:
        """Folder that holds a folder for every scan."""
        self._choose(_dataset_path=os.fsdecode(path))

    def setNavGraphPath(self, path: str) -> None:
        """Folder of the connectivity files and `scans.txt`."""
        self._choose(_graph_path=os.fsdecode(path))

    def setRestrictedNavigation(self, value: bool) -> None:
        """Whether only viewpoints within the field of view are navigable (the default)."""
        self._choose(_restricted=flag(value))

    def setPreloadingEnabled(self, value: bool) -> None:
        """Read all panoramas of a building when it is first visited, and keep them."""
        self._choose(_preloading=flag(value))

    def setDepthEnabled(self, value: bool) -> None:
        """Whether depth is rendered."""
        self._choose(_depth=flag(value))

    def setBatchSize(self, size: int) -> None:
        """Number of environments stepped together."""
        self._choose(_batch=unsigned(size))

    def setCacheSize(self, size: int) -> None:
        """Number of panoramas that are kept at least, beside those that are preloaded; see `Panoramas`."""
        self._choose(_cache_size=unsigned(size))

    def setSeed(self, seed: int) -> None:
        """Seed of `newRandomEpisode`."""
        self._choose(_seed=whole(seed))

    def initialize(self) -> None:
        """Fix the settings. Called by `newEpisode` if need be; files are read from there on."""
        if self._initialised:
            return
        self._states = [SimState(self._height, self._width) for _ in range(self._batch)]
        self._buildings: dict[str, Building] = {}
        self._random = Minstd(self._seed)
        if self._rendering:  # without pictures any field of view will do, such as 60 rad
            scans, least = Path(self._dataset_path), max(self._cache_size, self._batch, 1)
            read = partial(_read, PanoramaStore(scans, depth=self._depth, cache_bytes=0, one_size=False))
            panoramas = open_panoramas(scans, (self._depth, least), lambda: Panoramas(read, least))
            self._painter = Painter(panoramas, self._camera(), keep=self._discretised)
        self._initialised = True

    def newEpisode(self, scanId: Texts, viewpointId: Texts, heading: Numbers, elevation: Numbers) -> None:
        """Start an episode in each environment.

        Raises:
            ValueError: a viewpoint is unknown or excluded, or a file is missing.
            IndexError: a scan is unknown, or a list is shorter than the batch; what a longer one has beyond is ignored.
            TypeError: an argument is no list.
        """
        start = time.perf_counter()
        Simulator.initialize(self)
        self._check("scanId viewpointId heading elevation", scanId, viewpointId, heading, elevation)
        hfov = self._hfov() if self._restricted else None
        begun = []
        for number in range(len(self._states)):
            scan = text(scanId[number])
            building = self._building(scan)
            view = self._view(real(heading[number]), real(elevation[number]))
            begun.append((scan, building, building.row(text(viewpointId[number])), view, hfov))
        for state, episode in zip(self._states, begun):
            state._begin(*episode)
        self._draw(start)

    def newRandomEpisode(self, scanId: Texts) -> None:
        """Start each environment at a random included viewpoint, level, with a random heading."""
        Simulator.initialize(self)
        self._check("scanId", scanId)
        viewpoints, headings, random = [], [], Minstd(1)  # the original's headings are the same in every call
        for scan in map(text, scanId):  # of those beyond the batch too, as there: each takes a random number
            building = self._building(scan)
            viewpoints.append(building.places[random_row(self._random, scan, building.included)][0])
            headings.append(random.heading_rad())
        Simulator.newEpisode(self, scanId, viewpoints, headings, [0.0] * len(viewpoints))

    def getState(self) -> list[SimState]:
        """The state of every environment."""
        return list(self._states)

    def makeAction(self, index: Indices, heading: Numbers, elevation: Numbers) -> None:
        """Move each environment to a navigable location, then turn its camera.

        Args:
            index: into `navigableLocations`; 0 stays.
            heading: change in radians (with discretised views only its sign counts).
            elevation: change in radians, as for the heading.

        Raises:
            RuntimeError: the simulator is not initialised.
            ValueError: an index is out of range; before the first episode every one is.
            IndexError: a list is shorter than the batch; what a longer one has beyond is ignored.
            TypeError: an argument is no list, or an index is negative or no whole number.
        """
        start = time.perf_counter()
        if not self._initialised:
            raise RuntimeError("MatterSim: newEpisode must be called before makeAction")
        self._check("index heading elevation", index, heading, elevation)
        hfov, look = self._hfov() if self._restricted else None, self._turn
        steps = []
        for number, state in enumerate(self._states):
            walker, choice, to = state._walker, operator.index(index[number]), None
            if choice or walker.building is None:
                if choice < 0:
                    raise TypeError(f"MatterSim: an index must not be negative, got {choice} in environment {number}")
                places = state._reach()
                if choice >= len(places):
                    batch = len(self._states)
                    raise ValueError(f"MatterSim: Invalid action index: {choice} in environment {number} of {batch}")
                to = places[choice]
            steps.append((state, to, look(walker.view, real(heading[number]), real(elevation[number]))))
        for state, to, view in steps:
            state._go(to, view, hfov)
        self._draw(start)

    def close(self) -> None:
        """Let go of buildings and panoramas; settings may be changed again afterwards."""
        if self._initialised:
            self._initialised, self._scans = False, None
            self._painter = None
            del self._buildings

    def resetTimers(self) -> None:
        """Start timing anew."""
        self._frames, self._load_s, self._render_s, self._total_s = 0, 0.0, 0.0, 0.0

    def timingInfo(self) -> str:
        """Rendered frames and where the time went since the timers were reset."""
        rate = self._frames / self._total_s if self._total_s > 0.0 else 0.0
        return (
            f"Rendered {self._frames} frames\n"
            f"Process time: {1e3 * self._total_s:.0f} ms, ({rate:.1f} fps)\n"
            f"\tPreloading: {1e3 * self._load_s:.0f} ms\n"
            f"\tRendering: {1e3 * self._render_s:.0f} ms\n"
        )

    def _check(self, names: str, *lists: Any) -> None:
        """Refuse what is no list, or shorter than the batch."""
        batch = len(self._states)
        for values in lists:
            if type(values) is not list or len(values) < batch:
                break
        else:
            return
        for name, values in zip(names.split(), lists):
            if isinstance(values, (str, bytes, dict)) or not hasattr(values, "__len__"):
                raise TypeError(
                    f"MatterSim: {name} must be a list with an entry for each environment, got {values!r} (plain "
                    "values are the older interface's, of programs that call init() instead of initialize())"
                )
            if len(values) < batch:
                raise IndexError(f"MatterSim: {name} has {len(values)} entries, the batch size is {batch}")

    def _building(self, scan: str) -> Building:
        found = self._buildings.get(scan)
        if found is None:
            if scan not in self._listed():
                raise IndexError("map::at")  # what the original says
            path = Path(self._graph_path) / f"{scan}_connectivity.json"
            found = self._buildings[scan] = open_building(path, "is path valid?")
        return found

    def _listed(self) -> set[str]:
        """Scans in `scans.txt`; each must have its graph, as the original reads them all."""
        if self._scans is None:
            folder = Path(self._graph_path)
            listing = folder / "scans.txt"
            try:
                names = listing.read_text(encoding="utf-8").split()
            except OSError:
                raise ValueError(f"MatterSim: Could not open list of scans at: {listing}, is path valid?") from None
            for name in names:
                if not (folder / f"{name}_connectivity.json").exists():
                    open_building(folder / f"{name}_connectivity.json", "is path valid?")  # says what is missing
            self._scans = set(names)
        return self._scans

    def _draw(self, start: float) -> None:
        if self._painter is not None:
            self._render(self._painter)
        self._total_s += time.perf_counter() - start

    def _render(self, painter: Painter) -> None:
        began = time.perf_counter()
        if self._preloading:
            for state in self._states:
                building = state._walker.building
                assert building is not None, "an episode has begun"
                painter.panoramas.preload(state._walker.scan, building.names)
        loaded = time.perf_counter()
        images = [state._images() for state in self._states]
        depth = [depth[..., 0] for _, depth in images] if self._depth else None
        painter.draw([state._walker for state in self._states], [rgb for rgb, _ in images], depth)
        self._frames += len(self._states)
        self._load_s += loaded - began
        self._render_s += time.perf_counter() - loaded


def _read(store: PanoramaStore, scan: str, viewpoint: str) -> Panorama:
    """Read a panorama; what is wrong with a file is said as the original says it."""
    try:
        return store.load(scan, viewpoint)
    except DataError as error:
        kind = "depth" if "depth" in str(error.file) else "RGB"
        raise ValueError(f"MatterSim: Could not open skybox {kind} files at: {error.file} ({error})") from error


def cbf(depth: np.ndarray, intensity: np.ndarray, mask: np.ndarray, result: np.ndarray) -> None:
    """Fill missing 8-bit depth in place of `result`, as the original does (column-major images, NYUv2's filter).

    Args:
        depth: uint8, height × width.
        intensity: uint8 guide.
        mask: non-zero where depth is missing.
        result: uint8 (or bool) array written to.
    """
    from ghosts_sim.depth_fill import fill_depth

    missing = np.asarray(mask) != 0
    filled = fill_depth(np.asarray(depth, np.float32) / 255.0, np.asarray(intensity, np.float32) / 255.0, missing)
    values = np.where(missing, (filled * 255.0).astype(np.uint8), depth)
    result.view(np.uint8)[...] = values
