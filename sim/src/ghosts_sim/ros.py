"""ROS 2's messages as arrays, and its tree of frames, without ROS: for whatever has the fields of a message.

`recordings.bags` of ghosts reads bags with this, and the node `ghosts_ros` live messages.
"""

from __future__ import annotations

import io
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from ghosts_sim import rotations
from ghosts_sim.errors import DataError
from ghosts_sim.types import Intrinsics, Pose

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, UInt8

SECOND = 1_000_000_000
"""Nanoseconds, in which ROS counts."""
_KEPT_NS = 10 * SECOND
"""How long moving transforms are remembered."""
_COLOURS = {"rgb8": (3, (0, 1, 2)), "bgr8": (3, (2, 1, 0)), "rgba8": (4, (0, 1, 2)), "bgra8": (4, (2, 1, 0))}
_COLOURS["mono8"] = _COLOURS["8UC1"] = (1, (0, 0, 0))
_DEPTHS = {"16UC1": ("u2", 1000.0), "mono16": ("u2", 1000.0), "32FC1": ("f4", 1.0)}
_COMPRESSED_HEADER = 12
"""Bytes that compressed_depth_image_transport writes before the PNG."""


def stamp_ns(header: Any) -> int:
    """When a message was made."""
    return int(header.stamp.sec) * SECOND + int(header.stamp.nanosec)


def is_depth(message: Any) -> bool:
    """Whether an image message holds depth."""
    return encoding_of(message) in _DEPTHS


def encoding_of(message: Any) -> str:
    """Of an Image, or a CompressedImage (whose format reads "bgr8; jpeg compressed …")."""
    return str(getattr(message, "encoding", None) or message.format.split(";")[0].strip())


def colours(message: Any) -> UInt8[np.ndarray, "h w 3"]:
    """Red, green and blue of an Image or a CompressedImage (JPEG, PNG).

    Raises:
        DataError: another encoding.
    """
    if not hasattr(message, "encoding"):
        return np.asarray(_picture(bytes(message.data)).convert("RGB"))
    if message.encoding not in _COLOURS:
        raise DataError("not an image in colour", field="encoding", value=message.encoding, hint=f"give {_named()}")
    channels, order = _COLOURS[message.encoding]
    return np.ascontiguousarray(_rows(message, "u1", channels)[..., order])


def depth_m(message: Any) -> Float32[np.ndarray, "h w"]:
    """Depth in metres of an Image in 16UC1 (millimetres) or 32FC1, or of a CompressedImage (PNG); 0 = no reading.

    Raises:
        DataError: another encoding.
    """
    encoding = encoding_of(message)
    if encoding not in _DEPTHS:
        raise DataError("not a depth image", field="encoding", value=encoding, hint="give 16UC1 or 32FC1")
    kind, per_metre = _DEPTHS[encoding]
    if hasattr(message, "encoding"):
        values = _rows(message, kind, 1)[..., 0]
    else:
        data = bytes(message.data)
        start = data.find(b"\x89PNG", 0, _COMPRESSED_HEADER + 4)
        if start < 0 or kind != "u2":
            raise DataError("compressed depth that is no PNG in millimetres", field="format", value=message.format)
        values = np.asarray(_picture(data[start:])).astype(np.uint16)
    found = values.astype(np.float32) / np.float32(per_metre)
    # 65535 mm is what Kinect writes where it sees nothing.
    seen = values != np.iinfo(np.uint16).max if kind == "u2" else np.isfinite(found) & (found > 0)
    return np.where(seen, found, np.float32(0))


def camera_of(info: Any) -> Intrinsics:
    """The camera of a CameraInfo, with its distortion.

    Raises:
        ConfigError: another lens than a pinhole with OpenCV's five coefficients.
    """
    k, d = getattr(info, "k", None), getattr(info, "d", None)
    return Intrinsics.from_k(
        list(info.K if k is None else k), int(info.width), int(info.height), list(info.D if d is None else d)
    )


def _picture(data: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(data))
    except (UnidentifiedImageError, OSError):
        raise DataError("a compressed image that is neither JPEG nor PNG", field="data") from None


def _rows(message: Any, kind: str, channels: int) -> np.ndarray:
    """Pixels of an Image; rows may be longer than their pixels."""
    order = ">" if getattr(message, "is_bigendian", 0) else "<"
    height, width, step = int(message.height), int(message.width), int(message.step)
    used = width * channels * int(kind[1])
    data = np.frombuffer(bytes(message.data), np.uint8)
    if step < used or len(data) < step * height:
        raise DataError(
            f"an image of {height} × {width} pixels needs {used} bytes per row", field="data", value=len(data)
        )
    rows = np.ascontiguousarray(data[: step * height].reshape(height, step)[:, :used])
    return rows.view(order + kind).reshape(height, width, channels)


