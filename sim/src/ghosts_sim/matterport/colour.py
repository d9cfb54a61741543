"""Colour of the 18 images of a panorama on the six cube faces, feathered where they overlap."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import cv2
import numpy as np

from ghosts_sim.matterport.conf import RawCamera, Rig
from ghosts_sim.matterport.warp import FAR, Eye, face_rays, pixels, world_from_cube

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, UInt8


def warp_colour(
    rig: Rig,
    images: Mapping[tuple[int, int], UInt8[np.ndarray, "h w 3"]],
    below: UInt8[np.ndarray, "6 f f 3"],
    distance: Float32[np.ndarray, "6 f f"] | None = None,
    centre_m: Float[np.ndarray, " 3"] | None = None,
) -> UInt8[np.ndarray, "6 f f 3"]:
    """Warp colour images onto the cube, feathered where they overlap.

    Args:
        rig: the cameras.
        images: their colour images.
        below: shown where no camera looks (the skybox: straight up and down).
        distance: of what the faces show, in depth units, 0 = unknown (taken for far away).
        centre_m: where distances are measured from; without one, images are only rotated.
    """
    face_px = below.shape[1]
    to_world = world_from_cube(rig)
    _, length = face_rays(face_px)
    total = np.zeros((*below.shape[:3], 4), np.float32)
    for which in sorted(images):
        eye = Eye(rig[which], images[which].shape, to_world, face_px, centre_m)
        small = _shrunk(images[which], eye.camera, face_px)
        x, y = small.shape[1] / eye.size[1], small.shape[0] / eye.size[0]
        for face in range(6):
            view = eye.view(face)
            if view is None:
                continue
            scale = np.full_like(view.ahead, FAR)
            if distance is not None:
                np.divide(distance[face][view.box], length[view.box], out=scale, where=distance[face][view.box] > 0.0)
            column, row = pixels(view, scale, eye.offset)
            warped = cv2.remap(small, column * x + (0.5 * x - 0.5), row * y + (0.5 * y - 0.5), cv2.INTER_LINEAR)
            warped[view.ahead <= 0.0] = 0.0
            place = (face, *view.box)
            total[place] += warped
    weight = total[..., 3:]
    # The feather ends at 0 on an image's border; the skybox takes over from there without a seam.
    share = np.minimum(weight * 16.0, 1.0)
    mean = np.divide(total[..., :3], weight, out=np.zeros_like(total[..., :3]), where=weight > 0.0)
    return np.rint(mean * share + below * (1.0 - share)).astype(np.uint8)


def _shrunk(image: np.ndarray, camera: RawCamera, face_px: int) -> np.ndarray:
    """An image in the resolution of the faces, times its feather, which is the fourth channel.

    A face shows fewer pixels than the image has: without shrinking, every third pixel would be thrown away.
    """
    shrink = max(1, int(camera.fx / (face_px / 2.0)))
    height, width = image.shape[:2]
    reduced = cv2.resize(image, (width // shrink, height // shrink), interpolation=cv2.INTER_AREA)
    feather = _feather(*reduced.shape[:2])
    return np.dstack([reduced * feather[..., None], feather])


@lru_cache(maxsize=4)
def _feather(height: int, width: int) -> Float32[np.ndarray, "h w"]:
    """1 in the middle of an image, 0 on its border."""
    across = 1.0 - np.abs((np.arange(width) + 0.5) * (2.0 / width) - 1.0)
    along = 1.0 - np.abs((np.arange(height) + 0.5) * (2.0 / height) - 1.0)
    return np.minimum(across[None], along[:, None]).astype(np.float32)
