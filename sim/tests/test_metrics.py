"""Metrics against numbers worked out by hand, and against a second, naive implementation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ghosts_sim.errors import DataError
from ghosts_sim.graph import NavGraph, shortest_walks
from ghosts_sim.metrics import cls, ndtw, path_length_m, score_path, score_paths


def make_graph(xy: list[tuple[float, float]], edges: list[tuple[int, int]]) -> NavGraph:
    count = len(xy)
    position = np.array([(x, y, 0.0) for x, y in xy])
    adjacent = np.zeros((count, count), bool)
    for a, b in edges:
        adjacent[a, b] = adjacent[b, a] = True
    distance, hop = shortest_walks(position, adjacent)
    ids = tuple(f"v{k}" for k in range(count))
    ones = np.ones(count, bool)
    return NavGraph(
        "s", ids, position, np.stack([np.eye(3)] * count), np.ones(count), ones, adjacent, adjacent, distance, hop
    )


# A corridor 0 - 1 - 2 - 3 - 4 of 2 m edges, a room 5 beside 2 (1.5 m), and an island 6.
CORRIDOR = make_graph(
    [(0, 0), (2, 0), (4, 0), (6, 0), (8, 0), (4, 1.5), (20, 0)], [(0, 1), (1, 2), (2, 3), (3, 4), (2, 5)]
)


@pytest.mark.parametrize(
    ("path", "reference", "expected"),
    [
        # All the way: everything is perfect.
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], {"length_m": 8.0, "error_m": 0.0, "success": True, "oracle_success": True}),
        ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], {"spl": 1.0, "ndtw": 1.0, "sdtw": 1.0, "cls": 1.0}),
        # Through the goal: a success only under the oracle.
        ([0, 1, 2, 3, 4], [0, 1], {"error_m": 6.0, "success": False, "oracle_success": True, "oracle_error_m": 0.0}),
        ([0, 1, 2, 3, 4], [0, 1], {"spl": 0.0, "sdtw": 0.0}),
        # Standing still, far from the goal; within 3 m of it, the shortest way is over itself.
        ([0], [0, 1, 2, 3, 4], {"length_m": 0.0, "error_m": 8.0, "spl": 0.0}),
        ([0], [0, 1], {"success": True, "spl": 1.0}),
        # A reference of no length: staying is perfect, wandering is not.
        ([2], [2], {"spl": 1.0, "ndtw": 1.0, "cls": 1.0, "success": True}),
        ([2, 3, 2], [2], {"success": True, "spl": 0.0, "cls": 0.0}),
        # A goal that cannot be reached.
        ([0, 1], [0, 6], {"error_m": math.inf, "success": False, "oracle_success": False}),
        ([0, 1], [0, 6], {"spl": 0.0, "ndtw": 0.0, "sdtw": 0.0}),
        # Walked, not flown: 5 and 3 are 2.5 m apart in the air and 3.5 m along the edges.
        ([0, 1, 2, 5], [0, 1, 2, 3], {"error_m": 3.5, "success": False}),
    ],
)
def test_scores_of_simple_walks(path: list[int], reference: list[int], expected: dict[str, float]) -> None:
    scores = score_path(CORRIDOR, path, reference)
    assert {name: getattr(scores, name) for name in expected} == expected


def test_hand_computed_detour() -> None:
    # Into the room and out again: 4 + 1.5 + 1.5 + 2 = 9 m, ends 2 m before the goal.
    scores = score_path(CORRIDOR, [0, 1, 2, 5, 2, 3], [0, 1, 2, 3, 4])
    assert scores.length_m == pytest.approx(9.0)
    assert scores.error_m == pytest.approx(2.0)
    assert scores.success
    assert scores.spl == pytest.approx(8.0 / 9.0)
    # DTW: 0, 0, 0 along; 1.5 for 5 matched to 2; 0 for 2 again; 0 for 3; 2 for the unmatched goal.
    assert scores.ndtw == pytest.approx(math.exp(-3.5 / (5 * 3.0)))
    assert scores.sdtw == scores.ndtw
    coverage = (4.0 + math.exp(-2.0 / 3.0)) / 5.0
    expected = coverage * 8.0
    assert scores.cls == pytest.approx(coverage * expected / (expected + abs(expected - 9.0)))


def test_exactly_three_metres_is_a_failure() -> None:
    graph = make_graph([(0, 0), (3, 0), (6, 0)], [(0, 1), (1, 2)])
    assert not score_path(graph, [0, 1], [0, 1, 2]).success
    assert not score_path(graph, [0, 1], [0, 1, 2]).oracle_success


def test_a_path_that_jumps_pays_for_the_walk() -> None:
    assert path_length_m(CORRIDOR, [0, 4]) == 8.0
    assert path_length_m(CORRIDOR, [0, 0, 1, 1]) == 2.0


def brute_force_dtw(between: np.ndarray) -> float:
    """Cheapest monotone alignment, over all of them."""
    rows, cols = between.shape
    best = math.inf
    for length in range(max(rows, cols), rows + cols):
        for moves in itertools.product([(1, 0), (0, 1), (1, 1)], repeat=length - 1):
            row = col = 0
            cost = between[0, 0]
            for down, right in moves:
                row, col = row + down, col + right
                if row >= rows or col >= cols:
                    break
                cost += between[row, col]
            else:
                if (row, col) == (rows - 1, cols - 1):
                    best = min(best, cost)
    return best


@pytest.mark.parametrize("seed", range(4))
def test_ndtw_equals_the_best_of_all_alignments(seed: int) -> None:
    random = np.random.default_rng(seed)
    between = random.random((random.integers(1, 4), random.integers(1, 4))) * 5
    assert ndtw(between) == pytest.approx(math.exp(-brute_force_dtw(between) / (between.shape[1] * 3.0)))


def test_cls_punishes_too_long_and_too_short() -> None:
    covered = np.zeros((3, 3))
    assert cls(covered, 6.0, 6.0) == 1.0
    assert cls(covered, 12.0, 6.0) == pytest.approx(0.5)
    assert cls(covered, 3.0, 6.0) == pytest.approx(6.0 / 9.0)


def test_means_and_columns() -> None:
    scores = score_paths(["1_0", "1_1"], [CORRIDOR] * 2, [[0, 1, 2, 3, 4], [0]], [[0, 1, 2, 3, 4]] * 2)
    means = scores.means()
    assert list(means) == ["TL", "NE", "OS", "SR", "SPL", "nDTW", "SDTW", "CLS"]
    assert [means[name] for name in ("TL", "NE", "OS", "SR", "SPL", "SDTW")] == [4.0, 4.0, 0.5, 0.5, 0.5, 0.5]


def test_empty_paths_are_refused() -> None:
    with pytest.raises(DataError, match="empty path"):
        score_path(CORRIDOR, [], [0])
    with pytest.raises(DataError, match="empty reference path"):
        score_path(CORRIDOR, [0], [])
