"""Doors, passages and windows: which rooms are joined, and where in their walls."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ghosts_houses.house import Opening, OpeningKind, Room, Stair
from ghosts_houses.plan.rooms import DOOR_HEIGHT_M, DOOR_WIDTH_M, HALLS, PASSAGE_HEIGHT_M, ROOM_KINDS
from ghosts_houses.plan.slots import Edge, Run, Slot, shared_walls

_CORNER_M = 0.3
"""Least distance of an opening from a wall's end (centre line), so that its frame fits beside the next wall."""
_OPEN_PLAN = {
    frozenset(("kitchen", "dining room")),
    *(frozenset(("living room", kind)) for kind in ("dining room", "kitchen", "entryway", "library", "music room")),
}
_OPEN = 0.4
"""Share of the passages between such rooms that take the whole wall, to the ceiling: together they may be an L."""
_GLASS_DOOR = 0.3
"""Share of the windows of ground-floor living rooms and dining rooms that reach the floor."""
_PRIVATE = {
    *(frozenset(("bedroom", kind)) for kind in ("bathroom", "closet", "nursery")),
    *(frozenset(("kitchen", kind)) for kind in ("laundry room", "pantry")),
    *(frozenset(("office", kind)) for kind in ("library", "living room")),
}


def make_openings(
    slots: list[Slot], rooms: tuple[Room, ...], stairs: tuple[Stair, ...], rng: np.random.Generator
) -> tuple[Opening, ...] | None:
    """Join the rooms, open a front door, put in windows; None when a needed door does not fit.

    Args:
        slots: places of the rooms (centre lines of walls).
        rooms: the rooms, in the same order.
        stairs: flights whose walls must stay closed.
        rng: source of the choices.
    """
    openings: list[Opening] = []
    for i, j in combinations(range(len(rooms)), 2):
        if rooms[i].storey != rooms[j].storey:
            continue
        walls = shared_walls(slots[i], slots[j])
        if not walls:
            continue
        kind = _join(slots, rooms, i, j, rng)
        if kind is None:
            continue
        if kind == "passage" and frozenset((rooms[i].kind, rooms[j].kind)) in _OPEN_PLAN and rng.random() < _OPEN:
            kind = "open"
        for wall in walls:
            made = _fit(kind, (i, j), wall, rooms[i], stairs, rng)
            if made is not None:
                openings.append(made)
                break
    front = _front_door(slots, rooms, stairs, rng)
    if front is None:
        return None
    openings.append(front)
    for room, slot in zip(rooms, slots):
        openings += _windows(room, slot, slots, openings, stairs, rng)
    return tuple(openings)


def _join(slots: list[Slot], rooms: tuple[Room, ...], i: int, j: int, rng: np.random.Generator) -> str | None:
    """Whether two rooms that share a wall are joined: "door", "passage" or None."""
    a, b = rooms[i].kind, rooms[j].kind
    pair = frozenset((a, b))
    corridor = ("hallway", "stair hall", "entryway")
    if a in corridor and b in corridor:
        return "passage"
    if slots[i].role == "back" or slots[j].role == "back":
        if slots[i].parent == j or slots[j].parent == i:
            return "door"
        back = i if slots[i].role == "back" else j
        other = j if back == i else i
        # A back room that also touches a hallway or its favourite neighbour gets a second door at times: a loop.
        if rooms[other].kind in ("hallway", "stair hall"):
            return "door" if rng.random() < 0.6 else None
        return "door" if pair in _PRIVATE and slots[other].role != "back" and rng.random() < 0.3 else None
    if a in HALLS or b in HALLS:
        other_kind = b if a in HALLS else a
        if "stair hall" in pair and rng.random() < 0.5 and other_kind not in ("living room",):
            return None if _touches_hallway(slots, rooms, i if b == "stair hall" else j) else "door"
        return "passage" if rng.random() < ROOM_KINDS[other_kind].open_to_hall else "door"
    if slots[i].role == "hub" or slots[j].role == "hub":
        other_kind = b if slots[i].role == "hub" else a
        if pair in _OPEN_PLAN:
            return "passage"
        other = j if slots[i].role == "hub" else i
        if not _touches_hallway(slots, rooms, other) or rng.random() < 0.25:
            return "passage" if rng.random() < ROOM_KINDS[other_kind].open_to_hall else "door"
        return None
    if pair in _OPEN_PLAN:
        return "passage" if rng.random() < 0.8 else "door"
    if pair in _PRIVATE:
        return "door" if rng.random() < 0.4 else None
    return None


