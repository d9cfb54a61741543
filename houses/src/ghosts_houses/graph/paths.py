"""Paths like R2R's: shortest paths of 5–24 m and 4–6 moves between rooms, spread evenly over a house."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ghosts_houses.graph.viewpoints import HouseGraph, distances_m
from ghosts_houses.house import House
from ghosts_sim.geometry import heading_of, wrap_rad

MOVES = (4, 6)
LENGTH_M = (5.0, 24.0)
"""Least and most edges, and length, of a path."""
_FACING, _BACKWARDS = 0.10, 0.05
"""Shares of the starts that face the way or away from it, beyond even chance (R2R: 12 % and 5 %)."""
_FLOORS = 0.28
"""Share of the paths that use the stairs, in houses that have some (R2R: 17 % of all paths change floor)."""


@dataclass(frozen=True)
class HousePath:
    """A walk over viewpoints, by index, and the heading it starts with."""

    steps: tuple[int, ...]
    heading_rad: float
    length_m: float


def sample_paths(house: House, graph: HouseGraph, count: int, rng: np.random.Generator) -> list[HousePath]:
    """Choose up to `count` different paths (a small house may have fewer), favouring starts and goals not used yet.

    Returns:
        Paths in the order they were chosen: any prefix is spread over the house as well.
    """
    routes = all_routes(graph)
    distance, _ = distances_m(graph)
    starts, goals = (np.zeros(len(graph.viewpoints)) for _ in range(2))
    kinds = np.zeros(len(house.rooms))
    order = [int(k) for k in rng.permutation(len(routes))]
    climbs = [_changes_floor(house, graph, route) for route in routes]
    pools = [k for k in order if climbs[k]], [k for k in order if not climbs[k]]
    floors = 0
    chosen: list[HousePath] = []
    while any(pools) and len(chosen) < count:
        climb = bool(pools[0]) and (floors < _FLOORS * (len(chosen) + 1) or not pools[1])
        pool = pools[0] if climb else pools[1]
        floors += climb
        # The best of a handful, so that use stays even without sorting every route at every step.
        handful = pool[-12:]
        cost = [
            starts[routes[k][0]] + goals[routes[k][-1]] + 0.3 * kinds[graph.viewpoints[routes[k][-1]].room]
            for k in handful
        ]
        pick = handful[int(np.argmin(cost))]
        pool.remove(pick)
        route = routes[pick]
        starts[route[0]] += 1
        goals[route[-1]] += 1
        kinds[graph.viewpoints[route[-1]].room] += 1
        length_m = round(float(distance[route[0], route[-1]]), 2)
        chosen.append(HousePath(route, _start_heading(graph, route, rng), length_m))
    return chosen


def all_routes(graph: HouseGraph) -> list[tuple[int, ...]]:
    """Every shortest path that qualifies, start by start."""
    distance, before = distances_m(graph)
    routes = []
    for start, goal in np.argwhere((distance >= LENGTH_M[0]) & (distance <= LENGTH_M[1])):
        if graph.viewpoints[start].room == graph.viewpoints[goal].room:
            continue
        route = [int(goal)]
        while route[-1] != start and len(route) <= MOVES[1] + 1:
            route.append(int(before[start, route[-1]]))
        if MOVES[0] <= len(route) - 1 <= MOVES[1]:
            routes.append(tuple(route[::-1]))
    return routes


def _changes_floor(house: House, graph: HouseGraph, route: tuple[int, ...]) -> bool:
    rooms = [house.rooms[graph.viewpoints[step].room] for step in (route[0], route[-1])]
    return rooms[0].storey != rooms[1].storey


def _start_heading(graph: HouseGraph, route: tuple[int, ...], rng: np.random.Generator) -> float:
    """A heading to start with, distributed against the first move as in R2R."""
    here, there = (np.array(graph.viewpoints[k].xy_m) for k in route[:2])
    draw = rng.random()
    if draw < _FACING:
        turn = rng.normal(0.0, math.radians(12.0))
    elif draw < _FACING + _BACKWARDS:
        turn = math.pi + rng.normal(0.0, math.radians(12.0))
    else:
        turn = rng.uniform(-math.pi, math.pi)
    # Rounded like the released files; 6.2832 would leave the interval, hence the wrap of the rounded value.
    return float(wrap_rad(round(float(wrap_rad(heading_of(there - here) + turn)), 3)))
