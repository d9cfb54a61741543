"""Camera parameters of the release: `undistorted_camera_parameters/<scan>.conf`.

A camera looks along −z with y up and x right. The release's own description (`data_organization.md`) puts the origin of
images, and so the optical centre `cy`, at the bottom left; the original simulator's script reads it from the top left.
We follow the release; `origin="top-left"` is the other reading (see docs/matterport.md on how to tell them apart).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Dict, Literal, Tuple

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.graph import FARTHEST_M

if TYPE_CHECKING:
    from jaxtyping import Float

CAMERAS = tuple((tilt, turn) for tilt in range(3) for turn in range(6))
"""Tilt 0 looks up, 1 level, 2 down; six turns each."""
FORWARD = (1, 5)
"""The camera whose orientation skybox face 1 has."""
Origin = Literal["bottom-left", "top-left"]
_IMAGE = re.compile(r"([0-9A-Za-z]+)_i([0-2])_([0-5])\.jpg")
_DEPTH = re.compile(r"([0-9A-Za-z]+)_d([0-2])_([0-5])\.png")
_TOLERANCE = 1e-2  # as for navigation graphs: a swapped or scaled matrix is off by far more


@dataclass(frozen=True, eq=False)
class RawCamera:
    """One of the 18 images of a panorama."""

    fx: float
    fy: float
    cx: float
    """Column of the optical centre; a pixel's centre has whole coordinates."""
    cy: float
    """As written in the file; see `origin`."""
    origin: Origin
    rotation: Float[np.ndarray, "3 3"]
    """Camera frame (x right, y up, looking along −z) to world."""
    position_m: Float[np.ndarray, " 3"]

    def pixel_from_ray(self, height: int) -> Float[np.ndarray, "3 3"]:
        """Matrix from camera-frame rays to homogeneous (column, row from the top) of an image this high."""
        row = height - 1 - self.cy if self.origin == "bottom-left" else self.cy
        # u = fx·x/(−z) + cx, v = row − fy·y/(−z): rows below the centre have negative y.
        return np.array([[self.fx, 0.0, -self.cx], [0.0, -self.fy, -row], [0.0, 0.0, -1.0]])


Lens = Tuple[float, float, float, float]
"""fx, fy, cx, cy."""
Rig = Dict[Tuple[int, int], RawCamera]
"""The cameras of one panorama by (tilt, turn)."""


def parse_conf(text: str, source: Path, origin: Origin = "bottom-left") -> dict[str, Rig]:
    """Viewpoints and their cameras from the text of a `.conf` file (`source`, for messages).

    Raises:
        DataError: naming the line and what is wrong in it.
    """
    rigs: dict[str, Rig] = {}
    lens: Lens | None = None
    for number, line in enumerate(text.splitlines(), 1):
        words, wrong = line.split(), partial(DataError, file=source, record=f"line {number}")
        if not words:
            continue
        if words[0] == "intrinsics_matrix":
            lens = _lens(words[1:], wrong)
        elif words[0] == "scan":
            if lens is None:
                raise wrong("a scan line before any intrinsics_matrix")
            viewpoint, which, camera = _scan(words[1:], lens, origin, wrong)
            rig = rigs.setdefault(viewpoint, {})
            if which in rig:
                raise wrong("image listed twice", value=words[2])
            rig[which] = camera
    if not rigs:
        raise DataError("no scan lines", file=source, hint="download undistorted_camera_parameters again")
    return rigs


def _numbers(words: list[str], count: int, wrong: Callable[..., DataError]) -> list[float]:
    try:
        values = [float(word) for word in words]
    except ValueError:
        raise wrong("expected numbers", value=" ".join(words)) from None
    if len(values) != count or not all(math.isfinite(value) for value in values):
        found = f"{len(values)}" if len(values) != count else "infinity or no number among them"
        raise wrong(f"expected {count} finite numbers, found {found}")
    if max(map(abs, values)) > FARTHEST_M:
        raise wrong(f"no camera has numbers beyond {FARTHEST_M:.0f}", value=max(values, key=abs))
    return values


def _lens(words: list[str], wrong: Callable[..., DataError]) -> Lens:
    fx, skew, cx, a, fy, cy, b, c, one = _numbers(words, 9, wrong)
    if min(fx, fy) <= 0.0 or (skew, a, b, c, one) != (0.0, 0.0, 0.0, 0.0, 1.0):
        raise wrong("expected intrinsics_matrix fx 0 cx 0 fy cy 0 0 1", value=" ".join(words))
    return fx, fy, cx, cy


def _scan(
    words: list[str], lens: Lens, origin: Origin, wrong: Callable[..., DataError]
) -> tuple[str, tuple[int, int], RawCamera]:
    if len(words) < 2:
        raise wrong("expected scan DEPTH COLOUR and 16 numbers", value=" ".join(words))
    depth, image = _DEPTH.fullmatch(words[0]), _IMAGE.fullmatch(words[1])
    if depth is None or image is None or depth.groups() != image.groups():
        raise wrong("expected <viewpoint>_dC_I.png <viewpoint>_iC_I.jpg", value=" ".join(words[:2]))
    pose = np.array(_numbers(words[2:], 16, wrong)).reshape(4, 4)
    rotation = pose[:3, :3]
    if np.abs(rotation @ rotation.T - np.eye(3)).max() > _TOLERANCE or np.linalg.det(rotation) < 0.0:
        problem = f"the pose of {words[1]} is no rotation (its first 3 × 3 numbers)"
        raise wrong(problem, hint="download undistorted_camera_parameters again")
    # The file's six digits leave matrices orthonormal to 1e-5; depth is multiplied by them, so clean them up.
    left, _, right = np.linalg.svd(rotation)
    camera = RawCamera(*lens, origin, left @ right, pose[:3, 3])
    return image.group(1), (int(image.group(2)), int(image.group(3))), camera
