"""How a walker moves on a navigation graph: headings, discretised views, and where it may go next. Pure functions.

The rules, their order and their rounding are those of the original simulator (`peteanderson80/Matterport3DSimulator`).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple, Tuple

import numpy as np

from ghosts_sim import geometry
from ghosts_sim.graph import NavGraph, Ways

HEADINGS = 12
HEADING_STEP_RAD = geometry.TAU / HEADINGS
ELEVATION_STEP_RAD = math.radians(30.0)
DEFAULT_ELEVATION_LIMITS_RAD = (-0.94, 0.94)


class View(NamedTuple):
    """Where a camera looks."""

    heading_rad: float
    elevation_rad: float
    number: int
    """Of the 36 discretised views: 0–11 down, 12–23 level, 24–35 up; 0 when views are not discretised."""


class Candidate(NamedTuple):
    """A viewpoint that can be reached in one move (or the present one), relative to the camera."""

    row: int
    """Row in the graph."""
    turn_rad: float
    """Horizontal angle from the camera's heading, positive to the right."""
    rise_rad: float
    """Vertical angle from the camera's elevation, positive upwards."""
    distance_m: float


def view_towards(
    heading_rad: float,
    elevation_rad: float,
    *,
    discretised: bool = False,
    elevation_limits_rad: tuple[float, float] = DEFAULT_ELEVATION_LIMITS_RAD,
) -> View:
    """Normalise a heading to [0, 2π), and snap or clamp: discretised views ignore the elevation limits.

    Raises:
        ValueError: the heading is not finite.
    """
    if not math.isfinite(heading_rad):
        raise ValueError(f"a heading must be finite, got {heading_rad}")
    heading = math.fmod(heading_rad, geometry.TAU)
    if heading < 0.0:
        heading += geometry.TAU
    if not discretised:
        low, high = elevation_limits_rad
        return View(heading, max(min(elevation_rad, high), low), 0)
    steps = heading / HEADING_STEP_RAD
    step = int(steps)
    step = (step + 1 if steps - step >= 0.5 else step) % HEADINGS
    if elevation_rad < -ELEVATION_STEP_RAD / 2.0:
        return _VIEWS[step]
    return _VIEWS[step + HEADINGS * (1 + (elevation_rad > ELEVATION_STEP_RAD / 2.0))]


_VIEWS = [
    View(step * HEADING_STEP_RAD, level * ELEVATION_STEP_RAD, step + HEADINGS * (level + 1))
    for level in (-1, 0, 1)
    for step in range(HEADINGS)
]


def turn(
    view: View,
    heading_delta_rad: float,
    elevation_delta_rad: float,
    discretised: bool = False,
    elevation_limits_rad: tuple[float, float] = DEFAULT_ELEVATION_LIMITS_RAD,
) -> View:
    """Turn the camera; with discretised views deltas count by their sign only, one step each."""
    if not discretised:
        return view_towards(
            view[0] + heading_delta_rad, view[1] + elevation_delta_rad, elevation_limits_rad=elevation_limits_rad
        )
    level, step = divmod(view[2], HEADINGS)
    step += (heading_delta_rad > 0.0) - (heading_delta_rad < 0.0)
    level += (elevation_delta_rad > 0.0) - (elevation_delta_rad < 0.0)
    return _VIEWS[step % HEADINGS + HEADINGS * min(max(level, 0), 2)]


def candidates(graph: NavGraph, row: int, view: View, hfov_rad: float | None = None) -> list[Candidate]:
    """Where the walker may go: the present viewpoint first, then the others by angle from the view's centre.

    With restricted navigation a viewpoint must lie within an angle, `hfov_rad`.
    """
    found = [Candidate(*item[1:]) for item in ranked(graph, row, view, hfov_rad)]
    return [Candidate(row, 0.0, 0.0, 0.0), *found]


Ranked = Tuple[float, int, float, float, float]
"""Angle from the view's centre, then what a `Candidate` has."""


def ranked(graph: NavGraph, row: int, view: View, hfov_rad: float | None = None) -> list[Ranked]:
    """As `candidates`, without the present viewpoint, as plain tuples: this is the innermost loop of a step."""
    ways = graph.ways(row)
    found = _by_angle(ways, view, hfov_rad)
    return found if found is not None else _by_single_precision(ways, view, hfov_rad)


_NOISE_RAD = 1e-6  # more than twice what single precision adds to an angle
_FARTHEST_RAD = math.pi - _NOISE_RAD
_PI, _TAU, _sqrt = math.pi, geometry.TAU, math.sqrt  # short to look up


def _by_angle(ways: Ways, view: View, hfov_rad: float | None) -> list[Ranked] | None:
    """Candidates by differences of headings; None where rounding would decide which there are, or their order."""
    heading, elevation, _ = view
    limit = _limit(hfov_rad)
    inside, outside = limit - _NOISE_RAD, limit + _NOISE_RAD
    found = []
    for other, bearing, rise, distance in ways.seen:
        turn_rad = bearing - heading
        if turn_rad > _PI:
            turn_rad -= _TAU
        elif turn_rad < -_PI:
            turn_rad += _TAU
        if -inside < turn_rad < inside:
            rise_rad = rise - elevation
            found.append((_sqrt(turn_rad * turn_rad + rise_rad * rise_rad), other, turn_rad, rise_rad, distance))
            if not -_FARTHEST_RAD < turn_rad < _FARTHEST_RAD:
                return None
        elif not (outside < turn_rad < _FARTHEST_RAD or -_FARTHEST_RAD < turn_rad < -outside):  # also what is NaN
            return None
    if len(found) > 1:
        found.sort()
        for number in range(1, len(found)):
            if found[number][0] - found[number - 1][0] <= _NOISE_RAD:
                return None
    return found


@lru_cache(maxsize=64)
def _limit(hfov_rad: float | None) -> float:
    """How far aside a viewpoint may lie; an angle of more than a whole turn counts as the original's cosine does."""
    return math.acos(math.cos(hfov_rad / 2.0)) if hfov_rad is not None else math.inf


def _by_single_precision(ways: Ways, view: View, hfov_rad: float | None) -> list[Ranked]:
    """Candidates as the original computes them, product by product: ties fall as they fall there."""
    angle = geometry.heading_to_angle(view.heading_rad)
    x, y = np.float32(math.cos(angle)), np.float32(math.sin(angle))
    east, north = ways.east_north
    cosine = ways.direction[0] * x + ways.direction[1] * y
    turns = np.arctan2((east * y - north * x).astype(float), (east * x + north * y).astype(float)).astype(np.float32)
    least = math.cos(hfov_rad / 2.0) if hfov_rad is not None else None
    found = []
    for (other, _, rise, distance), turn_rad, near in zip(ways.seen, turns.tolist(), cosine.tolist()):
        if least is None or near >= least:
            rise_rad = rise - view.elevation_rad
            found.append((math.sqrt(turn_rad * turn_rad + rise_rad * rise_rad), other, turn_rad, rise_rad, distance))
    return sorted(found)  # at equal angles in file order, as the original
