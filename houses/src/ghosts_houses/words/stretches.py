"""Turns, stretches through rooms, and stairs."""

from __future__ import annotations

import math

import numpy as np

from ghosts_houses.house import House
from ghosts_houses.plan.rooms import HALLS
from ghosts_houses.words.facts import Fact, Setting
from ghosts_houses.words.route import Visit

_END_M = 1.5
"""A walk that stops this near to a hallway's end wall reaches its end."""
_STRAIGHT_RAD = math.radians(15)
"""A smaller change of direction is none: every viewpoint of a route has one."""


def turns(setting: Setting) -> list[Fact]:
    """Changes of direction; with the end of the flight where one follows a climb at once."""
    facts = []
    for turn in setting.route.turns:
        after = [climb for climb in setting.route.climbs if -0.3 <= turn.at_m - climb.to_m <= 1.3]
        side = ("top" if after[-1].up else "bottom") if after and _leaves_stairs(setting, turn.at_m) else ""
        facts.append(Fact("turn", turn.step, turn.at_m, side, turn.angle_rad))
    return facts


def _leaves_stairs(setting: Setting, at_m: float) -> bool:
    """Whether no flight follows within a step: a landing between two flights is not the top."""
    return not any(-0.3 <= climb.from_m - at_m < 1.5 for climb in setting.route.climbs)


def walks(setting: Setting) -> list[Fact]:
    """Stretches through rooms: down a hallway (2.5 m or more), or across a room from one door to another."""
    route, facts = setting.route, []
    for k, visit in enumerate(route.visits):
        length = visit.to_m - visit.from_m
        climbing = any(c.from_m < visit.to_m - 0.1 and c.to_m > visit.from_m + 0.1 for c in route.climbs)
        hall = setting.house.rooms[visit.room].kind in HALLS
        if length >= (2.5 if hall else 2.0) and not climbing and (hall or 0 < k < len(route.visits) - 1):
            side = ("end" if reaches_end(setting, visit) else "along") if hall else "through"
            # The end of a hallway comes after all that lies along it, and before a turn there.
            bends = [turn.at_m - 0.05 for turn in route.turns if visit.to_m - 2.0 < turn.at_m < visit.to_m + 0.1]
            at = min([visit.to_m - 0.7, *bends]) if side == "end" else visit.from_m + 0.6
            facts.append(
                Fact("walk", route.step_at(at), at, side, room=visit.room, length_m=length if side == "along" else 0.0)
            )
    return facts


def reaches_end(setting: Setting, visit: Visit) -> bool:
    """Whether a visit in a hallway leads along it up to its far end."""
    room = setting.house.rooms[visit.room]
    low, high = np.array([room.x0_m, room.y0_m]), np.array([room.x1_m, room.y1_m])
    axis = int(np.argmax(high - low))
    if (high - low)[axis] < max(4.0, 2.0 * (high - low)[1 - axis]):
        return False
    start, end = (setting.route.place_at(at)[axis] for at in (visit.from_m, visit.to_m))
    end_wall = high[axis] if end > start else low[axis]
    return bool(abs(end - start) > 2.5 and abs(end_wall - end) < _END_M)


def climbs(setting: Setting) -> list[Fact]:
    """Stairs, with the floor they lead to where the path gets there."""
    facts = []
    for climb in setting.route.climbs:
        # A walker who turns on the flight has not reached its end, so the end is not mentioned.
        on_flight = [turn for turn in setting.route.turns if climb.from_m + 0.1 < turn.at_m < climb.to_m - 0.1]
        bent = any(abs(turn.angle_rad) > _STRAIGHT_RAD for turn in on_flight)
        floor = 0 if bent else _floor(setting.house, setting, climb.to_m)
        side = "up" if climb.up else "down"
        facts.append(Fact("climb", setting.route.step_at(climb.from_m), climb.from_m + 0.05, side, ordinal=floor))
    return facts


def _floor(house: House, setting: Setting, at_m: float) -> int:
    """Number of the floor at a place, counted from 1; 0 between floors."""
    ground = float(np.interp(at_m, setting.route.along_m, setting.route.ground_m))
    return next((room.storey + 1 for room in house.rooms if abs(room.floor_z_m - ground) < 0.1), 0)
