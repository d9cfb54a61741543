"""Doors: the ones gone through, with their side and number, and the ones passed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ghosts_houses.plan.rooms import HALLS
from ghosts_houses.words.facts import Fact, Name, Setting
from ghosts_houses.words.route import Visit
from ghosts_houses.words.vocabulary import nouns
from ghosts_sim.geometry import heading_of, turn_rad

_ABEAM_M = 1.8


def doors(setting: Setting) -> list[Fact]:
    """One fact for every change of room through an opening."""
    visits = setting.route.visits
    return [_furnished(setting, _door(setting, k)) for k in range(1, len(visits)) if visits[k].by >= 0]


def _door(setting: Setting, k: int) -> Fact:
    """Going from one room to the next, with the side it lies on and its number among the doors of a hallway."""
    route = setting.route
    visit, last = route.visits[k], route.visits[k - 1]
    step = route.step_at(visit.from_m - 0.05)
    fact = Fact("door", step, visit.from_m, room=visit.room, other_room=last.room, opening=visit.by)
    turn = next((t for t in reversed(route.turns) if 0.3 <= visit.from_m - t.at_m <= 1.8 and t.step > 0), None)
    if turn is None or not math.radians(50) <= abs(turn.angle_rad) <= math.radians(125) or turn.at_m < last.from_m:
        return fact
    side = "right" if turn.angle_rad > 0 else "left"
    opening = setting.house.openings[visit.by]
    # The door must lie on that side for somebody who has not turned yet, else it is simply ahead.
    corner = int(np.searchsorted(route.along_m, turn.at_m - 1e-6))
    to_door = heading_of(np.array([opening.x_m, opening.y_m]) - route.points_m[corner])
    bearing = float(turn_rad(route.headings_rad[corner - 1], to_door))
    if bearing * turn.angle_rad <= 0 or not math.radians(35) <= abs(bearing) <= math.radians(135):
        return fact
    ordinal = _ordinal(setting, last, visit.by, turn.at_m, side)
    return replace(fact, side=side, turn_rad=turn.angle_rad, ordinal=ordinal)


def _furnished(setting: Setting, door: Fact) -> Fact:
    """Add the largest thing in sight that another room of the entered room's kind lacks."""
    things, rooms = setting.house.things, setting.house.rooms
    around = setting.near[door.step : door.step + 2].any(0)
    inside = [int(k) for k in np.flatnonzero(around) if things[k].room == door.room]
    kinds = [
        {t.kind for t in things if t.room == other.index}
        for other in rooms
        if other.kind == rooms[door.room].kind and other.index != door.room
    ]
    inside = [
        k
        for k in inside
        if setting.name(k, door.step).how == "plain" and any(things[k].kind not in others for others in kinds)
    ]
    if not inside:
        return door
    largest = max(inside, key=lambda k: math.prod(things[k].half_m))
    return replace(door, thing=largest, name=Name("plain", nouns(things[largest].kind)))


def _ordinal(setting: Setting, visit: Visit, target: int, turn_at_m: float, side: str) -> int:
    """Number of a door among those on its side of a hallway, counted along the straight walk up to it; 0 if unclear."""
    house, route = setting.house, setting.route
    if house.rooms[visit.room].kind not in HALLS:
        return 0
    bends = [t.at_m for t in route.turns if visit.from_m - 0.6 <= t.at_m < turn_at_m - 1e-6 and abs(t.angle_rad) > 0.5]
    if any(at > visit.from_m + 0.9 for at in bends):  # readers may count from the door they came by or from the bend
        return 0
    from_m = max([visit.from_m, *bends])
    if turn_at_m - from_m < 0.8:
        return 0
    start, end = (route.place_at(at) for at in (from_m, turn_at_m))
    forward = (end - start) / np.linalg.norm(end - start)
    left = np.array([-forward[1], forward[0]])
    number, reach = 0, 0.0
    for index, opening in enumerate(house.openings):
        if not opening.inner or visit.room not in opening.rooms or index == visit.by:
            continue
        delta = np.array([opening.x_m, opening.y_m]) - start
        ahead, aside = float(delta @ forward), float(delta @ left)
        if index != target and math.hypot(ahead, aside) < 0.9:
            return 0  # beside the very start of the walk
        if abs(aside) < 0.3 or (aside > 0) != (side == "left"):
            if index == target:
                return 0
            continue
        goal = float((np.array([house.openings[target].x_m, house.openings[target].y_m]) - start) @ forward)
        # A door within arm's reach of the counting limits would be counted by some readers and not by others.
        if index != target and (abs(ahead) < 0.5 or abs(ahead - goal) < 0.5):
            return 0
        number += 0.0 < ahead <= goal + 1e-6
        reach = max(reach, goal)
    return number if reach > 0.5 else 0


def passed_doors(setting: Setting) -> list[Fact]:
    """Doors of other rooms that come abeam on the way and are not taken."""
    house, route = setting.house, setting.route
    taken = {visit.by for visit in route.visits} | {setting.graph.viewpoints[k].opening for k in route.steps}
    facts = []
    for index, opening in enumerate(house.openings):
        if not opening.inner or index in taken:
            continue
        for step, heading in enumerate(route.headings_rad):
            if (
                abs(opening.bottom_z_m - route.ground_m[step]) > 0.3
                or abs(route.ground_m[step + 1] - route.ground_m[step]) > 0.1
            ):
                continue
            forward = np.array([math.sin(heading), math.cos(heading)])
            delta = np.array([opening.x_m, opening.y_m]) - route.points_m[step]
            ahead, aside = float(delta @ forward), float(delta @ np.array([forward[1], -forward[0]]))
            length = float(route.along_m[step + 1] - route.along_m[step])
            at = float(route.along_m[step]) + ahead
            here = route.room_at(at)
            if not 0.3 < ahead < length - 0.2 or not 0.4 < abs(aside) < _ABEAM_M or here not in opening.rooms:
                continue
            # Only a door in a wall along the way is passed; one in the wall ahead is walked up to.
            along = abs(forward[0] if opening.along == "x" else forward[1])
            room = opening.rooms[0] if opening.rooms[1] == here else opening.rooms[1]
            if along > 0.8 and house.rooms[room].kind not in HALLS and 0.8 < at < route.length_m - 0.8:
                side = "right" if aside > 0 else "left"
                facts.append(Fact("passdoor", step, at, side, room=room, other_room=here, opening=index))
    return facts
