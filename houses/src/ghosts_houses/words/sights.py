"""Things along the way: passed, walked between, walked towards or away from, and around the walker at the start."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from ghosts_houses.house import Thing
from ghosts_houses.words.facts import Fact, Setting
from ghosts_houses.words.route import Route
from ghosts_sim.geometry import heading_of, turn_rad

_MAX_LATERAL_M = 2.2
_BETWEEN_M = 1.7


def sights(setting: Setting) -> list[Fact]:
    """All facts about things on the way."""
    passed = _passed(setting)
    return _orientation(setting) + _facing(setting) + passed + _between(setting, passed) + _towards(setting)


def corners_m(thing: Thing) -> Float[np.ndarray, "4 2"]:
    """Corners of a thing's footprint."""
    cos, sin = math.cos(thing.yaw_rad), math.sin(thing.yaw_rad)
    a, b = thing.half_m[:2]
    return np.array(
        [
            (thing.center_m[0] + i * a * cos - j * b * sin, thing.center_m[1] + i * a * sin + j * b * cos)
            for i, j in ((1, 1), (1, -1), (-1, -1), (-1, 1))
        ]
    )


def _bearing(setting: Setting, heading_rad: float, step: int, thing: Thing) -> float:
    """Direction of a thing from a viewpoint, against a heading; positive = right."""
    return float(turn_rad(heading_rad, heading_of(np.array(thing.center_m[:2]) - setting.route.points_m[step])))


def _orientation(setting: Setting) -> list[Fact]:
    """Where things stand around the walker when he faces the way he starts to walk, and what he walks away from."""
    facts = []
    route = setting.route
    for thing in np.flatnonzero(setting.near[0]).tolist():
        item = setting.house.things[thing]
        if not setting.beside_walker(item, 0) or not 0.5 < item.gap_m(route.points_m[0]) < 3.5:
            continue
        bearing = _bearing(setting, float(route.headings_rad[0]), 0, item)
        size = math.degrees(abs(bearing))
        side = "behind" if size > 155 else ("right" if bearing > 0 else "left") if 65 < size < 115 else ""
        name = setting.name(thing, 0)
        if side and name.how:
            facts.append(Fact("orient", 0, 0.0, side, thing=thing, name=name))
            if side == "behind":
                facts.append(Fact("away", 0, 0.0, side, thing=thing, name=name))
    return facts


def _facing(setting: Setting) -> list[Fact]:
    """What the walker faces before the first step, where he has to turn."""
    facts = []
    for thing in np.flatnonzero(setting.near[0]).tolist():
        item = setting.house.things[thing]
        bearing = abs(_bearing(setting, setting.route.start_heading_rad, 0, item))
        if setting.beside_walker(item, 0) and bearing < math.radians(18):
            name = setting.name(thing, 0)
            if name.how:
                facts.append(Fact("facing", 0, 0.0, "ahead", thing=thing, name=name))
    return facts


def _passed(setting: Setting) -> list[Fact]:
    """Things whose whole footprint lies on one side of the walk while the walker goes by, in the room he is in."""
    facts: list[Fact] = []
    route = setting.route
    for thing in np.flatnonzero(setting.near.any(0)).tolist():
        item = setting.house.things[thing]
        found = [
            (lateral, fact)
            for step in range(len(route.headings_rad))
            if setting.near[max(0, step - 1) : step + 2, thing].any() and setting.beside_walker(item, step)
            for lateral, fact in _pass_on_move(route, step, item)
            if route.room_at(fact.at_m) == item.room
        ]
        if found:
            _, best = min(found, key=lambda passed: passed[0])
            climbing = any(climb.from_m < best.at_m < climb.to_m + 0.3 for climb in route.climbs)
            if best.at_m < route.length_m - 0.6 and not climbing:
                facts.append(replace(best, thing=thing, name=setting.name(thing, best.step)))
    return [f for f in facts if f.name.how] + _plurals(setting, [f for f in facts if not f.name.how])


