"""What a thing or a room looks like, in one word: large, tall, wooden, round, in the corner; a tiled floor."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ghosts_houses.house import House, Primitive, Room, Thing
from ghosts_houses.words.vocabulary import AGAINST, FABRIC, FLOORS, METAL, WALLS, WOODEN

_BIG_M = {
    "sofa": 2.1, "dining table": 1.8, "painting": 1.0, "mirror": 0.8, "bookshelf": 1.2, "wardrobe": 1.6,
    "television": 1.2, "coffee table": 1.1, "dresser": 1.3, "desk": 1.4, "kitchen island": 1.5, "rug": 2.5,
    "round rug": 1.9, "plant": 1.3, "piano": 1.4, "fireplace": 1.4, "bed": 2.05,
}  # fmt: skip
"""From this extent on a thing of a kind is large."""
_LITTLE_M = {
    "painting": 0.7, "sofa": 1.85, "bookshelf": 0.95, "dining table": 1.3, "coffee table": 0.95, "rug": 2.15,
    "side table": 0.6, "ottoman": 0.65, "vase": 0.6, "trash can": 0.7, "nightstand": 0.6, "table lamp": 0.5,
    "mirror": 0.65, "bar stool": 0.6, "cactus": 1.3, "shoe rack": 0.9, "suitcase": 1.1, "stool": 0.6,
}  # fmt: skip
"""Up to this extent it is small."""


def extent_m(thing: Thing) -> float:
    """The longest side of a thing's bounding box."""
    return 2 * max(thing.half_m)


def bulk(thing: Thing) -> str:
    """Material of a thing's largest part."""
    return max(thing.parts, key=lambda part: part.half_m[0] * part.half_m[1] * part.half_m[2]).material


def traits(house: House, thing: Thing) -> tuple[str, ...]:
    """Traits worth naming; sizes only where no thing of the kind in the house says otherwise."""
    x, y, z = (2 * half for half in thing.half_m)
    found = []
    sizes = [extent_m(other) for other in house.things if other.kind == thing.kind]
    if extent_m(thing) >= max(_BIG_M.get(thing.kind, 9.0), max(sizes) - 0.05):
        found.append("large")
    if extent_m(thing) <= min(_LITTLE_M.get(thing.kind, 0.0), min(sizes) + 0.05):
        found.append("small")
    if z >= 1.6 and z >= 1.3 * max(x, y):
        found.append("tall")
    if max(x, y) >= 1.7 and max(x, y) >= 1.7 * min(x, y) and thing.kind != "bed":
        found.append("long")
    material = bulk(thing)
    made = {"wood": ("wooden", WOODEN), "metal": ("metal", METAL), "fabric": ("fabric", FABRIC)}
    if material in made and thing.kind in made[material][1]:
        found.append(made[material][0])
    if material in ("leather", "wicker", "brick"):
        found.append(material)
    if material == "rug":
        found.append("patterned")
    if thing.kind == "painting" and any(part.material == "picture" for part in thing.parts):
        found.append("framed")
    if thing.kind in ("coffee table", "side table", "dining table", "rug"):
        flat = "square" if max(x, y) < 1.1 * min(x, y) else "rectangular"
        found.append("round" if _round(thing) else flat)
    if thing.kind in ("shower", "china cabinet", "aquarium") and any(p.material == "glass" for p in thing.parts):
        found.append("glass")
    return tuple(found)


def _round(thing: Thing) -> bool:
    """Whether the top of a table is round."""
    return any(p.shape == "cylinder" and p.half_m[0] >= 0.85 * thing.half_m[0] for p in thing.parts)