def _named() -> str:
    return ", ".join(_COLOURS)


class Frames:
    """A tree of frames, such as tf's: which frame is where, and when. It remembers the last ten seconds."""

    def __init__(self) -> None:
        self._fixed: dict[str, tuple[str, np.ndarray]] = {}
        self._moving: dict[str, tuple[str, deque[tuple[int, np.ndarray]]]] = {}

    def add(self, parent: str, child: str, when_ns: int, place: Any, *, fixed: bool = False) -> None:
        """A frame's place in its parent, as a message has it.

        Args:
            parent: frame.
            child: frame.
            when_ns: it was there.
            place: Transform or Pose.
            fixed: whether it is always there (tf_static).
        """
        parent, child = parent.strip("/"), child.strip("/")
        at = place.translation if hasattr(place, "translation") else place.position
        turned = place.rotation if hasattr(place, "rotation") else place.orientation
        matrix = np.eye(4)
        matrix[:3, 3] = at.x, at.y, at.z
        matrix[:3, :3] = rotations.from_quaternion((turned.x, turned.y, turned.z, turned.w))
        if fixed:
            self._fixed[child] = parent, matrix
            return
        known = self._moving.get(child)
        if known is None or known[0] != parent:
            known = self._moving[child] = parent, deque()
        if known[1] and when_ns <= known[1][-1][0]:
            return
        known[1].append((when_ns, matrix))
        while when_ns - known[1][0][0] > _KEPT_NS:
            known[1].popleft()

    def known(self, frame: str) -> bool:
        """Whether it has a place in another one."""
        return frame.strip("/") in self._fixed or frame.strip("/") in self._moving

    def root(self, frame: str) -> str:
        """The frame at the top of the tree."""
        frame, steps = frame.strip("/"), 0
        while (frame in self._moving or frame in self._fixed) and steps < 100:
            frame, steps = self._parent(frame), steps + 1
        return frame

    def newest_ns(self, frame: str) -> int:
        """Until when its place in the world is known; for ever where nothing moves."""
        frame, newest, steps = frame.strip("/"), 2**63, 0
        while (frame in self._moving or frame in self._fixed) and steps < 100:
            if frame in self._moving:
                newest = min(newest, self._moving[frame][1][-1][0])
            frame, steps = self._parent(frame), steps + 1
        return newest

    def matrix(self, frame: str, when_ns: int) -> Float[np.ndarray, "4 4"] | None:
        """Frame to world (the frame at the top of the tree) at a time; None where it is not known then."""
        frame, found, steps = frame.strip("/"), np.eye(4), 0
        while frame in self._moving or frame in self._fixed:
            if frame in self._fixed:
                step: np.ndarray | None = self._fixed[frame][1]
            else:
                step = _between(self._moving[frame][1], when_ns)
            if step is None or steps > 100:  # a ring of frames
                return None
            found, frame, steps = step @ found, self._parent(frame), steps + 1
        return found

    def pose(self, frame: str, when_ns: int) -> Pose | None:
        """A camera's pose. Frames called …optical… look along z, others along x (REP-103)."""
        matrix = self.matrix(frame, when_ns)
        if matrix is None:
            return None
        kind = rotations.OPTICAL if "optical" in frame else rotations.BODY
        matrix[:3, :3] = rotations.from_frame(matrix[:3, :3], kind)
        return Pose.from_matrix(matrix)

    def _parent(self, frame: str) -> str:
        return self._fixed[frame][0] if frame in self._fixed else self._moving[frame][0]


def _between(track: deque[tuple[int, np.ndarray]], when_ns: int) -> np.ndarray | None:
    """A place between two moments; None outside of what is remembered."""
    if not track or not track[0][0] <= when_ns <= track[-1][0]:
        return None
    after = next(k for k, (stamp, _) in enumerate(track) if stamp >= when_ns)
    until, there = track[after]
    if until == when_ns:
        return there
    since, here = track[after - 1]
    share = (when_ns - since) / (until - since)
    found = (1.0 - share) * here + share * there
    # Frames turn little between two messages: the mean of two matrices, made a rotation again, is the one between them.
    left, _, right = np.linalg.svd(found[:3, :3])
    found[:3, :3] = left @ right
    return found
