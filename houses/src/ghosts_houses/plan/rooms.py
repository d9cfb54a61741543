"""Room kinds: how large they are, what they like to lie beside, and what their floors and walls are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Color = tuple[float, float, float]
T = TypeVar("T")

WALL_M = 0.16
"""Thickness of every wall; two rooms share it, half each."""
ROOM_HEIGHTS_M = (2.5, 2.6, 2.7, 2.7, 2.8, 3.0)
"""Heights of a storey's rooms to choose from."""
LOWERED_M = 0.2
"""How much lower a small room's ceiling may hang."""
SLAB_M = 0.15
"""A floor, and what carries a ceiling: a storey is two of them higher than its rooms."""
DOOR_WIDTH_M = 0.9
DOOR_HEIGHT_M = 2.05
PASSAGE_HEIGHT_M = 2.2


@dataclass(frozen=True)
class RoomKind:
    """What a kind of room is like."""

    area_m2: tuple[float, float]
    """Believable floor area between the walls, from and to; a room outside it is another kind of room."""
    weight: float
    """How often it is wished for, beyond the rooms every house has."""
    storeys: tuple[int, ...]
    """Storeys of a house with more than one where it may lie; 1 stands for all above the ground."""
    beside: tuple[str, ...] = ()
    """Kinds it likes to share a wall with."""
    back: bool = False
    """Whether it may be reached through another room only."""
    open_to_hall: float = 0.0
    """Probability that it opens to a hallway by a wide passage instead of a door."""
    floors: tuple[str, ...] = ("planks",)
    """Floor materials to choose from."""
    walls: tuple[str, ...] = ("paint",)
    """Wall materials to choose from."""
    most: int = 1
    """At most so many in a house."""


# fmt: off
ROOM_KINDS: dict[str, RoomKind] = {
    "living room": RoomKind((14.0, 48.0), 0.3, (0, 1), beside=("dining room", "kitchen", "entryway"),
        open_to_hall=0.75, floors=("planks", "parquet", "planks", "carpet"), walls=("paint", "paint", "stripes"),
        most=2),
    "kitchen": RoomKind((8.0, 24.0), 0.0, (0,), beside=("dining room", "living room"), open_to_hall=0.55,
        floors=("tile", "checker", "planks")),
    "dining room": RoomKind((9.0, 26.0), 3.0, (0,), beside=("kitchen", "living room"), open_to_hall=0.6,
        floors=("planks", "parquet"), walls=("paint", "stripes")),
    "bedroom": RoomKind((8.5, 26.0), 2.5, (0, 1), beside=("bathroom", "closet"), floors=("carpet", "planks", "carpet"),
        walls=("paint", "paint", "stripes"), most=4),
    "bathroom": RoomKind((3.2, 12.0), 1.2, (0, 1), beside=("bedroom",), back=True,
        floors=("tile", "checker", "marble"), walls=("wall tile",), most=3),
    "office": RoomKind((6.0, 18.0), 1.8, (0, 1), back=True, floors=("planks", "carpet"),
        walls=("paint", "paint", "brick"), most=2),
    "laundry room": RoomKind((3.2, 10.0), 2.2, (0, 1), beside=("kitchen", "bathroom"), back=True,
        floors=("tile", "checker")),
    "closet": RoomKind((2.2, 8.0), 2.2, (0, 1), beside=("bedroom",), back=True, floors=("carpet", "planks"), most=2),
    "library": RoomKind((8.0, 24.0), 1.6, (0, 1), beside=("living room", "office"), open_to_hall=0.15,
        floors=("parquet", "planks"), walls=("paint", "stripes")),
    "gym": RoomKind((9.0, 28.0), 1.4, (0, 1), floors=("rubber", "planks"), walls=("paint", "brick")),
    "entryway": RoomKind((3.0, 12.0), 3.0, (0,), beside=("living room",), open_to_hall=0.7,
        floors=("tile", "marble", "planks")),
    "nursery": RoomKind((7.5, 18.0), 1.6, (0, 1), beside=("bedroom",), floors=("carpet", "planks"),
        walls=("stripes", "paint")),
    "music room": RoomKind((10.0, 28.0), 1.6, (0, 1), beside=("living room",), open_to_hall=0.2,
        floors=("parquet", "planks"), walls=("paint", "brick")),
    "pantry": RoomKind((2.2, 8.0), 1.5, (0,), beside=("kitchen",), back=True, floors=("tile", "checker")),
    "hallway": RoomKind((3.0, 40.0), 0.0, (0, 1), open_to_hall=1.0, floors=("planks", "tile", "parquet"), most=9),
    "stair hall": RoomKind((12.0, 40.0), 0.0, (0, 1), open_to_hall=1.0, floors=("planks", "parquet"), most=9),
}
# fmt: on
"""Every room kind by its name, as people say it."""

_LOWERED = ("bathroom", "laundry room", "closet", "pantry", "hallway")


