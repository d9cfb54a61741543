"""What a house is: rooms, openings, stairs and things, in the world frame (metres, z up, axis-aligned walls).

Everything downstream (ray caster, navigation graph, instructions, floor plan) reads these frozen dataclasses and
nothing else, so a house can be made by the plan generator, by hand in a test, or read from elsewhere.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

POSE_ROTATION = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]])
"""3 × 3 part of every viewpoint's pose in the connectivity file: upright, skybox face 1 looks along +y (heading 0)."""
_INWARD = {"S": (0.0, 1.0), "N": (0.0, -1.0), "W": (1.0, 0.0), "E": (-1.0, 0.0)}
_PIECE_M = 0.26
Shape = Literal["box", "cylinder", "sphere"]
OpeningKind = Literal["door", "passage", "window"]


def reach_m(half_m: tuple[float, float, float], yaw_rad: float) -> tuple[float, float]:
    """Half extents along x and y of a box turned about z."""
    c, s = abs(math.cos(yaw_rad)), abs(math.sin(yaw_rad))
    return half_m[0] * c + half_m[1] * s, half_m[0] * s + half_m[1] * c


@dataclass(frozen=True)
class Primitive:
    """A solid: box (turned about z, and sloping where it is a rail), upright cylinder, or ellipsoid ("sphere")."""

    shape: Shape
    center_m: tuple[float, float, float]
    half_m: tuple[float, float, float]
    """Half extents along its own axes; a cylinder's (radius x, radius y, half height)."""
    yaw_rad: float
    """Counter-clockwise turn about z (mathematical angle)."""
    material: str
    """Name of a procedural material."""
    color: tuple[float, float, float]
    """Linear RGB in 0..1, the material's base colour."""
    label: str
    """Semantic label: an object kind, or a surface ("floor", "wall", "ceiling", "door", "window", "stairs")."""
    slope: float = 0.0
    """Of a box: how much it rises per metre along its own x axis. Its four sides stay upright."""

    def level_pieces(self) -> tuple[Primitive, ...]:
        """Level boxes that hold a sloping one, each of at most a foot's length; a level solid is its own piece."""
        if not self.slope:
            return (self,)
        count = math.ceil(2 * self.half_m[0] / _PIECE_M)
        reach, (x, y, z) = self.half_m[0] / count, self.center_m
        half = (reach, self.half_m[1], self.half_m[2] + abs(self.slope) * reach)
        c, s = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        away = [(2 * k + 1 - count) * reach for k in range(count)]
        return tuple(
            replace(self, center_m=(x + c * at, y + s * at, z + self.slope * at), half_m=half, slope=0.0) for at in away
        )


@dataclass(frozen=True)
class Thing:
    """One object: a named group of primitives standing in a room."""

    kind: str
    """Its kind, a key of `furniture.catalogue.KINDS`, e.g. "sofa"."""
    room: int
    """Index of the room it stands in."""
    center_m: tuple[float, float, float]
    half_m: tuple[float, float, float]
    """Half extents of its bounding box along its own axes."""
    yaw_rad: float
    """Counter-clockwise; at 0 its front looks along +x."""
    color_word: str
    """The colour a person would name ("red"), empty when it has none worth naming."""
    blocks: bool
    """Whether a walker has to go round it (a rug, a painting or a ceiling lamp does not block)."""
    parts: tuple[Primitive, ...]

    @property
    def is_rug(self) -> bool:
        """Whether it lies flat on the floor, so that others may stand on it."""
        return not self.blocks and 2 * self.half_m[2] < 0.03

    def gap_m(self, xy_m: Float[np.ndarray, "*n 2"]) -> Any:
        """Distance in the plane from points to its footprint."""
        dx, dy = xy_m[..., 0] - self.center_m[0], xy_m[..., 1] - self.center_m[1]
        cos, sin = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        x, y = np.abs(dx * cos + dy * sin) - self.half_m[0], np.abs(dy * cos - dx * sin) - self.half_m[1]
        return np.hypot(np.maximum(x, 0.0), np.maximum(y, 0.0))


Sides = tuple[float, float, float, float]
"""A rectangle of the plan: x0, y0, x1, y1."""


