"""What a camera sees: lines between points against the solids that the ray caster draws, in NumPy."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from ghosts_houses.house import House, Thing
from ghosts_houses.solids import AABB, FORMS, TINY, Solids, crossing

SIGHT_M = 7.0
"""Farthest a thing is looked for; instructions keep to what is nearer still."""
_LEAST_SHARE = 0.34
"""A thing counts as seen when at least this share of the rays to its parts reach it: a corner of it is not enough."""
_PARTS = 4
_BLOCK = 64
"""Lines tested at once: with some solids they stay in the processor's cache."""


def entry(
    solids: Solids, origin_m: Float[np.ndarray, "n 3"], target_m: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "n p"]:
    """Where lines from point to point enter solids.

    Args:
        solids: p solids.
        origin_m: first points of n lines.
        target_m: last points.

    Returns:
        For every line and solid the fraction of the line at which it enters (0 when it starts inside), infinity when
        it misses.
    """
    ray = target_m - origin_m
    ray = np.where(np.abs(ray) < TINY, TINY, ray).T[:, :, None]
    result = np.full((len(origin_m), len(solids.form)), np.inf)
    for form in FORMS:
        which = np.flatnonzero(solids.form == form)
        if which.size:
            # One array per axis: reducing over a last axis of length 3 takes NumPy twice as long as all the rest.
            offset = solids.center[which].T[:, None, :] - origin_m.T[:, :, None]
            rays = np.reciprocal(ray) if form == AABB else ray
            with np.errstate(invalid="ignore"):
                enter, leave = crossing(np, form, rays, offset, solids.half[which].T, solids.turn[which].T)
            enter, leave = np.maximum(enter, 0.0), np.minimum(leave, 1.0)
            result[:, which] = np.where(enter <= leave, enter, np.inf)
    return result


def sees(
    solids: Solids, origin_m: Float[np.ndarray, "n 3"], target_m: Float[np.ndarray, "n 3"]
) -> Bool[np.ndarray, " n"]:
    """Whether nothing stands between the ends of each segment."""
    free = np.ones(len(origin_m), bool)
    # Large solids first: floors and walls stop most lines, so few are left for the many small pieces.
    faces = np.sort(solids.half, axis=1)[:, 1:].prod(1)
    order = np.argsort(-faces, kind="stable")
    for indices in np.split(order, (40, 120, 360)):
        group = solids.only(indices)
        left = np.flatnonzero(free)
        for index in range(0, len(left), _BLOCK):
            block = left[index : index + _BLOCK]
            free[block] = ~np.isfinite(entry(group, origin_m[block], target_m[block])).any(1)
    return free


def things_seen(house: House, eyes_m: Float[np.ndarray, "n 3"]) -> Bool[np.ndarray, "n things"]:
    """Whether each thing is in plain sight of each camera.

    Rays go to the middles and tops of a thing's largest parts; one counts when it meets no other solid first.
    """
    solids, owners = Solids.of(house.primitives), np.array(house.owners)
    shell, parts, part_of = solids.only(owners < 0), solids.only(owners >= 0), owners[owners >= 0]
    reach = np.linalg.norm(shell.reach_m, axis=0) + SIGHT_M
    seen = np.zeros((len(eyes_m), len(house.things)), bool)
    targets = [_targets(thing) for thing in house.things]
    for index, eye in enumerate(eyes_m):
        near = np.flatnonzero(np.linalg.norm(house.centers_m - eye, axis=1) <= SIGHT_M)
        if not len(near):
            continue
        aims = np.concatenate([targets[k] for k in near])
        owner = np.concatenate([np.full(len(targets[k]), k) for k in near])
        # Walls stop most rays; only the others are tested against the furniture. Aims lie within a thing, and a thing
        # may touch a wall, so a ray that meets the shell in its last 3 cm is let through.
        short = eye + 0.997 * (aims - eye) - 0.03 * _unit(aims - eye)
        close = shell.only(np.linalg.norm(shell.center - eye, axis=1) <= reach)
        open_ = np.flatnonzero(sees(close, np.repeat(eye[None], len(aims), 0), short))
        if not len(open_):
            continue
        # A thing of which the walls hide every part hides no other.
        within = np.isin(part_of, owner[open_])
        reached = np.zeros(len(aims), bool)
        reached[open_] = _first_hit(parts.only(within), part_of[within], eye, aims[open_]) == owner[open_]
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


def _first_hit(parts: Solids, part_of: np.ndarray, eye: np.ndarray, aims: np.ndarray) -> np.ndarray:
    """Index of the thing that each ray meets first; −2 where it meets none."""
    first = np.full(len(aims), -2)
    # Rays go 2 cm past their aim, so that one that ends on a surface meets it.
    ends = aims + 0.02 * _unit(aims - eye)
    for start in range(0, len(aims), _BLOCK):
        block = slice(start, start + _BLOCK)
        at = entry(parts, np.repeat(eye[None], len(ends[block]), 0), ends[block])
        first[block] = np.where(np.isfinite(at.min(1)), part_of[at.argmin(1)], -2)
    return first
