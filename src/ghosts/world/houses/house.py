"""What a house is: rooms, openings, stairs and things, in the world frame (metres, z up, axis-aligned walls).

Everything downstream (ray caster, navigation graph, instructions, floor plan) reads these frozen dataclasses and
nothing else, so a house can be made by the plan generator, by hand in a test, or read from elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

POSE_ROTATION = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]])
"""3 × 3 part of every viewpoint's pose in the connectivity file: upright, skybox face 1 looks along +y (heading 0)."""
Shape = Literal["box", "cylinder", "sphere"]
OpeningKind = Literal["door", "passage", "window"]


def reach_m(half_m: tuple[float, float, float], yaw_rad: float) -> tuple[float, float]:
    """Half extents along x and y of a box turned about z."""
    c, s = abs(math.cos(yaw_rad)), abs(math.sin(yaw_rad))
    return half_m[0] * c + half_m[1] * s, half_m[0] * s + half_m[1] * c


@dataclass(frozen=True)
class Primitive:
    """A solid: box (turned about z), upright cylinder, or axis-aligned ellipsoid ("sphere")."""

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

    def gap_m(self, xy_m: Float[np.ndarray, "*n 2"]) -> Any:
        """Distance in the plane from points to its footprint."""
        dx, dy = xy_m[..., 0] - self.center_m[0], xy_m[..., 1] - self.center_m[1]
        cos, sin = math.cos(self.yaw_rad), math.sin(self.yaw_rad)
        x, y = np.abs(dx * cos + dy * sin) - self.half_m[0], np.abs(dy * cos - dx * sin) - self.half_m[1]
        return np.hypot(np.maximum(x, 0.0), np.maximum(y, 0.0))


@dataclass(frozen=True)
class Room:
    """An axis-aligned rectangular room (inner faces of its walls)."""

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

    @property
    def center_m(self) -> tuple[float, float]:
        """Middle of the floor."""
        return (self.x0_m + self.x1_m) / 2, (self.y0_m + self.y1_m) / 2

    @property
    def area_m2(self) -> float:
        """Floor between its walls."""
        return (self.x1_m - self.x0_m) * (self.y1_m - self.y0_m)


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

    def rooms_at(self, xyz_m: Float[np.ndarray, "n 3"]) -> Int[np.ndarray, " n"]:
        """Index of the room that holds each point; −1 in walls and outside."""
        low = np.array([(r.x0_m, r.y0_m, r.floor_z_m - 0.05) for r in self.rooms])
        high = np.array([(r.x1_m, r.y1_m, r.ceiling_z_m + 0.05) for r in self.rooms])
        inside = np.all((xyz_m[:, None] >= low) & (xyz_m[:, None] <= high), axis=2)
        return np.where(np.any(inside, axis=1), np.argmax(inside, axis=1), -1)
