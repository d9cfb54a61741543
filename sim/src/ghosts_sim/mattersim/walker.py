"""One environment: where it stands and looks, and what it sees there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ghosts_sim.camera import FacesInView, bands, faces_in_view, sample_rgbd
from ghosts_sim.mattersim.building import Building, Panoramas, Place
from ghosts_sim.navigation import Ranked, View, ranked
from ghosts_sim.renderer import for_each
from ghosts_sim.store import Panorama
from ghosts_sim.types import Intrinsics


class Walker:
    """A walker in a building. It knows nothing of interfaces."""

    __slots__ = ("building", "hfov_rad", "row", "scan", "step", "view")

    def __init__(self) -> None:
        self.building: Building | None = None
        self.scan, self.row, self.step = "", 0, 0
        self.view = View(0.0, 0.0, 0)
        self.hfov_rad: float | None = None

    def start(self, scan: str, building: Building, row: int, view: View, hfov_rad: float | None) -> None:
        """Begin an episode."""
        self.scan, self.building, self.step = scan, building, -1
        self.go(row, view, hfov_rad)

    def go(self, row: int, view: View, hfov_rad: float | None) -> None:
        """Take a step: stand at a viewpoint and look from there; `hfov_rad` is None where navigation is free."""
        self.row, self.view, self.hfov_rad = row, view, hfov_rad
        self.step += 1

    def reach(self) -> list[tuple[Place, Ranked]]:
        """Where it may go from here; nowhere before the first episode."""
        if self.building is None:
            return []
        places = self.building.places
        found = ranked(self.building.graph, self.row, self.view, self.hfov_rad)
        return [(places[item[1]], item) for item in found]

    def faces(self, camera: Intrinsics, face_px: int, keep: bool) -> FacesInView:
        """The faces it sees; `keep` those of views that come again."""
        assert self.building is not None, "only a walker that has started sees"
        heading, elevation, _ = self.view
        rotation = self.building.graph.rotation[self.row]
        if not rotation.any():  # as in HM3D's graphs: the original's cube is a point then
            return FacesInView(camera, ())
        if not keep:
            return faces_in_view(camera, rotation, heading, elevation, face_px)
        return _kept_faces(camera, rotation.tobytes(), heading, elevation, face_px)


@lru_cache(maxsize=4096)  # 8 kB each: the 36 views of 113 viewpoints
def _kept_faces(camera: Intrinsics, rotation: bytes, heading: float, elevation: float, face_px: int) -> FacesInView:
    return faces_in_view(camera, np.frombuffer(rotation).reshape(3, 3), heading, elevation, face_px)


@dataclass(frozen=True)
class Painter:
    """Draws what walkers see.

    Args:
        panoramas: of all buildings.
        camera: size and field of view.
        keep: whether views come again, as discretised ones do.
    """

    panoramas: Panoramas
    camera: Intrinsics
    keep: bool

    def draw(self, walkers: list[Walker], rgb: list[np.ndarray], depth: list[np.ndarray] | None) -> None:
        """Draw what each walker sees. Cores share the images, or bands of their rows when there are fewer images.

        Args:
            walkers: that have started.
            rgb: for each, height × width × BGR, uint8, written to.
            depth: for each, height × width, uint16, written to; None where it is not asked for.
        """
        # For each walker what it sees in colour and, unless depth is drawn with it, in depth.
        seen: list[tuple[Panorama, FacesInView, FacesInView | None]] = []
        names = [(walker.scan, walker.building.graph.ids[walker.row]) for walker in walkers if walker.building]
        for number, (walker, panorama) in enumerate(zip(walkers, self.panoramas.get_all(names))):
            view, apart = walker.faces(self.camera, panorama.face_px, self.keep).ready(), None
            if depth is not None and panorama.depth_px != panorama.face_px:
                apart = walker.faces(self.camera, panorama.depth_px, self.keep).ready()
            if not view.parts:
                for picture in (rgb[number], *([depth[number]] if depth is not None else [])):
                    picture[...] = 0
            seen.append((panorama, view, apart))

        whole = len(walkers) >= (os.cpu_count() or 1)
        rows: list[range | None] = [None] if whole else [*bands(self.camera)]

        def one(item: int) -> None:
            number, band = divmod(item, len(rows))
            panorama, view, apart = seen[number]
            distance = None if depth is None else depth[number]
            if apart is not None:
                sample_rgbd(panorama, apart, None, distance, rows=rows[band])
                distance = None
            sample_rgbd(panorama, view, rgb[number], distance, bgr=True, rows=rows[band])

        for_each(one, len(walkers) * len(rows))
