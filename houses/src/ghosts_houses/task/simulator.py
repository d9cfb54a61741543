"""Simulators of houses: where a body fits, how far it is to walk, and a renderer. The last few are kept open."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from jaxtyping import Float

from ghosts_houses.body.geodesic import Field, Geodesic
from ghosts_houses.body.ground import Ground, make_ground
from ghosts_houses.body.moves import BodyPose, stand
from ghosts_houses.house import House
from ghosts_houses.mesh.bake import TEXEL_M
from ghosts_houses.mesh.renderers import RENDERERS, Renderer, make_renderer
from ghosts_houses.world import load_house
from ghosts_sim.errors import UnknownNameError
from ghosts_sim.graph import NavGraph
from ghosts_sim.motion import Body
from ghosts_sim.types import Intrinsics, Pose
from ghosts_sim.values import require

_MOST_FIELDS = 200
"""Goals per house whose distances are kept."""
_BERTHS_M = (0.2, 0.08)
"""Space between body and obstacles on demonstrated ways: the first, or the second where no way is that wide."""


@dataclass(frozen=True)
class SimulatorConfig:
    """Body, camera and renderer. The defaults are VLN-CE's."""

    body: Body = field(default_factory=Body)
    """Size and steps."""
    elevation_rad: float = 0.0
    """Tilt of the camera, up positive; VLN-CE looks level."""
    hfov_rad: float = math.radians(90.0)
    rgb_px: int = 224
    """Side of the colour image."""
    depth_px: int = 256
    """Side of the depth image, a multiple of 16."""
    depth_range_m: tuple[float, float] = (0.0, 10.0)
    """What 0 and 1 mean in the depth image."""
    renderer: str = "auto"
    """exact, baked, fast, or auto: fast where embreex is installed, else baked."""
    texel_m: float = TEXEL_M
    """Side of a baked texel."""

    def __post_init__(self) -> None:
        require(abs(self.elevation_rad) < math.pi / 2, "elevation_rad must lie in (−π/2, π/2)", self.elevation_rad)
        require(0.0 < self.hfov_rad < math.pi, "hfov_rad must lie in (0, π)", self.hfov_rad)
        require(self.rgb_px >= 1, "rgb_px must be at least 1", self.rgb_px)
        require(self.depth_px >= 16 and self.depth_px % 16 == 0, "depth_px must be a multiple of 16", self.depth_px)
        low, high = self.depth_range_m
        require(0.0 <= low < high, "depth_range_m must grow from 0 or more", self.depth_range_m)
        if self.renderer != "auto" and self.renderer not in RENDERERS:
            raise UnknownNameError("renderer", self.renderer, ["auto", *RENDERERS])

    @property
    def camera(self) -> Intrinsics:
        """Of the depth image, which is drawn; colours are made smaller from there."""
        return Intrinsics(self.depth_px, self.depth_px, self.hfov_rad)

    @property
    def chosen_renderer(self) -> str:
        """The renderer that auto means here."""
        if self.renderer != "auto":
            return self.renderer
        return "fast" if importlib.util.find_spec("embreex") is not None else "baked"


TRAINED_CAMERA = SimulatorConfig(elevation_rad=math.radians(-30.0), hfov_rad=math.radians(60.0))
"""VLN-CE's body with the camera that the shipped agent was trained on, which looks down a little."""


class HouseSimulator:
    """A house that a body moves in, and what an episode needs of it."""

    def __init__(self, house: House, config: SimulatorConfig) -> None:
        self.house, self.config = house, config
        self.ground: Ground = make_ground(house, config.body)
        self.geodesic = Geodesic(self.ground)
        self._roomy = [Geodesic(self.ground, config.body.radius_m + berth_m) for berth_m in _BERTHS_M]
        self._field = lru_cache(maxsize=_MOST_FIELDS)(self.geodesic.field)
        # Training begins the same episodes again and again; a walk takes 1 kB, and 15 to 30 ms to find.
        self._demonstrated: dict[tuple[tuple[BodyPose, ...], float], np.ndarray] = {}

    @cached_property
    def renderer(self) -> Renderer:
        """Made when the first picture is asked for: baking takes seconds."""
        return make_renderer(self.config.chosen_renderer, self.house, texel_m=self.config.texel_m)

    def camera_pose(self, place: BodyPose) -> Pose:
        """Where the camera is when the body is there."""
        return place.camera(self.config.body.camera_m, self.config.elevation_rad)

    def places(self, graph: NavGraph, names: Sequence[str]) -> list[BodyPose]:
        """Bodies below the cameras of viewpoints, all looking north."""
        rows = [graph.index(name) for name in names]
        return [stand(self.ground, x, y, z, 0.0) for x, y, z in graph.feet_m[rows].tolist()]

    def field(self, place: BodyPose) -> Field:
        """Distances to a goal; asked for at every step of an episode."""
        return self._field(place.x_m, place.y_m, place.layer)

    def way_m(self, here: BodyPose, there: BodyPose) -> Float[np.ndarray, "n 3"]:
        """The shortest way that keeps off walls, points on the ground; where there is none, the shortest one."""
        for geodesic in (*self._roomy, self.geodesic):
            field = geodesic.field(there.x_m, there.y_m, there.layer)
            if math.isfinite(field.at(here.x_m, here.y_m, here.layer)):
                break
        return field.way_m(here.x_m, here.y_m, here.layer)

    def demonstration_m(self, places: list[BodyPose], spacing_m: float) -> Float[np.ndarray, "n 3"]:
        """A walk through places along the shortest ways that keep off walls: points on the ground, so far apart."""
        walk = tuple(places), spacing_m
        if walk not in self._demonstrated:
            self._demonstrated[walk] = self._demonstration_m(places, spacing_m)
        return self._demonstrated[walk].copy()

    def _demonstration_m(self, places: list[BodyPose], spacing_m: float) -> np.ndarray:
        first = places[0]
        points = [np.array([[first.x_m, first.y_m, first.z_m]])]
        for here, there in pairwise(places):
            points.append(self.way_m(here, there))
        way = np.concatenate(points)
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(way, axis=0), axis=1))])
        ticks = np.append(np.arange(0.0, along[-1], spacing_m), along[-1])
        return np.stack([np.interp(ticks, along, way[:, axis]) for axis in range(3)], 1)


class HouseSimulators:
    """The houses of a data root, opened when first asked for.

    Args:
        root: made by `ghosts world`.
        config: body and camera.
        most: houses kept open; one takes about 40 MB.
    """

    def __init__(self, root: Path, config: SimulatorConfig, most: int = 4) -> None:
        self.root, self.config = root, config
        self._opened = lru_cache(maxsize=most)(self._open)

    def __getitem__(self, scan: str) -> HouseSimulator:
        """A house.

        Raises:
            DataError: the root holds no procedural houses, or of another version.
        """
        return self._opened(scan)

    def _open(self, scan: str) -> HouseSimulator:
        return HouseSimulator(load_house(self.root, scan), self.config)
