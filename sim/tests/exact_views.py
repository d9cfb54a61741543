"""The cube-map camera pixel by pixel: a dense reference for the renderers."""

from __future__ import annotations

import numpy as np

from ghosts_sim import geometry
from ghosts_sim.camera import FacesInView, sample_rgbd
from ghosts_sim.store import Panorama
from ghosts_sim.types import Intrinsics


def cube_directions(camera: Intrinsics, rotation: np.ndarray, heading: float, elevation: float) -> np.ndarray:
    """Cube-map direction of every pixel, height × width × 3."""
    world = geometry.pixel_rays(camera) @ geometry.camera_to_world(np.zeros(3), heading, elevation)[:3, :3].T
    return -world @ rotation


def texels(
    camera: Intrinsics, rotation: np.ndarray, heading: float, elevation: float, face_px: int
) -> tuple[np.ndarray, np.ndarray]:
    """Column and row in the strip of six faces that every pixel looks at, by OpenGL's rule."""
    cube = cube_directions(camera, rotation, heading, elevation)
    x, y, z = np.moveaxis(cube, -1, 0)
    rules = {2: (x, -z, -y), 4: (-x, z, -y), 0: (y, x, z), 5: (-y, x, -z), 1: (z, x, -y), 3: (-z, -x, -y)}
    largest = np.abs(cube).max(-1)
    column, row = np.full((2, *largest.shape), np.nan)
    for face, (major, s, t) in rules.items():
        here = major == largest
        for target, along, shift in ((column, s, face * face_px), (row, t, 0)):
            texel = (along[here] / largest[here] + 1.0) * (face_px / 2.0) - 0.5
            target[here] = np.clip(texel, 0.0, face_px - 1.0) + shift
    return column, row


def off_seams(camera: Intrinsics, rotation: np.ndarray, heading: float, elevation: float) -> np.ndarray:
    """Pixels that do not look exactly at the seam of two faces, where either is right."""
    size = np.sort(np.abs(cube_directions(camera, rotation, heading, elevation)), -1)
    return (size[..., 2] - size[..., 1]) / size[..., 2] > 1e-5


def bilinear(panorama: Panorama, column: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Colours at fractional texels of the strip, as floats. Clamped texels never mix two faces."""
    strip, px = panorama.rgb.astype(float), panorama.face_px
    left = np.floor(column).astype(int)
    right = np.where(left % px == px - 1, left, left + 1)
    top = np.floor(row).astype(int)
    bottom = np.minimum(top + 1, px - 1)
    x, y = (column - left)[..., None], (row - top)[..., None]
    upper = strip[top, left] * (1 - x) + strip[top, right] * x
    return upper * (1 - y) + (strip[bottom, left] * (1 - x) + strip[bottom, right] * x) * y


def sample_depth(panorama: Panorama, view: FacesInView) -> np.ndarray:
    """Distances along the optical axis alone, in file units: the package draws them together with colour."""
    out = np.empty((view.intrinsics.height, view.intrinsics.width), np.uint16)
    sample_rgbd(panorama, view, None, out)
    return out
