"""VLN-CE's metrics of one walk, kept up to date step by step.

Distances to the goal are shortest walks on the clearance map. nDTW (Ilharco et al. 2019) compares places in space, as
VLN-CE does, with a walk along the path that the instruction describes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ghosts_houses.body.geodesic import Field
from ghosts_houses.body.moves import BodyPose
from ghosts_sim.types import SUCCESS_M


@dataclass(frozen=True)
class CeScores:
    """VLN-CE's metrics by its names: metres, shares, and counts."""

    distance_to_goal: float
    success: float
    """1 when stopped within 3 m of the goal, else 0; the other shares lie between them."""
    spl: float
    ndtw: float
    sdtw: float
    path_length: float
    oracle_success: float
    oracle_navigation_error: float
    steps_taken: float
    collisions: float


class ScoreKeeper:
    """Scores of an episode.

    Args:
        field: distances to the goal.
        reference_m: the walk that the instruction describes, points on the ground.
        start: where the body stands.
    """

    def __init__(self, field: Field, reference_m: Float[np.ndarray, "r 3"], start: BodyPose) -> None:
        self._field, self._reference = field, reference_m
        self._here = self._place(start)
        self._shortest_m = self._left_m = self._nearest_m = field.at(start.x_m, start.y_m, start.layer)
        self._length_m = 0.0
        self._steps = self._collisions = 0
        self._stopped = False
        # The last row of the table of dynamic time warping; a new place adds one row.
        self._cost = np.cumsum(np.linalg.norm(reference_m - self._here, axis=1))

    def step(self, after: BodyPose, *, collided: bool = False, stopped: bool = False) -> None:
        """Count an action and where it led."""
        self._steps += 1
        self._collisions += collided
        self._stopped = stopped
        place = self._place(after)
        moved = float(np.linalg.norm(place - self._here))
        if moved == 0.0:
            return  # VLN-CE's rule: turning adds no place to the walk
        self._length_m += moved
        self._here = place
        self._left_m = self._field.at(after.x_m, after.y_m, after.layer)
        self._nearest_m = min(self._nearest_m, self._left_m)
        gap = np.linalg.norm(self._reference - place, axis=1).tolist()
        row, best = [], math.inf
        for k, above in enumerate(self._cost.tolist()):
            best = gap[k] + min(above, best, self._cost[k - 1] if k else math.inf)
            row.append(best)
        self._cost = np.array(row)

    def scores(self) -> CeScores:
        """Scores of the walk so far."""
        success = float(self._stopped and self._left_m < SUCCESS_M)
        longest = max(self._shortest_m, self._length_m)
        ndtw = float(np.exp(-self._cost[-1] / (len(self._reference) * SUCCESS_M)))
        return CeScores(
            distance_to_goal=self._left_m,
            success=success,
            spl=success * (self._shortest_m / longest if longest > 0.0 else 1.0),
            ndtw=ndtw,
            sdtw=success * ndtw,
            path_length=self._length_m,
            oracle_success=float(self._nearest_m < SUCCESS_M),
            oracle_navigation_error=self._nearest_m,
            steps_taken=float(self._steps),
            collisions=float(self._collisions),
        )

    @staticmethod
    def _place(place: BodyPose) -> np.ndarray:
        return np.array([place.x_m, place.y_m, place.z_m])