def _touches_hallway(slots: list[Slot], rooms: tuple[Room, ...], i: int) -> bool:
    """Whether a room shares enough wall for a door with a hallway of its storey."""
    halls = [
        slot
        for j, slot in enumerate(slots)
        if j != i and rooms[j].kind in ("hallway", "entryway") and slot.storey == slots[i].storey
    ]
    shared = [wall for hall in halls for wall in shared_walls(slots[i], hall)]
    return any(high - low >= DOOR_WIDTH_M + 2 * _CORNER_M for _, _, low, high in shared)


def _fit(
    kind: str,
    pair: tuple[int, int],
    wall: Run,
    room: Room,
    stairs: tuple[Stair, ...],
    rng: np.random.Generator,
) -> Opening | None:
    """Put a door or passage in a shared wall, or None where it is too short or a flight stands there."""
    low, high = wall[2] + _CORNER_M, wall[3] - _CORNER_M
    width, top = DOOR_WIDTH_M, DOOR_HEIGHT_M
    if kind == "open":
        kind, width = ("passage", round(high - low, 2)) if high - low >= 1.2 else ("door", DOOR_WIDTH_M)
        top = room.ceiling_z_m - room.floor_z_m if kind == "passage" else DOOR_HEIGHT_M
    elif kind == "passage":
        width = min(round(float(rng.uniform(1.3, 2.6)), 1), round(high - low, 1))
        if width < 1.2:
            kind, width = "door", DOOR_WIDTH_M
        top = PASSAGE_HEIGHT_M if kind == "passage" else DOOR_HEIGHT_M
    span = high - low - width
    if span < -1e-6:
        return None
    choices = [low + width / 2 + span * f for f in rng.permutation(np.linspace(0.0, 1.0, 9))]
    # Doors near a corner leave longer walls for furniture.
    if kind == "door" and rng.random() < 0.6:
        choices.sort(key=lambda u: min(u - low, high - u))
    form: OpeningKind = "passage" if kind == "passage" else "door"
    for middle in choices:
        opening = _opening(form, pair, wall, float(middle), width, (0.0, top), room)
        if not any(near_flight(opening, stair) for stair in stairs):
            return opening
    return None


def _opening(
    kind: OpeningKind, pair: tuple[int, int], wall: Run, middle: float, width: float, z: tuple[float, float], room: Room
) -> Opening:
    """An opening in the middle of a wall, at a place along it, between two heights above a room's floor."""
    axis, level = wall[:2]
    x, y = (middle, level) if axis == "x" else (level, middle)
    low, high = room.floor_z_m + z[0], room.floor_z_m + z[1]
    return Opening(kind, pair, round(x, 2), round(y, 2), axis, width, low, high)


def near_flight(opening: Opening, stair: Stair) -> bool:
    """Whether an opening lies against a flight (or the hole above it) of the stair."""
    if opening.rooms[0] not in stair.rooms and opening.rooms[1] not in stair.rooms:
        return False
    dx = abs(stair.head_m[0] - stair.foot_m[0]) / 2
    dy = abs(stair.head_m[1] - stair.foot_m[1]) / 2
    half = stair.width_m / 2 + 0.35
    cx, cy = (stair.head_m[0] + stair.foot_m[0]) / 2, (stair.head_m[1] + stair.foot_m[1]) / 2
    ox = opening.width_m / 2 + 0.1 if opening.along == "x" else 0.15
    oy = opening.width_m / 2 + 0.1 if opening.along == "y" else 0.15
    return abs(opening.x_m - cx) < max(dx, half) + ox and abs(opening.y_m - cy) < max(dy, half) + oy


