"""Checks an instruction against the house: is there a reading of its words that the walk fulfils, in order?

Independent of the writer: it gets the text, the walk's positions and the house, reads the words with `reader`, and
works out turns, sides, rooms and doors anew (by sampling the walk), with a person's tolerance.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ghosts.geometry import heading_of, turn_rad
from ghosts.world.houses.house import House, Thing
from ghosts.world.houses.words.reader import Claim, read

_TOLERANCE_M = 1.4
"""How far out of order two claims may be told: "exit and turn left" when the turn is in the doorway."""
_SIGHT_M = 6.5
Span = tuple[float, float]


@dataclass(frozen=True)
class Walk:
    """A walk sampled every few centimetres."""

    nodes_m: Float[np.ndarray, "k 3"]
    """Ground under the viewpoints."""
    node_at_m: Float[np.ndarray, " k"]
    at_m: Float[np.ndarray, " n"]
    xy_m: Float[np.ndarray, "n 2"]
    heading_rad: Float[np.ndarray, " n"]
    room: np.ndarray
    """Room index of every sample; −1 inside walls."""
    start_heading_rad: float
    seen: Bool[np.ndarray, "k things"]


def contradictions(
    house: House,
    ground_m: Float[np.ndarray, "k 3"],
    heading_rad: float,
    seen: Bool[np.ndarray, "k things"],
    text: str,
) -> list[str]:
    """What a text says that is not so.

    Args:
        house: the house.
        ground_m: the walk's viewpoints, on the ground.
        heading_rad: heading at the start.
        seen: which thing is in plain sight of which viewpoint of the walk.
        text: the instruction.

    Returns:
        One line for every claim that does not hold, in reading order; empty when all is true.
    """
    walk = _sample(house, ground_m, heading_rad, seen)
    claims = read(text, {thing.kind for thing in house.things}, {thing.color_word for thing in house.things})
    wrong = []
    place, last_turn = 0.0, -1
    for claim in claims:
        if claim.kind in ("turn", "around"):
            options = [(span, node) for span, node in _turn_spans(walk, claim) if node > last_turn]
        else:
            options = [(span, last_turn) for span in _spans(house, walk, claim)]
        reachable = [(max(place, low), node) for (low, high), node in options if high + _TOLERANCE_M >= place]
        if not reachable:
            wrong.append(f"{claim.kind} {claim.words!r}: {'not there' if not options else 'out of order'}")
            continue
        place, last_turn = min(reachable)
    return wrong


def _sample(house: House, ground_m: np.ndarray, heading_rad: float, seen: np.ndarray) -> Walk:
    moves = np.diff(ground_m[:, :2], axis=0)
    node_at = np.concatenate([[0.0], np.cumsum(np.hypot(moves[:, 0], moves[:, 1]))])
    at = np.linspace(0.0, node_at[-1], int(node_at[-1] / 0.04) + 2)
    x, y, z = (np.interp(at, node_at, ground_m[:, axis]) for axis in range(3))
    move = np.clip(np.searchsorted(node_at, at, side="right") - 1, 0, len(moves) - 1)
    return Walk(
        ground_m,
        node_at,
        at,
        np.stack([x, y], 1),
        np.asarray(heading_of(moves))[move],
        house.rooms_at(np.stack([x, y, z + 0.3], 1)),
        heading_rad,
        seen,
    )


def _turn_spans(walk: Walk, claim: Claim) -> list[tuple[Span, int]]:
    """Where a turn of the claimed hand and size happens: at one viewpoint, or over two close ones."""
    moves = np.asarray(heading_of(np.diff(walk.nodes_m[:, :2], axis=0)))
    before = np.concatenate([[walk.start_heading_rad], moves[:-1]])
    angles = np.degrees(turn_rad(before, moves))
    found = []
    for first in range(len(angles)):
        for last in range(first, min(first + 2, len(angles))):
            if last > first and (first == 0 or walk.node_at_m[last] - walk.node_at_m[first] > 1.7):
                continue
            total = float(angles[first : last + 1].sum())
            if _fits_turn(total, claim):
                found.append(((float(walk.node_at_m[first]), float(walk.node_at_m[last])), last))
    return found


def _fits_turn(degrees: float, claim: Claim) -> bool:
    if claim.kind == "around":
        return abs(degrees) > 125
    low, high = {"slight": (15, 75), "sharp": (95, 180), "": (35, 150)}[claim.size]
    return (degrees > 0) == (claim.side == "right") and low <= abs(degrees) <= high


def _spans(house: House, walk: Walk, claim: Claim) -> list[Span]:
    """Stretches of the walk where a claim holds."""
    end = float(walk.at_m[-1])
    if claim.kind in ("leave", "enter", "walk", "in", "inside", "doorway", "mention") and claim.rooms:
        return _room_spans(house, walk, claim)
    if claim.things:
        return _thing_spans(house, walk, claim)
    ground = walk.nodes_m[:, 2]
    if claim.kind == "climb":
        rising = [
            k for k in range(len(ground) - 1) if (ground[k + 1] - ground[k]) * (1 if claim.side == "up" else -1) > 0.2
        ]
        return [(float(walk.node_at_m[k]), float(walk.node_at_m[k + 1])) for k in rising]
    if claim.kind == "end":
        ends = [stair.head_m if claim.side == "top" else stair.foot_m for stair in house.stairs]
        near = any(np.linalg.norm(walk.nodes_m[-1] - np.array(point)) < 2.0 for point in ends)
        return [(end, end)] if near else []
    if claim.kind == "onstairs":
        return [(end, end)] if all(abs(ground[-1] - room.floor_z_m) > 0.2 for room in house.rooms) else []
    if claim.kind == "door":  # a door without a room after it: any crossing on that side
        return [
            (at, at) for at, _, _, opening in _crossings(house, walk) if _door_holds(house, walk, claim, at, opening)
        ]
    return []


def _crossings(house: House, walk: Walk) -> list[tuple[float, int, int, int]]:
    """(place, room left, room entered, opening) for every change of room."""
    found = []
    known = np.flatnonzero(walk.room >= 0)
    for a, b in itertools.pairwise(known):
        if walk.room[a] != walk.room[b]:
            middle = (walk.xy_m[a] + walk.xy_m[b]) / 2
            pair = {int(walk.room[a]), int(walk.room[b])}
            joins = [k for k, o in enumerate(house.openings) if set(o.rooms) == pair]
            near = sorted(
                joins, key=lambda k: math.hypot(house.openings[k].x_m - middle[0], house.openings[k].y_m - middle[1])
            )
            at = float((walk.at_m[a] + walk.at_m[b]) / 2)
            found.append((at, int(walk.room[a]), int(walk.room[b]), near[0] if near else -1))
    return found


def _room_spans(house: House, walk: Walk, claim: Claim) -> list[Span]:
    end = float(walk.at_m[-1])
    kinds = [room.kind in claim.rooms for room in house.rooms]
    final = int(walk.room[walk.room >= 0][-1])
    crossings = _crossings(house, walk)
    if claim.kind == "leave":
        found = [(at, at) for at, left, _, _ in crossings if kinds[left]]
        # Standing in its doorway, a walker leaves a room with the first step.
        return found + [
            (0.0, 0.0) for opening in _openings_near(house, walk.nodes_m[0]) if any(kinds[r] for r in opening)
        ]
    if claim.kind == "enter":
        hits = [(at, opening) for at, _, room, opening in crossings if kinds[room] and _holds(house, walk, claim, room)]
        return [(at, at) for at, opening in hits if _door_holds(house, walk, claim, at, opening)]
    if claim.kind == "walk":
        return _stretches(walk, kinds)
    if claim.kind == "doorway":
        return [(end, end) for opening in _openings_near(house, walk.nodes_m[-1]) if any(kinds[r] for r in opening)][:1]
    inside = kinds[final] and abs(walk.nodes_m[-1, 2] - house.rooms[final].floor_z_m) < 0.2
    entered = [at for at, _, room, _ in crossings if room == final]
    if claim.kind == "inside":
        inside = inside and bool(entered) and end - entered[-1] < 2.2
    if claim.kind == "mention":
        return _stretches(walk, kinds, 0.0)
    return [(end, end)] if inside else []


def _stretches(walk: Walk, kinds: list[bool], least_m: float = 1.2) -> list[Span]:
    """Stretches of at least some length within rooms of the given kinds."""
    inside = np.array([room >= 0 and kinds[room] for room in walk.room])
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(int), [0]])))
    spans = [(float(walk.at_m[a]), float(walk.at_m[b - 1])) for a, b in zip(edges[::2], edges[1::2])]
    return [(low, high) for low, high in spans if high - low >= least_m]


def _openings_near(house: House, point_m: np.ndarray) -> list[tuple[int, ...]]:
    """Rooms joined by each door within 0.7 m of a point."""
    return [
        tuple(r for r in o.rooms if r >= 0)
        for o in house.openings
        if o.kind != "window"
        and abs(o.bottom_z_m - point_m[2]) < 0.3
        and math.hypot(o.x_m - point_m[0], o.y_m - point_m[1]) < 0.7
    ]


def _holds(house: House, walk: Walk, claim: Claim, room: int) -> bool:
    """Whether a room holds the thing it is named by, in sight on the way."""
    if not claim.holds:
        return True
    return any(t.kind in claim.holds and t.room == room and walk.seen[:, k].any() for k, t in enumerate(house.things))


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
    came_by = [opening for at, _, entered, opening in _crossings(house, walk) if at < at_m and entered == room]
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


def _thing_spans(house: House, walk: Walk, claim: Claim) -> list[Span]:
    spans: list[Span] = []
    for index, thing in enumerate(house.things):
        if thing.kind not in claim.things or (claim.color and thing.color_word != claim.color):
            continue
        if claim.within and house.rooms[thing.room].kind not in claim.within:
            continue
        distance = np.linalg.norm(walk.nodes_m - np.array(thing.center_m), axis=1)
        sighted = walk.seen[:, index] & (distance < _SIGHT_M)
        if sighted.any():
            spans += _one_thing(walk, claim, thing, sighted)
    return spans


def _one_thing(walk: Walk, claim: Claim, thing: Thing, sighted: np.ndarray) -> list[Span]:
    end = float(walk.at_m[-1])
    center = np.array(thing.center_m[:2])
    bearing = np.degrees(turn_rad(walk.heading_rad, heading_of(center - walk.xy_m)))
    if claim.kind == "pass":
        near = (thing.gap_m(walk.xy_m) < 2.6) & (np.abs(bearing) > 60) & (np.abs(bearing) < 120)
        if claim.side:
            near &= (bearing > 0) == (claim.side == "right")
        return [(float(at), float(at)) for at in walk.at_m[near]]
    if claim.kind == "toward":
        moves = range(len(walk.node_at_m) - 1)
        gaps = np.linalg.norm(walk.nodes_m[:, :2] - center, axis=1)
        good = [
            k for k in moves if sighted[k] and gaps[k + 1] < gaps[k] - 0.3 and abs(bearing[_sample_at(walk, k)]) < 25
        ]
        return [(float(walk.node_at_m[k]), float(walk.node_at_m[k + 1])) for k in good]
    if claim.kind in ("orient", "with"):
        first = abs(float(bearing[0]))
        sided = (
            first > 130 if claim.side == "behind" else 45 < first < 135 and (bearing[0] > 0) == (claim.side == "right")
        )
        return [(0.0, 0.0)] if sighted[0] and sided else []
    if not sighted[-1]:
        return []
    gap = float(thing.gap_m(walk.xy_m[-1]))
    limit = {"beside": 2.0, "front": 2.2, "upon": 0.01}.get(claim.kind, 0.0)
    if claim.kind == "front":
        front = math.degrees(abs(float(turn_rad(math.pi / 2 - thing.yaw_rad, heading_of(walk.xy_m[-1] - center)))))
        limit = limit if front < 60 else -1.0
    return [(end, end)] if gap <= limit else []


def _sample_at(walk: Walk, node: int) -> int:
    """The first sample after leaving a viewpoint."""
    return min(int(np.searchsorted(walk.at_m, walk.node_at_m[node] + 1e-6)), len(walk.at_m) - 1)
