"""Furnishing: which objects each kind of room gets, in which order, and where."""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from ghosts_houses.furniture.catalogue import KINDS
from ghosts_houses.furniture.decor import curtains
from ghosts_houses.furniture.kit import Kind, Model, build, stand
from ghosts_houses.furniture.kitchen import fit_kitchen
from ghosts_houses.furniture.placer import Placer
from ghosts_houses.furniture.recipes import RECIPES, Wish, lacking
from ghosts_houses.furniture.spots import footprint, hits
from ghosts_houses.house import Opening, Room, Stair, Thing
from ghosts_houses.plan.rooms import DOOR_WIDTH_M, HALLS

_SURFACE_M = {
    "nightstand": 0.545, "tv stand": 0.46, "dresser": 0.87, "console table": 0.815, "sideboard": 0.83,
    "side table": 0.55, "coffee table": 0.415, "dining table": 0.76, "kitchen counter": 0.9, "washing machine": 0.85,
}  # fmt: skip
"""Height of the top of things that others stand on."""


_UNITS = ("dryer",)
"""Kinds that stand in a row with what they belong to."""
_TRIES = 8
"""How often a room is furnished anew until it has what makes it one."""
_CURTAINED = {
    "living room": 0.75, "bedroom": 0.85, "dining room": 0.6, "office": 0.4, "nursery": 0.8, "library": 0.5,
    "music room": 0.5,
}  # fmt: skip
_FANCY = {"dining room": 0.6, "living room": 0.25, "stair hall": 0.3, "music room": 0.3}
_PENDANT = {
    "kitchen": 0.6, "dining room": 0.8, "entryway": 0.5, "nursery": 0.4, "office": 0.3, "library": 0.4, "bedroom": 0.3,
}  # fmt: skip


def furnish(
    rooms: tuple[Room, ...],
    openings: tuple[Opening, ...],
    stairs: tuple[Stair, ...],
    closed: Collection[Opening],
    rng: np.random.Generator,
) -> tuple[Thing, ...] | None:
    """Furnish every room; None where one cannot be given what makes it that kind of room.

    Args:
        rooms: the rooms.
        openings: doors, passages and windows, which stay free.
        stairs: flights, which stay free.
        closed: doors that are shut.
        rng: source of the choices.
    """
    things: list[Thing] = []
    for room in rooms:
        mine = [opening for opening in openings if room.index in opening.rooms]
        for _ in range(_TRIES):
            placer = Placer(room, mine, stairs, rng=rng)
            _furnish_room(placer, rooms, closed)
            if not lacking(room.kind, placer.things):
                break
        else:
            return None
        things += placer.things
    return tuple(things)


def _furnish_room(placer: Placer, rooms: tuple[Room, ...], closed: Collection[Opening]) -> None:
    """Doors and lamps first, then the kind's wishes, most important first; curtains hang where there is room left."""
    _hang_doors(placer, rooms, closed)
    _hang_lamps(placer)
    if placer.room.kind == "kitchen":
        fit_kitchen(placer)
    for wish in RECIPES[placer.room.kind]:
        if placer.rng.random() < wish.chance:
            _take(placer, wish)
    _hang_curtains(placer)


def _take(placer: Placer, wish: Wish) -> None:
    """Carry out one wish of a recipe, if there is a place for it."""
    if wish.instead:
        kinds = placer.rng.permutation([wish.kind, wish.instead]).tolist()
        any(_stand(placer, kind, "", must=True) for kind in kinds)  # the second only where there is no place for one
        return
    spec = KINDS[wish.kind]
    hosts = [thing for thing in placer.things if thing.kind == wish.host]
    place = wish.where or spec.place
    if wish.host and not hosts:
        return
    if place == "on wall":
        if hosts:
            for host in hosts:
                placer.on_wall(wish.kind, host)
        else:
            placer.on_wall(wish.kind)
    elif place == "beside":
        # A kitchen's units form a row; where there is no room next to the host they start another one.
        row = wish.kind in _UNITS
        if not any(placer.beside(wish.kind, host, 0.004 if row else 0.06) for host in hosts) and row:
            placer.along_wall(wish.kind)
    elif place == "front":
        placer.in_front(
            wish.kind, hosts[0], 0.35 if wish.kind == "coffee table" else 0.05, facing=wish.kind != "coffee table"
        )
    elif place == "around":
        placer.around(wish.kind, hosts[0], wish.most)
    elif place == "on top":
        for host in hosts:
            side = 1.0 if placer.rng.random() < 0.5 else -1.0
            middle = host.half_m[1] < 0.4 or wish.kind == "television" or host.kind == "dining table"
            shares = (0.0, 0.2, -0.2) if middle else (0.5, -0.5, 0.25, -0.25, 0.0)
            placer.on_top(wish.kind, host, _SURFACE_M[host.kind], [side * share * host.half_m[1] for share in shares])
    else:
        _stand(placer, wish.kind, place, must=wish.chance == 1.0)


