"""Where on a walk claims about rooms, doors, stairs and floors hold."""

from __future__ import annotations

import math

import numpy as np

from ghosts_houses.house import House, Opening, Room
from ghosts_houses.words.reader import Claim
from ghosts_houses.words.walk import Span, Walk
from ghosts_sim.geometry import heading_of, turn_rad

_IN_DOOR_M = 0.7
"""A walker this near to a door's middle stands in the doorway."""
_FLOORS = {"first": 0, "ground": 0, "main": 0, "second": 1, "third": 2}
_STAIR_M = 2.0
"""A walker this near to the end of a flight is at it."""


def room_spans(house: House, walk: Walk, claim: Claim) -> list[Span]:
    """Stretches of a walk where a claim on rooms holds."""
    fit = [not claim.rooms or _fits(house, walk, claim, room) for room in house.rooms]
    if claim.kind == "leave":
        found = [(c.at_m, c.at_m) for c in walk.crossings if fit[c.left]]
        # Standing in its doorway, a walker leaves a room with the first step.
        return found + [(0.0, 0.0) for o in _doors_at(house, walk.nodes_m[0]) if _joins(o, fit)]
    if claim.kind == "enter":
        hits = [c for c in walk.crossings if fit[c.entered]]
        return [(c.at_m, c.at_m) for c in hits if _door_holds(house, walk, claim, c.at_m, c.opening)]
    if claim.kind == "walk" and claim.length_m:
        single = [
            _stretches(walk, [k == room.index for k in range(len(fit))], 0.5) for room in house.rooms if fit[room.index]
        ]
        return [(a, b) for spans in single for a, b in spans if 0.5 < (b - a) / claim.length_m < 1.7]
    if claim.kind == "walk":
        return _stretches(walk, fit, 1.2)
    if claim.kind == "mention":
        return _stretches(walk, fit, 0.0)
    if claim.kind == "hallend":
        return _hall_ends(house, walk, claim, fit)
    if claim.kind == "passroom":
        return _passed(house, walk, claim, fit)
    return [(walk.end_m, walk.end_m)] if _ends_so(house, walk, claim, fit) else []


def _ends_so(house: House, walk: Walk, claim: Claim, fit: list[bool]) -> bool:
    """Whether a walk ends as a claim says: in a room, just inside it, in its doorway, outside it, in its corner."""
    if claim.kind == "doorway":
        doors = [opening for opening in _doors_at(house, walk.nodes_m[-1]) if _joins(opening, fit)]
        others = claim.other.rooms if claim.other is not None else ()
        return any(not others or any(r >= 0 and house.rooms[r].kind in others for r in o.rooms) for o in doors)
    if claim.kind == "outside":
        near = _doors_at(house, walk.nodes_m[-1], 1.9)
        return any(_joins(opening, [f and k != walk.final_room for k, f in enumerate(fit)]) for opening in near)
    room = house.rooms[walk.final_room]
    inside = fit[walk.final_room] and abs(float(walk.nodes_m[-1, 2]) - room.floor_z_m) < 0.2
    if claim.kind == "inside":
        entered = [c.at_m for c in walk.crossings if c.entered == walk.final_room]
        return inside and bool(entered) and walk.end_m - entered[-1] < 2.2
    x, y = walk.end_xy_m.tolist()
    sides = room.x1_m - room.x0_m, room.y1_m - room.y0_m
    if claim.kind == "corner":
        return inside and max(room.gaps_m(x, y)) < 1.4
    if claim.kind == "middle":
        return inside and math.dist((x, y), room.center_m) < 0.3 * min(sides)
    return inside


def _fits(house: House, walk: Walk, claim: Claim, room: Room) -> bool:
    """Whether a room is of the kind, the size and the make that a claim speaks of, and holds what it says."""
    if room.kind not in claim.rooms:
        return False
    if claim.holds and not any(
        thing.kind in claim.holds and thing.room == room.index and walk.seen[:, k].any()
        for k, thing in enumerate(house.things)
    ):
        return False
    if claim.surface and not _made_of(house, room, claim.surface[0], claim.surface[1:]):
        return False
    if not claim.traits:
        return True
    sides = sorted((room.x1_m - room.x0_m, room.y1_m - room.y0_m))
    areas = [r.area_m2 for r in house.rooms if r.kind == room.kind]
    sized = {
        "large": room.area_m2 >= 0.9 * max(areas),
        "small": room.area_m2 <= 1.1 * min(areas),
        "long": sides[1] >= 4.0 and sides[1] >= 1.8 * sides[0],
    }
    return all(sized.get(trait, False) for trait in claim.traits)


