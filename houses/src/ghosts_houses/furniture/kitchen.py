"""A fitted kitchen: fridge, sink, stove and counters of one make in a row along a wall, round a corner if need be."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np

from ghosts_houses.furniture.eat import Fronts, choose_fronts, counter, kitchen_sink, wall_cabinet
from ghosts_houses.furniture.kit import Builder, Kind, Kit, Model, build
from ghosts_houses.furniture.placer import Placer
from ghosts_houses.house import Thing

_STEP_M = 0.1
"""Walls are searched for free stretches in steps of this."""
_GAP_M = 0.004
"""Between one unit and the next."""
_DEEP_M = 0.68
"""Floor that a unit takes in front of a wall."""
_COUNTER_M = (0.6, 2.2)
"""Least and most width of a counter between units."""
_NEEDED = ("fridge", "kitchen sink", "stove")
Stretch = tuple[str, float, float]
"""A wall, from and to."""


def fit_kitchen(placer: Placer) -> None:
    """Stand the units; what does not fit is left out, and the room is then no kitchen."""
    rng = placer.rng
    fronts = choose_fronts(Kit(rng))
    wanted = [_NEEDED[int(k)] for k in rng.permutation(len(_NEEDED))]
    for last in (False, True):
        for stretch in _stretches(placer):
            wanted = _fill(placer, fronts, stretch, wanted, counters=not last)
        if not wanted:
            break
    if "fridge" in wanted:  # the fridge is tall: where windows leave no place in the row, it stands by itself
        placer.along_wall("fridge", strict=False)
    counters = [thing for thing in placer.things if thing.kind == "kitchen counter"]
    for host in counters:
        if rng.random() < 0.75:
            model = _unit(rng, "wall cabinet", partial(wall_cabinet, fronts=fronts, wide=2 * host.half_m[1]))
            placer.on_wall("wall cabinet", host, model)


def _stretches(placer: Placer) -> list[Stretch]:
    """Free stretches of the walls, long ones first."""
    found: list[Stretch] = []
    for side in placer.walls:
        low, high = placer.wall_range(side)
        ticks = np.arange(low + 0.03 + _STEP_M / 2, high - 0.03, _STEP_M)
        free = [placer.slot_is_free(side, float(at), _STEP_M, _DEEP_M) for at in ticks]
        at = 0
        for here, run in itertools.groupby(free):
            count = len(list(run))
            if here:
                found.append((side, float(ticks[at]) - _STEP_M / 2, float(ticks[at + count - 1]) + _STEP_M / 2))
            at += count
    return sorted(found, key=lambda item: item[1] - item[2])


def _fill(placer: Placer, fronts: Fronts, stretch: Stretch, wanted: list[str], *, counters: bool) -> list[str]:
    """Stand as many of the wanted units in a stretch as fit, with counters between. Returns the others."""
    side, low, high = stretch
    models = {kind: _make(placer, fronts, kind) for kind in wanted}
    width = {kind: 2 * model.half_m[1] + _GAP_M for kind, model in models.items()}
    here: list[str] = []
    for kind in wanted:
        total = sum(width[k] for k in here) + width[kind]
        if total + (_COUNTER_M[0] if counters else 0.0) <= high - low:
            here.append(kind)
    if not here:
        return wanted
    spare = high - low - sum(width[kind] for kind in here)
    # Counters stand between the units; what is too short for one stays free at the far end.
    gaps = min(len(here) - 1 or 1, int(spare / (_COUNTER_M[0] + 0.01))) if counters else 0
    each = min(spare / gaps - _GAP_M, _COUNTER_M[1]) if gaps else 0.0
    flip = bool(placer.rng.random() < 0.5)
    at, left = 0.0, []
    for number, kind in enumerate(here):
        stood = _stand(placer, models[kind], side, low, high, at + width[kind] / 2, flip)
        if stood is None:
            left.append(kind)
            continue
        at += width[kind]
        if number < gaps:
            unit = _unit(placer.rng, "kitchen counter", partial(counter, fronts=fronts, wide=round(each, 2)))
            if _stand(placer, unit, side, low, high, at + unit.half_m[1] + _GAP_M, flip) is not None:
                at += 2 * unit.half_m[1] + _GAP_M
    return left + [kind for kind in wanted if kind not in here]


def _stand(placer: Placer, model: Model, side: str, low: float, high: float, along: float, flip: bool) -> Thing | None:
    return placer.at_place(model, side, high - along if flip else low + along, strict=False)


def _make(placer: Placer, fronts: Fronts, kind: str) -> Model:
    if kind == "kitchen sink":
        return _unit(placer.rng, kind, partial(kitchen_sink, fronts=fronts))
    return placer.make(kind)


def _unit(rng: np.random.Generator, kind: str, builder: Builder) -> Model:
    return build(kind, Kind(builder, "fixed"), rng)
