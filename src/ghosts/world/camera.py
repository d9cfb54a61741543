"""A pinhole camera inside a cube map, on the CPU: which faces a view shows, and OpenCV's perspective warp of each.

The original simulator draws the skybox with OpenGL. Its answer has a closed form: a pixel whose ray points along `d` in
the world samples the cube map at `−Rᵀ d`, where `R` is the 3 × 3 part of the viewpoint's pose (its convention and
the original's view matrix together give the minus). Faces and texels then follow OpenGL's cube-map rule. Colour is
bilinear, depth nearest, both clamped at face edges; euclidean distance becomes z-distance by the cosine of the ray.

Within one face the way from pixels to texels is a homography, so a view needs no map of texels: 640 × 480 pixels of
colour and depth take 1.5 ms on one core, of which 0.2 ms go into finding the faces.
"""

from __future__ import annotations

from dataclasses import dataclass
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
    """The part of a view that shows one face."""

    face: int
    rows: slice
    columns: slice
    texel_from_pixel: Float[np.ndarray, "3 3"]
    """Homography from the pixels of the box `rows` × `columns` to texels of the face, its border included."""
    inside: UInt8[np.ndarray, "r c"] | None
    """Not zero where the box shows this face; None where what is outside is drawn over by later parts."""


@dataclass(frozen=True, eq=False)
class FacesInView:
    """What a view shows: one part per visible face, in the order in which they are drawn."""

    intrinsics: Intrinsics
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
    world_from_camera = geometry.camera_to_world(np.zeros(3), heading_rad, elevation_rad)[:3, :3]
    return -rotation.T @ world_from_camera


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
    shown = []
    for face, ((major, sign), (s_axis, s_sign), (t_axis, t_sign)) in enumerate(CUBE_FACES):
        axes = (sign * matrix[major], s_sign * matrix[s_axis], t_sign * matrix[t_axis])
        spans = _face_spans(*axes, intrinsics)
        if spans is not None:
            shown.append((spans, face, axes))
    # The largest box is drawn whole: every pixel of it that shows another face is drawn over by that face.
    shown.sort(key=lambda item: item[0].area, reverse=True)
    half, middle = 0.5 * face_px, 0.5 * face_px - 0.5 + FACE_BORDER_PX
    parts = []
    for number, (spans, face, (toward, along_s, along_t)) in enumerate(shown):
        texel = np.stack([half * along_s + middle * toward, half * along_t + middle * toward, toward])
        texel[:, 2] += spans.columns.start * texel[:, 0] + spans.rows.start * texel[:, 1]
        parts.append(FacePart(face, spans.rows, spans.columns, texel, spans.mask() if number else None))
    return FacesInView(intrinsics, tuple(parts))


@dataclass(frozen=True, eq=False)
class _Spans:
    """The interval of columns that shows a face, in each of some image rows."""

    rows: slice
    columns: slice
    first: Int64[np.ndarray, " r"]
    last: Int64[np.ndarray, " r"]

    @property
    def area(self) -> int:
        return len(self.first) * (self.columns.stop - self.columns.start)

    def mask(self) -> UInt8[np.ndarray, "r c"]:
        """Not zero inside the intervals. Rows are gathered from one long row, which is 5 × faster than comparing."""
        width = self.columns.stop - self.columns.start
        steps = sliding_window_view(np.repeat(np.array([0, 1, 0], np.uint8), width), width)
        mask = steps[width - (self.first - self.columns.start)]
        if (self.last < self.columns.stop - 1).any():
            mask &= steps[2 * width - 1 - (self.last - self.columns.start)]
        return mask


