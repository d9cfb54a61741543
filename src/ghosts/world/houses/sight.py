"""Which things can be seen from which viewpoints: rays whose first hit is the thing itself."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from ghosts.world.houses.house import House, Thing
from ghosts.world.houses.viewpoints import HouseGraph
from ghosts.world.houses.walk import Solids

SIGHT_M = 7.0
"""Farthest a thing is looked for; instructions keep to what is nearer still."""
_LEAST_SHARE = 0.34
"""A thing counts as seen when at least this share of the rays to its parts reach it: a corner of it is not enough."""
_PARTS = 6


def things_seen(house: House, graph: HouseGraph) -> Bool[np.ndarray, "n things"]:
    """Whether each thing is in plain sight of each viewpoint's camera.

    Rays go to the middles and tops of a thing's largest parts; one counts when it meets no other solid first.
    """
    solids = Solids.of(house)
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
        reached = _first_hit(solids.near(eye, SIGHT_M), eye, aims) == owner
        for k in near:
            seen[index, k] = reached[owner == k].mean() >= _LEAST_SHARE
    return seen


def _targets(thing: Thing) -> np.ndarray:
    """Points on a thing's largest parts: middle and top of each."""
    parts = sorted(thing.parts, key=lambda part: -part.half_m[0] * part.half_m[1] * part.half_m[2])[:_PARTS]
    points = []
    for part in parts:
        x, y, z = part.center_m
        points += [(x, y, z), (x, y, z + 0.98 * part.half_m[2])]
    return np.array(points, float).reshape(-1, 3)


def _first_hit(solids: Solids, eye: np.ndarray, aims: np.ndarray) -> np.ndarray:
    """Index of the thing that each ray meets first (−1: the shell, −2: nothing)."""
    # Rays go 2 cm past their aim, so that one that ends on a surface meets it.
    way = aims - eye
    ends = aims + 0.02 * way / np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-9)
    entry = solids.entry(np.repeat(eye[None], len(aims), 0), ends)
    first = entry.argmin(1)
    return np.where(np.isfinite(entry.min(1)), solids.thing[first], -2)
