"""A pinhole camera inside a cube map, on the CPU: which faces a view shows, and a perspective warp of each.

The original simulator draws the skybox with OpenGL. Its answer has a closed form: a pixel whose ray points along `d` in
the world samples the cube map at `−Rᵀ d`, where `R` is the 3 × 3 part of the viewpoint's pose (its convention and
the original's view matrix together give the minus). Faces and texels then follow OpenGL's cube-map rule. Colour is
bilinear, depth nearest, both clamped at face edges; euclidean distance becomes z-distance by the cosine of the ray.

Within one face the way from pixels to texels is a homography, so a view needs no map of texels. The compiled kernel
of `native` draws it where there is one; elsewhere the perspective warp of `opencv` does, 2 to 3 times as long.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ghosts_sim import geometry
from ghosts_sim.images import DEPTH_UNITS_PER_M
from ghosts_sim.native import native
from ghosts_sim.store import FACE_BORDER_PX, Panorama
from ghosts_sim.types import Intrinsics

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, Int64, UInt8, UInt16

BAND_PX = 80_000
"""Pixels of an image that are drawn, or scaled, at once."""

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
class FacePart:
    """The part of a view that shows one face: an interval of columns in every row of a box."""

    face: int
    rows: slice
    columns: slice
    first: Int64[np.ndarray, " r"]
    """Of each row's interval, counted from the left of the box."""
    last: Int64[np.ndarray, " r"]
    """Of each row's interval; before the first where a row shows nothing of the face."""
    texel_from_pixel: Float[np.ndarray, "3 3"]
    """Homography from the pixels of the box to texels of the face, its border included."""
    inside: UInt8[np.ndarray, "r c"] | None = None
    """Not zero where the box shows this face; None where all of it does, or later parts draw over the rest."""

    @property
    def area(self) -> int:
        """Pixels of the box."""
        return len(self.first) * (self.columns.stop - self.columns.start)

    def with_mask(self) -> FacePart:
        """The same with `inside`. Rows are gathered from one long row, which is 5 × faster than comparing."""
        width = self.columns.stop - self.columns.start
        starts, ends = bool(self.first.max() > 0), bool(self.last.min() < width - 1)
        if not starts and not ends:
            return self
        steps = sliding_window_view(np.repeat(np.array([0, 1, 0], np.uint8), width), width)
        inside = steps[(width - self.first) if starts else (2 * width - 1 - self.last)]
        if starts and ends:
            inside &= steps[2 * width - 1 - self.last]
        return replace(self, inside=inside)


@dataclass(frozen=True, eq=False)
class FacesInView:
    """What a view shows: one part per visible face, in the order in which they are drawn. Some kB without masks."""

    intrinsics: Intrinsics
    parts: tuple[FacePart, ...]

    @cached_property
    def packed(self) -> bytes:
        """The parts as the kernel reads them (`Part` in `native.c`); it holds addresses of their arrays."""
        return b"".join(
            struct.pack(
                "9d6q",
                *part.texel_from_pixel.ravel().tolist(),
                part.first.ctypes.data,
                part.last.ctypes.data,
                part.face,
                part.rows.start,
                part.rows.stop,
                part.columns.start,
            )
            for part in self.parts
        )

    def ready(self) -> FacesInView:
        """The same, ready to be drawn: with masks, if OpenCV is to draw it."""
        if native() is not None:
            return self
        # The first box is drawn whole: every pixel of it that shows another face is drawn over by that face.
        return replace(self, parts=(*self.parts[:1], *(part.with_mask() for part in self.parts[1:])))


@lru_cache(maxsize=32)
def ray_cosine(intrinsics: Intrinsics) -> Float32[np.ndarray, "h w"]:
    """Cosine between each pixel's ray and the optical axis: z-distance = euclidean distance × cosine."""
    rays = geometry.pixel_rays(intrinsics)
    cosine = (1.0 / np.linalg.norm(rays, axis=-1)).astype(np.float32)
    cosine.setflags(write=False)
    return cosine


