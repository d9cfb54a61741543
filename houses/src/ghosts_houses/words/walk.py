"""A walk as the checker sees it: sampled every few centimetres, with the rooms and doors it goes through."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from ghosts_houses.house import House
from ghosts_sim.geometry import heading_of

_SAMPLE_M = 0.1
"""A walk is sampled this finely."""
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


@dataclass(frozen=True, eq=False)
class Walk:
    """A walk; it is sampled every few centimetres when a claim is about what lies between its viewpoints."""

    house: House
    nodes_m: Float[np.ndarray, "k 3"]
    """Ground under the viewpoints."""
    seen: Bool[np.ndarray, "k things"]
    sighted: Bool[np.ndarray, "k things"]
    """Which things are in sight and near, for every viewpoint."""
    described: dict[Hashable, list[int]] = field(default_factory=dict)
    """Things of the house that claims describe, as far as `true_things` has found out; all its walks may share it."""
    held: dict[tuple[Hashable, ...], list[tuple[Span, int]]] = field(default_factory=dict)
    """Where claims hold, as far as `truth` has found out: drafts of an instruction repeat themselves."""

    @functools.cached_property
    def node_at_m(self) -> Float[np.ndarray, " k"]:
        """How far along the viewpoints are."""
        moves = np.diff(self.nodes_m[:, :2], axis=0)
        return np.concatenate([[0.0], np.cumsum(np.hypot(moves[:, 0], moves[:, 1]))])

    @functools.cached_property
    def at_m(self) -> Float[np.ndarray, " n"]:
        """How far along the samples are."""
        return np.linspace(0.0, self.end_m, max(2, round(self.end_m / _SAMPLE_M)))

    @functools.cached_property
    def _xyz_m(self) -> Float[np.ndarray, "n 3"]:
        return np.stack([np.interp(self.at_m, self.node_at_m, self.nodes_m[:, axis]) for axis in range(3)], 1)

    @property
    def xy_m(self) -> Float[np.ndarray, "n 2"]:
        """Where the samples are in the plan."""
        return self._xyz_m[:, :2]

    @functools.cached_property
    def heading_rad(self) -> Float[np.ndarray, " n"]:
        """Which way the walker looks at each sample."""
        moves = np.diff(self.nodes_m[:, :2], axis=0)
        leg = np.clip(np.searchsorted(self.node_at_m, self.at_m, side="right") - 1, 0, len(moves) - 1)
        return np.atleast_1d(heading_of(moves))[leg]

    @functools.cached_property
    def room(self) -> Int[np.ndarray, " n"]:
        """Room index of every sample; −1 inside walls."""
        return self.house.rooms_at(self._xyz_m + np.array([0.0, 0.0, 0.3]))

    @functools.cached_property
    def crossings(self) -> tuple[Crossing, ...]:
        """Where the walk goes from one room into another."""
        return _crossings(self.house, self.at_m, self.xy_m, self.room)

    @functools.cached_property
    def end_m(self) -> float:
        """Length of the walk."""
        return float(self.node_at_m[-1])

    @functools.cached_property
    def rooms(self) -> frozenset[int]:
        """The rooms it comes through; with −1 where it leads through walls."""
        return frozenset(self.room.tolist())

    @functools.cached_property
    def final_room(self) -> int:
        """The room it ends in."""
        return int(self.room[self.room >= 0][-1])

    @functools.cached_property
    def glimpsed(self) -> frozenset[int]:
        """Things in sight of any of its viewpoints."""
        return frozenset(np.flatnonzero(self.sighted.any(0)).tolist())

    @property
    def end_xy_m(self) -> Float[np.ndarray, " 2"]:
        """The point it ends at."""
        return self.nodes_m[-1, :2]

    def sample_at(self, node: int) -> int:
        """The first sample after leaving a viewpoint."""
        return min(int(np.searchsorted(self.at_m, self.node_at_m[node] + 1e-6)), len(self.at_m) - 1)


def sighted(
    house: House, ground_m: Float[np.ndarray, "k 3"], seen: Bool[np.ndarray, "k things"]
) -> Bool[np.ndarray, "k things"]:
    """Which things are in sight of viewpoints, and near.

    Args:
        house: the house.
        ground_m: the viewpoints, on the ground.
        seen: which thing is in plain sight of which of them.
    """
    return seen & (np.linalg.norm(ground_m[:, None] - house.centers_m, axis=-1) < _SIGHT_M)


def _crossings(house: House, at_m: np.ndarray, xy_m: np.ndarray, rooms: np.ndarray) -> tuple[Crossing, ...]:
    found = []
    known = np.flatnonzero(rooms >= 0)
    changes = np.flatnonzero(np.diff(rooms[known]))
    for a, b in ((known[k], known[k + 1]) for k in changes):
        middle = (xy_m[a] + xy_m[b]) / 2
        pair = frozenset((int(rooms[a]), int(rooms[b])))
        nearest = min(
            house.joins.get(pair, ()),
            key=lambda k: math.hypot(house.openings[k].x_m - middle[0], house.openings[k].y_m - middle[1]),
            default=-1,
        )
        found.append(Crossing(float((at_m[a] + at_m[b]) / 2), int(rooms[a]), int(rooms[b]), nearest))
    return tuple(found)
