"""Furniture: kinds, sizes, and what houses of many seeds do with them."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from ghosts_houses.furniture.catalogue import KINDS
from ghosts_houses.furniture.kit import build
from ghosts_houses.furniture.recipes import RECIPES
from ghosts_houses.furniture.spots import footprint, overlap
from ghosts_houses.house import House, Thing
from ghosts_houses.plan.rooms import ROOM_KINDS
from ghosts_houses.plan.slots import Rect
from made import house

SEEDS = (2, 4, 5, 9, 11, 12, 18, 19, 37, 40)
"""Seeds whose houses have the kinds that the first thirty lack."""


def standing(plan: House) -> list[Thing]:
    """Things on the floor that a walker has to go round; doors hang in their frames."""
    return [
        thing
        for thing in plan.things
        if thing.blocks
        and "door" not in thing.kind
        and thing.center_m[2] - thing.half_m[2] < plan.rooms[thing.room].floor_z_m + 0.25
    ]


def test_many_kinds_and_all_occur() -> None:
    assert len(KINDS) >= 50
    seen = Counter(thing.kind for seed in SEEDS for thing in house(seed).things)
    assert set(KINDS) <= set(seen), f"never placed: {sorted(set(KINDS) - set(seen))}"


def test_recipes_name_known_things() -> None:
    assert set(RECIPES) == set(ROOM_KINDS)
    for room, steps in RECIPES.items():
        for step in steps:
            assert step.kind in KINDS
            assert not step.instead or step.instead in KINDS
            fitted = {"stove", "kitchen counter"} if room == "kitchen" else set()
            assert not step.host or step.host in fitted | {other.kind for other in steps}, f"{room}: {step}"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_model_fills_its_box(kind: str) -> None:
    """The bounding box is centred and tight, and whatever stands on the floor reaches it."""
    model = build(kind, KINDS[kind], np.random.default_rng(4))
    low, high = np.full(3, np.inf), np.full(3, -np.inf)
    for _, center, half, yaw, _, color in model.parts:
        c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
        reach = np.array([half[0] * c + half[1] * s, half[0] * s + half[1] * c, half[2]])
        low, high = np.minimum(low, center - reach), np.maximum(high, center + reach)
        assert min(half) > 0
        assert all(0.0 <= channel <= 1.0 for channel in color)
    np.testing.assert_allclose(high[:2], model.half_m[:2], atol=1e-9)
    np.testing.assert_allclose(low[:2], -high[:2], atol=1e-9)
    assert low[2] == pytest.approx(model.bottom_m)
    if KINDS[kind].place in ("wall", "corner", "middle"):
        assert abs(model.bottom_m) < 0.02
    assert high[2] - low[2] < 2.7


@pytest.mark.parametrize("seed", SEEDS)
def test_everything_is_inside_its_room(seed: int) -> None:
    plan = house(seed)
    for thing in plan.things:
        if thing.kind in ("front door", "door"):
            continue  # in the wall, when they are shut
        room, rect = plan.rooms[thing.room], footprint(thing)
        assert room.x0_m - 0.01 <= rect.x0, thing
        assert room.y0_m - 0.01 <= rect.y0, thing
        assert rect.x1 <= room.x1_m + 0.01, thing
        assert rect.y1 <= room.y1_m + 0.01, thing
        assert room.floor_z_m - 0.01 <= thing.center_m[2] - thing.half_m[2], thing
        assert thing.center_m[2] + thing.half_m[2] <= room.ceiling_z_m + 0.01, thing


@pytest.mark.parametrize("seed", SEEDS)
def test_doors_and_stairs_stay_free(seed: int) -> None:
    plan = house(seed)
    zones = []
    for opening in plan.openings:
        if opening.kind != "window":
            dx, dy = (opening.width_m / 2, 0.7) if opening.along == "x" else (0.7, opening.width_m / 2)
            zone = Rect(opening.x_m - dx, opening.y_m - dy, opening.x_m + dx, opening.y_m + dy)
            zones += [(index, zone) for index in opening.rooms if index >= 0]
    for stair in plan.stairs:
        low, high = sorted((stair.foot_m[1], stair.head_m[1]))
        half = stair.width_m / 2
        zone = Rect(stair.foot_m[0] - half, low - 0.8, stair.foot_m[0] + half, high + 0.8)
        zones += [(index, zone) for index in stair.rooms]
    for thing in standing(plan):
        for room, zone in zones:
            assert room != thing.room or not overlap(footprint(thing), zone), f"seed {seed}: {thing.kind} in the way"


@pytest.mark.parametrize("seed", SEEDS)
def test_lanes_join_all_doors_of_a_room(seed: int) -> None:
    """A disc of 0.7 m gets from every door of a room to every other, on a fine grid of our own."""
    plan, step = house(seed), 0.05
    for room in plan.rooms:
        xs, ys = np.arange(room.x0_m, room.x1_m, step), np.arange(room.y0_m, room.y1_m, step)
        x, y = np.meshgrid(xs, ys)
        gap = np.minimum(np.minimum(x - room.x0_m, room.x1_m - x), np.minimum(y - room.y0_m, room.y1_m - y))
        blocks = [footprint(t) for t in plan.things if t.room == room.index and t.blocks and t.kind != "front door"]
        for stair in plan.stairs:
            if room.index in stair.rooms:
                low, high = sorted((stair.foot_m[1], stair.head_m[1]))
                half = stair.width_m / 2
                blocks.append(Rect(stair.foot_m[0] - half, low, stair.foot_m[0] + half, high))
        for b in blocks:
            dx, dy = np.maximum(np.maximum(b.x0 - x, x - b.x1), 0), np.maximum(np.maximum(b.y0 - y, y - b.y1), 0)
            gap = np.minimum(gap, np.hypot(dx, dy))
        free = gap >= 0.35
        doors = [o for o in plan.openings if o.kind != "window" and room.index in o.rooms]
        starts = []
        for o in doors:
            near = free & (np.hypot(x - o.x_m, y - o.y_m) < 0.8)
            assert near.any(), f"seed {seed}: door of {room} is blocked"
            starts.append(near)
        reached = _flood(free, starts[0])
        assert all((reached & near).any() for near in starts), f"seed {seed}: no lane through {room}"


def _flood(free: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Cells reached from any cell of the start, by four neighbours."""
    seen, queue = start.copy(), list(zip(*np.nonzero(start)))
    while queue:
        i, j = queue.pop()
        for a, b in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
            if 0 <= a < free.shape[0] and 0 <= b < free.shape[1] and free[a, b] and not seen[a, b]:
                seen[a, b] = True
                queue.append((a, b))
    return seen


def test_a_kitchen_is_of_one_make() -> None:
    """Its units share the colour of their fronts, and stand in rows: every counter touches another unit."""
    units = ("kitchen counter", "kitchen sink", "stove", "fridge")
    alone = 0
    for seed in SEEDS:
        plan = house(seed)
        kitchen = next(room for room in plan.rooms if room.kind == "kitchen")
        mine = [thing for thing in plan.things if thing.room == kitchen.index and thing.kind in units]
        counters = [thing for thing in mine if thing.kind == "kitchen counter"]
        assert len({thing.color_word for thing in counters}) == 1
        for thing in counters:
            others = [footprint(other) for other in mine if other is not thing]
            alone += not any(overlap(footprint(thing), other, 0.1) for other in others)
    assert alone <= 2