def _face_spans(
    toward: Float[np.ndarray, " 3"],
    along_s: Float[np.ndarray, " 3"],
    along_t: Float[np.ndarray, " 3"],
    intrinsics: Intrinsics,
) -> _Spans | None:
    """The pixels that show a face; None where there are none.

    A pixel shows the face whose axis is the largest component of its direction. Components are linear in pixel
    coordinates, so a face's part of the image is a convex polygon: in every row, an interval of columns. Two faces
    compute their common edge from the same numbers, so that no pixel falls between them.
    """
    right, bottom = intrinsics.width - 1.0, intrinsics.height - 1.0
    crossing = []
    for edge in (toward - along_s, toward + along_s, toward - along_t, toward + along_t):
        x, y, constant = edge.tolist()  # the face lies where x · column + y · row + constant ≥ 0
        corners = (constant, x * right + constant, y * bottom + constant, x * right + y * bottom + constant)
        if max(corners) < 0.0:
            return None
        if min(corners) < 0.0:
            crossing.append((x, y, constant))
    low, high = np.zeros(intrinsics.height), np.full(intrinsics.height, right)
    row = np.arange(intrinsics.height, dtype=np.float64)
    for x, y, constant in crossing:
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
    first, last = first[rows], last[rows]
    return _Spans(rows, slice(int(first.min()), int(last.max()) + 1), first, last)


def sample_rgb(
    panorama: Panorama, view: FacesInView, out: UInt8[np.ndarray, "h w 3"] | None = None, *, bgr: bool = False
) -> UInt8[np.ndarray, "h w 3"]:
    """Colour image of a view, bilinear, as RGB or BGR."""
    shape = (view.intrinsics.height, view.intrinsics.width, 4)
    rgbx = _draw(panorama.faces_rgbx, view, np.empty(shape, np.uint8), cv2.INTER_LINEAR)
    return cv2.cvtColor(rgbx, cv2.COLOR_RGBA2BGR if bgr else cv2.COLOR_RGBA2RGB, dst=out)


def sample_distance(panorama: Panorama, view: FacesInView) -> UInt16[np.ndarray, "h w"]:
    """Euclidean distance of each pixel, nearest texel, in file units."""
    assert panorama.faces_depth is not None, "the panorama was loaded without depth"
    out = np.empty((view.intrinsics.height, view.intrinsics.width), np.uint16)
    return _draw(panorama.faces_depth, view, out, cv2.INTER_NEAREST)


def sample_depth(
    panorama: Panorama, view: FacesInView, out: UInt16[np.ndarray, "h w"] | None = None
) -> UInt16[np.ndarray, "h w"]:
    """Distance along the optical axis in file units, rounded; 0 where there is no reading."""
    # The product of all that is given: OpenCV rounds as `numpy.rint` does.
    return cv2.multiply(sample_distance(panorama, view), ray_cosine(view.intrinsics), dst=out, dtype=cv2.CV_16U)


def sample_depth_m(
    panorama: Panorama, view: FacesInView, out: Float32[np.ndarray, "h w"] | None = None
) -> Float32[np.ndarray, "h w"]:
    """Distance along the optical axis in metres; 0 where there is no reading."""
    scale = _metres_per_unit(view.intrinsics)
    return np.multiply(sample_distance(panorama, view), scale, out=out, dtype=np.float32, casting="unsafe")


@lru_cache(maxsize=32)
def _metres_per_unit(intrinsics: Intrinsics) -> Float32[np.ndarray, "h w"]:
    return ray_cosine(intrinsics) / np.float32(DEPTH_UNITS_PER_M)


def _draw(faces: np.ndarray, view: FacesInView, out: np.ndarray, interpolation: int) -> np.ndarray:
    """Warp each visible face into its part of the image."""
    # A ray exactly between two texels takes the farther one in OpenGL, the even one in OpenCV. Level views have such a
    # row; the nudge is twice the warp's own error in single precision.
    nudge = 4e-7 * faces.shape[1] if interpolation == cv2.INTER_NEAREST else 0.0
    for part in view.parts:
        box = out[part.rows, part.columns]
        warp = part.texel_from_pixel + nudge * part.texel_from_pixel[2] * _COLUMN_AND_ROW
        # What lies outside of a face's border is never shown, and OpenCV fills it 3 × faster than it repeats edges.
        flags, target = interpolation | cv2.WARP_INVERSE_MAP, box if part.inside is None else None
        drawn = cv2.warpPerspective(faces[part.face], warp, box.shape[1::-1], dst=target, flags=flags)
        if part.inside is not None:
            cv2.copyTo(drawn, part.inside, box)
    return out


_COLUMN_AND_ROW = np.array([[1.0], [1.0], [0.0]])
