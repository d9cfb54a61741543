"""A pinhole camera inside a cube map, on the CPU: sampling maps by NumPy, sampling by OpenCV.

The original simulator draws the skybox with OpenGL. Its answer has a closed form: a pixel whose ray points along `d` in
the world samples the cube map at `−Rᵀ d`, where `R` is the 3 × 3 part of the viewpoint's pose (its convention and
the original's view matrix together give the minus). Faces and texels then follow OpenGL's cube-map rule. Colour is
bilinear, depth nearest, both clamped at face edges; euclidean distance becomes z-distance by the cosine of the ray.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from jaxtyping import Float, Float32, Int64, UInt8, UInt16

from ghosts import geometry
from ghosts.types import Intrinsics
from ghosts.world.images import DEPTH_UNITS_PER_M
from ghosts.world.store import ByteCache, Panorama

# OpenGL's rule per face of our strip (0 up, 1–4 around, 5 down): the major axis and its sign, then which signed axes
# give s and t. An entry (axis, sign) stands for sign · direction[axis].
CUBE_FACES = (
    ((1, +1), (0, +1), (2, +1)),  # face 0 = +y
    ((2, +1), (0, +1), (1, -1)),  # face 1 = +z
    ((0, +1), (2, -1), (1, -1)),  # face 2 = +x
    ((2, -1), (0, -1), (1, -1)),  # face 3 = −z
    ((0, -1), (2, +1), (1, -1)),  # face 4 = −x
    ((1, -1), (0, +1), (2, -1)),  # face 5 = −y
)


@dataclass(frozen=True, eq=False)
class SamplingMap:
    """Where each pixel of a view looks in a skybox strip (8 bytes per pixel).

    Floating point on purpose: OpenCV's fixed-point form is a third faster and has 5 fractional bits, which puts
    1 pixel in 3 000 two levels away from the original simulator's answer.
    """

    column: Float32[np.ndarray, "h w"]
    row: Float32[np.ndarray, "h w"]

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.column.nbytes + self.row.nbytes


@lru_cache(maxsize=32)
def _image_plane(intrinsics: Intrinsics) -> tuple[Float32[np.ndarray, " w"], Float32[np.ndarray, " h"]]:
    """Camera-frame x of the columns and y of the rows at z = 1."""
    rays = geometry.pixel_rays(intrinsics)
    return rays[0, :, 0].astype(np.float32), rays[:, 0, 1].astype(np.float32)


@lru_cache(maxsize=32)
def ray_cosine(intrinsics: Intrinsics) -> Float32[np.ndarray, "h w"]:
    """Cosine between each pixel's ray and the optical axis: z-distance = euclidean distance × cosine."""
    rays = geometry.pixel_rays(intrinsics)
    cosine = (1.0 / np.linalg.norm(rays, axis=-1)).astype(np.float32)
    cosine.setflags(write=False)
    return cosine


def cube_from_camera(
    rotation: Float[np.ndarray, "3 3"], heading_rad: float, elevation_rad: float
) -> Float[np.ndarray, "3 3"]:
    """Matrix from camera-frame rays (x right, y down, z forward) to cube-map directions of a viewpoint."""
    world_from_camera = geometry.camera_to_world(np.zeros(3), heading_rad, elevation_rad)[:3, :3]
    return -rotation.T @ world_from_camera


def sampling_map(
    intrinsics: Intrinsics,
    rotation: Float[np.ndarray, "3 3"],
    heading_rad: float,
    elevation_rad: float,
    face_px: int,
) -> SamplingMap:
    """Compute where a view's pixels look in the strip of six faces.

    Args:
        intrinsics: the camera.
        rotation: 3 × 3 part of the viewpoint's pose.
        heading_rad: camera heading.
        elevation_rad: camera elevation.
        face_px: side of a skybox face.
    """
    columns, rows = _image_plane(intrinsics)
    matrix = cube_from_camera(rotation, heading_rad, elevation_rad).astype(np.float32)
    column, row = np.empty((2, intrinsics.height, intrinsics.width), np.float32)
    half, last = np.float32(0.5 * face_px - 0.5), np.float32(face_px - 1)
    for face, ((major, sign), (s_axis, s_sign), (t_axis, t_sign)) in enumerate(CUBE_FACES):
        toward, along_s, along_t = sign * matrix[major], s_sign * matrix[s_axis], t_sign * matrix[t_axis]
        first, end = _face_spans(toward, along_s, along_t, columns, rows)
        hit = np.flatnonzero(first < end)
        if not hit.size:
            continue
        band = slice(hit[0], hit[-1] + 1)
        box = band, slice(first[hit].min(), end[hit].max())
        x, y = columns[box[1]], rows[band, None]
        scale = np.float32(0.5 * face_px) / (x * toward[0] + (y * toward[1] + toward[2]))
        number = np.arange(box[1].start, box[1].stop)
        inside = (number >= first[band, None]) & (number < end[band, None])
        for target, axis, shift in ((column, along_s, np.float32(face * face_px)), (row, along_t, np.float32(0.0))):
            texel = x * axis[0] + (y * axis[1] + axis[2])
            texel *= scale
            texel += half
            np.clip(texel, 0.0, last, out=texel)
            texel += shift
            np.copyto(target[box], texel, where=inside)
    return SamplingMap(column, row)


