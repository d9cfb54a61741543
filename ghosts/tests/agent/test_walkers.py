from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ghosts.agent.walkers import walk_baseline, walk_random, walk_shortest
from ghosts_sim.graph import NavGraph, parse_graph
from ghosts_sim.navigation import HEADINGS
from makers import connectivity_records


def corridor(count: int = 4, excluded: tuple[int, ...] = ()) -> NavGraph:
    return parse_graph("tiny", connectivity_records(count, excluded), Path("tiny.json"))


@pytest.mark.parametrize("seed", range(5))
def test_random_walk_goes_forward_five_times_along_edges(seed: int) -> None:
    graph = corridor(12)
    path = walk_random(graph, 6, np.random.default_rng(seed))
    assert len(path) == 6
    assert all(graph.adjacent[here, there] for here, there in pairwise(path))
    # It keeps its heading: in a corridor it goes on in one direction.
    assert len({there - here for here, there in pairwise(path)}) == 1


def test_random_walk_turns_round_at_a_dead_end() -> None:
    path = walk_random(corridor(3), 0, np.random.default_rng(0))
    assert path[:3] == [0, 1, 2]
    assert len(path) == 6


def test_random_walk_starts_in_all_directions() -> None:
    firsts = Counter(walk_random(corridor(3), 1, np.random.default_rng(seed), moves=1)[1] for seed in range(60))
    assert set(firsts) == {0, 2}
    assert min(firsts.values()) > 15


def test_random_walk_sees_80_degrees() -> None:
    """The simulator's vfov · width / height. With the lens's 75.2° the left door, 39° off, would be out of view."""
    records = connectivity_records(3)
    for record, heading_deg in zip(records[1:], (-39.0, 45.0)):
        record["pose"][3] = records[0]["pose"][3] + 2.0 * math.sin(math.radians(heading_deg))
        record["pose"][7] = records[0]["pose"][7] + 2.0 * math.cos(math.radians(heading_deg))
        record["unobstructed"] = [True, False, False]
    records[0]["unobstructed"] = [False, True, True]
    graph = parse_graph("tiny", records, Path("tiny.json"))
    north = next(seed for seed in range(99) if np.random.default_rng(seed).integers(HEADINGS) == 0)
    assert walk_random(graph, 0, np.random.default_rng(north), moves=1) == [0, 1]


def test_random_walk_stays_where_there_is_no_way() -> None:
    assert walk_random(corridor(3, excluded=(1,)), 0, np.random.default_rng(0)) == [0]


def test_oracle_takes_the_shortest_walk_or_stays() -> None:
    assert walk_shortest(corridor(), 0, 3) == [0, 1, 2, 3]
    assert walk_shortest(corridor(), 2, 2) == [2]
    assert walk_shortest(corridor(excluded=(2,)), 0, 3) == [0]


def test_baselines_by_name() -> None:
    graph, random = corridor(), np.random.default_rng(0)
    assert walk_baseline("stop", graph, 1, 3, random) == [1]
    assert walk_baseline("shortest", graph, 1, 3, random) == [1, 2, 3]
    assert walk_baseline("random", graph, 1, 3, np.random.default_rng(0)) == walk_random(
        graph, 1, np.random.default_rng(0)
    )