@dataclass(frozen=True)
class Wall:
    """The inner face of one of a room's walls."""

    name: str
    """"S", "N", "W" or "E" by the side of the room; with a "2" the two that face into an L."""
    level_m: float
    """Its y, or x for a wall in the west or east."""
    low_m: float
    high_m: float
    """From and to, along it."""
    inward: tuple[float, float]

    @cached_property
    def along(self) -> Literal["x", "y"]:
        """The axis it runs along."""
        return "x" if self.inward[0] == 0.0 else "y"

    @cached_property
    def sign(self) -> float:
        """1 where coordinates rise into the room, else −1."""
        return sum(self.inward)

    @cached_property
    def yaw_rad(self) -> float:
        """Turn of what stands with its back to it."""
        return math.atan2(self.inward[1], self.inward[0])


@dataclass(frozen=True)
class Room:
    """An axis-aligned room (inner faces of its walls): a rectangle, or an L where a corner of it is cut out."""

    index: int
    kind: str
    """"bedroom", "hallway", …: a key of `plan.rooms.ROOM_KINDS`."""
    storey: int
    x0_m: float
    y0_m: float
    x1_m: float
    y1_m: float
    floor_z_m: float
    ceiling_z_m: float
    notch_m: Sides | None = None
    """Of an L: the corner of the rectangle that is no part of the room, walls included."""

    @property
    def center_m(self) -> tuple[float, float]:
        """Middle of the floor; of an L, of its larger part."""
        x0, y0, x1, y1 = self.rects()[0]
        return (x0 + x1) / 2, (y0 + y1) / 2

    @property
    def area_m2(self) -> float:
        """Floor between its walls."""
        return sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.rects())

    def rects(self, grown_m: float = 0.0) -> tuple[Sides, ...]:
        """Rectangles that make up the floor, the largest first, grown beyond the walls' inner faces."""
        g = grown_m
        x0, y0, x1, y1 = self.x0_m - g, self.y0_m - g, self.x1_m + g, self.y1_m + g
        if self.notch_m is None:
            return ((x0, y0, x1, y1),)
        west, south = self._notch_is()
        nx, ny = self._notch_corner(g)
        across = (
            ((x0, ny, x1, y1) if south else (x0, y0, x1, ny)),
            ((nx if west else x0, y0 if south else ny, x1 if west else nx, ny if south else y1)),
        )
        upright = (
            ((nx, y0, x1, y1) if west else (x0, y0, nx, y1)),
            ((x0 if west else nx, ny if south else y0, nx if west else x1, y1 if south else ny)),
        )
        return max((across, upright), key=lambda pair: (pair[0][2] - pair[0][0]) * (pair[0][3] - pair[0][1]))

    def corners(self, grown_m: float = 0.0) -> list[tuple[float, float]]:
        """Its outline, counter-clockwise, grown beyond the walls' inner faces."""
        g = grown_m
        x0, y0, x1, y1 = self.x0_m - g, self.y0_m - g, self.x1_m + g, self.y1_m + g
        points = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
        if self.notch_m is None:
            return points
        west, south = self._notch_is()
        nx, ny = self._notch_corner(g)
        at = (0 if west else 1) if south else (3 if west else 2)
        ends = [(points[at][0], ny), (nx, ny), (nx, points[at][1])]
        return points[:at] + (ends if at % 2 == 0 else ends[::-1]) + points[at + 1 :]

    @property
    def walls(self) -> tuple[Wall, ...]:
        """Its four walls, and the two that face into an L."""
        x0, y0, x1, y1 = self.x0_m, self.y0_m, self.x1_m, self.y1_m
        spans = {"S": (x0, x1), "N": (x0, x1), "W": (y0, y1), "E": (y0, y1)}
        level = {"S": y0, "N": y1, "W": x0, "E": x1}
        if self.notch_m is not None:
            west, south = self._notch_is()
            nx, ny = self._notch_corner(0.0)
            across, upright = "S" if south else "N", "W" if west else "E"
            spans[across], spans[across + "2"] = ((nx, x1), (x0, nx)) if west else ((x0, nx), (nx, x1))
            spans[upright], spans[upright + "2"] = ((ny, y1), (y0, ny)) if south else ((y0, ny), (ny, y1))
            level[across + "2"], level[upright + "2"] = ny, nx
        return tuple(Wall(name, level[name], *spans[name], _INWARD[name[0]]) for name in spans)

    def holds(self, xy_m: Float[np.ndarray, "*n 2"]) -> Any:
        """Whether points of the plan lie between its walls."""
        x, y = xy_m[..., 0], xy_m[..., 1]
        inside = (x >= self.x0_m) & (x <= self.x1_m) & (y >= self.y0_m) & (y <= self.y1_m)
        if self.notch_m is None:
            return inside
        a, b, c, d = self.notch_m
        return inside & ~((x > a) & (x < c) & (y > b) & (y < d))

    def gaps_m(self, x_m: float, y_m: float) -> tuple[float, float]:
        """Distance from a point to the nearest wall in the west or east, and in the south or north."""
        gaps = {"x": [math.inf], "y": [math.inf]}
        for wall in self.walls:
            at, level = (x_m, y_m) if wall.along == "x" else (y_m, x_m)
            if wall.low_m <= at <= wall.high_m:
                gaps[wall.along].append((level - wall.level_m) * wall.sign)
        return min(gaps["y"]), min(gaps["x"])

    def _notch_is(self) -> tuple[bool, bool]:
        """Whether the notch lies in the west, and in the south."""
        assert self.notch_m is not None
        return self.notch_m[0] <= self.x0_m, self.notch_m[1] <= self.y0_m

    def _notch_corner(self, grown_m: float) -> tuple[float, float]:
        """The corner of the notch that sticks into the room."""
        assert self.notch_m is not None
        (west, south), (x0, y0, x1, y1) = self._notch_is(), self.notch_m
        return (x1 - grown_m if west else x0 + grown_m), (y1 - grown_m if south else y0 + grown_m)