class MapCache:
    """Sampling maps of views that come again, bounded in bytes. Safe to share between threads."""

    def __init__(self, limit_bytes: int) -> None:
        self._maps: ByteCache[SamplingMap] = ByteCache(limit_bytes, lambda item: item.nbytes)

    @property
    def used_bytes(self) -> int:
        """Bytes held now."""
        return self._maps.used_bytes

    def get(
        self,
        intrinsics: Intrinsics,
        rotation: Float[np.ndarray, "3 3"],
        heading_rad: float,
        elevation_rad: float,
        face_px: int,
    ) -> SamplingMap:
        """`sampling_map` of the same arguments, from the cache where it was computed before."""
        # Keyed by the rotation itself: viewpoints that share it (all of a procedural house) share their maps.
        key = (intrinsics, rotation.tobytes(), heading_rad, elevation_rad, face_px)
        return self._maps.get(key, lambda: sampling_map(intrinsics, rotation, heading_rad, elevation_rad, face_px))


def _face_spans(
    toward: Float32[np.ndarray, " 3"],
    along_s: Float32[np.ndarray, " 3"],
    along_t: Float32[np.ndarray, " 3"],
    columns: Float32[np.ndarray, " w"],
    rows: Float32[np.ndarray, " h"],
) -> tuple[Int64[np.ndarray, " h"], Int64[np.ndarray, " h"]]:
    """First and one-past-last column of each image row that looks at a face.

    A pixel looks at the face whose axis is the largest component of its direction. Components are linear in pixel
    coordinates, so a face's part of the image is a convex polygon: in every row, an interval of columns.
    """
    low = np.full(rows.shape, -np.inf)
    high = np.full(rows.shape, np.inf)
    for edge in (toward - along_s, toward + along_s, toward - along_t, toward + along_t):
        slope, least = float(edge[0]), -(rows.astype(np.float64) * edge[1] + edge[2])  # slope · x ≥ least
        if slope > 0.0:
            np.maximum(low, least / slope, out=low)
        elif slope < 0.0:
            np.minimum(high, least / slope, out=high)
        else:
            high[least > 0.0] = -np.inf
    first = np.searchsorted(columns, low)
    return first, np.maximum(np.searchsorted(columns, high, side="right"), first)


def sample_rgb(
    panorama: Panorama, where: SamplingMap, out: UInt8[np.ndarray, "h w 3"] | None = None
) -> UInt8[np.ndarray, "h w 3"]:
    """Colour image of a view, bilinear."""
    sampled = cv2.remap(panorama.rgbx, where.column, where.row, cv2.INTER_LINEAR)
    return cv2.cvtColor(sampled, cv2.COLOR_RGBA2RGB, dst=out)


def sample_distance(panorama: Panorama, where: SamplingMap) -> UInt16[np.ndarray, "h w"]:
    """Euclidean distance of each pixel, nearest texel, in file units."""
    assert panorama.depth is not None, "the panorama was loaded without depth"
    return cv2.remap(panorama.depth, where.column, where.row, cv2.INTER_NEAREST)


def sample_depth_m(
    panorama: Panorama,
    where: SamplingMap,
    intrinsics: Intrinsics,
    out: Float32[np.ndarray, "h w"] | None = None,
) -> Float32[np.ndarray, "h w"]:
    """Distance along the optical axis in metres; 0 where there is no reading."""
    scale = _metres_per_unit(intrinsics)
    return np.multiply(sample_distance(panorama, where), scale, out=out, dtype=np.float32, casting="unsafe")


@lru_cache(maxsize=32)
def _metres_per_unit(intrinsics: Intrinsics) -> Float32[np.ndarray, "h w"]:
    return ray_cosine(intrinsics) / np.float32(DEPTH_UNITS_PER_M)
