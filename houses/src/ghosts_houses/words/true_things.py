"""Where on a walk claims about things and windows hold."""

from __future__ import annotations

import math

import numpy as np

from ghosts_houses.house import House, Thing
from ghosts_houses.words.reader import Claim
from ghosts_houses.words.walk import Span, Walk
from ghosts_sim.geometry import heading_of, turn_rad

_AT_M = 2.0
_BY_M = 2.4


def thing_spans(house: House, walk: Walk, heading_rad: float, claim: Claim) -> list[Span]:
    """Stretches of a walk where a claim on things holds for one of those it may mean."""
    spans: list[Span] = []
    for index in meant(house, walk, claim):
        thing = house.things[index]
        if claim.kind == "between":
            others = meant(house, walk, claim.other) if claim.other is not None else []
            for other in others:
                if other != index:
                    spans += _between(walk, claim, thing, house.things[other])
        else:
            spans += _one_thing(walk, heading_rad, claim, thing, walk.sighted[:, index])
    return spans


def meant(house: House, walk: Walk, claim: Claim) -> list[int]:
    """Things in sight on a walk that a claim's noun, adjectives and place fit."""
    if claim not in walk.described:
        walk.described[claim] = _described(house, claim)
    found = [k for k in walk.described[claim] if k in walk.glimpsed]
    if claim.count:
        rooms = {house.things[k].room for k in found}
        right = {room for room in rooms if sum(house.things[k].room == room for k in found) == claim.count}
        found = [k for k in found if house.things[k].room in right]
    return found


def _described(house: House, claim: Claim) -> list[int]:
    """Things of a house that a claim's noun, adjectives and place fit."""
    return [
        index
        for index, thing in enumerate(house.things)
        if thing.kind in claim.things
        and (not claim.color or thing.color_word == claim.color)
        and (not claim.within or house.rooms[thing.room].kind in claim.within)
        and (not claim.place or _placed(house, thing, claim.place))
        and all(_has(house, thing, trait) for trait in claim.traits)
    ]


def _has(house: House, thing: Thing, trait: str) -> bool:
    """Whether an adjective fits a thing: its size among those of its kind, its shape, or what it is made of."""
    x, y, z = (2 * half for half in thing.half_m)
    longest = sorted(2 * max(other.half_m) for other in house.things if other.kind == thing.kind)
    if trait == "large":
        return max(x, y, z) >= max(0.75, 0.95 * longest[-1])
    if trait == "small":
        return max(x, y, z) <= min(2.2, 1.05 * longest[0] + 0.05)
    if trait == "tall":
        return z >= 1.3
    if trait == "long":
        return max(x, y) >= 1.2 and max(x, y) >= 1.3 * min(x, y)
    if trait == "round":
        wide = max(thing.half_m[:2])
        return any(part.shape != "box" and max(part.half_m[:2]) > 0.7 * wide for part in thing.parts)
    if trait in ("square", "rectangular"):
        return (max(x, y) < 1.25 * min(x, y)) == (trait == "square") or 1.1 < max(x, y) / min(x, y) < 1.25
    if trait == "picture":
        return any(part.material == "picture" for part in thing.parts)
    return any(part.material == trait for part in thing.parts)


def _placed(house: House, thing: Thing, place: str) -> bool:
    """Whether a thing is where in its room it is said to be."""
    room = house.rooms[thing.room]
    x, y = thing.center_m[:2]
    if place == "window":
        windows = [o for o in house.openings if o.kind == "window" and thing.room in o.rooms]
        return any(math.dist((x, y), (o.x_m, o.y_m)) < 1.5 for o in windows)
    sides = room.gaps_m(x, y)
    if place == "hung":
        return thing.center_m[2] - thing.half_m[2] - room.floor_z_m > 0.4 and min(sides) < 0.3
    if place == "against":
        return min(sides) - min(thing.half_m[:2]) < 0.4
    return max(sides) - max(thing.half_m[:2]) < 0.6


def _bearings(walk: Walk, thing: Thing) -> np.ndarray:
    """Direction of a thing from every sample, in degrees against the heading; positive = right."""
    way = heading_of(np.array(thing.center_m[:2]) - walk.xy_m)
    return np.asarray(np.degrees(turn_rad(walk.heading_rad, way)))


