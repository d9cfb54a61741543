"""Where an object is when its rays do not say: REVERIE's listing rule, used both ways.

An object is listed at a viewpoint when both lie in the same region and it is within 2.0 m of the camera (measured:
97.4 % of listed objects are, 98.3 % of those not listed in their region are farther). So the object is near the
viewpoints that list it, and not near the other viewpoints of its region.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ghosts_sim.landmarks.triangulate import Bearings, Triangulation, triangulate

if TYPE_CHECKING:
    from jaxtyping import Float

LISTING_RADIUS_M = 2.0
SOFT_M = 0.05  # width of the rule's edge
EXCEPTIONS = 0.02  # share of objects that break the rule
BELOW_M, ABOVE_M = 1.5, 1.3  # objects lie between floor and ceiling: this far below and above the camera
LATTICE_M = 0.2
TRUSTED_SIGMA_M = 0.35  # rays that leave more doubt than this say less than one ray and the listing rule
TRUSTED_RESIDUAL_M = 0.5
OUTLIER_SIGMAS = 3.0


@dataclass(frozen=True, eq=False)
class Placement:
    """A position and how well it is known."""

    method: str
    """`triangulated`, `ray` or `near`."""
    position_m: Float[np.ndarray, " 3"]
    uncertainty_m: float
    """Standard deviation along each horizontal axis."""
    residual_m: float | None
    """Root mean square distance of the rays from where they meet; None with fewer than two."""


def place(rays: Bearings, listed_m: Float[np.ndarray, "a 3"], absent_m: Float[np.ndarray, "b 3"]) -> Placement:
    """Place one object by everything known of it.

    Args:
        rays: its bearings; may be none.
        listed_m: cameras that list it, at least one.
        absent_m: cameras of the same region that do not.
    """
    count, residual = len(rays.sigma_rad), None
    if count >= 2:
        met = triangulate(rays)
        residual = float(np.sqrt((met.residual_m**2).mean()))
        if _is_trusted(met, residual, listed_m):
            return Placement("triangulated", met.position_m, _level_sigma(met.covariance_m2), residual)
    if count:
        position, covariance = on_ray(rays, listed_m, absent_m)
        return Placement("ray", position, _level_sigma(covariance), residual)
    position, covariance = near(listed_m, absent_m)
    return Placement("near", position, _level_sigma(covariance), None)


def listing_log_likelihood(
    points_m: Float[np.ndarray, "m 3"], listed_m: Float[np.ndarray, "a 3"], absent_m: Float[np.ndarray, "b 3"]
) -> Float[np.ndarray, " m"]:
    """How well each point agrees with who lists the object and who does not."""
    total = np.zeros(len(points_m))
    for cameras, sign in ((listed_m, 1.0), (absent_m, -1.0)):
        distance = np.linalg.norm(points_m[:, None] - cameras[None], axis=-1)
        obeys = 0.5 * (1.0 + np.tanh(sign * (LISTING_RADIUS_M - distance) / (2.0 * SOFT_M)))
        total += np.log(EXCEPTIONS + (1.0 - EXCEPTIONS) * obeys).sum(1)
    return total


def on_ray(
    rays: Bearings, listed_m: Float[np.ndarray, "a 3"], absent_m: Float[np.ndarray, "b 3"]
) -> tuple[Float[np.ndarray, " 3"], Float[np.ndarray, "3 3"]]:
    """Mean and covariance along the most precise ray, by the listing rule and what other rays there are."""
    best = int(rays.sigma_rad.argmin())
    origin, forward, sigma_rad = rays.origin_m[best], rays.direction[best], rays.sigma_rad[best]
    distance = np.arange(0.1, LISTING_RADIUS_M + 0.5, 0.02)
    points = origin + distance[:, None] * forward
    # Objects stand on floors and hang on walls: how many there are grows about linearly with distance.
    score = np.log(distance) + listing_log_likelihood(points, listed_m, absent_m)
    for row in range(len(rays.sigma_rad)):
        if row != best:
            offset = points - rays.origin_m[row]
            cosine = (offset @ rays.direction[row]) / np.maximum(np.linalg.norm(offset, axis=1), 1e-9)
            sigmas = np.arccos(np.clip(cosine, -1.0, 1.0)) / rays.sigma_rad[row]
            score -= 0.5 * np.minimum(sigmas, OUTLIER_SIGMAS) ** 2
    weight = np.exp(score - score.max())
    weight /= weight.sum()
    mean = float(weight @ distance)
    along = float(weight @ (distance - mean) ** 2)
    outer = np.outer(forward, forward)
    return origin + mean * forward, along * outer + (mean * sigma_rad) ** 2 * (np.eye(3) - outer)


def near(
    listed_m: Float[np.ndarray, "a 3"], absent_m: Float[np.ndarray, "b 3"]
) -> tuple[Float[np.ndarray, " 3"], Float[np.ndarray, "3 3"]]:
    """Mean and covariance of an object of unknown direction: spread over where the listing rule allows it."""
    centre = listed_m.mean(0)
    ticks = np.arange(-LISTING_RADIUS_M - LATTICE_M, LISTING_RADIUS_M + 1.5 * LATTICE_M, LATTICE_M)
    heights = np.arange(-BELOW_M, ABOVE_M, LATTICE_M)
    offsets = np.stack(np.meshgrid(ticks, ticks, heights, indexing="ij"), -1).reshape(-1, 3)
    points = centre + offsets
    score = listing_log_likelihood(points, listed_m, absent_m)
    weight = np.exp(score - score.max())
    weight /= weight.sum()
    mean = weight @ points
    return mean, np.einsum("m,mi,mj->ij", weight, points - mean, points - mean)


def _is_trusted(met: Triangulation, residual_m: float, listed_m: Float[np.ndarray, "a 3"]) -> bool:
    reach = np.linalg.norm(met.position_m - listed_m, axis=1).max()
    return (
        _level_sigma(met.covariance_m2) <= TRUSTED_SIGMA_M
        and residual_m <= TRUSTED_RESIDUAL_M
        and bool(reach <= LISTING_RADIUS_M + TRUSTED_RESIDUAL_M)
    )


def _level_sigma(covariance_m2: Float[np.ndarray, "3 3"]) -> float:
    return float(np.sqrt((covariance_m2[0, 0] + covariance_m2[1, 1]) / 2.0))
