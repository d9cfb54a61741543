"""Baselines that read no words (random, stop at once), and the oracle, which walks the shortest path."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from ghosts_sim.graph import NavGraph
from ghosts_sim.navigation import HEADING_STEP_RAD, HEADINGS, candidates, turn, view_towards
from ghosts_sim.types import Intrinsics

WalkerName = Literal["random", "stop", "shortest"]
CAMERA = Intrinsics(640, 480, math.radians(60.0))
"""Of R2R's agents: forward is where this camera looks."""
FORWARD_MOVES = 5
"""Successful forward moves of R2R's random agent (Anderson et al. 2018, section 5.1)."""


def walk_random(graph: NavGraph, start: int, random: np.random.Generator, moves: int = FORWARD_MOVES) -> list[int]:
    """R2R's random agent: turn to a random heading, then go forward five times.

    Forward is the reachable viewpoint nearest to the middle of the view. Where none is in view, the agent turns right
    by 30° until one is; where a whole turn shows none, it stays.

    Args:
        graph: the building.
        start: row of the first viewpoint.
        random: of the episode.
        moves: forward moves.

    Returns:
        Rows walked through, the start first.
    """
    # The simulator's own horizontal field of view: not the lens's 75°, see `ghosts_sim.navigation.candidates`.
    hfov_rad = CAMERA.vfov_rad * CAMERA.width / CAMERA.height
    view = view_towards(float(random.integers(HEADINGS)) * HEADING_STEP_RAD, 0.0, discretised=True)
    rows, turns = [start], 0
    while len(rows) <= moves and turns < HEADINGS:
        ahead = candidates(graph, rows[-1], view, hfov_rad)
        if len(ahead) > 1:
            rows.append(ahead[1].row)
            turns = 0
        else:
            view = turn(view, HEADING_STEP_RAD, 0.0, discretised=True)
            turns += 1
    return rows


def walk_shortest(graph: NavGraph, start: int, goal: int) -> list[int]:
    """The oracle: the shortest walk to the goal; where there is none, stay."""
    return graph.path(start, goal) if np.isfinite(graph.distance_m[start, goal]) else [start]


def walk_baseline(name: WalkerName, graph: NavGraph, start: int, goal: int, random: np.random.Generator) -> list[int]:
    """The walk of a baseline by name.

    Args:
        name: "random", "stop" (ends where it starts) or "shortest" (the oracle).
        graph: the building.
        start: row of the first viewpoint.
        goal: row of the goal; only the oracle looks at it.
        random: of the episode.
    """
    if name == "random":
        return walk_random(graph, start, random)
    return walk_shortest(graph, start, goal) if name == "shortest" else [start]