def _between(walk: Walk, claim: Claim, one: Thing, other: Thing) -> list[Span]:
    gaps = np.maximum(one.gap_m(walk.xy_m), other.gap_m(walk.xy_m))
    ways = [heading_of(np.array(thing.center_m[:2]) - walk.xy_m) for thing in (one, other)]
    apart = np.abs(np.degrees(turn_rad(ways[0], ways[1])))
    holds = (gaps < _BY_M) & (apart > 100)
    if claim.final:
        return [(walk.end_m, walk.end_m)] if holds[-1] else []
    sides = _bearings(walk, one) * _bearings(walk, other) < 0
    return _places(walk, holds & sides)


def _places(walk: Walk, holds: np.ndarray) -> list[Span]:
    return [(float(at), float(at)) for at in walk.at_m[holds]]


def _one_thing(walk: Walk, heading_rad: float, claim: Claim, thing: Thing, sighted: np.ndarray) -> list[Span]:
    center = np.array(thing.center_m[:2])
    if claim.kind == "pass":
        near = thing.gap_m(walk.xy_m) < 2.6
        if not near.any():
            return []
        bearing = _bearings(walk, thing)
        near &= (np.abs(bearing) > 60) & (np.abs(bearing) < 120)
        if claim.side:
            near &= (bearing > 0) == (claim.side == "right")
        return _places(walk, near)
    if claim.kind == "toward":
        return _approaches(walk, center, sighted)
    if claim.kind == "see":
        return [(float(walk.node_at_m[k]), float(walk.node_at_m[k])) for k in np.flatnonzero(sighted)]
    if claim.kind in ("orient", "with", "away") or (claim.kind == "facing" and not claim.final):
        return [(0.0, 0.0)] if sighted[0] and _at_start(walk, heading_rad, claim, thing) else []
    if claim.kind in ("by", "front") and not claim.final:
        return _places(walk, thing.gap_m(walk.xy_m) < _BY_M)
    return [(walk.end_m, walk.end_m)] if sighted[-1] and _at_end(walk, claim, thing) else []


def _at_start(walk: Walk, heading_rad: float, claim: Claim, thing: Thing) -> bool:
    way = heading_of(np.array(thing.center_m[:2]) - walk.xy_m[0])
    if claim.kind == "facing":
        return abs(math.degrees(float(turn_rad(heading_rad, way)))) < 35
    first = math.degrees(float(turn_rad(walk.heading_rad[0], way)))
    if claim.kind == "away" or claim.side == "behind":
        return abs(first) > 125
    return 45 < abs(first) < 135 and (first > 0) == (claim.side == "right")


def _at_end(walk: Walk, claim: Claim, thing: Thing) -> bool:
    here = walk.end_xy_m
    if claim.kind == "facing":
        return abs(float(_bearings(walk, thing)[-1])) < 40
    gap = float(thing.gap_m(here))
    if claim.kind == "front":
        way = heading_of(here - np.array(thing.center_m[:2]))
        front = math.degrees(abs(float(turn_rad(math.pi / 2 - thing.yaw_rad, way))))
        return gap <= 2.2 and front < 60
    return gap <= {"by": _AT_M, "upon": 0.01}.get(claim.kind, -1.0)


def _approaches(walk: Walk, center_m: np.ndarray, sighted: np.ndarray) -> list[Span]:
    """Moves that bring a place ahead nearer."""
    gaps = np.linalg.norm(walk.nodes_m[:, :2] - center_m, axis=1)
    nearer = np.flatnonzero(sighted[:-1] & (gaps[1:] < gaps[:-1] - 0.3)).tolist()
    if not nearer:
        return []
    first = [walk.sample_at(k) for k in nearer]
    bearing = np.abs(np.degrees(turn_rad(walk.heading_rad[first], heading_of(center_m - walk.xy_m[first]))))
    ahead = [k for k, off in zip(nearer, bearing) if off < 25]
    return [(float(walk.node_at_m[k]), float(walk.node_at_m[k + 1])) for k in ahead]


def window_spans(house: House, walk: Walk, claim: Claim) -> list[Span]:
    """Stretches of a walk where a claim on a window holds."""
    spans: list[Span] = []
    for opening in house.openings:
        if opening.kind != "window" or walk.rooms.isdisjoint(opening.rooms):
            continue
        center = np.array([opening.x_m, opening.y_m])
        if claim.kind == "toward":
            spans += _approaches(walk, center, np.ones(len(walk.node_at_m), bool))
        elif walk.final_room in opening.rooms and math.dist(walk.end_xy_m, center) < _AT_M:
            spans.append((walk.end_m, walk.end_m))
    return spans
