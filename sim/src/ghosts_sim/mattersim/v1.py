"""The older interface, of 2018 (tag v0.1): one environment, plain values, `init`, states that are copies.

`import ghosts_sim.mattersim.v1 as MatterSim`. EnvDrop, Speaker-Follower and most code up to 2020 were written for it.
"""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import SupportsFloat, SupportsIndex

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.images import FACES, read_skybox_faces
from ghosts_sim.mattersim.building import Building, Location, Panoramas, State, open_building, open_panoramas
from ghosts_sim.mattersim.minstd import Minstd, random_row
from ghosts_sim.mattersim.settings import Settings, real, text, whole
from ghosts_sim.mattersim.walker import Painter, Walker
from ghosts_sim.store import Panorama, PanoramaStore
from ghosts_sim.types import Intrinsics

__all__ = ["SimState", "Simulator", "ViewPoint"]


class ViewPoint(Location):
    """A location, as seen from the camera."""

    __slots__ = ()

    point = property(lambda self: list(self._place[2:]), doc="Metres in the world: x, y, z.")


class SimState(State):
    """What `getState` returns: a copy, which later actions leave as it is."""

    __slots__ = ("_places", "_rgb", "_step", "_walker")

    def __init__(self, walker: Walker, rgb: np.ndarray | None) -> None:
        assert walker.building is not None, "an episode has begun"
        here = ViewPoint(walker.building.places[walker.row])
        self._places = [here, *[ViewPoint(*item) for item in walker.reach()]]
        self._walker = (walker.scan, walker.view)
        self._step, self._rgb = walker.step, rgb

    scanId = property(lambda self: self._walker[0], doc="The building.")
    step = property(lambda self: self._step, doc="Actions since the episode began.")
    rgb = property(lambda self: self._rgb, doc="Height × width × BGR, uint8; None where nothing is rendered.")
    location = property(lambda self: self._places[0], doc="Where it stands.")
    heading = property(lambda self: self._walker[1][0], doc="Radians clockwise from +y.")
    elevation = property(lambda self: self._walker[1][1], doc="Radians above the horizon.")
    viewIndex = property(lambda self: self._walker[1][2], doc="Of 36 discretised views; 0 with free ones.")
    navigableLocations = property(lambda self: self._places, doc="Where it may go, the present location first.")


class Simulator(Settings):
    """The simulator of one environment. Only viewpoints within the field of view are navigable."""

    def __init__(self) -> None:
        super().__init__("./data")
        self._walker = Walker()
        self._painter: Painter | None = None
        self._buildings: dict[str, Building] = {}
        self._random = Minstd(int(time.time()))

    def setDatasetPath(self, path: str) -> None:
        """Folder that holds `v1/scans/<scan>/matterport_skybox_images`."""
        self._dataset_path = os.fsdecode(path)
        if self._painter is not None:
            self._open(self._painter.camera)

    def setNavGraphPath(self, path: str) -> None:
        """Folder of the connectivity files."""
        self._graph_path = os.fsdecode(path)

    def setSeed(self, seed: int) -> None:
        """Seed of random viewpoints; the time, until it is set."""
        self._random = Minstd(whole(seed))

    def init(self) -> None:
        """Fix the settings; again, with a camera that was changed. Called by `newEpisode` if need be."""
        self._rgb = np.zeros((self._height, self._width, 3), np.uint8)
        if self._rendering:
            self._open(self._camera())
        self._initialised = True

    def _open(self, camera: Intrinsics) -> None:
        scans = Path(self._dataset_path) / "v1" / "scans"
        read = partial(_read, PanoramaStore(scans, depth=False, cache_bytes=0))
        panoramas = open_panoramas(scans, ("v1",), lambda: Panoramas(read, 1))
        self._painter = Painter(panoramas, camera, keep=self._discretised)

    def newEpisode(
        self, scanId: str | bytes, viewpointId: str | bytes, heading: SupportsFloat, elevation: SupportsFloat
    ) -> None:
        """Start an episode.

        Args:
            scanId: the building.
            viewpointId: where to start; a random included viewpoint when it is empty.
            heading: of the camera in radians.
            elevation: of the camera in radians.

        Raises:
            ValueError: the scan or viewpoint is unknown or excluded, or a file is missing.
            TypeError: an argument is a list.
        """
        if not self._initialised:
            Simulator.init(self)  # as in C++, not what a subclass may have overridden
        if isinstance(scanId, (list, tuple)):
            raise TypeError(
                f"MatterSim: scanId must be a text, got {scanId!r} (lists are the newer interface's, of "
                "programs that call initialize() instead of init())"
            )
        scanId, viewpointId = text(scanId), text(viewpointId)
        building = self._building(scanId)
        row = building.row(viewpointId) if viewpointId else random_row(self._random, scanId, building.included)
        view = self._view(real(heading), real(elevation))
        self._walker.start(scanId, building, row, view, self._hfov())
        self._draw()

    def getState(self) -> SimState:
        """A copy of the state.

        Raises:
            RuntimeError: no episode has begun (the original crashes).
        """
        if self._walker.building is None:
            raise RuntimeError("MatterSim: newEpisode must be called before getState")
        return SimState(self._walker, self._rgb.copy() if self._rendering else None)

    def makeAction(self, index: SupportsIndex, heading: SupportsFloat, elevation: SupportsFloat) -> None:
        """Move to a navigable location, then turn the camera.

        Args:
            index: into `navigableLocations`; 0 stays.
            heading: change in radians (with discretised views only its sign counts).
            elevation: change in radians, as for the heading.

        Raises:
            ValueError: the index is out of range, or the simulator is not initialised.
        """
        walker, choice = self._walker, whole(index)
        row = walker.row
        if choice or walker.building is None or not self._initialised:
            others = walker.reach() if self._initialised else []
            if not 0 < choice <= len(others):
                raise ValueError(f"MatterSim: Invalid action index: {choice}")
            row = others[choice - 1][0][1]
        walker.go(row, self._turn(walker.view, real(heading), real(elevation)), self._hfov())
        self._draw()

    def close(self) -> None:
        """Let go of panoramas; settings may be changed again afterwards."""
        if self._initialised:
            self._initialised, self._painter = False, None

    def _building(self, scan: str) -> Building:
        if scan not in self._buildings:
            path = Path(self._graph_path) / f"{scan}_connectivity.json"
            self._buildings[scan] = open_building(path, "is scan id valid?")
        return self._buildings[scan]

    def _draw(self) -> None:
        if self._painter is not None:
            self._painter.draw([self._walker], [self._rgb], None)


def _read(strips: PanoramaStore, scan: str, viewpoint: str) -> Panorama:
    """Read the release's own six images of a panorama, or the strip that the newer interface reads."""
    strip = strips.paths(scan, viewpoint).colour
    pattern = strip.with_name(f"{viewpoint}_skybox*_sami.jpg")
    faces = [strip.with_name(f"{viewpoint}_skybox{face}_sami.jpg") for face in range(FACES)]
    try:
        if strip.exists() and not faces[0].exists():
            return strips.load(scan, viewpoint)
        return Panorama.from_rgb(read_skybox_faces(faces), None)
    except DataError as error:
        raise ValueError(f"MatterSim: Could not open skybox files at: {pattern} ({error})") from error