@dataclass(frozen=True)
class Opening:
    """A hole in a wall: a door (with frame and an open leaf or none), a wide passage, or a window."""

    kind: OpeningKind
    rooms: tuple[int, int]
    """The rooms it joins; a window or the front door has −1 (outside) second."""
    x_m: float
    y_m: float
    """Middle of the opening, in the middle of the wall."""
    along: Literal["x", "y"]
    """The axis the wall runs along."""
    width_m: float
    bottom_z_m: float
    top_z_m: float

    @property
    def inner(self) -> bool:
        """Whether one walks through it from room to room."""
        return self.kind != "window" and min(self.rooms) >= 0


@dataclass(frozen=True)
class Stair:
    """A straight flight from a point on the lower storey to a point on the upper one, inside two stair-hall rooms."""

    rooms: tuple[int, int]
    """Lower and upper room."""
    foot_m: tuple[float, float, float]
    head_m: tuple[float, float, float]
    width_m: float


@dataclass(frozen=True)
class House:
    """A whole house."""

    name: str
    """Scan identifier, unique by seed."""
    seed: int
    rooms: tuple[Room, ...]
    openings: tuple[Opening, ...]
    stairs: tuple[Stair, ...]
    things: tuple[Thing, ...]
    shell: tuple[Primitive, ...]
    """Floors, ceilings, wall pieces between openings, door frames, window panes, steps."""

    @property
    def primitives(self) -> tuple[Primitive, ...]:
        """The shell and every thing's parts."""
        return self.shell + tuple(part for thing in self.things for part in thing.parts)

    @property
    def owners(self) -> tuple[int, ...]:
        """Index of the thing each of the primitives belongs to; −1 for the shell."""
        parts = (index for index, thing in enumerate(self.things) for _ in thing.parts)
        return (*([-1] * len(self.shell)), *parts)

    @cached_property
    def centers_m(self) -> Float[np.ndarray, "things 3"]:
        """Centres of the things."""
        return np.array([thing.center_m for thing in self.things], float).reshape(-1, 3)

    @cached_property
    def joins(self) -> dict[frozenset[int], list[int]]:
        """Numbers of the openings between two rooms."""
        found = defaultdict(list)
        for index, opening in enumerate(self.openings):
            found[frozenset(opening.rooms)].append(index)
        return dict(found)

    @cached_property
    def _room_boxes(self) -> tuple[Float[np.ndarray, "3 rooms"], Float[np.ndarray, "3 rooms"]]:
        low = np.array([(r.x0_m, r.y0_m, r.floor_z_m - 0.05) for r in self.rooms])
        high = np.array([(r.x1_m, r.y1_m, r.ceiling_z_m + 0.05) for r in self.rooms])
        return np.ascontiguousarray(low.T), np.ascontiguousarray(high.T)

    def rooms_at(self, xyz_m: Float[np.ndarray, "n 3"]) -> Int[np.ndarray, " n"]:
        """Index of the room that holds each point; −1 in walls and outside."""
        inside = np.ones((len(xyz_m), len(self.rooms)), bool)
        for low, high, value in zip(*self._room_boxes, xyz_m.T[:, :, None]):
            inside &= (value >= low) & (value <= high)
        for room in self.rooms:
            if room.notch_m is not None:
                inside[:, room.index] &= room.holds(xyz_m[:, :2])
        first = inside.argmax(1)
        return np.where(inside[np.arange(len(first)), first], first, -1)
