"""Holes of a cube of distances, filled face by face under guidance of colour (`ghosts_sim.depth_fill`).

On a face, 1 / z of a plane is an affine function of the pixel. Means of neighbours are taken of that, not of the
distance: a hole in a slanted wall or in the floor then gets the depth of the plane through its rim. A hole that hides
an edge is filled from the surfaces on both sides, each up to where colour says that it ends (`surfaces`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np
from scipy.ndimage import distance_transform_edt

from ghosts_sim.depth_fill import fill_depth
from ghosts_sim.matterport.surfaces import OFF, find_surfaces
from ghosts_sim.matterport.warp import face_rays

if TYPE_CHECKING:
    from jaxtyping import Float32, UInt8

_APART = np.float32(4.0)  # intensities are at most 1 apart: with 4 more, the weight exp(−4² / 2σ²) is 0 for every σ
_RIM_PX = 3  # no pixel of a small hole is farther from its rim
_NUMBERS = 60  # intensities up to 240 keep 5 decimals in single precision; 60 surfaces apart rarely meet


def fill_faces(
    distance: Float32[np.ndarray, "6 f f"], colour: UInt8[np.ndarray, "6 f f 3"]
) -> Float32[np.ndarray, "6 f f"]:
    """Fill missing distances.

    Args:
        distance: euclidean, any unit, 0 = no reading.
        colour: RGB of the same faces.

    Returns:
        Distances; readings as they were, 0 where no reading was near.
    """
    _, length = face_rays(distance.shape[1])
    filled = distance.copy()
    for face in range(6):
        missing = distance[face] == 0.0
        if missing.any() and not missing.all():
            inverse_z = np.divide(length, distance[face], out=np.zeros_like(length), where=~missing)
            found = _fill(inverse_z, missing, colour[face])
            np.divide(length, found, out=filled[face], where=missing & (found > 0.0))
    return filled


def _fill(inverse_z: np.ndarray, missing: np.ndarray, colour: np.ndarray) -> np.ndarray:
    """Fill 1 / z of one face. Each surface is filled by itself, as a share of its plane, which reaches farther than the
    plane through the few neighbours of a pixel."""
    surfaces = find_surfaces(inverse_z, missing, colour)
    guide = cv2.cvtColor(colour, cv2.COLOR_RGB2GRAY).astype(np.float32) / np.float32(255.0)
    # Pixels of no surface are number 0: beside a surface of that number, 1 / z would be mixed with shares.
    number = np.where(surfaces.label > 0, 1 + (surfaces.label - 1) % _NUMBERS, 0)
    guide += number.astype(np.float32) * _APART
    guide[surfaces.border] = -_APART
    share = fill_depth(inverse_z / surfaces.plane, guide, missing, planes=True)
    # Not farther from a plane than the pixels it was found by. What is far from the rest of its surface, or behind
    # something, gets the plane itself.
    near = np.where(share > 0.0, np.clip(share, 1.0 - OFF, 1.0 + OFF), 1.0)
    share = np.where(surfaces.label > 0, near, share).astype(np.float32)
    found = share * surfaces.plane
    _snap(found, inverse_z, missing, missing & (surfaces.label == 0) & (found > 0.0))
    return found


def _snap(found: np.ndarray, inverse_z: np.ndarray, missing: np.ndarray, small: np.ndarray) -> None:
    """Give pixels of small holes whose filled depth lies between two surfaces the depth of the nearest pixel, in place.

    Small holes are not divided by surfaces, and at a step of depth both surfaces are on their rim.
    """
    if not small.any():
        return
    _, nearest = distance_transform_edt(missing, return_indices=True)
    rows, columns = np.nonzero(small & (np.abs(found - inverse_z[tuple(nearest)]) > OFF * found))
    # A plane, however slanted, has its depth somewhere on the rim; what lies between two planes has not.
    reach = np.arange(-_RIM_PX, _RIM_PX + 1)
    y = np.clip(rows[:, None, None] + reach[:, None], 0, missing.shape[0] - 1)
    x = np.clip(columns[:, None, None] + reach, 0, missing.shape[1] - 1)
    off = np.where(missing[y, x], np.inf, np.abs(inverse_z[y, x] - found[rows, columns, None, None]))
    nowhere = off.min((1, 2), initial=np.inf) > OFF * found[rows, columns]
    rows, columns = rows[nowhere], columns[nowhere]
    found[rows, columns] = inverse_z[nearest[0, rows, columns], nearest[1, rows, columns]]