@lru_cache(maxsize=32)
def _ray_from_pixel(intrinsics: Intrinsics) -> Float[np.ndarray, "3 3"]:
    """Matrix from (column, row, 1) to the ray through the pixel's centre, with z = 1."""
    first_x, first_y = geometry.pixel_rays(intrinsics)[0, 0, :2]
    step = 1.0 / intrinsics.focal_px
    return np.array([[step, 0.0, first_x], [0.0, step, first_y], [0.0, 0.0, 1.0]])


def cube_from_camera(
    rotation: Float[np.ndarray, "3 3"], heading_rad: float, elevation_rad: float
) -> Float[np.ndarray, "3 3"]:
    """Matrix from camera-frame rays (x right, y down, z forward) to cube-map directions of a viewpoint."""
    return -rotation.T @ geometry.camera_rotation(heading_rad, elevation_rad)


def faces_in_view(
    intrinsics: Intrinsics,
    rotation: Float[np.ndarray, "3 3"],
    heading_rad: float,
    elevation_rad: float,
    face_px: int,
) -> FacesInView:
    """Find the faces that a view from a viewpoint (`rotation`, the 3 × 3 part of its pose) shows, and where."""
    matrix = cube_from_camera(rotation, heading_rad, elevation_rad) @ _ray_from_pixel(intrinsics)
    # A face lies where x · column + y · row + constant ≥ 0 for each of its four edges.
    axes = _SIGNS * matrix[_AXES]
    edges = axes[:, :1, None] + np.stack([-axes[:, 1:], axes[:, 1:]], 2)
    edges = edges.reshape(len(CUBE_FACES), 4, 3)
    right, bottom = intrinsics.width - 1.0, intrinsics.height - 1.0
    corners = edges @ np.array([[0.0, right, 0.0, right], [0.0, 0.0, bottom, bottom], [1.0, 1.0, 1.0, 1.0]])
    shown = ~(corners.max(2) < 0.0).any(1)
    crossed = corners.min(2) < 0.0
    half, middle = 0.5 * face_px, 0.5 * face_px - 0.5 + FACE_BORDER_PX
    parts = []
    for face in np.flatnonzero(shown).tolist():
        spans = _spans(edges[face][crossed[face]].tolist(), intrinsics)
        if spans is not None:
            rows, columns, first, last = spans
            toward, along = axes[face, 0], axes[face, 1:]
            texel = np.concatenate([half * along + middle * toward, toward[None]])
            texel[:, 2] += columns.start * texel[:, 0] + rows.start * texel[:, 1]
            parts.append(FacePart(face, rows, columns, first, last, texel))
    parts.sort(key=lambda part: part.area, reverse=True)
    return FacesInView(intrinsics, tuple(parts))


_AXES = np.array([[axis for axis, _ in face] for face in CUBE_FACES])
_SIGNS = np.array([[[sign] for _, sign in face] for face in CUBE_FACES])


def _spans(
    edges: list[list[float]], intrinsics: Intrinsics
) -> tuple[slice, slice, Int64[np.ndarray, " r"], Int64[np.ndarray, " r"]] | None:
    """Rows and columns of the box that shows a face, then the first and last column in each row; None for no box.

    A pixel shows the face whose axis is the largest component of its direction. Components are linear in pixel
    coordinates, so a face's part of the image is a convex polygon: in every row, an interval of columns. Two faces
    compute their common edge from the same numbers, so that no pixel falls between them.
    """
    right = intrinsics.width - 1.0
    low, high = np.zeros(intrinsics.height), np.full(intrinsics.height, right)
    row = np.arange(intrinsics.height, dtype=np.float64)
    for x, y, constant in edges:
        rest = row * y + constant
        if x > 0.0:
            np.maximum(low, rest / -x, out=low)
        elif x < 0.0:
            np.minimum(high, rest / -x, out=high)
        else:
            high[rest < 0.0] = -1.0
    # An edge that is nearly parallel to the rows crosses them far outside of the image.
    first = np.ceil(np.minimum(low, right + 1.0)).astype(np.int64)
    last = np.floor(np.maximum(high, -1.0)).astype(np.int64)
    hit = np.flatnonzero(first <= last)
    if not hit.size:
        return None
    rows = slice(int(hit[0]), int(hit[-1]) + 1)
    left, stop = int(first[hit].min()), int(last[hit].max()) + 1
    # A row between others may show none of a thin face: its interval is empty, at either end of the box.
    first, last = np.minimum(first[rows] - left, stop - left), np.maximum(last[rows] - left, -1)
    return rows, slice(left, stop), first, last


