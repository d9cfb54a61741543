"""A house made by hand, and a small world, made once; and what other tests share, so that these tests run alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import made
from ghosts_houses.graph.viewpoints import HouseGraph, make_graph
from ghosts_houses.house import House
from handmade import handmade_house
from roots import _private_cache, golden, navigation, root  # noqa: F401 (fixtures)
from shared import _shared  # noqa: F401 (a fixture)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Beside these tests alone there is nobody else who skips them."""
    if item.get_closest_marker("gpu") and not pytest.importorskip("torch").cuda.is_available():
        pytest.skip("needs a CUDA device")


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
