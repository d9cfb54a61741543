"""From boxes in views to bearings, and from bearings of several viewpoints to a position.

Convention (checked on REVERIE's files, see docs/landmark-files.md): view = heading step + 12 · {down, level, up},
steps of 30°, headings clockwise from +y. A wrong one shows at once: rays that should meet miss each other 15 times as
far and more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ghosts_sim.geometry import camera_to_world
from ghosts_sim.landmarks.reverie import HEIGHT, VIEWS, WIDTH, Sighting
from ghosts_sim.types import Intrinsics

if TYPE_CHECKING:
    from jaxtyping import Float

CAMERA = Intrinsics(WIDTH, HEIGHT, math.radians(60.0))
STEP_RAD = math.radians(30.0)
# Boxes that are whole in several views of one viewpoint agree within 0.5° (median; 1.6° at 90 %). Where every box is
# cut by its view's edge, their area-weighted mean is 5.7° (12° at 90 %) off what other viewpoints triangulate.
WHOLE_SIGMA_RAD = math.radians(1.0)
CUT_SIGMA_RAD = math.radians(6.0)

PRIOR_DISTANCE_M = 1.5  # mean distance of listed objects
PRIOR_SIGMA_M = 10.0  # so weak that it only settles parallel rays
NEAREST_M = 0.3  # an angular error never counts as less than at this distance
CAUCHY_SCALE = 2.0
ITERATIONS = 12


@dataclass(frozen=True, eq=False)
class Bearings:
    """Where one object was seen from, and in which direction."""

    origin_m: Float[np.ndarray, "n 3"]
    direction: Float[np.ndarray, "n 3"]
    """Unit vectors in the world."""
    sigma_rad: Float[np.ndarray, " n"]
    """Standard deviation of the angle."""


@dataclass(frozen=True, eq=False)
class Triangulation:
    """Where the rays of one object meet."""

    position_m: Float[np.ndarray, " 3"]
    covariance_m2: Float[np.ndarray, "3 3"]
    residual_m: Float[np.ndarray, " n"]
    """Distance from the position to each ray (not to its extension behind the camera)."""


def view_rotations() -> Float[np.ndarray, "36 3 3"]:
    """Camera-to-world rotation of each of the 36 views."""
    view = np.arange(VIEWS)
    return camera_to_world(np.zeros(3), view % 12 * STEP_RAD, (view // 12 - 1) * STEP_RAD)[:, :3, :3]


def is_whole(boxes: Float[np.ndarray, "k 4"]) -> np.ndarray:
    """Which boxes touch no edge of their view, so that their centre is the object's."""
    left, top, width, height = boxes.T
    return (left > 0) & (top > 0) & (left + width < WIDTH) & (top + height < HEIGHT)


def bearing(sighting: Sighting, rotations: Float[np.ndarray, "36 3 3"]) -> tuple[Float[np.ndarray, " 3"], float]:
    """Combine an object's boxes in the views of one viewpoint into one direction, and its angular standard deviation.

    Whole boxes count alone; where every box is cut, all count by their area, since the view that shows most of the
    object says most about its middle.
    """
    whole = is_whole(sighting.boxes)
    use = whole if whole.any() else np.ones_like(whole)
    boxes, rotation = sighting.boxes[use], rotations[sighting.views[use]]
    centre = (boxes[:, :2] + boxes[:, 2:] / 2.0 - np.array([WIDTH, HEIGHT]) / 2.0) / CAMERA.focal_px
    rays = np.einsum("kij,kj->ki", rotation, np.pad(centre, ((0, 0), (0, 1)), constant_values=1.0))
    rays /= np.linalg.norm(rays, axis=1, keepdims=True)
    weight = np.ones(len(boxes)) if whole.any() else boxes[:, 2] * boxes[:, 3]
    mean = weight @ rays
    length = np.linalg.norm(mean)
    # Opposite views cannot cancel exactly in practice; if they did, any of them is as good.
    return (mean / length if length > 1e-9 else rays[0]), WHOLE_SIGMA_RAD if whole.any() else CUT_SIGMA_RAD


def ray_distance(point_m: Float[np.ndarray, " 3"], rays: Bearings) -> Float[np.ndarray, " n"]:
    """Distance from a point to each ray; a point behind a camera is as far from its ray as from the camera."""
    offset = point_m - rays.origin_m
    along = np.maximum((offset * rays.direction).sum(1), 0.0)
    return np.linalg.norm(offset - along[:, None] * rays.direction, axis=1)


def triangulate(rays: Bearings) -> Triangulation:
    """Least-squares intersection of two or more rays, weighted by their angular precision, robust from three rays on.

    Iteratively re-weighted: an angle's error in metres grows with distance, and of three or more rays those that pass
    far off lose their say (Cauchy). Of two rays that disagree neither can be told wrong; their covariance grows.
    """
    across = np.eye(3) - rays.direction[:, :, None] * rays.direction[:, None, :]
    prior = (rays.origin_m + PRIOR_DISTANCE_M * rays.direction).mean(0)
    point, trust = prior, np.ones(len(rays.sigma_rad))
    normal, sigma = np.eye(3), rays.sigma_rad
    for _ in range(ITERATIONS):
        sigma = rays.sigma_rad * np.maximum(np.linalg.norm(point - rays.origin_m, axis=1), NEAREST_M)
        information = (trust / sigma**2)[:, None, None] * across
        normal = information.sum(0) + np.eye(3) / PRIOR_SIGMA_M**2
        point = np.linalg.solve(normal, np.einsum("nij,nj->i", information, rays.origin_m) + prior / PRIOR_SIGMA_M**2)
        if len(trust) > 2:
            trust = 1.0 / (1.0 + (ray_distance(point, rays) / (CAUCHY_SCALE * sigma)) ** 2)
    residual = ray_distance(point, rays)
    surprise = (trust * (residual / sigma) ** 2).sum() / (2 * len(trust) - 3)
    return Triangulation(point, np.linalg.inv(normal) * max(1.0, float(surprise)), residual)
