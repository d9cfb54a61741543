"""Where rooms lie: hallways first, strips of rooms along them, sliced and sometimes split in depth.

Coordinates are centre lines of walls, multiples of 0.1 m. Storeys of a house share a skeleton, so the stair fits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ghosts_houses.plan.slots import HouseSize, Rect, Role, Side, Slot

STAIR_HALL_WIDTH_M = 2.6
STAIR_HALL_LENGTH_M = 7.0
HALL_WIDTH_M = (1.7, 2.1)
_ELL = 0.45
"""Share of the rooms large enough for it that are an L around a back room."""
_ARM_M = 1.9
"""Least width of an L's arm, and of the back room beside it."""


@dataclass(frozen=True)
class Strip:
    """A band of rooms along a hallway that lies on its `side`."""

    rect: Rect
    side: Side


@dataclass(frozen=True)
class Skeleton:
    """Hallways, the stair's place, and strips; `upper` counts the halls and strips that the upper storey has too."""

    halls: tuple[tuple[Rect, Role], ...]
    strips: tuple[Strip, ...]
    stair: Rect | None = None
    upper: tuple[int, int] = (0, 0)


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    return round(float(rng.uniform(low, high)), 1)


def _rect(x0: float, y0: float, x1: float, y1: float) -> Rect:
    return Rect(round(x0, 1), round(y0, 1), round(x1, 1), round(y1, 1))


def _stair_rect(rng: np.random.Generator, x0: float, low: float, high: float, top: float) -> Rect:
    """A stair hall right of x0, long enough for the flight, that covers the hallway's end from `low` to `high`."""
    length = round(max(STAIR_HALL_LENGTH_M, high - low), 1)
    first, last = max(0.0, high - length), max(0.0, min(low, top - length))
    y0 = _between(rng, min(first, last), max(first, last))
    return _rect(x0, y0, x0 + STAIR_HALL_WIDTH_M, y0 + length)


def _central(rng: np.random.Generator, storeys: int) -> Skeleton:
    """A straight hallway with rooms on both sides."""
    width, south, north = _between(rng, *HALL_WIDTH_M), _between(rng, 3.4, 5.2), _between(rng, 3.4, 5.2)
    length = _between(rng, 6.4, 8.2) if storeys > 1 else _between(rng, 8.5, 13.5)
    shift = _between(rng, 0.0, 1.5) if rng.random() < 0.4 else 0.0
    top = south + width + north
    strips = [Strip(_rect(0.0, 0.0, length, south), "N"), Strip(_rect(shift, south + width, length, top), "S")]
    stair = None
    if storeys > 1:
        stair = _stair_rect(rng, round(length, 1), south, south + width, top)
    elif rng.random() < 0.5:
        strips.append(Strip(_rect(length, 0.0, length + _between(rng, 3.4, 4.8), top), "W"))
    return Skeleton(((_rect(0.0, south, length, south + width), "hall"),), tuple(strips), stair, (1, 2))


def _tee(rng: np.random.Generator, storeys: int) -> Skeleton:
    """A hallway, and an entryway that meets it in the middle."""
    width, entry = _between(rng, *HALL_WIDTH_M), _between(rng, 2.0, 2.6)
    south, north = _between(rng, 3.4, 4.8), _between(rng, 3.4, 5.0)
    left, right = _between(rng, 3.2, 6.0), _between(rng, 3.2, 6.0)
    length, top = left + entry + right, south + width + north
    stair = _stair_rect(rng, round(length, 1), south, south + width, top) if storeys > 1 else None
    return Skeleton(
        ((_rect(0.0, south, length, south + width), "hall"), (_rect(left, 0.0, left + entry, south), "entry")),
        (
            Strip(_rect(0.0, south + width, length, top), "S"),
            Strip(_rect(0.0, 0.0, left, south), "N"),
            Strip(_rect(left + entry, 0.0, length, south), "N"),
        ),
        stair,
        (1, 1),
    )


