"""Ways to say where a path ends."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from ghosts_houses.graph.sites import beside_stair
from ghosts_houses.plan.rooms import HALLS
from ghosts_houses.words.facts import Fact, Setting
from ghosts_houses.words.sights import stands
from ghosts_houses.words.stretches import reaches_end
from ghosts_houses.words.vocabulary import FRONTED
from ghosts_sim.geometry import heading_of, turn_rad

_BESIDE_M = 1.6
_APART_RAD = math.radians(130)


def stops(setting: Setting) -> list[Fact]:
    """Every way to say where the path ends; the plain room comes first where it can be said."""
    route = setting.route
    visit, point = route.visits[-1], setting.graph.viewpoints[route.steps[-1]]
    if point.opening >= 0:
        pair = setting.house.openings[point.opening].rooms
        came_from = visit.room if visit.to_m - visit.from_m > 0.3 or len(route.visits) == 1 else route.visits[-2].room
        beyond = pair[1] if pair[0] == came_from else pair[0]
        return [_stop(setting, "doorway", room=beyond, other_room=came_from, opening=point.opening)]
    if point.stair >= 0:
        return [_stop(setting, "on")]
    facts = [_stop(setting, "room")]
    if len(route.visits) > 1 and visit.by >= 0 and visit.to_m - visit.from_m <= 1.8:
        facts.append(_stop(setting, "inside", opening=visit.by))
    stair, which = beside_stair(setting.house, point.xy_m, float(route.ground_m[-1]))
    if stair >= 0:
        facts.append(_stop(setting, which))
    return facts + _in_room(setting) + _at_openings(setting) + _at_things(setting)


def _stop(setting: Setting, manner: str, **known: Any) -> Fact:
    route = setting.route
    known = {"room": route.visits[-1].room, **known}
    return Fact("stop", len(route.steps) - 1, route.length_m, manner, **known)


def _in_room(setting: Setting) -> list[Fact]:
    """Where in the room: at the end of a hallway, in a corner, in the middle."""
    visit = setting.route.visits[-1]
    room = setting.house.rooms[visit.room]
    x, y = setting.route.points_m[-1].tolist()
    least = min(room.x1_m - room.x0_m, room.y1_m - room.y0_m)
    if room.kind in HALLS:
        return [_stop(setting, "end")] if reaches_end(setting, visit) else []
    manners = {
        "corner": max(room.gaps_m(x, y)) < 1.1 and least > 2.6,
        "middle": room.notch_m is None and least > 2.4 and math.dist((x, y), room.center_m) < 0.2 * least,
    }
    return [_stop(setting, manner) for manner, holds in manners.items() if holds]


def _at_openings(setting: Setting) -> list[Fact]:
    """Outside a room's door, or by a window."""
    route, facts = setting.route, []
    visit = route.visits[-1]
    for index, opening in enumerate(setting.house.openings):
        if visit.room not in opening.rooms or abs(opening.bottom_z_m - route.ground_m[-1]) > 1.6:
            continue
        distance = math.dist(route.points_m[-1], (opening.x_m, opening.y_m))
        if opening.kind == "window" and distance < 1.5:
            facts.append(_stop(setting, "window", opening=index))
        if opening.inner and distance < 1.3 and index != visit.by:
            other = opening.rooms[0] if opening.rooms[1] == visit.room else opening.rooms[1]
            if setting.house.rooms[other].kind not in HALLS:
                facts.append(_stop(setting, "outside", other_room=other, opening=index))
    return facts


def _at_things(setting: Setting) -> list[Fact]:
    """By a thing, in front of it, on it, between two of them, or facing one."""
    route, facts = setting.route, []
    here, last, room = route.points_m[-1], len(route.steps) - 1, route.visits[-1].room
    things = setting.house.things
    beside: list[Fact] = []
    for thing in np.flatnonzero(setting.near[-1]).tolist():
        item, name = things[thing], setting.name(thing, last)
        if item.room != room or not setting.beside_walker(item, last):
            continue
        gap = float(item.gap_m(here))
        if not name.how:
            equals = [k for k in np.flatnonzero(setting.around(last)).tolist() if things[k].kind == item.kind]
            name = setting.together(equals, last) if thing == min(equals) else name
            gap = min(float(things[k].gap_m(here)) for k in equals)
        if not name.how:
            continue
        ahead = abs(float(turn_rad(route.headings_rad[-1], heading_of(np.array(item.center_m[:2]) - here))))
        if ahead < math.radians(25) and name.how != "plural" and gap < 3.5 and gap > 0.3:
            facts.append(_stop(setting, "facing", thing=thing, name=name))
        if gap > _BESIDE_M:
            continue
        if gap < 0.01 and item.half_m[2] < 0.06:
            facts.append(_stop(setting, "upon", thing=thing, name=name))
            continue
        angle = abs(float(turn_rad(math.pi / 2 - item.yaw_rad, heading_of(here - np.array(item.center_m[:2])))))
        fronted = item.kind in FRONTED and angle < math.radians(35) and name.how != "plural"
        beside.append(_stop(setting, "in front" if fronted else "beside", thing=thing, name=name))
    for a, b in itertools.combinations(
        [fact for fact in beside if fact.name.how != "plural" and stands(setting, fact)], 2
    ):
        ways = [heading_of(np.array(things[f.thing].center_m[:2]) - here) for f in (a, b)]
        if abs(float(turn_rad(ways[0], ways[1]))) > _APART_RAD:
            other = {"other_thing": b.thing, "other_name": b.name}
            facts.append(_stop(setting, "between", thing=a.thing, name=a.name, **other))
    return beside + facts