def choose_heights(storeys: int, rng: np.random.Generator) -> list[float]:
    """Height of the rooms of each storey; an old house is high throughout, upper storeys are often lower."""
    ground = pick(rng, ROOM_HEIGHTS_M)
    return [ground if k == 0 or rng.random() < 0.6 else min(ground, pick(rng, ROOM_HEIGHTS_M)) for k in range(storeys)]


def ceiling_m(kind: str, height_m: float, rng: np.random.Generator) -> float:
    """Height of a room in a storey: small rooms and hallways may have a lower ceiling."""
    lowered = kind in _LOWERED and height_m >= 2.7 and rng.random() < 0.35
    return round(height_m - LOWERED_M, 2) if lowered else height_m


HALLS = ("hallway", "stair hall", "entryway")
"""Kinds that other rooms open to."""


@dataclass(frozen=True)
class Finish:
    """Surfaces of one room."""

    floor: str
    floor_color: Color
    wall: str
    wall_color: Color
    trim_color: Color


_WOODS: tuple[Color, ...] = (
    (0.42, 0.25, 0.12), (0.30, 0.16, 0.075), (0.55, 0.37, 0.20), (0.20, 0.105, 0.055), (0.47, 0.31, 0.17),
    (0.36, 0.27, 0.19),
)  # fmt: skip
_PAINTS: tuple[Color, ...] = (
    (0.82, 0.79, 0.72), (0.78, 0.72, 0.60), (0.70, 0.76, 0.78), (0.62, 0.70, 0.62), (0.80, 0.68, 0.58),
    (0.66, 0.66, 0.70), (0.84, 0.82, 0.80), (0.55, 0.65, 0.72), (0.76, 0.70, 0.44), (0.72, 0.56, 0.50),
    (0.46, 0.56, 0.50), (0.38, 0.46, 0.58), (0.62, 0.56, 0.68), (0.80, 0.76, 0.66),
)  # fmt: skip
_TILES: tuple[Color, ...] = (
    (0.78, 0.77, 0.74), (0.55, 0.56, 0.57), (0.72, 0.62, 0.50), (0.42, 0.50, 0.54), (0.62, 0.38, 0.26),
    (0.80, 0.78, 0.70),
)  # fmt: skip
_WALL_TILES: tuple[Color, ...] = (
    (0.80, 0.82, 0.82), (0.55, 0.72, 0.76), (0.62, 0.75, 0.66), (0.82, 0.78, 0.70), (0.50, 0.60, 0.74),
    (0.80, 0.66, 0.64),
)  # fmt: skip
_CARPETS: tuple[Color, ...] = (
    (0.62, 0.56, 0.47), (0.45, 0.47, 0.52), (0.50, 0.42, 0.36), (0.36, 0.44, 0.50), (0.58, 0.48, 0.46),
    (0.42, 0.50, 0.42),
)  # fmt: skip
_FLOOR_COLORS: dict[str, tuple[Color, ...]] = {
    "planks": _WOODS,
    "parquet": _WOODS,
    "tile": _TILES,
    "checker": ((0.80, 0.80, 0.78), (0.78, 0.74, 0.66)),
    "marble": ((0.82, 0.80, 0.78), (0.70, 0.72, 0.72)),
    "carpet": _CARPETS,
    "rubber": ((0.10, 0.10, 0.11), (0.13, 0.14, 0.17)),
}
_WALL_COLORS: dict[str, tuple[Color, ...]] = {
    "paint": _PAINTS,
    "stripes": _PAINTS,
    "wall tile": _WALL_TILES,
    "brick": ((0.48, 0.22, 0.15), (0.62, 0.58, 0.54), (0.40, 0.24, 0.18)),
}


def pick(rng: np.random.Generator, options: Sequence[T]) -> T:
    """One of the options, each as likely."""
    return options[int(rng.integers(len(options)))]


def choose_finishes(kinds: list[str], rng: np.random.Generator) -> list[Finish]:
    """Surfaces for every room; hallways of a house share theirs, and its wooden floors share one wood.

    Args:
        kinds: one per room.
        rng: source of the choices.
    """
    wood = pick(rng, _WOODS)
    hall_paint, hall_floor = pick(rng, _PAINTS[:8]), pick(rng, ROOM_KINDS["hallway"].floors)
    hall_color = wood if hall_floor in ("planks", "parquet") else pick(rng, _FLOOR_COLORS[hall_floor])
    trim: Color = (0.86, 0.85, 0.82) if rng.random() < 0.75 else wood
    finishes = []
    for kind in kinds:
        floor, wall = pick(rng, ROOM_KINDS[kind].floors), pick(rng, ROOM_KINDS[kind].walls)
        floor_color = pick(rng, _FLOOR_COLORS[floor])
        if floor in ("planks", "parquet") and rng.random() < 0.7:
            floor_color = wood
        wall_color = pick(rng, _WALL_COLORS[wall])
        if kind in ("hallway", "stair hall"):
            floor, floor_color, wall, wall_color = hall_floor, hall_color, "paint", hall_paint
        finishes.append(Finish(floor, floor_color, wall, wall_color, trim))
    return finishes