def _ell(rng: np.random.Generator, storeys: int) -> Skeleton:
    """An L-shaped hallway with rooms along both arms."""
    width, south = _between(rng, *HALL_WIDTH_M), _between(rng, 3.4, 4.6)
    length, arm = _between(rng, 5.0, 8.0), _between(rng, 4.4, 6.4)
    east = _between(rng, 3.4, 4.8)
    top = south + width + arm
    halls: tuple[tuple[Rect, Role], ...] = (
        (_rect(0.0, south, length, south + width), "hall"),
        (_rect(length, south, length + width, top), "hall"),
    )
    strips = (
        Strip(_rect(0.0, 0.0, length + width, south), "N"),
        Strip(_rect(0.0, south + width, length, top), "S"),
        Strip(_rect(length + width, south, length + width + east, top), "W"),
    )
    stair = None
    if storeys > 1:
        stair = _stair_rect(rng, -STAIR_HALL_WIDTH_M, south, south + width, top)
    return Skeleton(halls, strips, stair, (1, 1))


def _ring(rng: np.random.Generator, storeys: int) -> Skeleton:
    """A hallway all round a core; the west arm holds the stair."""
    width, south, north = _between(rng, 1.6, 1.8), _between(rng, 3.4, 4.6), _between(rng, 3.4, 4.6)
    west = STAIR_HALL_WIDTH_M if storeys > 1 else width
    core_x = _between(rng, 3.6, 6.4)
    core_y = _between(rng, 3.8, 4.6) if storeys > 1 else _between(rng, 2.6, 4.4)
    x1, y1 = west + core_x + width, south + core_y + 2 * width
    ring_y1 = round(y1, 1)
    arm: tuple[Rect, Role] = (_rect(0.0, south, west, ring_y1), "hall")
    halls: list[tuple[Rect, Role]] = [
        (_rect(west, south, x1, south + width), "hall"),
        (_rect(west, ring_y1 - width, x1, ring_y1), "hall"),
        (_rect(x1 - width, south + width, x1, ring_y1 - width), "hall"),
    ]
    strips = (
        Strip(_rect(0.0, 0.0, x1, south), "N"),
        Strip(_rect(west, south + width, x1 - width, ring_y1 - width), "S"),
        Strip(_rect(0.0, ring_y1, x1, ring_y1 + north), "S"),
    )
    if storeys > 1:
        return Skeleton(tuple(halls), strips, arm[0], (1, 2))
    return Skeleton((arm, *halls), strips)


def _hub(rng: np.random.Generator, storeys: int) -> Skeleton:
    """A great living room with rooms around it and a short hallway behind."""
    x, y = _between(rng, 5.0, 7.0), _between(rng, 4.4, 6.0)
    west, east, north = _between(rng, 3.2, 4.4), _between(rng, 3.2, 4.4), _between(rng, 3.2, 4.4)
    width = _between(rng, *HALL_WIDTH_M)
    halls: tuple[tuple[Rect, Role], ...] = (
        (_rect(-west, y, x + east, y + width), "hall"),
        (_rect(0.0, 0.0, x, y), "hub"),
    )
    strips = (
        Strip(_rect(-west, y + width, x + east, y + width + north), "S"),
        Strip(_rect(-west, 0.0, 0.0, y), "E"),
        Strip(_rect(x, 0.0, x + east, y), "W"),
    )
    stair = None
    if storeys > 1:
        stair = _stair_rect(rng, round(x + east, 1), y, y + width, y + width + north)
        if stair.y0 < y - 0.05 and rng.random() < 0.5:
            stair = _rect(stair.x0, y, stair.x1, y + STAIR_HALL_LENGTH_M)
    return Skeleton(halls, strips, stair, (1, 1))


