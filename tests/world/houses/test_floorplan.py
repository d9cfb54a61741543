"""The floor plan shows what the house holds."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ghosts.errors import MissingExtraError
from ghosts.world.houses.floorplan import draw_house
from ghosts.world.houses.graph.paths import sample_paths
from ghosts.world.houses.graph.viewpoints import make_graph
from ghosts.world.houses.house import House


def test_rooms_things_path_and_words_are_drawn(handmade: House, tmp_path: Path) -> None:
    graph = make_graph(handmade)
    path = sample_paths(handmade, graph, 1, np.random.default_rng(0))[0]
    figure = draw_house(handmade, graph, path, "Walk to the kitchen.")
    assert len(figure.axes) == 2  # one a storey
    texts = [text.get_text() for axes in figure.axes for text in axes.texts]
    for room in handmade.rooms:
        assert room.kind in texts
    for name in ("sofa", "fridge", "bathtub", "start", "goal", "2 m", "N (+y)", "up", "down"):
        assert name in texts, name
    assert any(text.get_text() == "Walk to the kitchen." for text in figure.texts)
    dots = [
        line for axes in figure.axes for line in axes.lines if line.get_marker() == "o" and line.get_markersize() < 5
    ]
    drawn = sum(len(line.get_xdata()) for line in dots)
    stairs = sum(point.stair >= 0 for point in graph.viewpoints)
    assert drawn == len(graph.viewpoints) + stairs  # viewpoints on stairs appear on both storeys
    figure.savefig(tmp_path / "plan.png")
    assert (tmp_path / "plan.png").stat().st_size > 20_000


def test_without_matplotlib_the_extra_is_named(handmade: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"ghosts\[viz\]"):
        draw_house(handmade)
