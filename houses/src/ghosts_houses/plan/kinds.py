"""Which kind each room becomes: what a house must have and may have, then sizes and neighbours decide."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ghosts_houses.plan.rooms import HALLS, ROOM_KINDS
from ghosts_houses.plan.slots import Slot, shared_walls

_DEAD_ENDS = ("bathroom", "closet", "pantry", "laundry room")
"""Rooms that must not lie on the way to another room."""


def assign_kinds(slots: list[Slot], rng: np.random.Generator) -> list[str] | None:
    """Choose a kind for every slot: sizes and neighbours decide, by hill climbing over swaps.

    Args:
        slots: places for rooms.
        rng: source of the choices.

    Returns:
        One key of `ROOM_KINDS` per slot; None where a room would be too small or too large for what it must be.
    """
    fixed = {"hall": "hallway", "stair": "stair hall", "entry": "entryway", "hub": "living room"}
    kinds = [fixed.get(slot.role, "") for slot in slots]
    storeys = 1 + max(slot.storey for slot in slots)
    near: list[list[int]] = [[] for _ in slots]
    for (i, a), (j, b) in combinations(enumerate(slots), 2):
        if a.storey == b.storey and shared_walls(a, b):
            near[i].append(j)
            near[j].append(i)
    for storey in range(storeys):
        free = [i for i, kind in enumerate(kinds) if not kind and slots[i].storey == storey]
        hub = any(slot.role == "hub" for slot in slots if slot.storey == storey)
        entry = any(slot.role == "entry" for slot in slots)
        must, more = _wishes(storeys, storey, len(free) + hub, entry, [kind for kind in kinds if kind], rng)
        if hub:
            must.remove("living room")
        wished = [*must, *more]
        wished = [wished[i] for i in rng.permutation(len(wished))]
        for i, kind in zip(free, wished):
            kinds[i] = kind
        for _ in range(3):
            _climb(kinds, free, slots, near, rng)
            if not _change_misfits(kinds, free, slots, must, rng):
                break
    believed = all(_fits(kind, slot) for kind, slot in zip(kinds, slots)) and not any(
        slot.role == "back" and kinds[slot.parent] in _DEAD_ENDS for slot in slots
    )
    return kinds if believed else None


def _fits(kind: str, slot: Slot) -> bool:
    """Whether a slot has a size that one believes of a kind."""
    low, high = ROOM_KINDS[kind].area_m2
    return low <= slot.floor_m2 <= high


def _change_misfits(
    kinds: list[str], free: list[int], slots: list[Slot], must: list[str], rng: np.random.Generator
) -> bool:
    """Make rooms of the wrong size something else that they are the right size for; True when any changed."""
    changed = False
    for i in free:
        spare = [kinds[j] for j in free].count(kinds[i]) > must.count(kinds[i])
        if _fits(kinds[i], slots[i]) or not spare:
            continue
        pool = [
            kind
            for kind, spec in ROOM_KINDS.items()
            if spec.weight > 0
            and _fits(kind, slots[i])
            and kind != "entryway"
            and kinds.count(kind) < spec.most
            and (slots[i].role != "back" or spec.back)
            and min(slots[i].storey, 1) in spec.storeys
        ]
        if pool:
            weight = np.array([ROOM_KINDS[kind].weight for kind in pool])
            kinds[i] = pool[int(rng.choice(len(pool), p=weight / weight.sum()))]
            changed = True
    return changed


def _wishes(
    storeys: int, storey: int, count: int, entry: bool, below: list[str], rng: np.random.Generator
) -> tuple[list[str], list[str]]:
    """Kinds for `count` ordinary rooms of one storey: what a house must have, and what it may have beside `below`."""
    if storeys == 1:
        must = ["living room", "kitchen", "bathroom", "bedroom"]
    else:
        must = (["living room", "kitchen"], ["bedroom", "bathroom"], ["bedroom"])[storey]
    if storey == 0 and rng.random() < 0.55:
        must.append("dining room")
    must, more = must[:count], list[str]()
    pool = [
        kind
        for kind, spec in ROOM_KINDS.items()
        if spec.weight > 0 and (storeys == 1 or min(storey, 1) in spec.storeys)
    ]
    if entry or storey > 0:
        pool = [kind for kind in pool if kind != "entryway"]
    elif count > len(must) and rng.random() < 0.6:
        more.append("entryway")
    while len(must) + len(more) < count:
        have = [*below, *must, *more]
        weight = np.array([ROOM_KINDS[kind].weight * (have.count(kind) < ROOM_KINDS[kind].most) for kind in pool])
        more.append(pool[int(rng.choice(len(pool), p=weight / weight.sum()))])
    return must, more


def _climb(
    kinds: list[str], free: list[int], slots: list[Slot], near: list[list[int]], rng: np.random.Generator
) -> None:
    """Swap kinds between free slots while the plan gets better."""
    mine = set(free)
    sized = {(i, kind): _size_fitness(kind, slots[i]) for i in free for kind in {kinds[j] for j in free}}
    fitness = {k: _fitness(sized[k, kinds[k]], k, kinds, slots, near) for k in free}
    for i, j in rng.choice(free, (20 * len(free), 2)).tolist() if free else ():
        if kinds[i] == kinds[j]:
            continue
        # A room's neighbours decide how well it fits, so only theirs change.
        judged = mine & {i, j, *near[i], *near[j]}
        kinds[i], kinds[j] = kinds[j], kinds[i]
        after = {k: _fitness(sized[k, kinds[k]], k, kinds, slots, near) for k in judged}
        if sum(after.values()) < sum(fitness[k] for k in judged):
            kinds[i], kinds[j] = kinds[j], kinds[i]
        else:
            fitness |= after


def _size_fitness(kind: str, slot: Slot) -> float:
    """How well a kind suits the size of a slot."""
    area = slot.floor_m2
    low, high = ROOM_KINDS[kind].area_m2
    score = -3.0 * max(0.0, low - area) / low - 2.0 * max(0.0, area - high) / high
    # Within what is believable a room is rather small than large: 6 m² become a bathroom sooner than 11 m².
    score -= 0.0 if _fits(kind, slot) else 8.0
    return score - 0.8 * max(0.0, area - (low + high) / 2) / (high - low)


def _fitness(score: float, i: int, kinds: list[str], slots: list[Slot], near: list[list[int]]) -> float:
    """How well a kind suits a slot: its size, whose score is given, its neighbours, and how it is reached."""
    kind, slot = ROOM_KINDS[kinds[i]], slots[i]
    others = [kinds[j] for j in near[i]]
    score += sum([other in kind.beside for other in others]) * 0.8
    if slot.role == "back":
        parent = kinds[slot.parent]
        if not kind.back:
            score -= 6.0
        score += 1.5 if parent in kind.beside else -6.0 if parent in _DEAD_ENDS else -1.5
    elif kinds[i] in ("entryway", "bathroom", "living room", "bedroom") and not any(other in HALLS for other in others):
        score -= 3.0
    return score