def places(house: House, thing: Thing) -> tuple[str, ...]:
    """Where in its room a thing is: "corner", "wall", "against" (the wall), "window"."""
    room = house.rooms[thing.room]
    x, y = thing.center_m[:2]
    reach = max(thing.half_m[:2])
    sides = room.gaps_m(x, y)
    bottom = thing.center_m[2] - thing.half_m[2] - room.floor_z_m
    found = []
    if max(sides) < reach + 0.35 and bottom < 0.2 and thing.blocks and reach < 0.8:
        found.append("corner")
    if bottom > 0.7 and not thing.blocks and min(sides) < 0.2 and thing.kind in ("painting", "mirror", "clock"):
        found.append("wall")
    if bottom < 0.2 and thing.blocks and min(sides) < min(thing.half_m[:2]) + 0.2 and thing.kind in AGAINST:
        found.append("against")
    windows = [o for o in house.openings if o.kind == "window" and thing.room in o.rooms]
    if thing.blocks and any(math.dist((x, y), (o.x_m, o.y_m)) < 1.0 for o in windows):
        found.append("window")
    return tuple(found)


def room_traits(house: House, room: Room) -> tuple[str, ...]:
    """Traits of a room: a hallway's length, and a size that tells it from the others of its kind."""
    sides = sorted((room.x1_m - room.x0_m, room.y1_m - room.y0_m))
    areas = [other.area_m2 for other in house.rooms if other.kind == room.kind]
    found = []
    if sides[1] >= 5.0 and sides[1] >= 2.5 * sides[0]:
        found.append("long")
    if len(areas) > 1 and max(areas) > 1.3 * min(areas):
        found += ["large"] * (room.area_m2 >= max(areas)) + ["small"] * (room.area_m2 <= min(areas))
    return tuple(found)


def materials(house: House, room: Room) -> tuple[str, str]:
    """Materials of the floor in the middle of a room and of its walls; "" where it has none or they are plain."""
    x, y = room.center_m
    floor = wall = ""
    for part in house.shell:
        inside = abs(part.center_m[0] - x) <= part.half_m[0] and abs(part.center_m[1] - y) <= part.half_m[1]
        if part.label == "floor" and inside and abs(part.center_m[2] + part.half_m[2] - room.floor_z_m) < 0.02:
            floor = part.material
        if part.label == "wall" and part.material in WALLS and _lines(part, room):
            wall = part.material
    return floor, wall


def _lines(part: Primitive, room: Room) -> bool:
    """Whether a piece of wall lies just behind one of a room's inner faces."""
    (x, y, z), (a, b, _) = part.center_m, part.half_m
    if not room.floor_z_m < z < room.ceiling_z_m:
        return False
    for wall in room.walls:
        at, level, thick = (x, y, b) if wall.along == "x" else (y, x, a)
        if abs(level + thick * sum(wall.inward) - wall.level_m) < 0.03 and wall.low_m < at < wall.high_m:
            return True
    return False


@dataclass(frozen=True)
class Appearance:
    """What every thing and room of a house looks like, worked out once."""

    traits: tuple[tuple[str, ...], ...]
    """Words for size, shape and material of each thing."""
    places: tuple[tuple[str, ...], ...]
    """Where each thing is in its room."""
    rooms: tuple[tuple[str, ...], ...]
    """Words for the size of each room."""
    surfaces: tuple[tuple[str, ...], ...]
    """Names of a room's floor and walls where no other room of its kind has the same."""

    @staticmethod
    def of(house: House) -> Appearance:
        """The appearance of a house."""
        made = [materials(house, room) for room in house.rooms]
        surfaces = []
        for room, mine in zip(house.rooms, made):
            others = [made[other.index] for other in house.rooms if other.kind == room.kind and other is not room]
            names: tuple[str, ...] = ()
            for at, table in enumerate((FLOORS, WALLS)):
                if others and all(other[at] != mine[at] for other in others):
                    names += table.get(mine[at], ())
            surfaces.append(names)
        return Appearance(
            tuple(traits(house, thing) for thing in house.things),
            tuple(places(house, thing) for thing in house.things),
            tuple(room_traits(house, room) for room in house.rooms),
            tuple(surfaces),
        )
