from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ghosts.data.walks import sample_walk, walk_seed
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.graph import NavGraph
from landmark_world import SCANS, make_landmark_root


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> NavGraph:
    return DataRoot(make_landmark_root(tmp_path_factory.mktemp("world") / "root")).graph(SCANS[0])


def test_walks_along_edges_from_the_start(graph: NavGraph) -> None:
    for seed in range(50):
        walk = sample_walk(graph, 5, 10, 8, walk_seed(seed, "1_0"))
        assert len(walk) == 8
        assert walk[0] == 5
        assert all(graph.adjacent[here, there] for here, there in pairwise(walk))


def test_half_of_the_moves_go_towards_the_goal(graph: NavGraph) -> None:
    # From viewpoint 2 (neighbours 1, 3, 6, 9) to 7: towards is 3, with p = 1/2 + 1/2 · 1/4 = 0.625.
    count = 4000
    moves = [sample_walk(graph, 2, 7, 2, walk_seed(0, str(k)))[1] for k in range(count)]
    shares = {row: moves.count(row) / count for row in (1, 3, 6, 9)}
    spread = 4.0 * np.sqrt(0.625 * 0.375 / count)
    assert abs(shares[3] - 0.625) < spread
    for row in (1, 6, 9):
        assert abs(shares[row] - 0.125) < spread


def test_random_after_arrival(graph: NavGraph) -> None:
    # Starting at the goal counts as a visit: from 2 all four neighbours are equally likely, and from 3 on the way back
    # (goal 2, neighbours 2 and 4) both are.
    count = 4000
    walks = [sample_walk(graph, 2, 2, 3, walk_seed(1, str(k))) for k in range(count)]
    first = [walk[1] for walk in walks]
    for row in (1, 3, 6, 9):
        assert abs(first.count(row) / count - 0.25) < 4.0 * np.sqrt(0.25 * 0.75 / count)
    after_three = [walk[2] for walk in walks if walk[1] == 3]
    assert abs(after_three.count(2) / len(after_three) - 0.5) < 4.0 * 0.5 / np.sqrt(len(after_three))
    # Walks that reach the goal later are random from there as well.
    arrived = [walk[2] for k in range(count) if (walk := sample_walk(graph, 1, 2, 3, walk_seed(2, str(k))))[1] == 2]
    for row in (1, 3, 6, 9):
        assert abs(arrived.count(row) / len(arrived) - 0.25) < 4.0 * np.sqrt(0.25 * 0.75 / len(arrived))


def test_a_walk_depends_on_seed_and_name_alone(graph: NavGraph) -> None:
    names = [f"{k}_0" for k in range(20)]
    forwards = {name: sample_walk(graph, 0, 10, 8, walk_seed(7, name)) for name in names}
    backwards = {name: sample_walk(graph, 0, 10, 8, walk_seed(7, name)) for name in reversed(names)}
    assert forwards == backwards
    assert len({tuple(walk) for walk in forwards.values()}) > 10
    assert forwards != {name: sample_walk(graph, 0, 10, 8, walk_seed(8, name)) for name in names}
    # A longer walk starts with the shorter one.
    assert sample_walk(graph, 0, 10, 4, walk_seed(7, "3_0")) == forwards["3_0"][:4]


def test_a_viewpoint_without_neighbours_stays(tmp_path: Path) -> None:
    root = make_landmark_root(tmp_path / "root")
    graph = DataRoot(root).graph(SCANS[0])
    alone = np.zeros_like(graph.adjacent)
    lonely = NavGraph(
        *(graph.scan, graph.ids, graph.position_m, graph.rotation, graph.height_m, graph.included, graph.visible),
        *(alone, np.where(np.eye(len(alone)), 0.0, np.inf), np.full(alone.shape, -1, np.int16)),
    )
    assert sample_walk(lonely, 3, 5, 4, walk_seed(0, "x")) == [3, 3, 3, 3]
