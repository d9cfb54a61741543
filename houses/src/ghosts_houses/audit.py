"""Whether people would believe a house: every room has what makes it one, nothing stands in anything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ghosts_houses.furniture.recipes import lacking
from ghosts_houses.furniture.spots import footprint, overlap
from ghosts_houses.house import House, Opening, Room, Stair
from ghosts_houses.plan.rooms import ROOM_KINDS
from ghosts_houses.plan.shell import stair_hole
from ghosts_houses.plan.slots import Rect
from ghosts_houses.solids import AABB, TINY, Solids, crossing
from ghosts_houses.touch import SUNK_M, depths_m

Rule = Literal["essentials", "size", "stairwell", "inside", "shell", "window", "rugs"]
RULES: tuple[Rule, ...] = ("essentials", "size", "stairwell", "inside", "shell", "window", "rugs")
HIDES_M, TALL_M = 0.35, 1.0
"""A tall thing that reaches this far above the sill hides a window; a chair or a sofa does not."""
_BEFORE_M = 0.5
"""Nearer than this to the wall, a thing stands before the window."""


@dataclass(frozen=True)
class Flaw:
    """Something that no real house has."""

    rule: Rule
    room: int
    text: str


def flaws(house: House) -> list[Flaw]:
    """Everything of a house that breaks a rule."""
    found = [flaw for room in house.rooms for flaw in (*_essentials(house, room), *_size(room), *_rugs(house, room))]
    found += [flaw for stair in house.stairs for flaw in _stairwell(house, stair)]
    found += [*_inside(house), *_shell(house)]
    return found + [flaw for opening in house.openings if opening.kind == "window" for flaw in _window(house, opening)]


def _essentials(house: House, room: Room) -> Iterator[Flaw]:
    """What a room of its kind must have and this one lacks."""
    for need in lacking(room.kind, [thing for thing in house.things if thing.room == room.index]):
        yield Flaw("essentials", room.index, f"{room.kind} without {need}")


def _size(room: Room) -> Iterator[Flaw]:
    low, high = ROOM_KINDS[room.kind].area_m2
    if not low <= room.area_m2 <= high:
        yield Flaw("size", room.index, f"{room.kind} of {room.area_m2:.1f} m², expected {low} to {high}")


def _rugs(house: House, room: Room) -> Iterator[Flaw]:
    flat = [t for t in house.things if t.room == room.index and t.is_rug]
    for i, a in enumerate(flat):
        for b in flat[:i]:
            if overlap(footprint(a), footprint(b), -0.02):
                yield Flaw("rugs", room.index, f"{a.kind} on {b.kind}")


def _stairwell(house: House, stair: Stair) -> Iterator[Flaw]:
    """Looking from the well above a flight at the wall beside it, one sees wall between the storeys, not a slab."""
    (x0, x1), (y0, y1) = stair_hole(stair)
    lower, upper = (house.rooms[index] for index in stair.rooms)
    toward = -1.0 if stair.foot_m[0] - lower.x0_m < lower.x1_m - stair.foot_m[0] else 1.0
    y, z = np.meshgrid(np.linspace(y0 + 0.1, y1 - 0.1, 9), np.linspace(lower.ceiling_z_m - 0.1, upper.floor_z_m, 9))
    start = np.stack([np.full(y.size, (x0 + x1) / 2), y.ravel(), z.ravel() - 0.003], 1)
    solids = [p for p in house.shell if p.label in ("wall", "floor", "ceiling")]
    at = _first_m(Solids.of(solids), start, toward)
    # A slab whose edge lies in the face of the wall is drawn in its place.
    slab = np.array([p.label != "wall" for p in solids])
    if (at[:, slab].min(1) <= at[:, ~slab].min(1) + 1e-4).any():
        yield Flaw("stairwell", lower.index, "the wall beside the flight shows the edge of a slab")


def _first_m(boxes: Solids, start: np.ndarray, toward: float) -> np.ndarray:
    """How far level lines along x go until they meet each of the boxes; infinite where they miss it."""
    offset = boxes.center.T[:, None] - start.T[:, :, None]
    inverse = [np.array(1.0 / way) for way in (toward, TINY, TINY)]
    enter, leave = crossing(np, AABB, inverse, offset, boxes.half.T, None)
    return np.where((enter <= leave) & (leave > 0.0), np.maximum(enter, 0.0), np.inf)


def _inside(house: House) -> Iterator[Flaw]:
    """Things that reach into each other."""
    for room in house.rooms:
        mine = [(thing, footprint(thing)) for thing in house.things if thing.room == room.index and not thing.is_rug]
        for i, (a, here) in enumerate(mine):
            for b, there in mine[:i]:
                near = abs(a.center_m[2] - b.center_m[2]) < a.half_m[2] + b.half_m[2] and overlap(here, there)
                if near and (depths_m(a.parts, b.parts) > SUNK_M).any():
                    yield Flaw("inside", room.index, f"{a.kind} in {b.kind}")


def _shell(house: House) -> Iterator[Flaw]:
    """Things that reach into steps, railings, frames, sills or walls."""
    shell = [piece for part in house.shell for piece in part.level_pieces()]
    center = np.array([part.center_m for part in shell])
    half = np.array([part.half_m for part in shell])
    for thing in house.things:
        reach = np.linalg.norm(thing.half_m)
        close = np.flatnonzero((np.abs(center - thing.center_m) < half + reach).all(1))
        parts = [shell[k] for k in close]
        if parts:
            depth = depths_m(thing.parts, parts).max(0)
            labels = sorted({part.label for part, deep in zip(parts, depth) if deep > SUNK_M})
            if thing.kind == "fireplace" and labels == ["ceiling"]:
                continue  # its chimney hides the moulding that runs through it
            if labels:
                yield Flaw("shell", thing.room, f"{thing.kind} in {' and '.join(labels)}")


def _window(house: House, opening: Opening) -> Iterator[Flaw]:
    """Tall things before a window."""
    room, wide, deep = house.rooms[opening.rooms[0]], opening.width_m / 2 - 0.1, 0.08 + _BEFORE_M
    dx, dy = (wide, deep) if opening.along == "x" else (deep, wide)
    zone = Rect(opening.x_m - dx, opening.y_m - dy, opening.x_m + dx, opening.y_m + dy)
    for thing in house.things:
        top = thing.center_m[2] + thing.half_m[2]
        tall = top > max(opening.bottom_z_m + HIDES_M, room.floor_z_m + TALL_M)
        if thing.room == room.index and thing.blocks and tall:
            low = thing.center_m[2] - thing.half_m[2] < opening.top_z_m
            if low and overlap(footprint(thing), zone):
                yield Flaw("window", room.index, f"{thing.kind} before a window")
