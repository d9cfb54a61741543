"""What a robot's camera gives, made ready for the tracker: units are checked, and the likely mix-up is named.

What is certainly wrong is refused. What may be right is used, and `notes` says what is odd about it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import UInt8

from ghosts.agent.sensors import FARTHEST_M, Views, matrices, readings
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import map_cells, on_map, pixel_rays
from ghosts_sim.types import Grid, Intrinsics, Pose

_FEW, _FAR_M, _NEAR_M = 0.1, 20.0, 0.1
_NO_READING_M = (65.534, 65.536)
"""65535 mm: what Kinect and 7-Scenes write where there is no reading."""
_JUMP_M, _FAST_M_S = 3.0, 5.0


@dataclass(frozen=True)
class BoundingBox:
    """Something that a detector found in an image."""

    label: str
    """Its class, such as "chair"."""
    edges_px: tuple[float, float, float, float]
    """Left, top, right and bottom."""
    confidence: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label.strip():
            raise ConfigError(f"a box's label must be a name, such as 'chair', got {self.label!r}")
        if len(self.edges_px) != 4 or not all(math.isfinite(edge) for edge in self.edges_px):
            raise ConfigError(f"the box of {self.label!r} must be left, top, right, bottom, got {self.edges_px!r}")
        left, top, right, bottom = self.edges_px
        if left > right or top > bottom:
            raise ConfigError(
                f"the box of {self.label!r} ends before it begins: {self.edges_px!r}; give left, top, right, bottom "
                "(vision_msgs and YOLO give a middle and a size)"
            )
        if not 0.0 <= self.confidence <= 1.0:
            raise ConfigError(f"the confidence of {self.label!r} must lie in [0, 1], got {self.confidence!r}")


@dataclass(frozen=True)
class Description:
    """What a captioner and a detector say about one image; either may be missing."""

    caption: str = ""
    boxes: tuple[BoundingBox, ...] = ()


Describe = Callable[[UInt8[np.ndarray, "h w 3"]], Description]
"""An image to words: `run.perception.load_perception` makes one of BLIP and DETR."""


def to_views(
    rgb: Any, depth_m: Any, pose: Pose | Sequence[Pose], intrinsics: Intrinsics
) -> tuple[Views, tuple[str, ...]]:
    """Images as they come, NumPy or torch, with or without an axis of views; and what is odd about them.

    Args:
        rgb: values 0 to 255; None where nobody looks at colours.
        depth_m: distance along the optical axis; None where there is none.
        pose: of the camera, one per view.
        intrinsics: of the camera.

    Raises:
        ConfigError: sizes do not fit, or units are certainly wrong.
    """
    poses = [pose] if isinstance(pose, Pose) else list(pose)
    if not poses or not all(isinstance(item, Pose) for item in poses):
        raise ConfigError(f"pose must be a Pose, or one per view, got {pose!r}; see Pose.from_matrix and Pose.from_ros")
    colours, depth = _array(rgb, 3), _array(depth_m, 2)
    notes = [
        f"heading {item.heading_rad:g} rad is more than two turns: are these degrees?"
        for item in poses
        if abs(item.heading_rad) > 4.0 * math.pi
    ]
    if depth is None:
        depth = np.zeros((len(poses), intrinsics.height, intrinsics.width), np.float32)
    else:
        depth, odd = _checked(depth)
        notes += odd
    return Views(colours, depth, matrices(poses), intrinsics), tuple(notes)


def motion_notes(before: Pose, pose: Pose, seconds: float | None) -> tuple[str, ...]:
    """What is odd about the way from one pose to the next."""
    moved_m = math.dist((before.x_m, before.y_m, before.z_m), (pose.x_m, pose.y_m, pose.z_m))
    if seconds is not None and seconds < 0.0:
        return (f"time went back by {-seconds:g} s since the last observation",)
    fast = moved_m > max(_FAST_M_S * seconds, 0.5) if seconds is not None else moved_m > _JUMP_M
    if not fast:
        return ()
    by = f" in {seconds:g} s" if seconds is not None else ""
    return (f"the camera moved {moved_m:.1f} m{by} since the last observation: are positions in metres?",)


def map_notes(views: Views, origin_xy_m: tuple[float, float], grid: Grid) -> tuple[str, ...]:
    """What is odd about where depth lands on the map."""
    thin = np.s_[::16, ::16]
    depth, rays = views.depth_m[:, ::16, ::16], pixel_rays(views.camera)[thin]
    there = np.einsum("vij,vhwj->vhwi", views.camera_to_world[:, :2, :3], rays * depth[..., None])
    there = (there + views.camera_to_world[:, None, None, :2, 3])[depth > 0] - np.array(origin_xy_m)
    share = float(on_map(map_cells(there, grid), grid).mean()) if len(there) else 1.0
    return (f"only {share:.0%} of the depth lands on the map",) if share < 0.5 else ()


def _array(value: Any, axes: int) -> np.ndarray | None:
    """A NumPy array with an axis of views; torch tensors may lie on any device."""
    if value is None:
        return None
    found = np.asarray(value.detach().cpu() if hasattr(value, "detach") else value)
    return found[None] if found.ndim == axes else found


def _checked(depth: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Depth in metres with 0 for no reading, and what is odd about it."""
    if depth.dtype.kind not in "f":
        raise ConfigError(
            f"depth_m holds metres as floating-point numbers, got {depth.dtype}; cameras that give whole millimetres "
            "(RealSense, Kinect, ROS 16UC1): depth.astype(np.float32) / 1000"
        )
    negative, given = int((depth < 0).sum()), max(int(np.isfinite(depth).sum() - (depth == 0).sum()), 1)
    if 2 * negative > given:
        raise ConfigError(
            f"{negative / given:.0%} of depth_m is negative, down to {np.nanmin(depth):g}; depth is the distance along "
            "the optical axis, which points forward: is the sign wrong?"
        )
    seen = readings(np.where((depth > _NO_READING_M[0]) & (depth < _NO_READING_M[1]), 0.0, depth))
    left_out = {
        "negative": negative,
        "65.535 m (65535, Kinect's mark for no reading)": int(
            ((depth > _NO_READING_M[0]) & (depth < _NO_READING_M[1])).sum()
        ),
        f"beyond {FARTHEST_M:g} m": int((np.isfinite(depth) & (depth > FARTHEST_M)).sum()),
    }
    notes = [
        f"{count / depth.size:.1%} of the depth is {what} and was left out" for what, count in left_out.items() if count
    ]
    share = float((seen > 0).mean())
    if share == 0.0:
        return seen, [*notes, "no pixel of the depth image has a reading"]
    if share < _FEW:
        notes.append(f"only {share:.1%} of the depth image has a reading")
    median_m = float(np.median(seen[seen > 0]))
    if not _NEAR_M < median_m < _FAR_M:
        notes.append(
            f"half of the depth is {'nearer' if median_m < 1 else 'farther'} than {median_m:.3g} m: is it in metres?"
        )
    return seen, notes