def _made_of(house: House, room: Room, part: str, materials: tuple[str, ...]) -> bool:
    """Whether some of a room's floor or walls is made of one of the materials."""
    for solid in house.shell:
        if solid.label != part or solid.material not in materials:
            continue
        low, high = (np.array(solid.center_m) + sign * np.array(solid.half_m) for sign in (-1, 1))
        over = any(low[0] < x1 and high[0] > x0 and low[1] < y1 and high[1] > y0 for x0, y0, x1, y1 in room.rects(0.05))
        top = high[2] - room.floor_z_m
        if over and (abs(top) < 0.05 if part == "floor" else 0.0 < top < 4.0):
            return True
    return False


def _stretches(walk: Walk, fit: list[bool], least_m: float) -> list[Span]:
    """Stretches of at least some length within rooms that fit."""
    inside = np.array([room >= 0 and fit[room] for room in walk.room])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
    spans = [(float(walk.at_m[a]), float(walk.at_m[b - 1])) for a, b in zip(edges[::2], edges[1::2])]
    return [(low, high) for low, high in spans if high - low >= least_m]


def _hall_ends(house: House, walk: Walk, claim: Claim, fit: list[bool]) -> list[Span]:
    """Where a walk that came along a room is near the end of its longer side."""
    spans = []
    for room in (room for room, fits in zip(house.rooms, fit) if fits):
        for low, high in _stretches(walk, [other is room for other in house.rooms], 1.2):
            within = np.flatnonzero((walk.at_m >= low) & (walk.at_m <= high))
            axis = int(room.y1_m - room.y0_m > room.x1_m - room.x0_m)
            along = walk.xy_m[within][:, axis]
            wall = ((room.x0_m, room.x1_m), (room.y0_m, room.y1_m))[axis][int(along[-1] > along[0])]
            near = np.abs(along - wall) < 2.2
            if abs(along[-1] - along[0]) > 1.5 and near[-1]:
                spans.append((float(walk.at_m[within[near.argmax()]]), high))
    return [span for span in spans if not claim.final or walk.end_m - span[1] < 0.3]


def _passed(house: House, walk: Walk, claim: Claim, fit: list[bool]) -> list[Span]:
    """Where the door of a room that fits comes abeam and is not gone through."""
    spans: list[Span] = []
    taken = {crossing.opening for crossing in walk.crossings}
    for index, opening in enumerate(house.openings):
        if not opening.inner or index in taken or not _joins(opening, fit):
            continue
        here = np.isin(walk.room, opening.rooms)
        way = np.array([opening.x_m, opening.y_m]) - walk.xy_m
        bearing = np.degrees(turn_rad(walk.heading_rad, heading_of(way)))
        abeam = here & (np.hypot(way[:, 0], way[:, 1]) < 2.6) & (np.abs(bearing) > 55) & (np.abs(bearing) < 125)
        if claim.side:
            abeam &= (bearing > 0) == (claim.side == "right")
        spans += [(float(at), float(at)) for at in walk.at_m[abeam]]
    return spans


def _doors_at(house: House, point_m: np.ndarray, reach_m: float = _IN_DOOR_M) -> list[Opening]:
    """Doors within some distance of a point."""
    return [
        o
        for o in house.openings
        if o.kind != "window"
        and abs(o.bottom_z_m - point_m[2]) < 0.3
        and math.hypot(o.x_m - point_m[0], o.y_m - point_m[1]) < reach_m
    ]


def _joins(opening: Opening, fit: list[bool]) -> bool:
    return any(room >= 0 and fit[room] for room in opening.rooms)


def door_spans(house: House, walk: Walk, claim: Claim) -> list[Span]:
    """Where a door on the claimed side is gone through."""
    return [(c.at_m, c.at_m) for c in walk.crossings if _door_holds(house, walk, claim, c.at_m, c.opening)]


