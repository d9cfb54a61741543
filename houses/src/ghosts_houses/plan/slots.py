"""Places for rooms: rectangles, perhaps without a corner, the walls they share, and how large a house may be.

Coordinates are centre lines of walls, in metres.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from ghosts_houses.plan.rooms import WALL_M
from ghosts_sim.values import require

Side = Literal["N", "S", "E", "W"]
Role = Literal["hall", "stair", "entry", "hub", "room", "back"]


class Rect(NamedTuple):  # a frozen data class takes twice as long to make, and every house makes 30 000
    """A rectangle of the plan, in metres."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        """Extent along x."""
        return self.x1 - self.x0

    @property
    def depth(self) -> float:
        """Extent along y."""
        return self.y1 - self.y0

    @property
    def area(self) -> float:
        """Width times depth."""
        return self.width * self.depth


@dataclass(frozen=True)
class HouseSize:
    """How large a house may be, from and to."""

    storeys: tuple[int, int] = (1, 3)
    rooms: tuple[int, int] = (6, 16)
    """Hallways and stair halls count."""
    area_m2: tuple[float, float] = (0.0, 1000.0)
    """Floor of all storeys, walls included."""

    def __post_init__(self) -> None:
        for name, least, most in (("storeys", 1, 3), ("rooms", 5, 24), ("area_m2", 0, 1000)):
            low, high = getattr(self, name)
            require(
                least <= low <= high <= most, f"{name} must be two numbers, rising, in {least}..{most}", (low, high)
            )

    def holds(self, slots: list[Slot]) -> bool:
        """Whether a house of these slots is as large as wished."""
        area = sum(slot.area for slot in slots)
        return self.rooms[0] <= len(slots) <= self.rooms[1] and self.area_m2[0] <= area <= self.area_m2[1]


@dataclass(frozen=True)
class Slot:
    """A place for a room, bounded by centre lines of walls."""

    rect: Rect
    role: Role
    storey: int
    parent: int = -1
    """For a back room: index of the slot it is reached through."""
    notch: Rect | None = None
    """A corner of the rectangle that a back room takes: the room is an L."""

    @property
    def area(self) -> float:
        """Plan covered, to the centre lines."""
        return self.rect.area - (self.notch.area if self.notch is not None else 0.0)

    @property
    def floor_m2(self) -> float:
        """Floor between the walls."""
        return (self.rect.width - WALL_M) * (self.rect.depth - WALL_M) - (self.rect.area - self.area)

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """Its outline, as stretches of wall."""
        rect, notch = self.rect, self.notch
        sides: list[tuple[Literal["x", "y"], float, float, float, Side]] = [
            ("x", rect.y0, rect.x0, rect.x1, "S"),
            ("x", rect.y1, rect.x0, rect.x1, "N"),
            ("y", rect.x0, rect.y0, rect.y1, "W"),
            ("y", rect.x1, rect.y0, rect.y1, "E"),
        ]
        if notch is None:
            return tuple(Edge(*side) for side in sides)
        edges = []
        for axis, level, low, high, side in sides:
            near, far, a, b = (notch.y0, notch.y1, notch.x0, notch.x1)
            if axis == "y":
                near, far, a, b = (notch.x0, notch.x1, notch.y0, notch.y1)
            if level not in (near, far):
                edges.append(Edge(axis, level, low, high, side))
                continue
            edges.append(Edge(axis, level, b if a == low else low, high if a == low else a, side))
            edges.append(Edge(axis, far if level == near else near, a, b, side))
        return tuple(edges)


@dataclass(frozen=True)
class Edge:
    """A stretch of a slot's outline."""

    axis: Literal["x", "y"]
    """The axis it runs along."""
    level: float
    """Its other coordinate."""
    low: float
    high: float
    side: Side
    """Where the slot ends: beyond it in this direction lies something else."""


Run = tuple[Literal["x", "y"], float, float, float]
"""A stretch of wall: the axis it runs along, its other coordinate, from, to."""


def shared_walls(a: Slot, b: Slot) -> list[Run]:
    """The walls that two slots share, the longest first.

    Example:
        >>> shared_walls(Slot(Rect(0, 0, 4, 3), "room", 0), Slot(Rect(1, 3, 6, 5), "room", 0))
        [('x', 3, 1, 4)]
    """
    walls = []
    theirs = b.edges
    for one in a.edges:
        for other in theirs:
            if one.level == other.level and one.axis == other.axis and one.side != other.side:
                low, high = max(one.low, other.low), min(one.high, other.high)
                if high - low > 0.05:
                    walls.append((one.axis, one.level, low, high))
    return sorted(walls, key=lambda wall: wall[2] - wall[3])
