"""Panoramas of a house as Matterport's skybox files: RGB, euclidean depth and semantic labels.

Every viewpoint of a house has the same, upright orientation `POSE_ROTATION`: skybox face 1 looks along world +y
(heading 0), face 2 along +x, 3 along −y, 4 along −x, 0 up and 5 down. A pixel of the skybox that looks along the world
direction d is found by OpenGL's cube-map rule at texture direction −Rᵀ d (the simulator's rule, turned round).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import torch
from jaxtyping import Float32, UInt8
from torch import Tensor

from ghosts.errors import DataError
from ghosts.files import atomic_path
from ghosts.geometry import camera_to_world
from ghosts.types import Intrinsics
from ghosts.world.houses.house import House
from ghosts.world.houses.render.raycast import Frames, Hits, cast
from ghosts.world.houses.render.scene import Scene, prepare
from ghosts.world.houses.render.shade import shade

POSE_ROTATION = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, -1.0, 0.0]])
"""3 × 3 part of every viewpoint's pose in the connectivity file."""
DEPTH_UNIT_M = 0.00025
"""Depth files count quarters of a millimetre."""
JPEG_QUALITY = 92
# Face k of the cube: its texture direction is forward + s·right + t·down with s, t in (−1, 1), by OpenGL's cube-map
# rule and the simulator's assignment (+x face 2, −x face 4, +y face 0, −y face 5, +z face 1, −z face 3).
_FACES = (
    ((0, 1, 0), (1, 0, 0), (0, 0, 1)),
    ((0, 0, 1), (1, 0, 0), (0, -1, 0)),
    ((1, 0, 0), (0, 0, -1), (0, -1, 0)),
    ((0, 0, -1), (-1, 0, 0), (0, -1, 0)),
    ((-1, 0, 0), (0, 0, 1), (0, -1, 0)),
    ((0, -1, 0), (1, 0, 0), (0, 0, -1)),
)


def skybox_frames(positions_m: Float32[np.ndarray, "b 3"], face_size: int, device: torch.device | str) -> Frames:
    """The six faces at each position, in the order of the file: `6b` frames."""
    to_world = -POSE_ROTATION
    axes = np.array(_FACES, float) @ to_world.T
    faces = torch.tensor(axes, dtype=torch.float32, device=device)
    count = len(positions_m)
    origin = torch.from_numpy(positions_m).to(device).repeat_interleave(6, 0)
    forward, right, down = (faces[:, k].repeat(count, 1) for k in range(3))
    return Frames(origin, forward, right, down, face_size, face_size)


def view_frame(
    position_m: tuple[float, float, float],
    heading_rad: float,
    elevation_rad: float,
    camera: Intrinsics,
    device: torch.device | str,
) -> Frames:
    """One pinhole view straight from the house."""
    matrix = torch.tensor(camera_to_world(position_m, heading_rad, elevation_rad), dtype=torch.float32, device=device)
    tall = float(np.tan(camera.vfov_rad / 2))
    wide = tall * camera.width / camera.height
    return Frames(
        matrix[None, :3, 3],
        matrix[None, :3, 2],
        matrix[None, :3, 0] * wide,
        matrix[None, :3, 1] * tall,
        camera.height,
        camera.width,
    )


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


def _download(scene: Scene, hits: Hits, rgb: Tensor) -> Pictures:
    seen = hits.index >= 0
    depth = torch.where(seen, hits.distance, torch.zeros_like(hits.distance))
    label = torch.where(seen, scene.label[hits.index.clamp(min=0)], torch.zeros_like(scene.label[:1]))
    return Pictures(rgb.cpu().numpy(), depth.cpu().numpy(), label.cpu().numpy())


def render_panoramas(scene: Scene, positions_m: Float32[np.ndarray, "b 3"], face_size: int = 256) -> Iterator[Pictures]:
    """Render the skyboxes of many viewpoints: a whole house at once on a GPU, one by one on the CPU.

    Args:
        scene: a prepared scene.
        positions_m: camera centres.
        face_size: pixels a side, a multiple of 16.

    Yields:
        The six faces of each viewpoint, in the order of the positions.
    """
    # 48 viewpoints of 256-pixel faces take about 6 GiB; the batch shrinks as faces grow.
    batch = 1 if scene.device.type == "cpu" else max(1, 48 * 256 * 256 // face_size**2)
    for start in range(0, len(positions_m), batch):
        frames = skybox_frames(positions_m[start : start + batch], face_size, scene.device)
        pictures = render_frames(scene, frames)
        for k in range(0, len(pictures.rgb), 6):
            yield Pictures(pictures.rgb[k : k + 6], pictures.depth_m[k : k + 6], pictures.label[k : k + 6])


def render_panorama(
    scene: Scene | House,
    position_m: tuple[float, float, float],
    face_size: int = 256,
    device: torch.device | str = "cpu",
) -> Pictures:
    """Render the six skybox faces of a viewpoint, in the order of the file.

    Args:
        scene: a prepared scene, or a house (prepared on `device`).
        position_m: camera centre.
        face_size: pixels a side, a multiple of 16.
        device: used only when a house is given.
    """
    if isinstance(scene, House):
        scene = prepare(scene, device)
    where = np.array([position_m], np.float32)
    return render_frames(scene, skybox_frames(where, face_size, scene.device))


def skybox_paths(root: Path, scan: str, viewpoint: str) -> tuple[Path, Path, Path]:
    """Where a viewpoint's RGB, depth and label images lie: `<root>/<scan>/matterport_skybox_images/…`."""
    folder = root / scan / "matterport_skybox_images"
    return (
        folder / f"{viewpoint}_skybox_small.jpg",
        folder / f"{viewpoint}_skybox_depth_small.png",
        folder / f"{viewpoint}_skybox_label_small.png",
    )


def write_skybox(root: Path, scan: str, viewpoint: str, pictures: Pictures) -> None:
    """Write the three skybox files of a viewpoint, each whole or not at all.

    Args:
        root: folder that holds the scans.
        scan: name of the house.
        viewpoint: name of the viewpoint.
        pictures: the six faces.
    """
    rgb_path, depth_path, label_path = skybox_paths(root, scan, viewpoint)
    depth = np.clip(np.rint(pictures.depth_m / DEPTH_UNIT_M), 0, 65535).astype(np.uint16)
    rgb = cv2.cvtColor(side_by_side(pictures.rgb), cv2.COLOR_RGB2BGR)
    # Depth compresses well at the fastest level, and this runs once a viewpoint on the way to 60 s a house.
    _write(rgb_path, rgb, [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
    _write(depth_path, side_by_side(depth), [cv2.IMWRITE_PNG_COMPRESSION, 2])
    _write(label_path, side_by_side(pictures.label), [cv2.IMWRITE_PNG_COMPRESSION, 2])


def _write(path: Path, image: np.ndarray, options: list[int]) -> None:
    with atomic_path(path) as temporary:
        if not cv2.imwrite(str(temporary), image, options):
            raise DataError(
                "the image could not be written", file=path, hint="free some space, or choose another --out"
            )


def side_by_side(faces: np.ndarray) -> np.ndarray:
    """Six faces in a row: `6 f f ...` → `f 6f ...`."""
    return np.ascontiguousarray(np.concatenate(list(faces), axis=1))
