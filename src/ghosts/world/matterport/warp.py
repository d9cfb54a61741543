"""From the 18 images of a panorama to six cube faces.

Every face pixel is looked up in each camera that sees it. Among the distances found, the one nearest its camera's
optical axis wins and those that agree with it are averaged in, so that nothing is mixed across a depth edge.

The cameras of a panorama do not stand in one point. Depth is corrected for that: distances are those from the given
centre. Without a centre, images are warped by rotation alone, as the original simulator does; with cameras 5 cm apart,
94 % of its distances are then off by more than 1 % (tests/world/matterport/test_warp.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import cv2
import numpy as np
from jaxtyping import Float, Float32, UInt8, UInt16

from ghosts.world.camera import CUBE_FACES, DEPTH_UNITS_PER_M
from ghosts.world.matterport.conf import FORWARD, RawCamera, Rig

AGREE = 0.02
"""Distances that differ by less than this share are taken for the same surface."""
_NEAREST_M = 0.4  # things nearer may be cut off at the border of an image
_FAR = np.float32(1e9)  # depth units: 250 km
_ROUNDS = 4  # look-ups of a displaced pixel; each shrinks its error by about offset / distance
_NEAR_AXIS = 8  # weight cos⁸ of the angle to the optical axis: 0.13 in the corner of an image


@dataclass(frozen=True)
class Warped:
    """Depth on the cube."""

    distance: Float32[np.ndarray, "6 f f"]
    """Euclidean distance in the unit of the input, 0 where no camera has a reading."""
    overlap: int
    """Pixels that two or more cameras measured."""
    agreeing: int
    """Those of them whose distances agree."""


def world_from_cube(rig: Rig) -> Float[np.ndarray, "3 3"]:
    """Cube-map directions to world: face 1 (+z of the cube) looks where camera 1_5 looks, with its right and up.

    The cube map is left-handed (x right, y up, z ahead), the camera right-handed (z behind): hence the minus.
    """
    return rig[FORWARD].rotation * np.array([1.0, 1.0, -1.0])


@lru_cache(maxsize=8)
def face_rays(face_px: int) -> tuple[Float[np.ndarray, "6 3 3"], Float32[np.ndarray, "f f"]]:
    """Matrices from homogeneous face pixels (column, row, 1) to cube directions with 1 along the face's axis, and their
    length (the same on every face)."""
    scale = np.array([[2.0 / face_px, 0.0, 1.0 / face_px - 1.0], [0.0, 2.0 / face_px, 1.0 / face_px - 1.0], [0, 0, 1]])
    matrices = np.zeros((6, 3, 3))
    for face, ((major, sign), (s_axis, s_sign), (t_axis, t_sign)) in enumerate(CUBE_FACES):
        matrices[face, s_axis, 0], matrices[face, t_axis, 1], matrices[face, major, 2] = s_sign, t_sign, sign
    ticks = (np.arange(face_px) + 0.5) * (2.0 / face_px) - 1.0
    length = np.sqrt(1.0 + ticks**2 + ticks[:, None] ** 2).astype(np.float32)
    length.setflags(write=False)
    return matrices @ scale, length


@dataclass(frozen=True)
class View:
    """Where a camera sees a face."""

    homography: Float[np.ndarray, "3 3"]
    """Pixels of the box to pixels of the image (homogeneous)."""
    box: tuple[slice, slice]
    """Rows and columns of the face that the image may cover."""
    ahead: Float32[np.ndarray, "y x"]
    """Component of the face's rays along the optical axis; positive in front of the camera."""


def view_of(
    camera: RawCamera,
    world_from_cube: Float[np.ndarray, "3 3"],
    face: int,
    face_px: int,
    size: tuple[int, int],
    margin_px: int = 0,
) -> View | None:
    """The part of a face that a camera sees, None where they do not meet.

    Args:
        camera: the camera.
        world_from_cube: see the function of that name.
        face: 0 to 5.
        face_px: side of the face.
        size: height and width of the camera's image.
        margin_px: pixels by which the box is larger than what is seen.
    """
    height, width = size
    rays, _ = face_rays(face_px)
    matrix = camera.pixel_from_ray(height) @ camera.rotation.T @ world_from_cube @ rays[face]
    box = _box(matrix, face_px, height, width, margin_px)
    if box is None:
        return None
    rows, columns = box
    shift = np.array([[1.0, 0.0, columns.start], [0.0, 1.0, rows.start], [0.0, 0.0, 1.0]])
    local = matrix @ shift
    across = np.arange(columns.stop - columns.start, dtype=np.float32) * np.float32(local[2, 0])
    along = np.arange(rows.stop - rows.start, dtype=np.float32) * np.float32(local[2, 1]) + np.float32(local[2, 2])
    return View(local, box, along[:, None] + across)


