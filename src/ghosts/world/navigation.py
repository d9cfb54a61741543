"""How a walker moves on a navigation graph: headings, discretised views, and where it may go next. Pure functions.

The rules, their order and their rounding are those of the original simulator (`peteanderson80/Matterport3DSimulator`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ghosts import geometry
from ghosts.world.graph import NavGraph

HEADINGS = 12
HEADING_STEP_RAD = geometry.TAU / HEADINGS
ELEVATION_STEP_RAD = math.radians(30.0)
DEFAULT_ELEVATION_LIMITS_RAD = (-0.94, 0.94)


@dataclass(frozen=True)
class View:
    """Where a camera looks."""

    heading_rad: float
    elevation_rad: float
    index: int
    """Of the 36 discretised views: 0–11 down, 12–23 level, 24–35 up; 0 when views are not discretised."""


@dataclass(frozen=True)
class Candidate:
    """A viewpoint that can be reached in one move (or the present one), relative to the camera."""

    row: int
    """Row in the graph."""
    turn_rad: float
    """Horizontal angle from the camera's heading, positive to the right."""
    rise_rad: float
    """Vertical angle from the camera's elevation, positive upwards."""
    distance_m: float


def look(
    heading_rad: float,
    elevation_rad: float,
    *,
    discretised: bool = False,
    elevation_limits_rad: tuple[float, float] = DEFAULT_ELEVATION_LIMITS_RAD,
) -> View:
    """Normalise a heading to [0, 2π), and snap or clamp: discretised views ignore the elevation limits."""
    heading = math.fmod(heading_rad, geometry.TAU)
    if heading < 0.0:
        heading += geometry.TAU
    if not discretised:
        low, high = elevation_limits_rad
        return View(heading, max(min(elevation_rad, high), low), 0)
    step = math.floor(heading / HEADING_STEP_RAD + 0.5) % HEADINGS
    if elevation_rad < -ELEVATION_STEP_RAD / 2.0:
        level = -1
    else:
        level = int(elevation_rad > ELEVATION_STEP_RAD / 2.0)
    return View(step * HEADING_STEP_RAD, level * ELEVATION_STEP_RAD, step + HEADINGS * (level + 1))


def turn(
    view: View,
    heading_delta_rad: float,
    elevation_delta_rad: float,
    *,
    discretised: bool = False,
    elevation_limits_rad: tuple[float, float] = DEFAULT_ELEVATION_LIMITS_RAD,
) -> View:
    """Turn the camera; with discretised views deltas count by their sign only, one step each."""
    if discretised:
        heading_delta_rad = HEADING_STEP_RAD * float(np.sign(heading_delta_rad))
        elevation_delta_rad = ELEVATION_STEP_RAD * float(np.sign(elevation_delta_rad))
    return look(
        view.heading_rad + heading_delta_rad,
        view.elevation_rad + elevation_delta_rad,
        discretised=discretised,
        elevation_limits_rad=elevation_limits_rad,
    )


def candidates(graph: NavGraph, row: int, view: View, hfov_rad: float | None = None) -> list[Candidate]:
    """Where the walker may go: the present viewpoint first, then the others by angle from the view's centre.

    Args:
        graph: the building.
        row: where the walker stands.
        view: where it looks.
        hfov_rad: with restricted navigation, the angle within which a viewpoint must lie; None for all directions.
    """
    found = [Candidate(row, 0.0, 0.0, 0.0)]
    # The original keeps positions and the horizon direction in float32; the sums below are then in float64.
    position = graph.position_m.astype(np.float32)
    angle = geometry.heading_to_angle(view.heading_rad)
    ahead_x, ahead_y = np.float32(math.cos(angle)), np.float32(math.sin(angle))
    for other in graph.neighbours(row):
        delta = position[other] - position[row]
        flat = float(np.hypot(delta[0], delta[1]))
        forward = float(delta[0] * ahead_x + delta[1] * ahead_y)
        right = float(delta[0] * ahead_y - delta[1] * ahead_x)
        if hfov_rad is not None and flat > 0.0 and forward / flat < math.cos(hfov_rad / 2.0):
            continue
        rise = math.atan2(float(delta[2]), flat) - view.elevation_rad
        distance = float(np.sqrt(np.float32((delta * delta).sum())))
        found.append(Candidate(other, math.atan2(right, forward), rise, distance))
    found[1:] = sorted(found[1:], key=lambda item: math.hypot(item.turn_rad, item.rise_rad))
    return found