def sample_rgb(
    panorama: Panorama, view: FacesInView, out: UInt8[np.ndarray, "h w 3"] | None = None, *, bgr: bool = False
) -> UInt8[np.ndarray, "h w 3"]:
    """Colour image of a view (that is ready), bilinear; written to `out` where given."""
    out = np.empty((view.intrinsics.height, view.intrinsics.width, 3), np.uint8) if out is None else out
    sample_rgbd(panorama, view, out, None, bgr=bgr)
    return out


def sample_distance(panorama: Panorama, view: FacesInView, rows: range | None = None) -> UInt16[np.ndarray, "h w"]:
    """Euclidean distance of each pixel of a view (or some rows of it), nearest texel, in file units."""
    rows = range(view.intrinsics.height) if rows is None else rows
    out = np.empty((len(rows), view.intrinsics.width), np.uint16)
    drawer()(panorama, view, rows, depth=out)
    return out


def sample_rgbd(
    panorama: Panorama,
    view: FacesInView,
    rgb: UInt8[np.ndarray, "h w 3"] | None,
    depth: UInt16[np.ndarray, "h w"] | None,
    *,
    bgr: bool = False,
    rows: range | None = None,
) -> None:
    """Write colours, distances along the optical axis (in file units, rounded; 0 where there is no reading), or both.

    Only some rows where given. The compiled kernel draws both at once.
    """
    rows = range(view.intrinsics.height) if rows is None else rows
    within = slice(rows.start, rows.stop)
    colour, distance = (None if out is None else out[within] for out in (rgb, depth))
    factor = None if depth is None else ray_cosine(view.intrinsics)[within]
    drawer()(panorama, view, rows, rgb=colour, bgr=bgr, depth=distance, factor=factor)


def sample_depth_m(
    panorama: Panorama, view: FacesInView, out: Float32[np.ndarray, "h w"] | None = None
) -> Float32[np.ndarray, "h w"]:
    """Distance along the optical axis in metres; 0 where there is no reading. As `sample_rgb`."""
    out = np.empty((view.intrinsics.height, view.intrinsics.width), np.float32) if out is None else out
    scale = _metres_per_unit(view.intrinsics)
    for band in bands(view.intrinsics):
        within = slice(band.start, band.stop)
        np.multiply(sample_distance(panorama, view, band), scale[within], out=out[within], casting="unsafe")
    return out


def bands(intrinsics: Intrinsics) -> list[range]:
    """Rows of an image in parts that stay in a core's cache, or that cores share."""
    height = max(1, BAND_PX // intrinsics.width)
    return [range(top, min(top + height, intrinsics.height)) for top in range(0, intrinsics.height, height)]


@lru_cache(maxsize=32)
def _metres_per_unit(intrinsics: Intrinsics) -> Float32[np.ndarray, "h w"]:
    return ray_cosine(intrinsics) / np.float32(DEPTH_UNITS_PER_M)


def drawer() -> Callable[..., None]:
    """What draws here: `Native.draw`, or `opencv.draw`, which takes as long to import as all else."""
    kernel = native()
    if kernel is not None:
        return kernel.draw
    from ghosts_sim import opencv

    return opencv.draw
