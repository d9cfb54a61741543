"""A walk as the checker sees it: sampled every few centimetres, with the rooms and doors it goes through."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from ghosts.geometry import heading_of
from ghosts.world.houses.house import House

_SAMPLE_M = 0.1
_SIGHT_M = 6.5
Span = tuple[float, float]
"""A stretch of a walk, from and to (m)."""


@dataclass(frozen=True)
class Crossing:
    """A change of room."""

    at_m: float
    left: int
    entered: int
    opening: int
    """−1 where no opening joins the two."""


@dataclass(frozen=True)
class Walk:
    """A walk sampled every few centimetres."""

    nodes_m: Float[np.ndarray, "k 3"]
    """Ground under the viewpoints."""
    node_at_m: Float[np.ndarray, " k"]
    at_m: Float[np.ndarray, " n"]
    xy_m: Float[np.ndarray, "n 2"]
    heading_rad: Float[np.ndarray, " n"]
    room: np.ndarray
    """Room index of every sample; −1 inside walls."""
    seen: Bool[np.ndarray, "k things"]
    sighted: Bool[np.ndarray, "k things"]
    """Which things are in sight and near, for every viewpoint."""
    crossings: tuple[Crossing, ...]
    held: dict[tuple[Hashable, ...], list[tuple[Span, int]]] = field(default_factory=dict)
    """Where claims hold, as far as `truth` has found out: drafts of an instruction repeat themselves."""

    @property
    def end_m(self) -> float:
        """Length."""
        return float(self.at_m[-1])

    @functools.cached_property
    def rooms(self) -> frozenset[int]:
        """The rooms it comes through; with −1 where it leads through walls."""
        return frozenset(self.room.tolist())

    @functools.cached_property
    def final_room(self) -> int:
        """The room it ends in."""
        return int(self.room[self.room >= 0][-1])

    @property
    def end_xy_m(self) -> Float[np.ndarray, " 2"]:
        """The point it ends at."""
        return self.nodes_m[-1, :2]

    def sample_at(self, node: int) -> int:
        """The first sample after leaving a viewpoint."""
        return min(int(np.searchsorted(self.at_m, self.node_at_m[node] + 1e-6)), len(self.at_m) - 1)


def sample_walk(house: House, ground_m: Float[np.ndarray, "k 3"], seen: Bool[np.ndarray, "k things"]) -> Walk:
    """Sample a walk.

    Args:
        house: the house.
        ground_m: the walk's viewpoints, on the ground.
        seen: which thing is in plain sight of which viewpoint of the walk.
    """
    moves = np.diff(ground_m[:, :2], axis=0)
    node_at = np.concatenate([[0.0], np.cumsum(np.hypot(moves[:, 0], moves[:, 1]))])
    at = np.linspace(0.0, node_at[-1], max(2, round(node_at[-1] / _SAMPLE_M)))
    xyz = np.stack([np.interp(at, node_at, ground_m[:, axis]) for axis in range(3)], 1)
    leg = np.clip(np.searchsorted(node_at, at, side="right") - 1, 0, len(moves) - 1)
    rooms = house.rooms_at(xyz + np.array([0.0, 0.0, 0.3]))
    headings = np.atleast_1d(heading_of(moves))[leg]
    crossings = _crossings(house, at, xyz[:, :2], rooms)
    centers = np.array([thing.center_m for thing in house.things]).reshape(-1, 3)
    near = np.linalg.norm(ground_m[:, None] - centers, axis=-1) < _SIGHT_M
    return Walk(ground_m, node_at, at, xyz[:, :2], headings, rooms, seen, seen & near, crossings)


def _crossings(house: House, at_m: np.ndarray, xy_m: np.ndarray, rooms: np.ndarray) -> tuple[Crossing, ...]:
    found = []
    known = np.flatnonzero(rooms >= 0)
    changes = np.flatnonzero(np.diff(rooms[known]))
    for a, b in ((known[k], known[k + 1]) for k in changes):
        middle = (xy_m[a] + xy_m[b]) / 2
        pair = {int(rooms[a]), int(rooms[b])}
        joins = [k for k, opening in enumerate(house.openings) if set(opening.rooms) == pair]
        nearest = min(
            joins,
            key=lambda k: math.hypot(house.openings[k].x_m - middle[0], house.openings[k].y_m - middle[1]),
            default=-1,
        )
        found.append(Crossing(float((at_m[a] + at_m[b]) / 2), int(rooms[a]), int(rooms[b]), nearest))
    return tuple(found)
