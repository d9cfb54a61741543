"""From a seed to a house: layout, room kinds, openings, stair, shell and furniture."""

from __future__ import annotations

import numpy as np

from ghosts_houses.audit import flaws
from ghosts_houses.furniture.furnish import furnish
from ghosts_houses.house import House, Opening, Room, Sides, Stair
from ghosts_houses.plan.kinds import assign_kinds
from ghosts_houses.plan.layout import STYLES, make_layout
from ghosts_houses.plan.openings import make_openings
from ghosts_houses.plan.rooms import SLAB_M, WALL_M, ceiling_m, choose_finishes, choose_heights, pick
from ghosts_houses.plan.shell import VIEWS, build_shell, make_stairs
from ghosts_houses.plan.slots import HouseSize, Slot
from ghosts_sim.errors import ConfigError

_ATTEMPTS, _PER_FRAME, _MISSES = 400, 100, 30
ANY_SIZE = HouseSize()
_STOREYS = (0.48, 0.82)
"""Share of the houses with one storey, and with at most two; of three, one in two is too large and drawn again."""
_SHUT = 0.5
"""Share of the doors that no route needs which are shut."""
_ALPHABET = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"


def make_house(seed: int, size: HouseSize = ANY_SIZE) -> House:
    """Make the house of a seed (≥ 0): the same seed and size give the same house on any machine.

    Returns:
        A furnished house without a flaw (`audit.flaws`); every room can be reached by walking.

    Raises:
        ConfigError: hardly any house is of this size.
    """
    misses, redraw = 0, 0
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, attempt])
        if attempt == redraw:
            # Kept while attempts fail: else a world would have more of what is easy to furnish.
            style, storeys = pick(rng, list(STYLES)), 1 + int(np.searchsorted(_STOREYS, rng.random()))
            storeys, redraw = min(max(storeys, size.storeys[0]), size.storeys[1]), attempt + _PER_FRAME
        slots = make_layout(style, storeys, size, rng)
        if slots is None:
            misses, redraw = misses + 1, attempt + 1
            if misses == _MISSES:
                raise ConfigError(f"no plan gives a house of {size}; widen --storeys, --rooms or --area")
            continue
        kinds = assign_kinds(slots, rng)
        if kinds is None:
            continue
        rooms = _rooms(slots, kinds, rng)
        stairs = _stairs(slots, rooms, rng)
        openings = make_openings(slots, rooms, stairs, rng)
        if openings is None or not _all_reachable(rooms, openings, stairs):
            continue
        closed = _closed(rooms, openings, stairs, rng)
        things = furnish(rooms, openings, stairs, closed, rng)
        if things is not None:
            shell = build_shell(rooms, openings, stairs, choose_finishes(kinds, rng), pick(rng, VIEWS))
            house = House(house_name(seed), seed, rooms, openings, stairs, things, shell)
            if not flaws(house):
                return house
    raise AssertionError(f"seed {seed}: no house in {_ATTEMPTS} attempts")


def house_name(seed: int) -> str:
    """An 11-character identifier like Matterport's, unique by seed (below 2^32), the same everywhere.

    Example:
        >>> house_name(0) != house_name(1), len(house_name(7))
        (True, 11)
    """
    # Multiplication by an odd number and xor-shifts are one-to-one on 64 bits, so names differ when seeds do.
    mask = (1 << 58) - 1
    value = seed & mask
    for factor in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9):
        value = (value * factor + 0x1234567) & mask
        value ^= value >> 29
    digits = []
    for _ in range(10):
        value, digit = divmod(value, 57)
        digits.append(_ALPHABET[digit])
    return "h" + "".join(digits)


def _rooms(slots: list[Slot], kinds: list[str], rng: np.random.Generator) -> tuple[Room, ...]:
    """Rooms between the walls, with floors and ceilings."""
    heights = choose_heights(1 + max(slot.storey for slot in slots), rng)
    floors = [round(sum(heights[:k]) + 2 * SLAB_M * k, 2) for k in range(len(heights))]
    half = WALL_M / 2
    rooms = []
    for index, (slot, kind) in enumerate(zip(slots, kinds)):
        rect, floor = slot.rect, floors[slot.storey]
        sides = (rect.x0 + half, rect.y0 + half, rect.x1 - half, rect.y1 - half)
        x0, y0, x1, y1 = (round(side, 3) for side in sides)
        ceiling = round(floor + ceiling_m(kind, heights[slot.storey], rng), 2)
        rooms.append(Room(index, kind, slot.storey, x0, y0, x1, y1, floor, ceiling, _notch(slot)))
    return tuple(rooms)


def _notch(slot: Slot) -> Sides | None:
    """What a slot's back room and the walls around it take of its room."""
    if slot.notch is None:
        return None
    (a, b, c, d), rect, half = (slot.notch.x0, slot.notch.y0, slot.notch.x1, slot.notch.y1), slot.rect, WALL_M / 2
    # Where the two end together, the room's own wall is there; elsewhere half a wall faces into the room.
    shifts = [half if a == rect.x0 else -half, half if b == rect.y0 else -half]
    shifts += [-half if c == rect.x1 else half, -half if d == rect.y1 else half]
    x0, y0, x1, y1 = (round(side + shift, 3) for side, shift in zip((a, b, c, d), shifts))
    return x0, y0, x1, y1


def _stairs(slots: list[Slot], rooms: tuple[Room, ...], rng: np.random.Generator) -> tuple[Stair, ...]:
    wells = [room for room, slot in zip(rooms, slots) if slot.role == "stair"]
    if len(wells) < 2:
        return ()
    # The flights lie against the wall away from the hallways, so that their doors stay free.
    middle = np.mean([(s.rect.x0 + s.rect.x1) / 2 for s in slots if s.role != "stair"])
    against = "E" if wells[0].center_m[0] > middle else "W"
    return make_stairs(wells, against, bool(rng.random() < 0.5))


def _closed(
    rooms: tuple[Room, ...], openings: tuple[Opening, ...], stairs: tuple[Stair, ...], rng: np.random.Generator
) -> frozenset[Opening]:
    """Doors that are shut: some of those without which every room is still reached."""
    shut: set[Opening] = set()
    for opening in openings:
        if opening.inner and opening.kind == "door" and rng.random() < _SHUT:
            left = tuple(other for other in openings if other not in shut and other is not opening)
            if _all_reachable(rooms, left, stairs):
                shut.add(opening)
    return frozenset(shut)


def _all_reachable(rooms: tuple[Room, ...], openings: tuple[Opening, ...], stairs: tuple[Stair, ...]) -> bool:
    joined = [opening.rooms for opening in openings if opening.inner] + [stair.rooms for stair in stairs]
    reached = {0}
    for _ in rooms:
        reached |= {room for pair in joined if reached & {*pair} for room in pair}
    return len(reached) == len(rooms)
