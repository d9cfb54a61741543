"""Paths are R2R's kind, and spread over the house."""

from __future__ import annotations

import numpy as np
import pytest

import made
from ghosts_houses.graph.paths import LENGTH_M, MOVES, sample_paths
from ghosts_houses.graph.viewpoints import HouseGraph, distances_m
from ghosts_houses.house import House


@pytest.mark.parametrize("seed", [None, 4])
def test_paths_are_like_r2r(handmade: House, handmade_graph: HouseGraph, seed: int | None) -> None:
    house, graph = (handmade, handmade_graph) if seed is None else (made.house(seed), made.graph(seed))
    paths = sample_paths(house, graph, 60, np.random.default_rng(0))
    distance, _ = distances_m(graph)
    lengths = graph.edge_lengths_m()
    assert len(paths) == 60
    assert len({path.steps for path in paths}) == 60
    for path in paths:
        assert MOVES[0] <= len(path.steps) - 1 <= MOVES[1]
        walked = sum(lengths[a, b] for a, b in zip(path.steps[:-1], path.steps[1:]))
        assert walked == pytest.approx(distance[path.steps[0], path.steps[-1]])
        assert path.length_m == pytest.approx(walked, abs=0.006)
        assert LENGTH_M[0] <= walked <= LENGTH_M[1]
        assert graph.viewpoints[path.steps[0]].room != graph.viewpoints[path.steps[-1]].room
        assert 0.0 <= path.heading_rad < 2 * np.pi
    goals = {path.steps[-1] for path in paths}
    assert len(goals) > 0.5 * len(graph.viewpoints)
    assert len({graph.viewpoints[goal].room for goal in goals}) >= len(house.rooms) - 1


def test_a_prefix_is_the_same_whatever_the_count(handmade: House, handmade_graph: HouseGraph) -> None:
    graph = handmade_graph
    few, many = (sample_paths(handmade, graph, count, np.random.default_rng(4)) for count in (5, 40))
    assert few == many[:5]
