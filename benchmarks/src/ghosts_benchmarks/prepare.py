"""Cost of preparing a raw Matterport3D panorama, on made-up images of the real sizes.

A box-shaped room is recorded by 18 cameras of 1280 × 1024 pixels with noise and holes in depth (15 % of the cube), and
six skybox faces of 1024 pixels. Processor time is counted, not the clock on the wall, so that other programs on the
machine matter little.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import cv2
import numpy as np

from ghosts_sim.geometry import camera_to_world
from ghosts_sim.matterport.colour import warp_colour
from ghosts_sim.matterport.conf import CAMERAS
from ghosts_sim.matterport.fill import fill_faces
from ghosts_sim.matterport.panorama import (
    PrepareConfig,
    make_note,
    make_panorama,
    read_colour,
    read_depth,
    read_skybox,
    write_panorama,
)
from ghosts_sim.matterport.raw import COLOUR, DEPTH, PARAMETERS, SKYBOX, RawRelease
from ghosts_sim.matterport.warp import warp_depth

SCAN, VIEWPOINT = "bench", "0123456789abcdef0123456789abcdef"
WIDTH, HEIGHT, FOCAL_PX, SKYBOX_PX = 1280, 1024, 1075.0, 1024
_ROOM = np.array([[-2.0, -3.0, -1.5], [3.5, 4.0, 1.2]])
_OFFSET_M = 0.05  # of the cameras from their common axis
Result = TypeVar("Result")


def measure_prepare(count: int, face_px: int, colour: Literal["skybox", "undistorted"]) -> dict[str, Any]:
    """Processor seconds per panorama on one core, the fastest of so many.

    Returns:
        `cpu_s`, `parts_s` by name, and the figures of `Prepared` as `found`.
    """
    config = PrepareConfig(face_px, colour)
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            write_scan(Path(folder))
            runs = [_measure(Path(folder), config) for _ in range(count)]
    finally:
        cv2.setNumThreads(threads)
    return min(runs, key=lambda run: float(run["cpu_s"]))


def _measure(folder: Path, config: PrepareConfig) -> dict[str, Any]:
    parts: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Result]) -> Result:
        begin = time.process_time()
        result = work()
        parts[name] = time.process_time() - begin
        return result

    release = RawRelease([folder])
    rig = timed("camera file", lambda: release.cameras(SCAN))[VIEWPOINT]
    faces = timed("read skybox", lambda: read_skybox(release, SCAN, VIEWPOINT, config.faces))
    depth = timed("read depth", lambda: read_depth(release, SCAN, VIEWPOINT))
    centre = np.mean([camera.position_m for camera in rig.values()], 0)
    warped = timed("warp depth", lambda: warp_depth(rig, depth, config.faces, centre))
    if config.colour == "undistorted":
        images = timed("read colour", lambda: read_colour(release, SCAN, VIEWPOINT))
        faces = timed("warp colour", lambda: warp_colour(rig, images, faces, warped.distance, centre))
        parts["warp colour"] *= 2.0  # once more after filling
    timed("fill", lambda: fill_faces(warped.distance, faces))
    rgb, strip, found = make_panorama(release, SCAN, VIEWPOINT, rig, config)
    note = make_note(config, found)
    timed("write", lambda: write_panorama(folder / "colour.jpg", folder / "depth.png", rgb, strip, note))
    size = (folder / "colour.jpg").stat().st_size + (folder / "depth.png").stat().st_size
    return {"cpu_s": sum(parts.values()), "parts_s": parts, "found": found, "bytes": size}


def write_scan(folder: Path) -> None:
    """Write the raw files of one made-up panorama."""
    random = np.random.default_rng(0)
    for kind in (SKYBOX, DEPTH, COLOUR, PARAMETERS):
        (folder / SCAN / kind).mkdir(parents=True)
    lines = []
    for tilt, turn in CAMERAS:
        pose = np.eye(4)
        pose[:3, :3] = camera_to_world(np.zeros(3), (turn - 5) * np.pi / 3.0, 0.58 * (1 - tilt))[:3, :3]
        pose[:3, 1:3] *= -1.0
        pose[:3, 3] = -_OFFSET_M * pose[:3, 2]
        if turn == 0:
            centre = f"{WIDTH / 2 + 4:g} 0 {FOCAL_PX:g} {HEIGHT / 2 - 7:g}"
            lines.append(f"intrinsics_matrix {FOCAL_PX:g} 0 {centre} 0 0 1")
        names = f"{VIEWPOINT}_d{tilt}_{turn}.png", f"{VIEWPOINT}_i{tilt}_{turn}.jpg"
        lines.append(f"scan {names[0]} {names[1]} " + " ".join(f"{value:.8g}" for value in pose.ravel()))
        cv2.imwrite(str(folder / SCAN / DEPTH / names[0]), _room_depth(pose, random))
        cv2.imwrite(str(folder / SCAN / COLOUR / names[1]), _picture(random, WIDTH, HEIGHT))
    for face in range(6):
        name = f"{VIEWPOINT}_skybox{face}_sami.jpg"
        cv2.imwrite(str(folder / SCAN / SKYBOX / name), _picture(random, SKYBOX_PX, SKYBOX_PX))
    (folder / SCAN / PARAMETERS / f"{SCAN}.conf").write_text("\n".join(lines) + "\n", encoding="ascii")


def _room_depth(pose: np.ndarray, random: np.random.Generator) -> np.ndarray:
    column = (np.arange(WIDTH) - WIDTH / 2 - 4) / FOCAL_PX
    row = (HEIGHT - 1 - np.arange(HEIGHT) - HEIGHT / 2 + 7)[:, None] / FOCAL_PX
    rays = np.stack(np.broadcast_arrays(column, row, -1.0), -1) @ pose[:3, :3].T
    rays = np.where(np.abs(rays) < 1e-9, 1e-9, rays)
    z = (np.where(rays > 0.0, _ROOM[1], _ROOM[0]) - pose[:3, 3]) / rays
    depth = z.min(-1) * (1.0 + 0.003 * random.normal(size=(HEIGHT, WIDTH)))
    # Blobs without reading, a few degrees wide, as windows and mirrors leave.
    blobs = cv2.resize(random.random((16, 20)), (WIDTH, HEIGHT), interpolation=cv2.INTER_CUBIC) > 0.85
    depth[blobs] = 0.0
    return np.rint(depth * 4000.0).astype(np.uint16)


def _picture(random: np.random.Generator, width: int, height: int) -> np.ndarray:
    coarse = random.integers(0, 256, (height // 16, width // 16, 3), dtype=np.uint8)
    fine = random.normal(0.0, 4.0, (height, width, 3))
    smooth = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
    return np.clip(smooth + fine, 0, 255).astype(np.uint8)
