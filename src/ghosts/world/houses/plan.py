"""From a seed to a house: layout, room kinds, openings, stair, shell and furniture."""

from __future__ import annotations

import numpy as np

from ghosts.world.houses.furnish import furnish
from ghosts.world.houses.house import House, Opening, Room, Stair
from ghosts.world.houses.layout import Slot, make_layout, shared_wall
from ghosts.world.houses.openings import make_openings
from ghosts.world.houses.rooms import HALLS, ROOM_HEIGHT_M, ROOM_KINDS, STOREY_M, WALL_M, choose_finishes
from ghosts.world.houses.shell import build_shell, make_stair

__all__ = ["ROOM_KINDS", "house_name", "make_house"]

_ALPHABET = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"


def make_house(seed: int) -> House:
    """Make the house of a seed: the same seed gives the same house on any machine.

    Args:
        seed: any integer ≥ 0.

    Returns:
        A furnished house of 6–14 rooms on one or two storeys; every room can be reached by walking.
    """
    for attempt in range(50):
        rng = np.random.default_rng([seed, attempt])
        slots, _ = make_layout(rng)
        kinds = assign_kinds(slots, rng)
        rooms = tuple(_room(index, slot, kind) for index, (slot, kind) in enumerate(zip(slots, kinds)))
        stairs = _stairs(slots, rooms, rng)
        openings = make_openings(slots, rooms, stairs, rng)
        if openings is not None and _all_reachable(rooms, openings, stairs):
            break
    else:
        raise AssertionError(f"seed {seed}: no house in 50 attempts")
    finishes = choose_finishes(kinds, rng)
    shell = build_shell(rooms, openings, stairs, finishes)
    things = furnish(rooms, openings, stairs, rng)
    return House(house_name(seed), seed, rooms, openings, stairs, things, shell)


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


def _room(index: int, slot: Slot, kind: str) -> Room:
    half, rect = WALL_M / 2, slot.rect
    floor = slot.storey * STOREY_M
    return Room(
        index,
        kind,
        slot.storey,
        round(rect.x0 + half, 3),
        round(rect.y0 + half, 3),
        round(rect.x1 - half, 3),
        round(rect.y1 - half, 3),
        floor,
        floor + ROOM_HEIGHT_M,
    )


def _stairs(slots: list[Slot], rooms: tuple[Room, ...], rng: np.random.Generator) -> tuple[Stair, ...]:
    wells = [room for room, slot in zip(rooms, slots) if slot.role == "stair"]
    if len(wells) < 2:
        return ()
    # The flight lies against the wall away from the hallways, so that their doors stay free.
    middle = np.mean([(s.rect.x0 + s.rect.x1) / 2 for s in slots if s.role != "stair"])
    against = "E" if wells[0].center_m[0] > middle else "W"
    return (make_stair(wells[0], wells[1], against, bool(rng.random() < 0.5)),)


def _wishes(storeys: int, storey: int, count: int, entry: bool, rng: np.random.Generator) -> list[str]:
    """Kinds for `count` ordinary rooms of one storey: what a house must have, then what it may have."""
    if storeys == 1:
        must = ["living room", "kitchen", "bathroom", "bedroom"]
    else:
        must = ["living room", "kitchen"] if storey == 0 else ["bedroom", "bathroom"]
    if storey == 0 and rng.random() < 0.55:
        must.append("dining room")
    must = must[:count]
    pool = [kind for kind, spec in ROOM_KINDS.items() if spec.weight > 0 and (storeys == 1 or storey in spec.storeys)]
    if entry or storey > 0:
        pool = [kind for kind in pool if kind != "entryway"]
    elif count > len(must) and rng.random() < 0.6:
        must.append("entryway")
    while len(must) < count:
        weight = np.array([ROOM_KINDS[kind].weight * (must.count(kind) < ROOM_KINDS[kind].most) for kind in pool])
        must.append(pool[int(rng.choice(len(pool), p=weight / weight.sum()))])
    return must


def assign_kinds(slots: list[Slot], rng: np.random.Generator) -> list[str]:
    """Choose a kind for every slot: sizes and neighbours decide, by hill climbing over swaps.

    Args:
        slots: places for rooms.
        rng: source of the choices.

    Returns:
        One key of `ROOM_KINDS` a slot.
    """
    fixed = {"hall": "hallway", "stair": "stair hall", "entry": "entryway", "hub": "living room"}
    kinds = [fixed.get(slot.role, "") for slot in slots]
    storeys = 1 + max(slot.storey for slot in slots)
    walls = {
        (i, j): shared_wall(a.rect, b.rect)
        for i, a in enumerate(slots)
        for j, b in enumerate(slots)
        if i != j and a.storey == b.storey
    }
    near = [[j for j in range(len(slots)) if walls.get((i, j)) is not None] for i in range(len(slots))]
    for storey in range(storeys):
        free = [i for i, kind in enumerate(kinds) if not kind and slots[i].storey == storey]
        hub = any(slot.role == "hub" for slot in slots if slot.storey == storey)
        entry = any(slot.role == "entry" for slot in slots)
        wished = _wishes(storeys, storey, len(free) + hub, entry, rng)
        if hub:
            wished.remove("living room")
        wished = [wished[i] for i in rng.permutation(len(wished))]
        for i, kind in zip(free, wished):
            kinds[i] = kind
        _climb(kinds, free, slots, near, rng)
    return kinds


def _climb(
    kinds: list[str], free: list[int], slots: list[Slot], near: list[list[int]], rng: np.random.Generator
) -> None:
    """Swap kinds between free slots while the plan gets better."""
    best = sum(_fitness(i, kinds, slots, near) for i in free)
    for _ in range(40 * len(free)):
        i, j = (free[int(k)] for k in rng.integers(len(free), size=2))
        kinds[i], kinds[j] = kinds[j], kinds[i]
        score = sum(_fitness(k, kinds, slots, near) for k in free)
        if score >= best:
            best = score
        else:
            kinds[i], kinds[j] = kinds[j], kinds[i]


def _fitness(i: int, kinds: list[str], slots: list[Slot], near: list[list[int]]) -> float:
    """How well a kind suits a slot: its size, its neighbours, and how it is reached."""
    kind, slot = ROOM_KINDS[kinds[i]], slots[i]
    area = slot.rect.area
    low, high = kind.area_m2
    score = -3.0 * max(0.0, low - area) / low - 2.0 * max(0.0, area - high) / high
    score += sum(kinds[j] in kind.beside for j in near[i]) * 0.8
    touches_hall = any(kinds[j] in HALLS for j in near[i])
    if slot.role == "back":
        parent = kinds[slot.parent]
        if not kind.back:
            score -= 6.0
        score += 1.5 if parent in kind.beside else -1.5
    elif kinds[i] in ("entryway", "bathroom", "living room", "bedroom") and not touches_hall:
        score -= 3.0
    return score


def _all_reachable(rooms: tuple[Room, ...], openings: tuple[Opening, ...], stairs: tuple[Stair, ...]) -> bool:
    joined = [opening.rooms for opening in openings if opening.kind != "window" and opening.rooms[1] >= 0]
    joined += [stair.rooms for stair in stairs]
    reached, queue = {0}, [0]
    while queue:
        here = queue.pop()
        for a, b in joined:
            for there in (b,) if a == here else (a,) if b == here else ():
                if there not in reached:
                    reached.add(there)
                    queue.append(there)
    return len(reached) == len(rooms)
