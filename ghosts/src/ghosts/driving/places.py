"""Places that an agent may choose on its own map: where it has looked around, frontiers of what is known, open places.

They are laid out like a navigation graph's viewpoints, because the policy was trained on these: as far apart, as near
to where the agent has looked, and with the lengths of walks to them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from ghosts.agent.candidates import Candidates
from ghosts.driving.occupancy import Reachable
from ghosts_sim.values import require

_STEEP_M = 0.5
"""What lies higher than it is far, by more than this, is on another storey."""
_DETOUR = 1.5
"""Places to choose from may be so much farther to walk than straight on; metres near obstacles count twice."""
FromStart = Callable[[tuple[float, float, float], float], float]
"""A place, and the length of the way to it from the last look (0 where it is not known), to the walk from the start."""


@dataclass(frozen=True)
class Exploration:
    """How an agent explores."""

    looks: int = 12
    """Most places to look around at; after the last one it stops."""
    view_rad: float = math.radians(30.0)
    """Turn from view to view, a multiple of the body's turns; 12 views as in training."""
    spacing_m: float = 1.6
    """Least distance between places to choose from."""
    range_m: float = 3.5
    """Largest distance to them from where it has looked around: the policy was trained on graphs with such edges."""
    berth_m: float = 0.05
    """Distance kept between the body and obstacles."""

    def __post_init__(self) -> None:
        require(self.looks >= 1, "looks must be at least 1", self.looks)
        require(0.0 < self.view_rad <= math.pi, "view_rad must lie in (0, π]", self.view_rad)
        require(self.spacing_m > 0.0, "spacing_m must be positive", self.spacing_m)
        require(self.range_m > 0.0, "range_m must be positive", self.range_m)


@dataclass(frozen=True)
class Place:
    """Somewhere the agent may choose."""

    xyz_m: tuple[float, float, float]
    """On the ground."""
    from_start_m: float
    from_agent_m: float
    visited: bool
    cell: tuple[int, int, int]
    """Layer, row and column of what can be reached."""


@dataclass(frozen=True)
class OwnPlaces:
    """The places of one agent: `loop.Places` of a batch of one."""

    listed: tuple[Place, ...]
    start_xy_m: tuple[float, float]
    """Where the instruction was given."""

    @property
    def filled(self) -> Bool[np.ndarray, "1 slots"]:
        """All slots hold a place."""
        return np.ones((1, len(self.listed)), bool)

    @property
    def visited(self) -> Bool[np.ndarray, "1 slots"]:
        """Where the agent has looked around."""
        return np.array([[place.visited for place in self.listed]])

    def candidates(
        self, active: Bool[np.ndarray, " b"], device: torch.device, numbers: Int[np.ndarray, " b"] | None = None
    ) -> Candidates:
        """The places relative to the start; heights count from the first place."""
        places, origin = self.listed, np.array([*self.start_xy_m, self.listed[0].xyz_m[2]])
        return Candidates(
            torch.zeros(len(places), dtype=torch.int64, device=device),
            torch.tensor(np.array([place.xyz_m for place in places]) - origin, dtype=torch.float32, device=device),
            torch.tensor([place.from_start_m for place in places], device=device),
            torch.tensor([place.from_agent_m for place in places], device=device),
            torch.tensor([place.visited for place in places], device=device),
        )


def find_places(
    known: Reachable, looked_m: Sequence[tuple[float, float, float]], settings: Exploration, *, onwards: bool = True
) -> tuple[Place, ...]:
    """Where an agent has looked around, and where it might.

    Args:
        known: where it can go from the last look.
        looked_m: on the ground, where it has looked around.
        settings: how far places lie apart and away.
        onwards: whether it may look around once more.
    """
    spots = np.array(looked_m)
    from_start = _distances(spots)
    places = []
    for x, y, z in spots.tolist():
        cell = known.nearest(x, y, z)
        places.append(Place((x, y, z), from_start((x, y, z), 0.0), known.length_m(cell), True, cell))
    places[-1] = replace(places[-1], from_agent_m=0.0)
    ahead = _ahead(known, spots, settings, from_start) if onwards else []
    return (*places, *ahead)


def _ahead(
    known: Reachable, spots: Float[np.ndarray, "n 3"], settings: Exploration, from_start: FromStart
) -> list[Place]:
    """Frontiers first, then open places, none near another."""
    cells = np.nonzero(known.distance_m < 3 * settings.range_m)
    places = known.places_m(*cells)
    away = np.linalg.norm(places - spots[:, None], axis=2)
    free = away.min(0) > settings.spacing_m
    # Where it stands it knows the ways: what lies beyond a railing is near, but may be far to walk.
    away[-1] = np.maximum(away[-1], known.distance_m[cells] / _DETOUR)
    free &= away.min(0) < settings.range_m
    order = np.lexsort((-known.room[cells], ~known.frontier[cells]))
    order = order[free[order]]
    found: list[Place] = []
    while len(order):
        k = int(order[0])
        layer, row, col = (int(part[k]) for part in cells)
        x, y, z = places[k].tolist()
        far = known.length_m((layer, row, col))
        found.append(Place((x, y, z), from_start((x, y, z), far), far, False, (layer, row, col)))
        order = order[np.linalg.norm(places[order] - places[k], axis=1) > settings.spacing_m]
    return found


def _distances(spots: Float[np.ndarray, "n 3"]) -> FromStart:
    """Walks from the start: through the looks so far, then straight on, but never through a ceiling.

    The walk to each look is what was walked or shorter; the last leg is taken straight, as edges of graphs are, but
    from the last look it is as long as its way.
    """
    legs = np.zeros(1)
    for k in range(1, len(spots)):
        legs = np.append(legs, np.min(legs + _straight_m(spots[:k], spots[k])))

    def measure(xyz: tuple[float, float, float], from_last_m: float) -> float:
        straight = _straight_m(spots, np.array(xyz))
        straight[-1] = max(straight[-1], from_last_m)
        return float(np.min(legs + straight))

    return measure


def _straight_m(spots: Float[np.ndarray, "n 3"], place: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " n"]:
    """Level distances to a place, infinite to what is steeper away than stairs; the last spot always leads there."""
    away = np.abs(spots - place)
    level_m = np.hypot(away[:, 0], away[:, 1])
    too_steep = away[:, 2] > level_m + _STEEP_M
    too_steep[-1] = False
    return np.where(too_steep, np.inf, level_m)
