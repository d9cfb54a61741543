"""Recordings as folders of images: TUM's RGB-D benchmark, and 7-Scenes (also 3DMatch)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Float

from ghosts.driving.floor import floor_up
from ghosts.recordings.frame import Choice, Frame, Recording
from ghosts_sim.errors import DataError
from ghosts_sim.files import listed, read_text
from ghosts_sim.limits import read_file
from ghosts_sim.types import Intrinsics, Pose

SEVEN_SCENES_HZ = 30.0
_NO_READING = 65535
_TUM_K = (525.0, 525.0, 319.5, 239.5)
"""What TUM's benchmark recommends where a recording has not its own."""
_TUM_UNIT_M = 1.0 / 5000.0
_TOGETHER_S = 0.02
"""Colour, depth and pose belong together when their times differ by less."""


def open_seven_scenes(folder: Path, choice: Choice) -> Recording:
    """A folder with frame-000000.color.png (or .jpg), .depth.png and .pose.txt.

    `camera-intrinsics.txt` holds K, `gravity-direction.txt` where gravity points. Without it, the floor in the first
    image that shows one says which way is up.
    """
    poses = listed(folder, "frame-*.pose.txt")
    calibration, gravity = folder / "camera-intrinsics.txt", folder / "gravity-direction.txt"
    k = choice.k
    if not k:
        hint = "write the 3 × 3 matrix K of the camera there, or give it with --k"
        matrix = _table(calibration, (3, 3), hint)
        k = (float(matrix[0, 0]), float(matrix[1, 1]), float(matrix[0, 2]), float(matrix[1, 2]))
    known_up = -_table(gravity, (3,)) if gravity.is_file() else None
    missing = () if gravity.is_file() else ("gravity-direction.txt: the first floor in sight says which way is up",)
    numbers = [int(file.name[6:12]) for file in poses]
    found = (f"7-Scenes: {len(poses)} frames", f"K = {' '.join(f'{value:g}' for value in k)}")

    def frames() -> Iterator[Frame]:
        due, up = -math.inf, known_up
        for number, file in zip(numbers, poses):
            when_ns = round(number / SEVEN_SCENES_HZ * 1e9)
            matrix = _table(file, (4, 4))
            if when_ns < due or not np.isfinite(matrix).all():  # the benchmark's mark for a lost camera
                continue
            due = when_ns + choice.period_ns
            stem = file.name.removesuffix(".pose.txt")
            colour = next(
                (path for kind in ("png", "jpg") if (path := folder / f"{stem}.color.{kind}").is_file()), None
            )
            if colour is None:
                raise DataError("no such file", file=folder / f"{stem}.color.png", hint="copy the recording again")
            rgb, depth = _colours(colour), _depth(folder / f"{stem}.depth.png")
            depth_m = np.where(depth == _NO_READING, 0.0, depth / 1000.0).astype(np.float32)
            camera = _camera(k, rgb)
            if up is None:
                floor = floor_up(depth_m, matrix, camera)
                if floor is None:  # nothing is level before the floor was seen
                    continue
                up = np.array(floor)
            yield Frame(when_ns, rgb, depth_m, Pose.from_matrix(matrix, up), camera)

    return Recording(found, frames, (numbers[-1] - numbers[0]) / SEVEN_SCENES_HZ, missing)


def open_tum(folder: Path, choice: Choice) -> Recording:
    """A folder with rgb.txt, depth.txt and groundtruth.txt; its world has z up."""
    colours, depths = (_stamped(folder / name, 1) for name in ("rgb.txt", "depth.txt"))
    poses = _stamped(folder / "groundtruth.txt", 7)
    k = choice.k or _TUM_K
    missing = () if choice.k else ("a calibration: K = 525 525 319.5 239.5 is taken, the benchmark's own advice (--k)",)
    depth_at, pose_at = (np.array([when for when, _ in rows]) for rows in (depths, poses))

    def frames() -> Iterator[Frame]:
        due = -math.inf
        for when, (name,) in colours:
            near_depth, near_pose = (int(np.abs(times - when).argmin()) for times in (depth_at, pose_at))
            late = max(abs(depth_at[near_depth] - when), abs(pose_at[near_pose] - when))
            if when * 1e9 < due or late > _TOGETHER_S:
                continue
            due = when * 1e9 + choice.period_ns
            numbers = [float(word) for word in poses[near_pose][1]]
            rgb = _colours(folder / name)
            depth_m = (_depth(folder / depths[near_depth][1][0]) * _TUM_UNIT_M).astype(np.float32)
            yield Frame(round(when * 1e9), rgb, depth_m, Pose.from_ros(numbers[:3], numbers[3:]), _camera(k, rgb))

    found = (f"TUM: {len(colours)} images, {len(depths)} depth images, {len(poses)} poses",)
    return Recording(found, frames, colours[-1][0] - colours[0][0], missing)


FORMATS = (("frame-*.pose.txt", open_seven_scenes), ("groundtruth.txt", open_tum))
"""A file by which each format is known, and its reader."""


def _camera(k: tuple[float, ...], rgb: np.ndarray) -> Intrinsics:
    fx, fy, cx, cy = k
    return Intrinsics.from_focal(rgb.shape[1], rgb.shape[0], fx, fy, cx, cy)


def _table(path: Path, shape: tuple[int, ...], hint: str | None = None) -> Float[np.ndarray, "..."]:
    """Numbers of a text file."""
    words = read_text(path, hint=hint).split()
    try:
        return np.array([float(word) for word in words]).reshape(shape)
    except ValueError:
        want = " × ".join(map(str, shape))
        raise DataError(f"expected {want} numbers", file=path, value=" ".join(words), hint=hint) from None


def _stamped(path: Path, count: int) -> list[tuple[float, list[str]]]:
    """Lines of a time and so many words; lines of # are remarks."""
    rows = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            when, values = float(words[0]), words[1:]
            if len(values) != count or (count > 1 and not np.isfinite([float(value) for value in values]).all()):
                raise ValueError
        except ValueError:
            raise DataError(f"expected a time and {count} values", file=path, record=f"line {number}") from None
        if (count == 1 and Path(values[0]).is_absolute()) or ".." in Path(values[0]).parts:
            raise DataError("a file outside of the recording", file=path, record=f"line {number}", value=values[0])
        rows.append((when, values))
    if not rows:
        raise DataError("it lists nothing", file=path, hint="copy the recording again")
    return rows


def _colours(path: Path) -> np.ndarray:
    return np.ascontiguousarray(_image(path, cv2.IMREAD_COLOR)[..., ::-1])


def _depth(path: Path) -> np.ndarray:
    found = _image(path, cv2.IMREAD_UNCHANGED)
    if found.dtype != np.uint16 or found.ndim != 2:
        raise DataError("a depth image has one channel of 16 bits", file=path, value=f"{found.dtype}, {found.shape}")
    return found


_read = partial(read_file, memory=8)


def _image(path: Path, how: int) -> np.ndarray:
    try:
        found = cv2.imdecode(np.frombuffer(_read(path), np.uint8), how)
    except (OSError, cv2.error) as error:
        raise DataError(f"cannot be read ({error})", file=path, hint="copy the recording again") from None
    if found is None:
        raise DataError("not an image, or a damaged one", file=path, hint="copy the recording again")
    return np.asarray(found)
