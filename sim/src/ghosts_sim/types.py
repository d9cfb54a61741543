"""What packages exchange, and the one order of axes.

Axes, everywhere: batch `b`, agent step `s`, filter step `t`, view `v`, heading bin or channel `c`, then rows `y`,
columns `x`. A map or belief row grows with world +y, a column with world +x. Images are `height × width × RGB`.
Frames and units are defined in `ghosts_sim.geometry`.

Only NumPy here: opening a data root must not import torch. Torch-side types live in the package that makes them
(`mapping.points`, `belief.filter`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ghosts_sim.errors import ConfigError

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, UInt8

SUCCESS_M = 3.0
"""An episode succeeds when it ends nearer than this to the goal (Anderson et al. 2018)."""


@dataclass(frozen=True)
class Pose:
    """A camera or walker in the world: metres, z up; heading clockwise from +y; elevation up from the horizon."""

    x_m: float
    y_m: float
    z_m: float
    heading_rad: float
    elevation_rad: float = 0.0

    def __post_init__(self) -> None:
        for name in ("x_m", "y_m", "z_m", "heading_rad", "elevation_rad"):
            if not math.isfinite(getattr(self, name)):
                raise ConfigError(f"Pose.{name} must be finite, got {getattr(self, name)}")


@dataclass(frozen=True)
class Intrinsics:
    """A pinhole camera with square pixels and its centre in the middle of the image."""

    width: int
    """Columns in pixels."""
    height: int
    """Rows in pixels."""
    vfov_rad: float
    """Vertical field of view."""

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise ConfigError(f"image size must be at least 1 × 1, got width {self.width}, height {self.height}")
        if not 0.0 < self.vfov_rad < math.pi:
            raise ConfigError(f"vertical field of view must lie in (0, π), got {self.vfov_rad} rad")

    @property
    def focal_px(self) -> float:
        """Focal length in pixels."""
        return self.height / (2.0 * math.tan(self.vfov_rad / 2.0))


@dataclass(frozen=True)
class Grid:
    """A ground-plane grid of square cells whose centre is the map's origin."""

    rows: int
    cols: int
    cell_m: float

    def __post_init__(self) -> None:
        if self.rows < 1 or self.cols < 1:
            raise ConfigError(f"a grid needs at least one cell, got {self.rows} rows × {self.cols} columns")
        if not (math.isfinite(self.cell_m) and self.cell_m > 0.0):
            raise ConfigError(f"cell_m must be positive, got {self.cell_m}")

    def coarser(self, factor: int) -> Grid:
        """Return the grid of the same extent with cells `factor` times as large."""
        if self.rows % factor or self.cols % factor:
            raise ConfigError(
                f"a map of {self.rows} × {self.cols} cells cannot be pooled by filter.pool = {factor}; choose a divisor"
            )
        return Grid(self.rows // factor, self.cols // factor, self.cell_m * factor)


@dataclass(frozen=True)
class Sweep:
    """RGB-D images of one or more viewpoints, each seen in `v` directions."""

    rgb: UInt8[np.ndarray, "b v h w 3"]
    depth_m: Float32[np.ndarray, "b v h w"]
    """Distance along the optical axis; 0 = no reading."""
    camera_to_world: Float[np.ndarray, "b v 4 4"]
    """Camera frame (x right, y down, z forward) to world."""
    intrinsics: Intrinsics
