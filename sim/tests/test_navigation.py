"""Where a walker may go: angles, their order, and what rounding decides."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ghosts_sim.graph import NavGraph, load_graph, shortest_walks
from ghosts_sim.navigation import (
    HEADING_STEP_RAD,
    View,
    _by_angle,
    _by_single_precision,
    candidates,
    turn,
    view_towards,
)


def star(around_m: np.ndarray) -> NavGraph:
    """A viewpoint at the origin that reaches all others."""
    position = np.concatenate([np.zeros((1, 3)), around_m])
    count = len(position)
    adjacent = np.zeros((count, count), bool)
    adjacent[0, 1:] = adjacent[1:, 0] = True
    ids = tuple(f"{row:032x}" for row in range(count))
    rotation, ones = np.broadcast_to(np.eye(3), (count, 3, 3)).copy(), np.ones(count)
    walks = shortest_walks(position, adjacent)
    return NavGraph("star", ids, position, rotation, ones, ones.astype(bool), adjacent, adjacent, *walks)


@pytest.mark.parametrize("seed", range(5))
def test_both_ways_to_compute_candidates_agree(seed: int) -> None:
    random = np.random.default_rng(seed)
    graph = star(random.normal(size=(8, 3)))
    for _ in range(50):
        view = view_towards(random.uniform(-7, 7), random.uniform(-1, 1))
        for hfov in (None, 1.4, 4.0, 7.0):
            quick, exact = _by_angle(graph.ways(0), view, hfov), _by_single_precision(graph.ways(0), view, hfov)
            assert quick is not None
            assert [item[1] for item in quick] == [item[1] for item in exact]
            np.testing.assert_allclose(quick, exact, rtol=0, atol=5e-7)


def test_at_equal_angles_the_order_is_the_file_s() -> None:
    graph = star(np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 2.0, 0.0]]))
    view = view_towards(0.0, 0.0)
    assert _by_angle(graph.ways(0), view, None) is None
    assert [item.row for item in candidates(graph, 0, view)] == [0, 4, 1, 2, 3]
    assert [item.row for item in candidates(graph, 0, View(math.pi, 0.0, 0))] == [0, 3, 1, 2, 4]


def test_a_viewpoint_straight_above_is_in_no_field_of_view() -> None:
    graph = star(np.array([[0.0, 0.0, 2.0], [0.0, 1.0, 0.0]]))
    assert [item.row for item in candidates(graph, 0, view_towards(0.1, 0.0), 6.0)] == [0, 2]
    (_, ahead, above) = candidates(graph, 0, view_towards(0.1, 0.2))
    assert (ahead.row, above.row) == (2, 1)
    assert (above.turn_rad, above.rise_rad, above.distance_m) == pytest.approx((0.0, math.pi / 2 - 0.2, 2.0))


@pytest.mark.parametrize(
    ("heading", "elevation", "number"),
    [
        (0.0, 0.0, 12),
        (-0.1, -0.3, 0),
        (HEADING_STEP_RAD * 0.5, 0.27, 25),
        (2 * math.pi - 1e-9, 0.0, 12),
        (9.9, 1.0, 31),
    ],
)
def test_discretised_views(heading: float, elevation: float, number: int) -> None:
    view = view_towards(heading, elevation, discretised=True)
    assert view.number == number
    assert view.heading_rad == (number % 12) * HEADING_STEP_RAD
    assert turn(view, -5.0, 0.0, discretised=True).number % 12 == (number - 1) % 12
    assert turn(view, 0.0, 0.0, discretised=True) == view


def test_recorded_buildings_need_no_second_look(navigation: Path) -> None:
    """In a real building no two angles are equal: the quick way answers nearly always."""
    graph = load_graph(navigation / "connectivity" / "17DRP5sb8fy_connectivity.json")
    views = [view_towards(step * HEADING_STEP_RAD, 0.0) for step in range(12)]
    answers = [_by_angle(graph.ways(row), view, 1.4) for row in range(len(graph.ids)) for view in views]
    assert sum(answer is None for answer in answers) <= 1
