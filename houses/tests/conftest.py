"""A house made by hand, and a small world, made once, for tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

import made
from ghosts_houses.graph.viewpoints import HouseGraph, make_graph
from ghosts_houses.house import House
from handmade import handmade_house


@pytest.fixture(scope="session")
def handmade() -> House:
    """The hand-made house."""
    return handmade_house()


@pytest.fixture(scope="session")
def handmade_graph(handmade: House) -> HouseGraph:
    """Its graph."""
    return make_graph(handmade)


@pytest.fixture(scope="session")
def small_world() -> Path:
    """The world of `SMALL` without pictures; nobody changes it."""
    return made.small_world()
