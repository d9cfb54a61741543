"""What simulators share: buildings and panoramas are read once for all of them, and go when the last of them goes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Tuple
from weakref import WeakValueDictionary

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.graph import NavGraph, load_graph
from ghosts_sim.navigation import Ranked
from ghosts_sim.renderer import for_each
from ghosts_sim.store import ByteCache, Panorama

BUDGET_BYTES = 4 << 30
Place = Tuple[str, int, float, float, float]
"""Viewpoint, its row, and its position in the single precision of the originals."""


HERE: Ranked = (0.0, 0, 0.0, 0.0, 0.0)
"""The place where one stands, as seen from there."""


class Location:
    """What a viewpoint of either interface shows. Two of them are equal when they are the same, as the originals'."""

    __slots__ = ("_item", "_place")

    def __init__(self, place: Place, item: Ranked = HERE) -> None:
        self._place, self._item = place, item

    viewpointId = property(lambda self: self._place[0], doc="Identifier.")
    ix = property(lambda self: self._place[1], doc="Row in the connectivity file.")
    rel_heading = property(lambda self: self._item[2], doc="Radians to the right of the camera's heading.")
    rel_elevation = property(lambda self: self._item[3], doc="Radians above the camera's elevation.")
    rel_distance = property(lambda self: self._item[4], doc="Metres from the camera.")

    def __repr__(self) -> str:
        """Show identifier and row."""
        return f"{type(self).__name__}({self.viewpointId!r}, ix={self.ix})"


class State:
    """What both interfaces call the state of an environment."""

    __slots__ = ()


class Building:
    """A navigation graph as the originals see it."""

    def __init__(self, graph: NavGraph) -> None:
        self.graph = graph
        position = graph.position_m.astype(np.float32).tolist()
        self.places: list[Place] = [(name, row, *xyz) for row, (name, xyz) in enumerate(zip(graph.ids, position))]
        self._rows = {place[0]: place[1] for place in reversed(self.places)}  # of equal names the first counts

    def row(self, viewpoint: str) -> int:
        """Row of an included viewpoint.

        Raises:
            ValueError: there is no such viewpoint, or it is excluded; in the originals' words.
        """
        row = self._rows.get(viewpoint)
        if row is None:
            raise ValueError(f"MatterSim: Could not find viewpointId: {viewpoint}, is viewpoint id valid?")
        if not self.graph.included[row]:
            raise ValueError(f"MatterSim: ViewpointId: {viewpoint}, is excluded from the connectivity graph.")
        return row

    @cached_property
    def included(self) -> list[bool]:
        """Of each row."""
        return self.graph.included.tolist()

    @cached_property
    def names(self) -> list[str]:
        """Of the included viewpoints."""
        return [name for name, included in zip(self.graph.ids, self.included) if included]


_buildings: WeakValueDictionary[tuple[str, int, int, int, int], Building] = WeakValueDictionary()


def open_building(path: Path, advice: str) -> Building:
    """The building of a connectivity file, shared with every simulator that holds it.

    Args:
        path: `<scan>_connectivity.json`.
        advice: what the original asks when there is no such file.

    Raises:
        ValueError: the file cannot be opened.
        DataError: it is damaged.
    """
    try:
        found = path.stat()
    except OSError:
        raise ValueError(f"MatterSim: Could not open navigation graph file: {path}, {advice}") from None
    key = (path.name, found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size)  # a changed file is another one
    building = _buildings.get(key)
    if building is None:
        building = _buildings[key] = Building(_read_graph(path))
    return building


def _read_graph(path: Path) -> NavGraph:
    try:
        return load_graph(path)
    except DataError as error:
        from ghosts_sim.mattersim.odd_graphs import read_odd_graph

        graph = read_odd_graph(path)
        warnings.warn(f"MatterSim: read as the original reads it: {error}", stacklevel=2)
        return graph


def memory_budget() -> int:
    """Bytes of decoded panoramas that are kept: 4 GiB, or a quarter of this machine's memory if that is less."""
    try:
        most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 4
    except (ValueError, OSError):
        most = BUDGET_BYTES
    return min(BUDGET_BYTES, most)


class Panoramas:
    """Panoramas in memory, shared by every simulator that reads them from the same folder in the same way.

    Args:
        read: makes one of the files of a scan's viewpoint; raises ValueError where it cannot.
        least: so many panoramas are kept; beyond them, as many as fit into `memory_budget()`.
    """

    def __init__(self, read: Callable[[str, str], Panorama], least: int) -> None:
        self._read = read
        self._recent: ByteCache[Panorama] = ByteCache(memory_budget(), lambda panorama: panorama.nbytes, least)
        self._preloaded: dict[str, dict[str, Panorama]] = {}

    def get_all(self, names: list[tuple[str, str]]) -> list[Panorama]:
        """The panoramas of scans' viewpoints; those that have to be read are read side by side."""
        missing = [name for name in dict.fromkeys(names) if not self._has(*name)]
        if len(missing) > 1:
            for_each(lambda number: self._get(*missing[number]), len(missing))
        return [self._get(*name) for name in names]

    def _has(self, scan: str, viewpoint: str) -> bool:
        return viewpoint in self._preloaded.get(scan, ()) or (scan, viewpoint) in self._recent

    def _get(self, scan: str, viewpoint: str) -> Panorama:
        whole = self._preloaded.get(scan)
        if whole is not None and viewpoint in whole:
            return whole[viewpoint]
        return self._recent.get((scan, viewpoint), lambda: self._read(scan, viewpoint))

    def preload(self, scan: str, viewpoints: list[str]) -> None:
        """Read all of a building's panoramas, unless they were read before; they stay whatever the bound is."""
        if scan not in self._preloaded:
            read: dict[str, Panorama] = {}
            for_each(lambda k: read.update({viewpoints[k]: self._read(scan, viewpoints[k])}), len(viewpoints))
            self._preloaded[scan] = read


_panoramas: WeakValueDictionary[tuple[object, ...], Panoramas] = WeakValueDictionary()


def open_panoramas(folder: Path, kind: tuple[object, ...], make: Callable[[], Panoramas]) -> Panoramas:
    """The panoramas of a folder, shared with every simulator that holds them.

    Args:
        folder: of the scans.
        kind: what else tells two of them apart.
        make: called when nobody holds any.
    """
    key = (os.path.realpath(folder), *kind)
    found = _panoramas.get(key)
    if found is None:
        found = _panoramas[key] = make()
    return found
