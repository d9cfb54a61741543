"""Holes of a cube of distances, filled face by face under guidance of colour (`world.depth_fill`).

On a face, 1 / z of a plane is an affine function of the pixel. Means of neighbours are taken of that, not of the
distance: a hole in a slanted wall or in the floor then gets the depth of the plane through its rim.
"""

from __future__ import annotations

import cv2
import numpy as np
from jaxtyping import Float32, UInt8

from ghosts.world.depth_fill import fill_depth
from ghosts.world.matterport.warp import face_rays


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
        if not missing.any() or missing.all():
            continue
        guide = cv2.cvtColor(colour[face], cv2.COLOR_RGB2GRAY).astype(np.float32) / np.float32(255.0)
        inverse_z = np.divide(length, distance[face], out=np.zeros_like(length), where=~missing)
        found = fill_depth(inverse_z, guide, missing, planes=True)
        np.divide(length, found, out=filled[face], where=missing & (found > 0.0))
    return filled
