"""The floor plan of a house shows its rooms, things, graph, path and words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from checks import unchecked
from ghosts_houses.draw.floor_plan import house_floor_plan
from ghosts_houses.draw.plan import house_figure
from ghosts_houses.draw.style import DEMONSTRATOR, GOAL, START
from ghosts_houses.graph.viewpoints import connectivity, make_graph
from ghosts_houses.house import House
from ghosts_houses.make import make_house
from ghosts_sim.errors import MissingExtraError
from ghosts_sim.graph import NavGraph, parse_graph

SEED = 77
"""Two storeys."""


@pytest.fixture(scope="module")
def house() -> House:
    with unchecked():
        return make_house(SEED)


@pytest.fixture(scope="module")
def graph(house: House) -> NavGraph:
    with unchecked():
        return parse_graph(house.name, connectivity(make_graph(house)), Path("made.json"))


def drawn(axes: Any, color: str) -> list[Any]:
    return [line for line in axes.lines if line.get_color() == color]


def test_rooms_things_path_and_words_are_drawn(house: House, graph: NavGraph) -> None:
    pytest.importorskip("matplotlib", reason="figures need ghosts-houses[viz]")
    scene = house_floor_plan(house, graph)
    storey = {point["id"]: point["s"] for point in scene["viewpoints"]}
    start, goal = (next(row for row, name in enumerate(graph.ids) if storey[name] == level) for level in (0, 1))
    path = [graph.ids[row] for row in graph.path(start, goal)]
    figure = house_figure(scene, "a house", path, 0.3, "Walk upstairs.")
    assert len(figure.axes) == 2  # one per storey
    for level, axes in enumerate(figure.axes):
        texts = [text.get_text() for text in axes.texts]
        assert {room.kind for room in house.rooms if room.storey == level} <= set(texts)
        assert len(axes.collections[1].get_offsets()) == sum(other == level for other in storey.values())
        assert drawn(axes, DEMONSTRATOR)
    assert {"sofa", "stove", "bench"} <= {text.get_text() for text in figure.axes[0].texts}
    assert [len(drawn(axes, START)) for axes in figure.axes] == [1, 0]
    assert [len(drawn(axes, GOAL)) for axes in figure.axes] == [0, 1]
    assert [text.get_text() for text in figure.texts] == ["a house", "Walk upstairs."]


def test_without_matplotlib_the_extra_is_named(house: House, graph: NavGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"pip install '(\./|ghosts-)houses\[viz\]'"):
        house_figure(house_floor_plan(house, graph), "a house")
