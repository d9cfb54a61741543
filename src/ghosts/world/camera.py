"""A pinhole camera inside a cube map, on the CPU: which faces a view shows, and OpenCV's perspective warp of each.

The original simulator draws the skybox with OpenGL. Its answer has a closed form: a pixel whose ray points along `d` in
the world samples the cube map at `−Rᵀ d`, where `R` is the 3 × 3 part of the viewpoint's pose (its convention and
the original's view matrix together give the minus). Faces and texels then follow OpenGL's cube-map rule. Colour is
bilinear, depth nearest, both clamped at face edges; euclidean distance becomes z-distance by the cosine of the ray.

Within one face the way from pixels to texels is a homography, so a view needs no map of texels: 640 × 480 pixels of
colour and depth take 1.5 ms on one core, of which 0.2 ms go into finding the faces.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np
from jaxtyping import Float, Float32, Int64, UInt8, UInt16
from numpy.lib.stride_tricks import sliding_window_view

from ghosts import geometry
from ghosts.types import Intrinsics
from ghosts.world.store import FACE_BORDER_PX, Panorama

DEPTH_UNITS_PER_M = 4000.0

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
    """The part of an image that shows one face."""

    face: int
    rows: slice
    columns: slice
    texel_from_pixel: Float[np.ndarray, "3 3"]
    """Homography from the pixels of the box `rows` × `columns` to texels of the face, its border included."""
    inside: UInt8[np.ndarray, "r c"] | None
    """Not zero where the box shows this face; None where all of it does, or later parts draw over the rest."""


@dataclass(frozen=True, eq=False)
class Band:
    """Some rows of a view: one part per visible face, in the order in which they are drawn."""

    intrinsics: Intrinsics
    rows: range
    parts: tuple[FacePart, ...]


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


@dataclass(frozen=True, eq=False)
class FaceSpans:
    """Where a view shows one face: an interval of columns in every row from `top` on."""

    face: int
    texel_from_pixel: Float[np.ndarray, "3 3"]
    """Homography from the pixels of the whole view."""
    top: int
    first: Int64[np.ndarray, " r"]
    last: Int64[np.ndarray, " r"]
    """Before the first where a row shows nothing of the face."""

    def part(self, rows: range) -> FacePart | None:
        """The part of a band of rows, without its mask; None where it shows nothing of the face."""
        start, stop = max(rows.start, self.top), min(rows.stop, self.top + len(self.first))
        if start >= stop:
            return None
        left = int(self.first[start - self.top : stop - self.top].min())
        right = int(self.last[start - self.top : stop - self.top].max()) + 1
        if left >= right:
            return None
        shifted = self.texel_from_pixel.copy()
        shifted[:, 2] += left * shifted[:, 0] + start * shifted[:, 1]
        return FacePart(self.face, slice(start - rows.start, stop - rows.start), slice(left, right), shifted, None)

    def mask(self, part: FacePart, rows: range) -> UInt8[np.ndarray, "r c"] | None:
        """Not zero inside the intervals; None where they fill the box.

        Rows are gathered from one long row, which is 5 × faster than comparing.
        """
        left, width = part.columns.start, part.columns.stop - part.columns.start
        offset = rows.start - self.top
        within = slice(part.rows.start + offset, part.rows.stop + offset)
        first, last = self.first[within] - left, self.last[within] - left
        bounded = bool(last.min() < width - 1)
        if not bounded and not first.max() > 0:
            return None
        steps = sliding_window_view(np.repeat(np.array([0, 1, 0], np.uint8), width), width)
        mask = steps[width - np.minimum(first, width)]
        if bounded:
            mask &= steps[2 * width - 1 - np.maximum(last, -1)]
        return mask


@dataclass(frozen=True, eq=False)
class FacesInView:
    """The faces that a view shows, and where (some kB; masks are made for drawing and forgotten)."""

    intrinsics: Intrinsics
    faces: tuple[FaceSpans, ...]

    def band(self, rows: range | None = None) -> Band:
        """Some rows of the view, ready to be drawn; all by default."""
        rows = range(self.intrinsics.height) if rows is None else rows
        found = [(spans, part) for spans in self.faces if (part := spans.part(rows)) is not None]
        # The largest box is drawn whole: every pixel of it that shows another face is drawn over by that face.
        found.sort(key=lambda item: _area(item[1]), reverse=True)
        over = (replace(part, inside=spans.mask(part, rows)) for spans, part in found[1:])
        return Band(self.intrinsics, rows, (*(part for _, part in found[:1]), *over))


def _area(part: FacePart) -> int:
    return (part.rows.stop - part.rows.start) * (part.columns.stop - part.columns.start)


def faces_in_view(
    intrinsics: Intrinsics,
    rotation: Float[np.ndarray, "3 3"],
    heading_rad: float,
    elevation_rad: float,
    face_px: int,
) -> FacesInView:
    """Find the faces that a view shows, and where.

    Args:
        intrinsics: the camera.
        rotation: 3 × 3 part of the viewpoint's pose.
        heading_rad: camera heading.
        elevation_rad: camera elevation.
        face_px: side of a skybox face.
    """
    matrix = cube_from_camera(rotation, heading_rad, elevation_rad) @ _ray_from_pixel(intrinsics)
    # A face lies where x · column + y · row + constant ≥ 0 for each of its four edges.
    axes = _SIGNS * matrix[_AXES]
    edges = axes[:, :1, None] + np.stack([-axes[:, 1:], axes[:, 1:]], 2)
    edges = edges.reshape(len(CUBE_FACES), 4, 3)
    right, bottom = intrinsics.width - 1.0, intrinsics.height - 1.0
    corners = edges @ np.array([[0.0, right, 0.0, right], [0.0, 0.0, bottom, bottom], [1.0, 1.0, 1.0, 1.0]])
    shown = ~(corners.max(2) < 0.0).any(1)
    half, middle = 0.5 * face_px, 0.5 * face_px - 0.5 + FACE_BORDER_PX
    crossed = corners.min(2) < 0.0
    found = []
    for face in np.flatnonzero(shown).tolist():
        spans = _spans(edges[face][crossed[face]].tolist(), intrinsics)
        if spans is not None:
            texel = half * axes[face] + middle * axes[face, 0]
            texel[0] = axes[face, 0]
            found.append(FaceSpans(face, texel[[1, 2, 0]], *spans))
    return FacesInView(intrinsics, tuple(found))


_AXES = np.array([[axis for axis, _ in face] for face in CUBE_FACES])
_SIGNS = np.array([[[sign] for _, sign in face] for face in CUBE_FACES])


def _spans(
    edges: list[list[float]], intrinsics: Intrinsics
) -> tuple[int, Int64[np.ndarray, " r"], Int64[np.ndarray, " r"]] | None:
    """First row that shows a face, then the first and last column in each row from there on; None for no row.

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
    band = slice(int(hit[0]), int(hit[-1]) + 1)
    return band.start, first[band], last[band]


