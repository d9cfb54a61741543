"""A path as its walker meets it: headings, turns, rooms one after the other, doors, stairs."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from ghosts_houses.graph.paths import HousePath
from ghosts_houses.graph.sites import opening_at
from ghosts_houses.graph.viewpoints import HouseGraph
from ghosts_houses.house import House
from ghosts_sim.geometry import heading_of, turn_rad

_SAMPLE_M = 0.05
"""A path is sampled this finely to find its rooms."""
_MERGE_M = 1.6
"""Two bends to the same side within this distance are one turn to the person who gives directions."""


@dataclass(frozen=True)
class Turn:
    """A change of direction at a viewpoint (the first: from the start heading)."""

    step: int
    at_m: float
    angle_rad: float
    """Positive = right."""


@dataclass(frozen=True)
class Visit:
    """A stretch of the path within one room."""

    room: int
    from_m: float
    to_m: float
    by: int
    """The opening it came in by; −1 at the start and on stairs."""


@dataclass(frozen=True)
class Climb:
    """A stretch on a stair."""

    up: bool
    from_m: float
    to_m: float


@dataclass(frozen=True)
class Route:
    """A path with its geometry. Distances count along the path, in the plane."""

    steps: tuple[int, ...]
    points_m: Float[np.ndarray, "k 2"]
    ground_m: Float[np.ndarray, " k"]
    along_m: Float[np.ndarray, " k"]
    headings_rad: Float[np.ndarray, " moves"]
    start_heading_rad: float
    turns: tuple[Turn, ...]
    visits: tuple[Visit, ...]
    climbs: tuple[Climb, ...]

    @property
    def length_m(self) -> float:
        """Length in the plane."""
        return float(self.along_m[-1])

    def step_at(self, at_m: float) -> int:
        """The move (index of its first viewpoint) under way at a distance along the path."""
        return int(np.clip(np.searchsorted(self.along_m, at_m + 1e-9, side="right") - 1, 0, len(self.headings_rad) - 1))

    def place_at(self, at_m: float) -> Float[np.ndarray, " 2"]:
        """The point at a distance along the path."""
        return np.array([np.interp(at_m, self.along_m, self.points_m[:, k]) for k in (0, 1)])

    def room_at(self, at_m: float) -> int:
        """The room at a distance along the path."""
        return next((visit.room for visit in self.visits if at_m <= visit.to_m), self.visits[-1].room)


def make_route(house: House, graph: HouseGraph, path: HousePath) -> Route:
    """Work out a path's geometry."""
    points = [graph.viewpoints[k] for k in path.steps]
    xy = np.array([point.xy_m for point in points])
    ground = np.array([point.z_m - point.height_m for point in points])
    moves = np.diff(xy, axis=0)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(moves, axis=1))])
    headings = np.atleast_1d(heading_of(moves))
    angles = [float(turn_rad(path.heading_rad, headings[0]))]
    angles += [float(turn_rad(a, b)) for a, b in itertools.pairwise(headings)]
    turns = _merge([Turn(k, float(along[k]), angle) for k, angle in enumerate(angles)])
    visits = _visits(house, points[0].room, xy, ground, along)
    climbs = _climbs(ground, along)
    return Route(path.steps, xy, ground, along, headings, path.heading_rad, turns, visits, climbs)


def _merge(turns: list[Turn]) -> tuple[Turn, ...]:
    """Join neighbouring bends of one hand; drop pairs that cancel (a step aside)."""
    merged = [turns[0]]
    rest = turns[1:]
    while rest:
        turn = rest.pop(0)
        if rest and rest[0].at_m - turn.at_m < _MERGE_M:
            small = all(math.radians(12) < abs(t.angle_rad) < math.radians(70) for t in (turn, rest[0]))
            total = turn.angle_rad + rest[0].angle_rad
            if small and turn.angle_rad * rest[0].angle_rad > 0:
                turn = Turn(rest.pop(0).step, turn.at_m, total)
            elif small and abs(total) < math.radians(15):
                rest.pop(0)
                continue
        merged.append(turn)
    return tuple(merged)


def _visits(house: House, first_room: int, xy: np.ndarray, ground: np.ndarray, along: np.ndarray) -> tuple[Visit, ...]:
    """Rooms in order. Inside a wall (in a doorway) the walker is still in the room he comes from."""
    count = max(2, math.ceil(float(along[-1]) / _SAMPLE_M) + 1)
    places = np.linspace(0.0, float(along[-1]), count)
    xs, ys, zs = (np.interp(places, along, values) for values in (xy[:, 0], xy[:, 1], ground))
    visits = [Visit(first_room, 0.0, 0.0, -1)]
    gap_from = 0.0
    for at, room in zip(places, house.rooms_at(np.stack([xs, ys, zs + 0.3], 1)).tolist()):
        if room < 0:
            continue
        if room != visits[-1].room:
            middle = (gap_from + float(at)) / 2
            px, py, pz = (float(np.interp(middle, along, values)) for values in (xy[:, 0], xy[:, 1], ground))
            visits[-1] = replace(visits[-1], to_m=middle)
            visits.append(Visit(room, middle, middle, opening_at(house, px, py, pz, 0.5)))
        gap_from = float(at)
    visits[-1] = replace(visits[-1], to_m=float(along[-1]))
    # A start in a doorway may be booked to the room it leaves with the very first step.
    if len(visits) > 1 and visits[0].to_m < 0.3:
        visits = [Visit(visits[1].room, 0.0, visits[1].to_m, -1), *visits[2:]]
    return tuple(visits)


def _climbs(ground: np.ndarray, along: np.ndarray) -> tuple[Climb, ...]:
    """Stretches of the path whose ground rises or falls."""
    climbs: list[Climb] = []
    for k in range(len(ground) - 1):
        rise = float(ground[k + 1] - ground[k])
        if abs(rise) < 0.25:
            continue
        if climbs and climbs[-1].to_m == along[k] and climbs[-1].up == (rise > 0):
            climbs[-1] = Climb(rise > 0, climbs[-1].from_m, float(along[k + 1]))
        else:
            climbs.append(Climb(rise > 0, float(along[k]), float(along[k + 1])))
    return tuple(climbs)
