"""Houses by seed, made once for all tests, and what the small world is like that tests share."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from pathlib import Path

from checks import unchecked
from ghosts_houses.graph.viewpoints import HouseGraph, make_graph
from ghosts_houses.house import House
from ghosts_houses.make import make_house
from ghosts_houses.render.scene import Scene, prepare
from ghosts_houses.world import WorldConfig, make_world
from shared import shared_folder, shared_object

CHECKED = (11, 14)
"""Made with shape checks, which take long: a house of two storeys and one of one, of those that are soon made."""
SMALL = WorldConfig(houses=2, seed=7, paths=8, faces=16, storeys=(1, 1), rooms=(5, 6))
"""A world whose houses take a fifth of the time of usual ones; of this seed, a twentieth of a second each."""


@functools.cache
def house(seed: int) -> House:
    """The house of a seed; nobody changes it."""
    with nullcontext() if seed in CHECKED else unchecked():
        return shared_object(f"house {seed}", lambda: make_house(seed))


def small_world() -> Path:
    """The world of `SMALL` without pictures; nobody changes it."""
    with unchecked():
        return shared_folder("small world", lambda folder: make_world(folder, SMALL, images=False))


@functools.cache
def graph(seed: int) -> HouseGraph:
    """The graph of this house; nobody changes it."""
    with unchecked():
        return shared_object(f"graph {seed}", lambda: make_graph(house(seed)))


@functools.cache
def scene(seed: int) -> Scene:
    """This house with its light, which takes seconds; nobody changes it."""
    with unchecked():
        return shared_object(f"scene {seed}", lambda: prepare(house(seed)))