def _pass_on_move(route: Route, step: int, item: Thing) -> Iterator[tuple[float, Fact]]:
    """How far aside and where a thing is passed during one move, if it is."""
    heading = float(route.headings_rad[step])
    forward = np.array([math.sin(heading), math.cos(heading)])
    delta = np.vstack([corners_m(item), item.center_m[:2]]) - route.points_m[step]
    ahead, aside = delta @ forward, delta @ np.array([forward[1], -forward[0]])  # aside: right positive
    length, lateral = float(route.along_m[step + 1] - route.along_m[step]), float(np.abs(aside).min())
    one_side = (aside > 0).any() == (aside > 0).all()
    if 0.1 < ahead[-1] < length - 0.05 and 0.1 <= lateral <= _MAX_LATERAL_M and one_side:
        at, side = float(route.along_m[step] + ahead[-1]), "right" if aside[-1] > 0 else "left"
        yield lateral, Fact("pass", step, at, side)


def _plurals(setting: Setting, facts: list[Fact]) -> list[Fact]:
    """One fact for several equal things on the same side ("the two chairs on your left"), when none is elsewhere."""
    groups: dict[tuple[str, int], list[Fact]] = {}
    for fact in facts:
        item = setting.house.things[fact.thing]
        groups.setdefault((item.kind, item.room), []).append(fact)
    joined = []
    for members in groups.values():
        first = min(members, key=lambda fact: fact.at_m)
        name = setting.together([fact.thing for fact in members], first.step)
        if name.how:
            sides = {fact.side for fact in members}
            joined.append(replace(first, name=name, side=sides.pop() if len(sides) == 1 else ""))
    return joined


def _between(setting: Setting, passed: list[Fact]) -> list[Fact]:
    """Two things passed at once, one on either hand."""
    facts = []
    for a, b in itertools.combinations(
        [fact for fact in passed if fact.name.how not in ("plural", "") and stands(setting, fact)], 2
    ):
        near = all(setting.house.things[f.thing].gap_m(setting.route.place_at(f.at_m)) < _BETWEEN_M for f in (a, b))
        if a.side != b.side and abs(a.at_m - b.at_m) < 0.6 and a.step == b.step and near:
            facts.append(replace(a, kind="between", side="", other_thing=b.thing, other_name=b.name))
    return facts


def stands(setting: Setting, fact: Fact) -> bool:
    """Whether a thing stands on the floor in the walker's way, so that one can be between it and another."""
    item = setting.house.things[fact.thing]
    return item.blocks and item.center_m[2] - item.half_m[2] - setting.house.rooms[item.room].floor_z_m < 0.3


def _towards(setting: Setting) -> list[Fact]:
    """Things and windows straight ahead at the start of a move that the move brings clearly nearer."""
    facts = []
    route = setting.route
    for step in range(len(route.headings_rad)):
        for thing in np.flatnonzero(setting.near[step]).tolist():
            item = setting.house.things[thing]
            if not setting.beside_walker(item, step) or not _ahead(route, step, np.array(item.center_m[:2])):
                continue
            name = setting.name(thing, step)
            if name.how and item.gap_m(route.points_m[step]) > 1.2:
                at = float(route.along_m[step]) + 0.01
                facts.append(Fact("toward", step, at, "ahead", thing=thing, name=name))
        room = setting.graph.viewpoints[route.steps[step]].room
        for index, opening in enumerate(setting.house.openings):
            window = opening.kind == "window" and room in opening.rooms
            if window and _ahead(route, step, np.array([opening.x_m, opening.y_m])):
                at = float(route.along_m[step]) + 0.01
                facts.append(Fact("toward", step, at, "ahead", opening=index, room=room))
    return facts


def _ahead(route: Route, step: int, place_m: np.ndarray) -> bool:
    """Whether a place lies straight ahead of a move that brings it clearly nearer."""
    bearing = float(turn_rad(route.headings_rad[step], heading_of(place_m - route.points_m[step])))
    nearer = np.linalg.norm(place_m - route.points_m[step]) - np.linalg.norm(place_m - route.points_m[step + 1])
    return bool(abs(bearing) < math.radians(13) and nearer > 0.9)