def _box(matrix: np.ndarray, face_px: int, height: int, width: int, margin_px: int) -> tuple[slice, slice] | None:
    """Bounding box on the face of what projects into the image: the face's square cut by the image's four sides."""
    corners = np.array([[-0.5, -0.5], [face_px - 0.5, -0.5], [face_px - 0.5, face_px - 0.5], [-0.5, face_px - 0.5]])
    polygon = np.column_stack([corners, np.ones(4)])
    sides = (
        matrix[0] + 0.5 * matrix[2],
        (width - 0.5) * matrix[2] - matrix[0],
        matrix[1] + 0.5 * matrix[2],
        (height - 0.5) * matrix[2] - matrix[1],
    )
    for side in sides:
        value = polygon @ side
        kept = []
        for k in range(len(polygon)):
            here, there = value[k], value[(k + 1) % len(polygon)]
            if here >= 0.0:
                kept.append(polygon[k])
            if (here >= 0.0) != (there >= 0.0):
                kept.append(polygon[k] + (polygon[(k + 1) % len(polygon)] - polygon[k]) * (here / (here - there)))
        if len(kept) < 3:
            return None
        polygon = np.array(kept)
    low = np.clip(np.floor(polygon[:, :2].min(0)).astype(int) - margin_px, 0, face_px - 1)
    high = np.clip(np.ceil(polygon[:, :2].max(0)).astype(int) + 1 + margin_px, 1, face_px)
    return slice(int(low[1]), int(high[1])), slice(int(low[0]), int(high[0]))


def warp_depth(
    rig: Rig,
    depth: Mapping[tuple[int, int], UInt16[np.ndarray, "h w"]],
    face_px: int,
    centre_m: Float[np.ndarray, " 3"] | None = None,
) -> Warped:
    """Warp z-depth images onto the cube as euclidean distances.

    Args:
        rig: the cameras.
        depth: their depth images; 0 = no reading. Cameras without one are left out.
        face_px: side of a face.
        centre_m: where distances are measured from, in the world; None takes every camera's own place for it.
    """
    to_world = world_from_cube(rig)
    _, length = face_rays(face_px)
    distance = np.zeros((6, face_px, face_px), np.float32)
    overlap = agreeing = 0
    for face in range(6):
        samples = []
        best, best_weight = distance[face], np.zeros((face_px, face_px), np.float32)
        for which in sorted(depth):
            image = depth[which]
            size = image.shape[0], image.shape[1]
            offset = np.zeros(3) if centre_m is None else _offset(rig[which], centre_m, image.shape[0])
            view = view_of(rig[which], to_world, face, face_px, size, _margin(rig[which], centre_m, face_px))
            if view is None:
                continue
            found, weight = _distances(image, view, length[view.box], offset)
            samples.append((view.box, found, weight))
            better = weight > best_weight[view.box]
            np.copyto(best[view.box], found, where=better)
            np.copyto(best_weight[view.box], weight, where=better)
        counts = _blend(best, samples)
        overlap, agreeing = overlap + counts[0], agreeing + counts[1]
    return Warped(distance, overlap, agreeing)


def _offset(camera: RawCamera, centre_m: np.ndarray, height: int) -> np.ndarray:
    """The centre as homogeneous pixel of a camera's image, in depth units."""
    shift = camera.rotation.T @ (centre_m - camera.position_m) * DEPTH_UNITS_PER_M
    return camera.pixel_from_ray(height) @ shift


def _margin(camera: RawCamera, centre_m: np.ndarray | None, face_px: int) -> int:
    """Pixels by which a thing at `_NEAREST_M` may be displaced between the centre and the camera."""
    if centre_m is None:
        return 0
    return int(np.ceil(np.linalg.norm(centre_m - camera.position_m) / _NEAREST_M * face_px / 2.0))


