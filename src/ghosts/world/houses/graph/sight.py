"""Which things can be seen from which viewpoints: rays whose first hit is the thing itself."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from ghosts.world.houses.graph.viewpoints import HouseGraph
from ghosts.world.houses.graph.walk import Solids, sees
from ghosts.world.houses.house import House, Thing

SIGHT_M = 7.0
"""Farthest a thing is looked for; instructions keep to what is nearer still."""
_LEAST_SHARE = 0.34
"""A thing counts as seen when at least this share of the rays to its parts reach it: a corner of it is not enough."""
_PARTS = 4


def things_seen(house: House, graph: HouseGraph) -> Bool[np.ndarray, "n things"]:
    """Whether each thing is in plain sight of each viewpoint's camera.

    Rays go to the middles and tops of a thing's largest parts; one counts when it meets no other solid first.
    """
    solids = Solids.of(house)
    shell, parts = solids.where(solids.thing < 0), solids.where(solids.thing >= 0)
    seen = np.zeros((len(graph.viewpoints), len(house.things)), bool)
    centers = np.array([thing.center_m for thing in house.things], float).reshape(-1, 3)
    targets = [_targets(thing) for thing in house.things]
    for index, point in enumerate(graph.viewpoints):
        eye = np.array(point.position_m)
        near = np.flatnonzero(np.linalg.norm(centers - eye, axis=1) <= SIGHT_M)
        if not len(near):
            continue
        aims = np.concatenate([targets[k] for k in near])
        owner = np.concatenate([np.full(len(targets[k]), k) for k in near])
        # Walls stop most rays; only the others are tested against the furniture. Aims lie within a thing, and a thing
        # may touch a wall, so a ray that meets the shell in its last 3 cm is let through.
        short = eye + 0.997 * (aims - eye) - 0.03 * _unit(aims - eye)
        open_ = np.flatnonzero(sees(shell.near(eye, SIGHT_M), np.repeat(eye[None], len(aims), 0), short))
        if not len(open_):
            continue
        # A thing of which the walls hide every part hides no other.
        within = parts.where(np.isin(parts.thing, owner[open_]))
        reached = np.zeros(len(aims), bool)
        reached[open_] = _first_hit(within, eye, aims[open_]) == owner[open_]
        share = np.bincount(owner, reached, len(house.things)) / np.maximum(
            np.bincount(owner, minlength=len(house.things)), 1
        )
        seen[index] = share >= _LEAST_SHARE
    return seen


def _targets(thing: Thing) -> np.ndarray:
    """Points on a thing's largest parts: the middle of each, and the tops of the two largest."""
    parts = sorted(thing.parts, key=lambda part: -part.half_m[0] * part.half_m[1] * part.half_m[2])[:_PARTS]
    middles = [part.center_m for part in parts]
    tops = [(part.center_m[0], part.center_m[1], part.center_m[2] + 0.98 * part.half_m[2]) for part in parts[:2]]
    return np.array(middles + tops, float).reshape(-1, 3)


def _unit(way: np.ndarray) -> np.ndarray:
    return way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)


def _first_hit(parts: Solids, eye: np.ndarray, aims: np.ndarray) -> np.ndarray:
    """Index of the thing that each ray meets first; −2 where it meets none."""
    first = np.full(len(aims), -2)
    # Rays go 2 cm past their aim, so that one that ends on a surface meets it.
    ends = aims + 0.02 * _unit(aims - eye)
    for start in range(0, len(aims), 64):
        block = slice(start, start + 64)
        entry = parts.entry(np.repeat(eye[None], len(ends[block]), 0), ends[block])
        first[block] = np.where(np.isfinite(entry.min(1)), parts.thing[entry.argmin(1)], -2)
    return first
