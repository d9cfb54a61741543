"""Views and panoramas of a house: RGB, euclidean depth and semantic labels.

Every viewpoint of a house has the same, upright orientation `POSE_ROTATION`: skybox face 1 looks along world +y
(heading 0), face 2 along +x, 3 along −y, 4 along −x, 0 up and 5 down. A pixel of the skybox that looks along the world
direction d is found by OpenGL's cube-map rule at texture direction −Rᵀ d (the simulator's rule, turned round).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, UInt8

from ghosts_houses.arrays import Array, fetch, library, put, take
from ghosts_houses.house import POSE_ROTATION
from ghosts_houses.render.raycast import TILE_PX, Frames, Hits, cast
from ghosts_houses.render.scene import Scene
from ghosts_houses.render.shade import shade
from ghosts_sim.camera import CUBE_FACES
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import camera_to_world
from ghosts_sim.types import Intrinsics, Pose


def skybox_frames(positions_m: Float32[np.ndarray, "b 3"], face_size: int, device: object) -> Frames:
    """The six faces at each position, in the order of the file: `6b` frames."""
    # A texture direction of face k is forward + s·right + t·down with s, t in (−1, 1).
    cube = np.array([[sign * np.eye(3)[axis] for axis, sign in face] for face in CUBE_FACES])
    faces = np.tile(-cube @ POSE_ROTATION.T, (len(positions_m), 1, 1))
    forward, right, down = (put(faces[:, k], device, np.float32) for k in range(3))
    return Frames(put(np.repeat(positions_m, 6, 0), device), forward, right, down, face_size, face_size)


def frames_of(poses: Sequence[Pose], camera: Intrinsics, device: object) -> Frames:
    """Pinhole views from poses.

    Raises:
        ConfigError: there is no pose, or the image's size does not suit the ray caster.
    """
    if not poses:
        raise ConfigError("a renderer needs at least one pose; there is nothing to look at")
    if camera.width % TILE_PX or camera.height % TILE_PX:
        raise ConfigError(f"image size must be a multiple of {TILE_PX} pixels, got {camera.width} × {camera.height}")
    matrix = camera_to_world(
        [(pose.x_m, pose.y_m, pose.z_m) for pose in poses],
        [pose.heading_rad for pose in poses],
        [pose.elevation_rad for pose in poses],
    )
    axes = put(matrix, device, np.float32)
    tall = float(np.tan(camera.vfov_rad / 2))
    wide = tall * camera.width / camera.height
    right, down, forward, origin = (axes[:, :3, k] for k in range(4))
    return Frames(origin, forward, right * wide, down * tall, camera.height, camera.width)


@dataclass(frozen=True)
class Pictures:
    """Rendered images."""

    rgb: UInt8[np.ndarray, "m h w 3"]
    depth_m: Float32[np.ndarray, "m h w"]
    """Euclidean distance from the camera centre, 0 where nothing is seen."""
    label: UInt8[np.ndarray, "m h w"]


def render_frames(scene: Scene, frames: Frames) -> Pictures:
    """Render pinhole images of any orientation."""
    hits = cast(scene.solids, frames)
    rgb = shade(scene, frames, hits)
    return _download(scene, hits, rgb)


def _download(scene: Scene, hits: Hits, rgb: Array) -> Pictures:
    xp, seen = library(rgb), hits.index >= 0
    label = take(scene.label, xp.clip(hits.index, 0, None)) * seen
    return Pictures(fetch(rgb), fetch(xp.where(seen, hits.distance, 0.0)), fetch(label))


def render_panoramas(scene: Scene, positions_m: Float32[np.ndarray, "b 3"], face_size: int = 256) -> Iterator[Pictures]:
    """Render the skyboxes of many viewpoints: a whole house at once on a GPU, one by one on the CPU.

    Args:
        scene: a prepared scene.
        positions_m: camera centres.
        face_size: side of a face in pixels, a multiple of 16.

    Yields:
        The six faces of each viewpoint, in the order of the positions.
    """
    # 48 viewpoints of 256-pixel faces take about 6 GiB; the batch shrinks as faces grow.
    batch = 1 if scene.device == "cpu" else max(1, 48 * 256 * 256 // face_size**2)
    for start in range(0, len(positions_m), batch):
        frames = skybox_frames(positions_m[start : start + batch], face_size, scene.device)
        pictures = render_frames(scene, frames)
        for k in range(0, len(pictures.rgb), 6):
            yield Pictures(pictures.rgb[k : k + 6], pictures.depth_m[k : k + 6], pictures.label[k : k + 6])