def _row(rng: np.random.Generator, storeys: int) -> Skeleton:
    """A hallway along one side, all rooms on the other, as in a row of houses."""
    width, deep = _between(rng, *HALL_WIDTH_M), _between(rng, 4.2, 5.8)
    length = _between(rng, 9.0, 12.0) if storeys > 1 else _between(rng, 12.0, 16.0)
    top = width + deep
    strips = [Strip(_rect(0.0, width, length, top), "S")]
    stair = None
    if storeys > 1:
        stair = _stair_rect(rng, length, 0.0, width, top)
    else:
        strips.append(Strip(_rect(length, 0.0, length + _between(rng, 3.4, 4.6), top), "W"))
    return Skeleton(((_rect(0.0, 0.0, length, width), "hall"),), tuple(strips), stair, (1, 1))


def _zed(rng: np.random.Generator, storeys: int) -> Skeleton:
    """Two hallways side by side, set off against each other and joined by a third."""
    width, south, north = _between(rng, 1.6, 1.9), _between(rng, 3.4, 4.6), _between(rng, 3.4, 4.6)
    left, right, middle = _between(rng, 4.6, 6.4), _between(rng, 4.2, 6.0), _between(rng, 2.4, 3.2)
    low, high, far = south + width, south + width + middle, left + width + right
    halls: tuple[tuple[Rect, Role], ...] = (
        (_rect(0.0, south, left, low), "hall"),
        (_rect(left, south, left + width, high + width), "hall"),
        (_rect(left + width, high, far, high + width), "hall"),
    )
    strips = (
        Strip(_rect(0.0, 0.0, left + width, south), "N"),
        Strip(_rect(0.0, low, left, high + width), "S"),
        Strip(_rect(left + width, south, far, high), "N"),
        Strip(_rect(left, high + width, far, high + width + north), "S"),
    )
    stair = _stair_rect(rng, -STAIR_HALL_WIDTH_M, south, low, high + width) if storeys > 1 else None
    return Skeleton(halls, strips, stair, (1, 2))


STYLES: dict[str, Callable[[np.random.Generator, int], Skeleton]] = {
    "central": _central, "tee": _tee, "ell": _ell, "ring": _ring, "hub": _hub, "row": _row, "zed": _zed,
}  # fmt: skip


def _cuts(rng: np.random.Generator, length: float, fewer: float) -> list[float]:
    """Where to cut `length`: pieces of 2.2 m or more where there is room, uneven on purpose, at times a narrow one.

    The narrow one is for what needs no more: a bathroom, a laundry room, a closet.
    """
    narrow = _between(rng, 1.8, 2.2) if length >= 5.5 and rng.random() < 0.6 else 0.0
    length = round(length - narrow, 1)
    count = max(1, round(length / (float(rng.uniform(2.9, 4.6)) * fewer)))
    count = min(count, max(1, int(length / 2.2)))
    spare, at, edges = length - 2.2 * count, 0.0, []
    for share in rng.dirichlet([2.0] * count).tolist():
        at += 2.2 + share * spare
        edges.append(_tenths(at))
    edges[-1] = length
    if narrow:
        place = int(rng.integers(count + 1))
        edges.insert(place, edges[place - 1] if place else 0.0)
        edges[place:] = [_tenths(edge + narrow) for edge in edges[place:]]
    return edges


def _tenths(value: float) -> float:
    """To one decimal as NumPy rounds, whose last bit may differ from Python's."""
    return round(value * 10) / 10


