"""Where the agent walks while it builds its map: the paper's sampler, seeded per episode (paper, section 5.2)."""

from __future__ import annotations

import zlib

import numpy as np

from ghosts_sim.graph import NavGraph

TOWARDS_GOAL = 0.5


def walk_seed(seed: int, name: str) -> np.random.Generator:
    """Random numbers of one episode: they depend on nothing but the seed and the episode's name."""
    return np.random.default_rng([seed, zlib.crc32(name.encode())])


def sample_walk(graph: NavGraph, start: int, goal: int, count: int, random: np.random.Generator) -> list[int]:
    """Viewpoints the agent stands at, the start included.

    Each move goes towards the goal with probability 0.5 and otherwise to a random neighbour; once the goal was visited
    all moves are random.

    Args:
        graph: the building.
        start: row of the first viewpoint.
        goal: row of the goal.
        count: viewpoints in all (time steps).
        random: the episode's random numbers.
    """
    rows, arrived = [start], start == goal
    while len(rows) < count:
        here = rows[-1]
        towards = random.random() < TOWARDS_GOAL
        choices = graph.neighbours(here)
        pick = int(random.integers(len(choices))) if choices else 0  # drawn always, so that walks stay comparable
        if towards and not arrived and graph.next_hop[here, goal] >= 0:
            rows.append(int(graph.next_hop[here, goal]))
        else:
            rows.append(choices[pick] if choices else here)
        arrived = arrived or rows[-1] == goal
    return rows