def _distances(
    image: np.ndarray, view: View, length: np.ndarray, offset: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Distance and weight of each pixel of the box; both 0 where there is no reading.

    The nearest pixel, never a mean of several: a mean across an edge is a surface that is not there.
    """
    size = (view.ahead.shape[1], view.ahead.shape[0])
    z = cv2.warpPerspective(image, view.homography, size, flags=cv2.INTER_NEAREST | cv2.WARP_INVERSE_MAP)
    if offset is not None and offset.any():
        scale = _displaced(image, view, offset, z)
    else:
        scale = np.divide(z, view.ahead, out=np.zeros_like(view.ahead), where=(z > 0) & (view.ahead > 0.0))
    weight = np.where(scale > 0.0, view.ahead / length, np.float32(0.0))
    for _ in range(_NEAR_AXIS.bit_length() - 1):
        weight *= weight
    return scale * length, weight


def _displaced(image: np.ndarray, view: View, offset: np.ndarray, z: np.ndarray) -> np.ndarray:
    """How far along each face ray the surface lies that a camera beside the centre sees; 0 where that is not certain.

    A point `scale` along a ray has the homogeneous pixel `scale · H p + offset`, whose last component is its z.
    Starting from the pixel of a point at infinity, place and z are looked up in turn until they agree.
    """
    ahead = np.maximum(view.ahead, np.float32(1e-6))
    far = np.full_like(ahead, _FAR)
    place = _pixels(view.homography, far, ahead, np.zeros(3))
    start = cv2.remap(image, *place, cv2.INTER_NEAREST, borderMode=cv2.BORDER_REPLICATE)
    scale = np.maximum(np.where(z > 0, z, start) - np.float32(offset[2]), 0.0) / ahead
    for _ in range(_ROUNDS):
        before = scale
        z = cv2.remap(image, *_pixels(view.homography, scale, ahead, offset), cv2.INTER_NEAREST)
        scale = np.maximum(z - np.float32(offset[2]), 0.0) / ahead
    settled = (z > 0) & (view.ahead > 0.0) & (np.abs(scale - before) <= AGREE * scale)
    return np.where(settled, scale, np.float32(0.0))


def _pixels(
    homography: np.ndarray, scale: np.ndarray, ahead: np.ndarray, offset: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Columns and rows of the image where points `scale` along the rays of a box are seen."""
    rows, columns = (np.arange(count, dtype=np.float32) for count in ahead.shape)
    matrix, shift = homography.astype(np.float32), offset.astype(np.float32)
    depth = np.maximum(scale * ahead + shift[2], np.float32(1.0))
    u, v = (matrix[k, 0] * columns + (matrix[k, 1] * rows[:, None] + matrix[k, 2]) for k in range(2))
    return (scale * u + shift[0]) / depth, (scale * v + shift[1]) / depth


def _blend(best: np.ndarray, samples: list[tuple[tuple[slice, slice], np.ndarray, np.ndarray]]) -> tuple[int, int]:
    """Average what agrees with the best, in place; returns how many pixels several cameras saw, and agree on."""
    total, weights = np.zeros_like(best), np.zeros_like(best)
    seen, same = np.zeros(best.shape, np.uint8), np.zeros(best.shape, np.uint8)
    for box, found, weight in samples:
        has = weight > 0.0
        agree = has & (np.abs(found - best[box]) <= AGREE * best[box])
        share = np.where(agree, weight, np.float32(0.0))
        total[box] += share * found
        weights[box] += share
        seen[box] += has
        same[box] += agree
    np.divide(total, weights, out=best, where=weights > 0.0)
    several = seen > 1
    return int(several.sum()), int((several & (same > 1)).sum())


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
        camera, image = rig[which], images[which]
        small, to_small = _shrunk(image, camera, face_px)
        size = image.shape[0], image.shape[1]
        offset = np.zeros(3) if centre_m is None else to_small @ _offset(camera, centre_m, image.shape[0])
        for face in range(6):
            view = view_of(camera, to_world, face, face_px, size, _margin(camera, centre_m, face_px))
            if view is None:
                continue
            scale = np.full_like(view.ahead, _FAR)
            if distance is not None:
                np.divide(distance[face][view.box], length[view.box], out=scale, where=distance[face][view.box] > 0.0)
            place = _pixels(to_small @ view.homography, scale, view.ahead, offset)
            warped = cv2.remap(small, *place, cv2.INTER_LINEAR)
            warped[view.ahead <= 0.0] = 0.0
            total[(face, *view.box)] += warped
    weight = total[..., 3:]
    # The feather ends at 0 on an image's border; the skybox takes over from there without a seam.
    share = np.minimum(weight * 16.0, 1.0)
    mean = np.divide(total[..., :3], weight, out=np.zeros_like(total[..., :3]), where=weight > 0.0)
    return np.rint(mean * share + below * (1.0 - share)).astype(np.uint8)


def _shrunk(image: np.ndarray, camera: RawCamera, face_px: int) -> tuple[np.ndarray, np.ndarray]:
    """An image in the resolution of the faces, times its feather, which is the fourth channel; and the pixel matrix.

    A face shows fewer pixels than the image has: without shrinking, every third pixel would be thrown away.
    """
    shrink = max(1, int(camera.fx / (face_px / 2.0)))
    height, width = image.shape[:2]
    reduced = cv2.resize(image, (width // shrink, height // shrink), interpolation=cv2.INTER_AREA)
    feather = _feather(*reduced.shape[:2])
    x, y = reduced.shape[1] / width, reduced.shape[0] / height
    to_small = np.array([[x, 0.0, 0.5 * x - 0.5], [0.0, y, 0.5 * y - 0.5], [0.0, 0.0, 1.0]])
    return np.dstack([reduced * feather[..., None], feather]), to_small


@lru_cache(maxsize=4)
def _feather(height: int, width: int) -> Float32[np.ndarray, "h w"]:
    """1 in the middle of an image, 0 on its border."""
    across = 1.0 - np.abs((np.arange(width) + 0.5) * (2.0 / width) - 1.0)
    along = 1.0 - np.abs((np.arange(height) + 0.5) * (2.0 / height) - 1.0)
    return np.minimum(across[None], along[:, None]).astype(np.float32)