def _slice(strip: Strip, rng: np.random.Generator, fewer: float) -> list[tuple[Rect, Rect | None, bool]]:
    """Cut a strip into rooms; a deep one may get a back room at the far side from the hallway.

    Returns:
        Rooms, their back rooms, and whether the back room is cut out of the room, which is then an L.
    """
    rect, rooms = strip.rect, []
    across = strip.side in "NS"
    start = 0.0
    for end in _cuts(rng, rect.width if across else rect.depth, fewer):
        if across:
            piece = Rect(round(rect.x0 + start, 1), rect.y0, round(rect.x0 + end, 1), rect.y1)
        else:
            piece = Rect(rect.x0, round(rect.y0 + start, 1), rect.x1, round(rect.y0 + end, 1))
        start = end
        back, ell = None, False
        deep, wide = (piece.depth, piece.width) if across else (piece.width, piece.depth)
        if deep >= 4.0 and wide >= 2 * _ARM_M and rng.random() < _ELL:
            _, back = _split(piece, strip.side, _between(rng, 1.7, min(2.4, deep - 2.2)))
            taken = _between(rng, _ARM_M, min(2.8, wide - _ARM_M))
            back, ell = _beside_arm(back, across, taken, bool(rng.random() < 0.5)), True
        elif deep >= 4.5 and wide <= 4.6 and rng.random() < (0.75 if deep > 5 else 0.4):
            piece, back = _split(piece, strip.side, _between(rng, 1.7, min(2.4, deep - 2.8)))
        rooms.append((piece, back, ell))
    return rooms


def _beside_arm(back: Rect, across: bool, wide: float, last: bool) -> Rect:
    """A back room that leaves one end of its strip to the room before it."""
    if across:
        return back._replace(x0=round(back.x1 - wide, 1)) if last else back._replace(x1=round(back.x0 + wide, 1))
    return back._replace(y0=round(back.y1 - wide, 1)) if last else back._replace(y1=round(back.y0 + wide, 1))


def _split(rect: Rect, side: Side, part: float) -> tuple[Rect, Rect]:
    if side == "N":
        return rect._replace(y0=round(rect.y0 + part, 1)), rect._replace(y1=round(rect.y0 + part, 1))
    if side == "S":
        return rect._replace(y1=round(rect.y1 - part, 1)), rect._replace(y0=round(rect.y1 - part, 1))
    if side == "E":
        return rect._replace(x0=round(rect.x0 + part, 1)), rect._replace(x1=round(rect.x0 + part, 1))
    return rect._replace(x1=round(rect.x1 - part, 1)), rect._replace(x0=round(rect.x1 - part, 1))


def make_layout(style: str, storeys: int, size: HouseSize, rng: np.random.Generator) -> list[Slot] | None:
    """Slots of a house; None where the style gives none of the size. Hallways come first on each storey.

    Args:
        style: a key of `STYLES`.
        storeys: how many.
        size: how large the house may be.
        rng: source of the choices.
    """
    for _ in range(400):
        skeleton = STYLES[style](rng, storeys)
        fewer = float(rng.uniform(0.85, 1.35))
        plan: list[tuple[Rect, Role, int, int, Rect | None]] = []
        for storey in range(storeys):
            halls, strips = skeleton.halls, skeleton.strips
            if storey:
                halls, strips = halls[: skeleton.upper[0]], strips[: skeleton.upper[1]]
            plan += [(rect, role, storey, -1, None) for rect, role in halls]
            if skeleton.stair is not None:
                plan.append((skeleton.stair, "stair", storey, -1, None))
            for strip in strips:
                for piece, back, ell in _slice(strip, rng, fewer):
                    plan.append((piece, "room", storey, -1, back if ell else None))
                    if back is not None:
                        plan.append((back, "back", storey, len(plan) - 1, None))
        if not size.rooms[0] <= len(plan) <= size.rooms[1]:
            continue  # most plans, before anything is made of them
        slots = [Slot(*place) for place in plan]
        if size.holds(slots) and _rooms_wide_enough(slots):
            return slots
    return None


def _rooms_wide_enough(slots: list[Slot]) -> bool:
    """Whether every room has 1.6 m each way and real rooms exist on each storey."""
    return all(min(slot.rect.width, slot.rect.depth) >= 1.6 for slot in slots) and all(
        sum(slot.role in ("room", "hub") for slot in slots if slot.storey == storey) >= (4 if storey == 0 else 2)
        for storey in {slot.storey for slot in slots}
    )