def sample_rgb(
    panorama: Panorama, band: Band, out: UInt8[np.ndarray, "h w 3"] | None = None, *, bgr: bool = False
) -> UInt8[np.ndarray, "h w 3"]:
    """Colour image of a band, bilinear, as RGB or BGR."""
    shape = (len(band.rows), band.intrinsics.width, 4)
    rgbx = _draw(panorama.faces_rgbx, band, np.empty(shape, np.uint8), cv2.INTER_LINEAR)
    return cv2.cvtColor(rgbx, cv2.COLOR_RGBA2BGR if bgr else cv2.COLOR_RGBA2RGB, dst=out)


def sample_distance(panorama: Panorama, band: Band) -> UInt16[np.ndarray, "h w"]:
    """Euclidean distance of each pixel, nearest texel, in file units."""
    assert panorama.faces_depth is not None, "the panorama was loaded without depth"
    out = np.empty((len(band.rows), band.intrinsics.width), np.uint16)
    return _draw(panorama.faces_depth, band, out, cv2.INTER_NEAREST)


def sample_depth(
    panorama: Panorama, band: Band, out: UInt16[np.ndarray, "h w"] | None = None
) -> UInt16[np.ndarray, "h w"]:
    """Distance along the optical axis in file units, rounded; 0 where there is no reading."""
    cosine = ray_cosine(band.intrinsics)[band.rows.start : band.rows.stop]
    return cv2.multiply(sample_distance(panorama, band), cosine, dst=out, dtype=cv2.CV_16U)  # rounds as `numpy.rint`


def sample_depth_m(
    panorama: Panorama, band: Band, out: Float32[np.ndarray, "h w"] | None = None
) -> Float32[np.ndarray, "h w"]:
    """Distance along the optical axis in metres; 0 where there is no reading."""
    scale = _metres_per_unit(band.intrinsics)[band.rows.start : band.rows.stop]
    return np.multiply(sample_distance(panorama, band), scale, out=out, dtype=np.float32, casting="unsafe")


@lru_cache(maxsize=32)
def _metres_per_unit(intrinsics: Intrinsics) -> Float32[np.ndarray, "h w"]:
    return ray_cosine(intrinsics) / np.float32(DEPTH_UNITS_PER_M)


def _draw(faces: np.ndarray, band: Band, out: np.ndarray, interpolation: int) -> np.ndarray:
    """Warp each visible face into its part of the image."""
    for part in band.parts:
        box = out[part.rows, part.columns]
        # What lies outside of a face's border is never shown, and OpenCV fills it 3 × faster than it repeats edges.
        flags, target = interpolation | cv2.WARP_INVERSE_MAP, box if part.inside is None else None
        drawn = cv2.warpPerspective(faces[part.face], part.texel_from_pixel, box.shape[1::-1], dst=target, flags=flags)
        if part.inside is not None:
            cv2.copyTo(drawn, part.inside, box)
    return out
