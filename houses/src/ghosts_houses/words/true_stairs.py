"""Where on a walk claims about stairs and floors hold."""

from __future__ import annotations

import numpy as np

from ghosts_houses.house import House
from ghosts_houses.words.reader import Claim
from ghosts_houses.words.walk import Span, Walk

_FLOORS = {"first": 0, "ground": 0, "main": 0, "second": 1, "third": 2}
_NEAR_M = 2.0


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
        near = [k for k, node in enumerate(walk.nodes_m) if any(np.linalg.norm(node - p) < _NEAR_M for p in ends)]
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
