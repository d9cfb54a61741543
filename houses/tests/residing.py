"""A small world of houses without images, and a body with a small camera."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import made
from checks import unchecked
from ghosts_houses.house import House
from ghosts_houses.mesh.atlas import Atlas
from ghosts_houses.mesh.faces import Faces
from ghosts_houses.mesh.renderers import Renderer, make_renderer
from ghosts_houses.task.simulator import HouseSimulators, SimulatorConfig
from ghosts_houses.world import load_house

SMALL = SimulatorConfig(rgb_px=24, depth_px=32, texel_m=0.5, renderer="baked")


@functools.cache
def simulators(world: Path, config: SimulatorConfig = SMALL) -> HouseSimulators:
    """Houses that all tests of a process move in."""
    return HouseSimulators(world, config)


@pytest.fixture(scope="session")
def world() -> Path:
    """Two houses with a few paths; nobody changes it."""
    return made.small_world()


@pytest.fixture(scope="module", autouse=True)
def _opened_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Houses are made once, without shape checks, and painted grey: tests of renderers look at their light."""
    cache = tmp_path_factory.mktemp("cache")

    @functools.cache
    def house(root: Path, scan: str) -> House:
        with unchecked():
            return load_house(root, scan)

    renderers: dict[tuple[str, str], Renderer] = {}

    def renderer(name: str, house: House, *, texel_m: float) -> Renderer:
        if (name, house.name) not in renderers:
            with unchecked():
                renderers[name, house.name] = make_renderer(name, house, texel_m=texel_m)
        return renderers[name, house.name]

    def grey(house: House, scene: None, faces: Faces, atlas: Atlas) -> np.ndarray:
        return np.full((atlas.height, atlas.width, 3), 128, np.uint8)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ghosts_houses.mesh.bake.prepare", lambda house, device: None)
        patch.setattr("ghosts_houses.mesh.bake.bake_atlas", grey)
        patch.setenv("GHOSTS_CACHE", str(cache))
        patch.setattr("ghosts_houses.task.simulator.load_house", house)
        patch.setattr("ghosts_houses.task.simulator.make_renderer", renderer)
        yield
