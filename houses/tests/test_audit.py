"""Houses that people believe: what is checked, and that made houses pass."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import pytest

from ghosts_houses.audit import RULES, Rule, flaws
from ghosts_houses.furniture.recipes import ESSENTIALS, RECIPES, lacking
from ghosts_houses.house import House, Primitive, Thing
from ghosts_houses.plan.rooms import ROOM_KINDS
from ghosts_houses.touch import depths_m, sunk
from made import house

SEEDS = range(20)


def box(x: float, half: tuple[float, float, float], yaw: float = 0.0, shape: str = "box") -> Primitive:
    return Primitive(shape, (x, 0.0, 0.0), half, yaw, "wood", (0.5, 0.5, 0.5), "desk")  # type: ignore[arg-type]


def test_depths() -> None:
    """A unit cube against cubes beside it: apart, touching, 0.1 deep, turned by 45° (its corner reaches √2), round."""
    cube = (1.0, 1.0, 1.0)
    others = [
        box(2.5, cube),
        box(2.0, cube),
        box(1.9, cube),
        box(2.3, cube, math.pi / 4),
        box(1.9, cube, shape="cylinder"),
    ]
    depth = depths_m([box(0.0, cube)], others)[0]
    assert depth == pytest.approx([-0.5, 0.0, 0.1, 1 + math.sqrt(2) - 2.3, 1.8 - 1.9])
    assert [sunk([box(0.0, cube)], [other]) for other in others] == [False, False, True, True, False]
    assert not sunk([], others)


@pytest.mark.parametrize("seed", SEEDS)
def test_made_houses_have_no_flaw(seed: int) -> None:
    assert flaws(house(seed)) == []


def test_every_kind_of_room_can_keep_its_contract() -> None:
    """What a room needs, its recipe (or the fitted kitchen) wishes for; only hallways need nothing."""
    assert set(ROOM_KINDS) - set(ESSENTIALS) == {"hallway", "stair hall"}
    fitted = {"fridge", "stove", "kitchen sink", "kitchen counter"}
    for kind, needs in ESSENTIALS.items():
        wished = {name for wish in RECIPES[kind] for name in (wish.kind, wish.instead)} | (
            fitted if kind == "kitchen" else set()
        )
        assert all(wished & set(need.kinds) for need in needs), kind


def broken(rule: Rule) -> House:
    """A made house with one thing wrong."""
    plan = next(
        house(seed) for seed in SEEDS if house(seed).stairs and {"rug", "bed"} <= {t.kind for t in house(seed).things}
    )
    bath = next(room for room in plan.rooms if room.kind == "bathroom")
    window = next(
        o for o in plan.openings if o.kind == "window" and o.bottom_z_m - plan.rooms[o.rooms[0]].floor_z_m < 1
    )
    stair = plan.stairs[0]
    hall = next(thing for thing in plan.things if thing.room == stair.rooms[0])

    def add(model: Thing, room: int, x: float, y: float, z: float) -> House:
        by = tuple(new - old for new, old in zip((x, y, z), model.center_m, strict=True))
        parts = tuple(
            replace(p, center_m=tuple(c + d for c, d in zip(p.center_m, by, strict=True))) for p in model.parts
        )
        return replace(plan, things=(*plan.things, replace(model, room=room, center_m=(x, y, z), parts=parts)))

    if rule == "essentials":
        kept = [t for t in plan.things if t.room != bath.index or t.kind not in ("bathtub", "shower")]
        return replace(plan, things=tuple(kept))
    if rule == "size":
        large = replace(bath, x1_m=bath.x0_m + 6.0, y1_m=bath.y0_m + 4.0)
        return replace(plan, rooms=tuple(large if room is bath else room for room in plan.rooms))
    if rule == "stairwell":
        lower = plan.rooms[stair.rooms[0]]
        side = lower.x0_m if stair.foot_m[0] - lower.x0_m < lower.x1_m - stair.foot_m[0] else lower.x1_m
        out = 0.04 if side == lower.x1_m else -0.04
        middle = (side + out, (stair.foot_m[1] + stair.head_m[1]) / 2, lower.ceiling_z_m + 0.1)
        strip = Primitive("box", middle, (0.04, 1.0, 0.1), 0.0, "planks", (0.5, 0.4, 0.3), "floor")
        return replace(plan, shell=(*plan.shell, strip))
    if rule == "inside":
        bed = next(thing for thing in plan.things if thing.kind == "bed")
        return add(bed, bed.room, bed.center_m[0] + 0.1, bed.center_m[1], bed.center_m[2])
    if rule == "shell":
        middle = [(a + b) / 2 for a, b in zip(stair.foot_m, stair.head_m, strict=True)]
        return add(hall, stair.rooms[0], middle[0], middle[1], middle[2] - 0.5)
    if rule == "rugs":
        rug = next(thing for thing in plan.things if thing.kind == "rug")
        return add(rug, rug.room, rug.center_m[0] + 0.5, rug.center_m[1], rug.center_m[2])
    fridge = next(thing for thing in plan.things if thing.kind == "fridge")
    floor = plan.rooms[window.rooms[0]].floor_z_m
    return add(fridge, window.rooms[0], window.x_m, window.y_m, floor + fridge.half_m[2])


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_finds_what_it_is_for(rule: Rule) -> None:
    assert Counter(flaw.rule for flaw in flaws(broken(rule)))[rule] >= 1


def test_what_a_room_lacks_is_told() -> None:
    assert [str(need) for need in lacking("bathroom", [])] == ["toilet", "sink", "bathtub or shower"]
    assert [str(need) for need in lacking("dining room", [])] == ["dining table", "2 × chair"]
    assert lacking("hallway", []) == []
    flaw = next(flaw for flaw in flaws(broken("essentials")) if flaw.rule == "essentials")
    assert flaw.text == "bathroom without bathtub or shower"
