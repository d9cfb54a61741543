"""Which kind each room becomes: what a house must have and may have, then sizes and neighbours decide."""

from __future__ import annotations

import numpy as np

from ghosts.world.houses.plan.layout import Slot, shared_wall
from ghosts.world.houses.plan.rooms import HALLS, ROOM_KINDS


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