def _door_holds(house: House, walk: Walk, claim: Claim, at_m: float, opening: int) -> bool:
    """Whether the door taken lies on the claimed side and is the claimed one in number."""
    if not claim.side or opening < 0:
        return not claim.ordinal
    door = np.array([house.openings[opening].x_m, house.openings[opening].y_m])
    before = np.flatnonzero((walk.at_m < at_m - 0.25) & (walk.at_m > at_m - 4.0))
    bearing = np.degrees(turn_rad(walk.heading_rad[before], heading_of(door - walk.xy_m[before])))
    sided = (
        (np.sign(bearing) == (1 if claim.side == "right" else -1)) & (np.abs(bearing) > 25) & (np.abs(bearing) < 150)
    )
    return bool(sided.any()) and (
        not claim.ordinal or _door_number(house, walk, at_m, opening, claim.side) == claim.ordinal
    )


def _door_number(house: House, walk: Walk, at_m: float, taken: int, side: str) -> int:
    """Count the doors of the room being left that come abeam on one side before the one taken, that one included."""
    inside = np.flatnonzero((walk.at_m < at_m) & (walk.room >= 0))
    room = walk.room[inside[-1]]
    stay = inside[walk.room[inside] == room]
    stay = stay[stay >= max([-1, *inside[walk.room[inside] != room]]) + 1]
    bent = np.abs(np.degrees(turn_rad(walk.heading_rad[stay], walk.heading_rad[stay[-1]]))) > 45
    stay = stay[bent] if bent.any() else stay  # doors count while walking along, not after turning to the one taken
    other_way = np.abs(np.degrees(turn_rad(walk.heading_rad[stay], walk.heading_rad[stay[-1]]))) > 45
    stay = stay[np.flatnonzero(other_way)[-1] + 1 :] if other_way.any() else stay  # nor before turning along
    came_by = [c.opening for c in walk.crossings if c.at_m < at_m and c.entered == room]
    count = 1
    for index, opening in enumerate(house.openings):
        if index in (taken, *came_by[-1:]) or not opening.inner or room not in opening.rooms:
            continue
        delta = np.array([opening.x_m, opening.y_m]) - walk.xy_m[stay]
        heading = walk.heading_rad[stay]
        ahead = delta[:, 0] * np.sin(heading) + delta[:, 1] * np.cos(heading)
        right = delta[:, 0] * np.cos(heading) - delta[:, 1] * np.sin(heading)
        abeam = np.flatnonzero((ahead[:-1] > 0) & (ahead[1:] <= 0) & (np.abs(right[:-1]) < 2.5))
        count += len(abeam) > 0 and bool((right[abeam] > 0).any() == (side == "right"))
    return count


def stair_spans(house: House, walk: Walk, claim: Claim) -> list[Span]:
    """Stretches of a walk where a claim on stairs holds."""
    ground, at = walk.nodes_m[:, 2], walk.node_at_m
    if claim.kind == "climb":
        sign = 1 if claim.side == "up" else -1
        return [
            (float(at[k]), float(at[k + 1])) for k in range(len(ground) - 1) if sign * (ground[k + 1] - ground[k]) > 0.2
        ]
    if claim.kind == "onstairs":
        between = all(abs(ground[-1] - room.floor_z_m) > 0.2 for room in house.rooms)
        return [(walk.end_m, walk.end_m)] if between else []
    if claim.kind == "end":
        ends = [np.array(stair.head_m if claim.side == "top" else stair.foot_m) for stair in house.stairs]
        near = [k for k, node in enumerate(walk.nodes_m) if any(np.linalg.norm(node - p) < _STAIR_M for p in ends)]
        if claim.final:
            near = [k for k in near if k == len(walk.nodes_m) - 1]
        return [(float(at[k]), float(at[k])) for k in near]
    return [(float(at[k]), float(at[k])) for k in range(len(at)) if _on_floor(house, walk, claim.side, k)]


def _on_floor(house: House, walk: Walk, floor: str, node: int) -> bool:
    """Whether a viewpoint is on the named floor, or on a floor above or below an earlier one."""
    heights = sorted({room.floor_z_m for room in house.rooms})
    here = float(walk.nodes_m[node, 2])
    if not any(abs(here - height) < 0.2 for height in heights):
        return False
    if floor in _FLOORS:
        return _FLOORS[floor] < len(heights) and abs(here - heights[_FLOORS[floor]]) < 0.2
    rise = here - walk.nodes_m[:node, 2]
    return bool((rise < -1.0).any() if floor == "lower" else (rise > 1.0).any())
