"""Checks an instruction against the house: is there a reading of its words that the walk fulfils, in order?

Independent of the writer: it gets the text, the walk's positions and the house, reads the words with `reader`, and
works out turns, sides, rooms and doors anew (by sampling the walk), with a person's tolerance.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from ghosts_houses.house import House
from ghosts_houses.words.reader import Claim, read
from ghosts_houses.words.true_rooms import door_spans, room_spans, stair_spans
from ghosts_houses.words.true_things import thing_spans, window_spans
from ghosts_houses.words.walk import Span, Walk, sighted
from ghosts_sim.geometry import heading_of, turn_rad

_TOLERANCE_M = 1.4
"""How far out of order two claims may be told: "exit and turn left" when the turn is in the doorway."""
_UNTOLD_M = 4.0
"""A text does not fit a walk that goes on for longer than this after its last claim."""


def contradictions(
    house: House, ground_m: Float[np.ndarray, "k 3"], heading_rad: float, seen: Bool[np.ndarray, "k things"], text: str
) -> list[str]:
    """The claims of a text that are false.

    Args:
        house: the house.
        ground_m: the walk's viewpoints, on the ground.
        heading_rad: heading at the start.
        seen: which thing is in plain sight of which viewpoint of the walk.
        text: the instruction.

    Returns:
        One line for every claim that does not hold, in reading order; empty when all is true.
    """
    walk = Walk(house, ground_m, seen, sighted(house, ground_m, seen))
    claims = read(text, {thing.kind for thing in house.things}, {thing.color_word for thing in house.things})
    return _follow(house, walk, heading_rad, claims)[0]


def fits(house: House, walk: Walk, heading_rad: float, claims: list[Claim]) -> bool:
    """Whether a walk fits claims: all of them hold, and it does not go on long after the last."""
    # The end of a walk is quickly refuted: most walks need no more than that.
    if claims and not _options(house, walk, heading_rad, claims[-1]):
        return False
    if max(walk.rooms) < 0:
        return False  # in doorways all the way
    wrong, place_m = _follow(house, walk, heading_rad, claims, first=True)
    return not wrong and walk.end_m - place_m <= _UNTOLD_M


def contradicted(house: House, walk: Walk, heading_rad: float, claims: list[Claim]) -> bool:
    """Whether some claim does not hold on a walk."""
    return bool(_follow(house, walk, heading_rad, claims, first=True)[0])


def _follow(
    house: House, walk: Walk, heading_rad: float, claims: list[Claim], first: bool = False
) -> tuple[list[str], float]:
    """Claims that are false on a walk (with `first`, only the first of them), and where the last true one holds."""
    wrong = []
    place, last_turn = 0.0, -1
    for claim in claims:
        turning = claim.kind in ("turn", "around")
        options = _options(house, walk, heading_rad, claim)
        if turning:
            options = [option for option in options if option[1] > last_turn]
        reachable = [(max(place, low), node) for (low, high), node in options if high + _TOLERANCE_M >= place]
        if not reachable:
            wrong.append(f"{claim.kind} {claim.words!r}: {'not there' if not options else 'out of order'}")
            if first:
                break
            continue
        place, node = min(reachable)
        last_turn = node if turning else last_turn
    return wrong, place


def _options(house: House, walk: Walk, heading_rad: float, claim: Claim) -> list[tuple[Span, int]]:
    """Stretches of a walk where a claim holds; for a turn with the viewpoint where it ends."""
    key = heading_rad, claim
    if key not in walk.held:
        turning = claim.kind in ("turn", "around")
        walk.held[key] = (
            _turn_spans(walk, heading_rad, claim)
            if turning
            else [(span, -1) for span in _spans(house, walk, heading_rad, claim)]
        )
    return walk.held[key]


def _turn_spans(walk: Walk, heading_rad: float, claim: Claim) -> list[tuple[Span, int]]:
    """Where a turn of the claimed hand and size happens: at one viewpoint, or over two close ones."""
    moves = np.atleast_1d(heading_of(np.diff(walk.nodes_m[:, :2], axis=0)))
    angles = np.degrees(turn_rad(np.concatenate([[heading_rad], moves[:-1]]), moves))
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
    low, high = {"slight": (15, 75), "sharp": (95, 180), "square": (60, 120), "": (35, 150)}[claim.size]
    return (degrees > 0) == (claim.side == "right") and low <= abs(degrees) <= high


def _spans(house: House, walk: Walk, heading_rad: float, claim: Claim) -> list[Span]:
    """Stretches of the walk where a claim holds."""
    if claim.things and claim.things != ("window",):
        return thing_spans(house, walk, heading_rad, claim)
    if claim.kind in ("climb", "end", "onstairs", "floor") and not claim.things:
        return stair_spans(house, walk, claim)
    if max(walk.rooms) < 0:
        return []  # in doorways all the way: no claim about rooms holds
    if claim.things:
        return window_spans(house, walk, claim)
    if claim.kind == "door":  # a door without a room after it: any crossing on that side
        return door_spans(house, walk, claim)
    return room_spans(house, walk, claim)