def _stand(placer: Placer, kind: str, place: str, *, must: bool) -> bool:
    """Stand an object at its usual place. What a room must have gets three tries, each built anew, then less space."""
    put = {"corner": placer.in_corner, "middle": placer.in_middle, "wall": placer.along_wall}[
        place or KINDS[kind].place
    ]
    return any(
        put(kind, strict=strict) is not None for strict in ((True, True, True, False, False) if must else (True,))
    )


def _hang_doors(placer: Placer, rooms: tuple[Room, ...], closed: Collection[Opening]) -> None:
    """Open leaves on the room side, where they stand in nobody's way; shut doors; the front door."""
    room = placer.room
    for opening in placer.openings:
        if opening.kind != "door":
            continue
        side, inward = placer.side_of(opening)
        yaw = math.atan2(inward[1], inward[0])
        if opening.rooms[1] < 0:
            model = placer.make("front door")
            placer.things.append(_fixed(placer, model, opening.x_m, opening.y_m, yaw))
            mat = placer.make("door mat")
            placer.things.append(_fixed(placer, mat, opening.x_m + inward[0] * 0.5, opening.y_m + inward[1] * 0.5, yaw))
            continue
        other = opening.rooms[0] if opening.rooms[1] == room.index else opening.rooms[1]
        mine = room.kind not in HALLS and (rooms[other].kind in HALLS or room.index > other)
        if opening in closed:
            if room.index == max(opening.rooms):
                leaf = _fixed(placer, placer.make("door"), opening.x_m, opening.y_m, yaw + math.pi / 2)
                placer.things.append(leaf)
            continue
        if not mine or placer.rng.random() > 0.6:
            continue
        model = placer.make("door")
        low, high = placer.wall_range(side)
        middle = opening.x_m if opening.along == "x" else opening.y_m
        hinge = -1.0 if middle - low < high - middle else 1.0
        along = middle + hinge * (DOOR_WIDTH_M / 2 - 0.005)
        x, y = placer.at_wall(side, along, model.half_m[0] + 0.025)
        thing = _fixed(placer, model, x, y, yaw)
        rect = footprint(thing)
        others = [
            zone
            for zone, o in zip(placer.keep_free, [o for o in placer.openings if o.kind != "window"])
            if o is not opening
        ]
        free = not hits(rect, others, 0.05) and not placer.hides_window(rect, 2.0, side)
        if free and placer.walkable(rect):
            placer.things.append(thing)
            placer.solids.append(rect)


def _fixed(placer: Placer, model: Model, x: float, y: float, yaw: float) -> Thing:
    return stand(model, KINDS[model.kind], placer.room.index, x, y, placer.room.floor_z_m, yaw)


def _hang_curtains(placer: Placer) -> None:
    """Curtains at windows, all of one colour in a room."""
    room = placer.room
    if placer.rng.random() > _CURTAINED.get(room.kind, 0.0):
        return
    seed = int(placer.rng.integers(1 << 30))
    for opening in placer.openings:
        if opening.kind != "window":
            continue
        side, inward = placer.side_of(opening)
        low, high = placer.wall_range(side)
        middle = opening.x_m if opening.along == "x" else opening.y_m
        reach = opening.width_m / 2 + 0.24
        if middle - reach < low or middle + reach > high:
            continue
        x, y = placer.at_wall(side, middle, 0.13)
        # To the floor where nothing stands below the window, else to the sill.
        for bottom in (0.03, max(opening.bottom_z_m - room.floor_z_m - 0.06, 0.03)):
            drop = opening.top_z_m - room.floor_z_m + 0.1 - bottom
            spec = Kind(lambda kit, w=opening.width_m, d=drop: curtains(kit, w, d), "fixed", blocks=False)  # type: ignore[misc]
            model = build("curtains", spec, np.random.default_rng(seed))
            yaw = math.atan2(inward[1], inward[0])
            if placer.clear(model, x, y, room.floor_z_m + bottom, yaw):
                placer.add(model, x, y, room.floor_z_m + bottom, yaw)
                break


def _hang_lamps(placer: Placer) -> None:
    """One or two lamps on the ceiling; over a flight of stairs beside it."""
    room, rng = placer.room, placer.rng
    kind = "ceiling lamp"
    if rng.random() < _FANCY.get(room.kind, 0.0):
        kind = "chandelier"
    elif rng.random() < _PENDANT.get(room.kind, 0.0):
        kind = "pendant lamp"
    x0, y0, x1, y1 = room.rects()[0]
    for stair in placer.stairs:
        if room.index in stair.rooms:
            x0, x1 = (x0, stair.foot_m[0] - 0.5) if stair.foot_m[0] > (x0 + x1) / 2 else (stair.foot_m[0] + 0.5, x1)
            kind = "ceiling lamp"
    x, y, wide, deep = (x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0
    offsets = (-0.25, 0.25) if max(wide, deep) > 5.2 else (0.0,)
    for part in offsets:
        dx, dy = (part * wide, 0.0) if wide > deep else (0.0, part * deep)
        placer.add(placer.make(kind), x + dx, y + dy, room.ceiling_z_m, 0.0)
    for x0, y0, x1, y1 in room.rects()[1:]:  # the arm of an L
        placer.add(placer.make("ceiling lamp"), (x0 + x1) / 2, (y0 + y1) / 2, room.ceiling_z_m, 0.0)
