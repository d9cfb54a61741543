"""Everything true that can be said along a path: the facts an instruction chooses from.

Only things in plain sight of the path's own viewpoints and near them are mentioned, and only where a reader can tell
which one is meant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float

from ghosts.geometry import heading_of, turn_rad
from ghosts.world.houses.graph.sites import beside_stair
from ghosts.world.houses.graph.viewpoints import HouseGraph
from ghosts.world.houses.house import House, Thing
from ghosts.world.houses.plan.rooms import HALLS
from ghosts.world.houses.words.route import Route, Stay
from ghosts.world.houses.words.vocabulary import FRONTED, UNSPOKEN, nouns

FactKind = Literal["turn", "door", "walk", "pass", "toward", "orient", "climb", "stop"]
NEAR_M = 6.0
"""Farthest a thing that is mentioned may be from the viewpoint it is seen from."""
_MAX_LATERAL_M = 2.2
_HIGH_M = 2.0  # above this a thing hangs over the walker rather than beside him


@dataclass(frozen=True)
class Fact:
    """One true statement about a path."""

    kind: FactKind
    step: int
    """The viewpoint of the path at which, or after which, it holds."""
    at_m: float
    """Distance along the path."""
    side: str = ""
    """"left", "right", "ahead", "behind"; for a climb "up" or "down"; for a stop its manner ("beside", "in front",
    "inside", "doorway", "top", "bottom", "on", "upon", "room")."""
    turn_rad: float = 0.0
    """Positive = right; for a door on a side, the turn that leads into it."""
    room: int = -1
    """The room entered, walked through or stopped in."""
    other_room: int = -1
    """The room left."""
    thing: int = -1
    opening: int = -1
    ordinal: int = 0
    """Which door on its side of the hallway, counted along the walk; 0 where counting says nothing."""
    naming: str = ""
    """How the thing must be named to be told from others in sight: "plain", "color", "room", "plural"."""


def gather(house: House, graph: HouseGraph, route: Route, seen: Bool[np.ndarray, "n things"]) -> list[Fact]:
    """All facts along a route, in order.

    Args:
        house: the house.
        graph: its viewpoints.
        route: the path's geometry.
        seen: which thing is in sight of which viewpoint (`sight.things_seen`).
    """
    facts = [Fact("turn", turn.step, turn.at_m, turn_rad=turn.angle_rad) for turn in route.turns]
    facts += _walks(house, route)
    facts += [
        Fact("climb", route.step_at(climb.from_m), climb.from_m, "up" if climb.up else "down") for climb in route.climbs
    ]
    near = _near(house, graph, route, seen)
    doors = [_door(house, route, k) for k in range(1, len(route.stays)) if route.stays[k].by >= 0]
    facts += [_furnished(house, near, door) for door in doors]
    facts += _orientation(house, route, near)
    facts += _passed(house, route, near)
    facts += _towards(house, route, near)
    facts += _stops(house, graph, route, near)
    return sorted(facts, key=lambda fact: (fact.at_m, fact.kind == "stop"))


def _near(house: House, graph: HouseGraph, route: Route, seen: np.ndarray) -> np.ndarray:
    """Things in sight and near, for every viewpoint of the path: steps × things."""
    eyes = graph.positions_m[list(route.steps)]
    centers = np.array([thing.center_m for thing in house.things], float).reshape(-1, 3)
    distance = np.linalg.norm(eyes[:, None] - centers[None], axis=-1)
    spoken = np.array([thing.kind not in UNSPOKEN for thing in house.things], bool)
    return seen[list(route.steps)] & (distance <= NEAR_M) & spoken


def naming(house: House, near: Bool[np.ndarray, "k things"], thing: int, step: int) -> str:
    """How to name a thing so that it is the only one meant among those in sight around a step; "" when impossible."""
    words = set(nouns(house.things[thing].kind))
    around = near[max(0, step - 1) : step + 2].any(0)
    rivals = [k for k in np.flatnonzero(around) if k != thing and words & set(nouns(house.things[k].kind))]
    mine = house.things[thing]
    if not rivals:
        return "plain"
    if mine.color_word and all(house.things[k].color_word != mine.color_word for k in rivals):
        return "color"
    name = house.rooms[mine.room].kind
    if name not in HALLS and all(house.rooms[house.things[k].room].kind != name for k in rivals):
        return "room"
    return ""


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


def _door(house: House, route: Route, k: int) -> Fact:
    """Going from one room to the next, with the side it lies on and its number among the doors of a hallway."""
    stay, last = route.stays[k], route.stays[k - 1]
    fact = Fact(
        "door", route.step_at(stay.from_m - 0.05), stay.from_m, room=stay.room, other_room=last.room, opening=stay.by
    )
    turn = next((t for t in reversed(route.turns) if 0.3 <= stay.from_m - t.at_m <= 1.8 and t.step > 0), None)
    if turn is None or not math.radians(50) <= abs(turn.angle_rad) <= math.radians(125) or turn.at_m < last.from_m:
        return fact
    side = "right" if turn.angle_rad > 0 else "left"
    opening = house.openings[stay.by]
    # The door must lie on that side for somebody who has not turned yet, else it is simply ahead.
    corner = int(np.searchsorted(route.along_m, turn.at_m - 1e-6))
    to_door = heading_of(np.array([opening.x_m, opening.y_m]) - route.points_m[corner])
    bearing = float(turn_rad(route.headings_rad[corner - 1], to_door))
    if bearing * turn.angle_rad <= 0 or not math.radians(35) <= abs(bearing) <= math.radians(135):
        return fact
    ordinal = _ordinal(house, route, last, stay.by, turn.at_m, side)
    return replace(fact, side=side, turn_rad=turn.angle_rad, ordinal=ordinal)


def _furnished(house: House, near: np.ndarray, door: Fact) -> Fact:
    """Add the largest thing of the entered room that is in sight at the door, to tell it from rooms of its kind."""
    around = near[door.step : door.step + 2].any(0)
    inside = [k for k in np.flatnonzero(around) if house.things[k].room == door.room and house.things[k].blocks]
    inside = [k for k in inside if naming(house, near, int(k), door.step) == "plain"]
    if not inside:
        return door
    return replace(door, thing=int(max(inside, key=lambda k: math.prod(house.things[k].half_m))), naming="plain")


def _ordinal(house: House, route: Route, stay: Stay, target: int, turn_at_m: float, side: str) -> int:
    """Number of a door among those on its side of a hallway, counted along the straight walk up to it; 0 if unclear."""
    if house.rooms[stay.room].kind not in HALLS:
        return 0
    bends = [t.at_m for t in route.turns if stay.from_m - 0.6 <= t.at_m < turn_at_m - 1e-6 and abs(t.angle_rad) > 0.5]
    if any(at > stay.from_m + 0.9 for at in bends):  # readers may count from the door they came by or from the bend
        return 0
    from_m = max([stay.from_m, *bends])
    if turn_at_m - from_m < 0.8:
        return 0
    start, end = (
        np.array([np.interp(at, route.along_m, route.points_m[:, k]) for k in (0, 1)]) for at in (from_m, turn_at_m)
    )
    forward = (end - start) / np.linalg.norm(end - start)
    left = np.array([-forward[1], forward[0]])
    number, reach = 0, 0.0
    for index, opening in enumerate(house.openings):
        if not opening.inner or stay.room not in opening.rooms or index == stay.by:
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


def _walks(house: House, route: Route) -> list[Fact]:
    """Stretches through rooms: down a hallway (2.5 m or more), or across a room from one door to another."""
    facts = []
    for k, stay in enumerate(route.stays):
        length = stay.to_m - stay.from_m
        climbing = any(c.from_m < stay.to_m - 0.1 and c.to_m > stay.from_m + 0.1 for c in route.climbs)
        hall = house.rooms[stay.room].kind in HALLS
        if length >= (2.5 if hall else 2.0) and not climbing and (hall or 0 < k < len(route.stays) - 1):
            facts.append(
                Fact(
                    "walk",
                    route.step_at(stay.from_m + 0.1),
                    stay.from_m + 0.6,
                    "along" if hall else "through",
                    room=stay.room,
                )
            )
    return facts


def _orientation(house: House, route: Route, near: np.ndarray) -> list[Fact]:
    """Where things stand around the walker when he faces the way he starts to walk."""
    facts = []
    for thing in np.flatnonzero(near[0]):
        item = house.things[thing]
        if not _beside_walker(item, float(route.ground_m[0])) or not 0.5 < item.gap_m(route.points_m[0]) < 3.5:
            continue
        bearing = float(turn_rad(route.headings_rad[0], heading_of(np.array(item.center_m[:2]) - route.points_m[0])))
        size = math.degrees(abs(bearing))
        side = "behind" if size > 155 else ("right" if bearing > 0 else "left") if 65 < size < 115 else ""
        name = naming(house, near, int(thing), 0)
        if side and name:
            facts.append(Fact("orient", 0, 0.0, side, thing=int(thing), naming=name))
    return facts


def _beside_walker(thing: Thing, ground_m: float) -> bool:
    return -0.3 < thing.center_m[2] - ground_m < _HIGH_M


def _passed(house: House, route: Route, near: np.ndarray) -> list[Fact]:
    """Things whose whole footprint lies on one side of the walk while the walker goes by, in the room he is in."""
    facts: list[Fact] = []
    for thing, item in enumerate(house.things):
        best = None
        for step, heading in enumerate(route.headings_rad):
            if not near[max(0, step - 1) : step + 2, thing].any() or not _beside_walker(
                item, float(route.ground_m[step])
            ):
                continue
            found = _pass_on_move(route, step, float(heading), item)
            if found is not None and (best is None or found[1] < best[1]) and route.room_at(found[0]) == item.room:
                best = (found[0], found[1], found[2], step)
        if best is not None and best[0] < route.length_m - 0.6:
            facts.append(
                Fact("pass", best[3], best[0], best[2], thing=thing, naming=naming(house, near, thing, best[3]))
            )
    return [f for f in facts if f.naming] + _plurals(house, near, [f for f in facts if not f.naming])


def _pass_on_move(route: Route, step: int, heading_rad: float, item: Thing) -> tuple[float, float, str] | None:
    """(place along the path, distance aside, side) when a thing is passed during one move."""
    forward = np.array([math.sin(heading_rad), math.cos(heading_rad)])
    delta = np.vstack([corners_m(item), item.center_m[:2]]) - route.points_m[step]
    ahead, aside = delta @ forward, delta @ np.array([forward[1], -forward[0]])  # aside: right positive
    length = float(route.along_m[step + 1] - route.along_m[step])
    if not 0.1 < ahead[-1] < length - 0.05 or np.abs(aside).min() < 0.1 or (aside > 0).any() != (aside > 0).all():
        return None
    lateral = float(np.abs(aside).min())
    if lateral > _MAX_LATERAL_M:
        return None
    return float(route.along_m[step] + ahead[-1]), lateral, "right" if aside[-1] > 0 else "left"


def _plurals(house: House, near: np.ndarray, facts: list[Fact]) -> list[Fact]:
    """One fact for several equal things on the same side ("the chairs on your left"), when none is elsewhere."""
    groups: dict[tuple[str, int], list[Fact]] = {}
    for fact in facts:
        item = house.things[fact.thing]
        groups.setdefault((item.kind, item.room), []).append(fact)
    joined = []
    for (kind, _), members in groups.items():
        first = min(members, key=lambda fact: fact.at_m)
        around = near[max(0, first.step - 1) : first.step + 2].any(0)
        equals = [k for k in np.flatnonzero(around) if set(nouns(house.things[k].kind)) & set(nouns(kind))]
        if len(members) > 1 and len(equals) == len(members) and len({fact.side for fact in members}) == 1:
            joined.append(replace(first, naming="plural"))
    return joined


def _towards(house: House, route: Route, near: np.ndarray) -> list[Fact]:
    """Things straight ahead at the start of a move that the move brings clearly nearer."""
    facts = []
    for step, heading in enumerate(route.headings_rad):
        for thing in np.flatnonzero(near[step]):
            item = house.things[thing]
            center = np.array(item.center_m[:2])
            bearing = float(turn_rad(heading, heading_of(center - route.points_m[step])))
            nearer = np.linalg.norm(center - route.points_m[step]) - np.linalg.norm(center - route.points_m[step + 1])
            name = naming(house, near, int(thing), step)
            level = _beside_walker(item, float(route.ground_m[step]))
            if (
                level
                and name
                and abs(bearing) < math.radians(13)
                and nearer > 0.9
                and item.gap_m(route.points_m[step]) > 1.2
            ):
                facts.append(
                    Fact("toward", step, float(route.along_m[step]) + 0.01, "ahead", thing=int(thing), naming=name)
                )
    return facts


def _stops(house: House, graph: HouseGraph, route: Route, near: np.ndarray) -> list[Fact]:
    """Ways to say where the path ends."""
    last = len(route.steps) - 1
    point = graph.viewpoints[route.steps[-1]]
    end = route.length_m
    stay = route.stays[-1]
    facts = [Fact("stop", last, end, "room", room=stay.room)]
    if point.opening >= 0:
        pair = house.openings[point.opening].rooms
        came_from = stay.room if stay.to_m - stay.from_m > 0.3 or len(route.stays) == 1 else route.stays[-2].room
        beyond = pair[1] if pair[0] == came_from else pair[0]
        return [Fact("stop", last, end, "doorway", room=beyond, other_room=came_from, opening=point.opening)]
    if point.stair >= 0:
        return [Fact("stop", last, end, "on", room=stay.room)]
    if len(route.stays) > 1 and stay.by >= 0 and stay.to_m - stay.from_m <= 1.8:
        facts.append(Fact("stop", last, end, "inside", room=stay.room, opening=stay.by))
    stair, which = beside_stair(house, point.xy_m, float(route.ground_m[-1]))
    if stair >= 0:
        facts.append(Fact("stop", last, end, which, room=stay.room))
    for thing in np.flatnonzero(near[-1]):
        item = house.things[thing]
        name, gap = naming(house, near, int(thing), last), item.gap_m(np.array(point.xy_m))
        if not name or gap > 1.6 or item.room != stay.room or not _beside_walker(item, float(route.ground_m[-1])):
            continue
        bearing = abs(
            float(turn_rad(math.pi / 2 - item.yaw_rad, heading_of(np.array(point.xy_m) - np.array(item.center_m[:2]))))
        )
        if gap < 0.01 and item.half_m[2] < 0.06:
            facts.append(Fact("stop", last, end, "upon", room=stay.room, thing=int(thing), naming=name))
            continue
        fronted = item.kind in FRONTED and bearing < math.radians(35)
        facts.append(
            Fact("stop", last, end, "in front" if fronted else "beside", room=stay.room, thing=int(thing), naming=name)
        )
    return facts