def exterior(slot: Slot, slots: list[Slot]) -> list[Run]:
    """Stretches of a room's walls with nothing behind."""
    others = [other for other in slots if other is not slot and other.storey == slot.storey]
    shared = [wall for other in others for wall in shared_walls(slot, other)]
    return [(edge.axis, edge.level, low, high) for edge in slot.edges for low, high in _uncovered(edge, shared)]


def _uncovered(edge: Edge, shared: list[Run]) -> list[tuple[float, float]]:
    taken = [(low, high) for axis, level, low, high in shared if (axis, level) == (edge.axis, edge.level)]
    free, start = [], edge.low
    for a, b in sorted(taken):
        if b <= edge.low or a >= edge.high:
            continue
        if a > start + 1e-6:
            free.append((start, a))
        start = max(start, b)
    if edge.high > start + 1e-6:
        free.append((start, edge.high))
    return free


def _front_door(
    slots: list[Slot], rooms: tuple[Room, ...], stairs: tuple[Stair, ...], rng: np.random.Generator
) -> Opening | None:
    """A front door in the entryway, else in a hallway or the living room of the ground floor."""
    for wanted in ("entryway", "hallway", "stair hall", "living room"):
        runs = [
            (room.index, run)
            for room, slot in zip(rooms, slots)
            if room.kind == wanted and room.storey == 0
            for run in exterior(slot, slots)
            if run[3] - run[2] >= DOOR_WIDTH_M + 2 * _CORNER_M
        ]
        for k in rng.permutation(len(runs)):
            index, run = runs[int(k)]
            made = _fit("door", (index, -1), run, rooms[index], stairs, rng)
            if made is not None:
                return made
    return None


_WINDOWLESS = ("closet", "pantry")


def _windows(
    room: Room,
    slot: Slot,
    slots: list[Slot],
    openings: list[Opening],
    stairs: tuple[Stair, ...],
    rng: np.random.Generator,
) -> list[Opening]:
    """Windows in a room's outer walls: small and high in bathrooms, none in closets."""
    if room.kind in _WINDOWLESS:
        return []
    made: list[Opening] = []
    for wall in exterior(slot, slots):
        low, length = wall[2], wall[3] - wall[2]
        if length < 1.5 or len(made) >= 4:
            continue
        count = max(1, int(length / 3.2))
        for k in range(count):
            cell = length / count
            middle = low + (k + 0.5) * cell
            width = min(round(float(rng.uniform(1.1, 2.1)), 1), round(cell - 0.8, 1))
            bottom = 0.9
            if room.kind in ("bathroom", "laundry room"):
                width, bottom = min(width, 0.8), 1.45
            elif room.kind in ("living room", "dining room") and room.storey == 0 and rng.random() < _GLASS_DOOR:
                bottom = 0.03
            elif room.kind in ("living room", "dining room") and rng.random() < 0.4:
                bottom = 0.35
            elif room.kind == "kitchen":
                bottom = 1.25
            if width < 0.6:
                continue
            window = _opening("window", (room.index, -1), wall, middle, width, (bottom, 2.15), room)
            clash = any(
                o.rooms[0] == room.index
                and o.along == window.along
                and abs(o.x_m - window.x_m) + abs(o.y_m - window.y_m) < (o.width_m + width) / 2 + 0.3
                and (abs(o.x_m - window.x_m) < 0.01 or abs(o.y_m - window.y_m) < 0.01)
                for o in openings
                if o.rooms[1] < 0
            )
            if not clash and not any(near_flight(window, stair) for stair in stairs):
                made.append(window)
    return made
