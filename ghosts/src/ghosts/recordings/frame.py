"""What a recording holds: images with depth, and where the camera was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, UInt8

from ghosts.agent.frames import BoundingBox
from ghosts.agent.sensors import Detection
from ghosts_sim.types import Intrinsics, Pose


@dataclass(frozen=True, eq=False)
class Frame:
    """One image with depth."""

    time_ns: int
    rgb: UInt8[np.ndarray, "h w 3"]
    depth_m: Float[np.ndarray, "h w"]
    """Along the optical axis, registered to the colours; 0 = no reading."""
    pose: Pose
    """Of the camera."""
    camera: Intrinsics
    boxes: tuple[BoundingBox, ...] = ()
    """What a detector found in the image."""
    things: tuple[Detection, ...] = ()
    """What a detector found in space."""


@dataclass(frozen=True)
class Choice:
    """What of a recording is read."""

    hz: float = 2.0
    """At most so many images per second."""
    colour: str = ""
    """Topic of the images; the first that suits by default, as for the other topics."""
    depth: str = ""
    info: str = ""
    """Topic of the camera's calibration."""
    detections: str = ""
    k: tuple[float, ...] = ()
    """fx, fy, cx, cy, where the recording has no calibration."""

    @property
    def period_ns(self) -> int:
        """Between two images, with some leave for clocks."""
        return round(0.95e9 / self.hz)


@dataclass(frozen=True)
class Recording:
    """A recording that can be read."""

    found: tuple[str, ...]
    """What it holds, in words."""
    frames: Callable[[], Iterator[Frame]]
    """Frames in the order of time; read anew by every call, one at a time."""
    seconds: float
    """How long it is."""
    missing: tuple[str, ...] = ()
    """What it could hold and does not, in words."""
