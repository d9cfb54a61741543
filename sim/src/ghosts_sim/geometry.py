"""Every frame and unit in one place.

World: metres, z up. **Heading** is measured clockwise from +y (turning right is positive), **elevation** from the
horizon, up positive. The **mathematical angle** is measured counter-clockwise from +x: angle = π/2 − heading.
Camera: x right, y down, z forward. Map: aligned with the world, its centre at a chosen origin, rows growing with +y and
columns with +x. Functions take NumPy arrays or scalars; those without trigonometry take torch tensors as well.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts_sim import rotations
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import CalibratedIntrinsics, Grid, Intrinsics

if TYPE_CHECKING:
    from jaxtyping import Float

TAU = 2.0 * math.pi
_OFF_PX = 0.1
"""Rays of a camera with distortion are at least so exact."""


def wrap_rad(angle_rad: Any) -> Any:
    """Wrap to [0, 2π).

    Example:
        >>> round(float(wrap_rad(-0.5)), 6)
        5.783185
    """
    wrapped = np.mod(angle_rad, TAU)
    # A tiny negative angle rounds up to exactly 2π, which is not in the interval.
    return np.where(wrapped >= TAU, 0.0, wrapped)[()]


def turn_rad(from_heading_rad: Any, to_heading_rad: Any) -> Any:
    """Signed turn in [−π, π) from one heading to another; positive = right."""
    return (to_heading_rad - from_heading_rad + math.pi) % TAU - math.pi


def heading_to_angle(heading_rad: Any) -> Any:
    """Heading (clockwise from +y) to mathematical angle (counter-clockwise from +x). Its own inverse.

    Example:
        >>> heading_to_angle(math.pi / 2)  # east
        0.0
    """
    return math.pi / 2.0 - heading_rad


def direction(heading_rad: Any, elevation_rad: Any = 0.0) -> Float[np.ndarray, "... 3"]:
    """Unit vector in the world frame."""
    heading_rad, elevation_rad = np.broadcast_arrays(np.asarray(heading_rad, float), np.asarray(elevation_rad, float))
    level = np.cos(elevation_rad)
    return np.stack([level * np.sin(heading_rad), level * np.cos(heading_rad), np.sin(elevation_rad)], -1)


def heading_of(delta_xy_m: Any) -> Any:
    """Heading of a displacement, in [0, 2π). Shape `... 2` (or more; only x and y count) to `...`."""
    delta = np.asarray(delta_xy_m, float)
    return wrap_rad(np.arctan2(delta[..., 0], delta[..., 1]))


def camera_to_world(
    position_m: Any, heading_rad: Any, elevation_rad: Any = 0.0, roll_rad: Any = 0.0
) -> Float[np.ndarray, "... 4 4"]:
    """Rigid transform from the camera frame (x right, y down, z forward) to the world.

    Args:
        position_m: camera centres, shape `... 3`.
        heading_rad: shape `...`.
        elevation_rad: shape `...`.
        roll_rad: about the optical axis, shape `...`; positive where the camera's right side goes down.

    Returns:
        Matrices of shape `... 4 4`, float64.
    """
    position = np.asarray(position_m, float)
    heading, elevation = np.asarray(heading_rad, float), np.asarray(elevation_rad, float)
    shape = np.broadcast_shapes(position.shape[:-1], heading.shape, elevation.shape)
    matrix = np.zeros((*shape, 4, 4))
    matrix[..., :3, 0] = direction(heading + math.pi / 2.0)
    matrix[..., :3, 1] = direction(heading, elevation - math.pi / 2.0)
    matrix[..., :3, 2] = direction(heading, elevation)
    matrix[..., :3, 3] = position
    matrix[..., 3, 3] = 1.0
    if np.any(roll_rad):
        matrix[..., :3, :3] = rotations.roll(matrix[..., :3, :3], np.broadcast_to(roll_rad, shape))
    return matrix


def camera_rotation(heading_rad: float, elevation_rad: float) -> Float[np.ndarray, "3 3"]:
    """The first 3 × 3 numbers of `camera_to_world` for a single view, at a tenth of the cost."""
    sine, cosine = math.sin(heading_rad), math.cos(heading_rad)
    rise, level = math.sin(elevation_rad), math.cos(elevation_rad)
    return np.array([[cosine, rise * sine, level * sine], [-sine, rise * cosine, level * cosine], [0.0, -level, rise]])


@lru_cache(maxsize=2)
def pixel_rays(intrinsics: Intrinsics) -> Float[np.ndarray, "h w 3"]:
    """Rays through the pixel centres in the camera frame, with z = 1: multiply by z-depth to un-project. Read only."""
    col, row = np.arange(intrinsics.width) + 0.5, np.arange(intrinsics.height) + 0.5
    rays = rays_through(intrinsics, col, row[:, None])
    rays.setflags(write=False)
    return rays


def rays_through(intrinsics: Intrinsics, column: Any, row: Any) -> Float[np.ndarray, "... 3"]:
    """Rays, with z = 1, through places of the image in pixels: the middle of the first one is at 0.5, 0.5."""
    fx, fy, cx, cy = intrinsics.k_px
    x, y = np.broadcast_arrays((column - (cx + 0.5)) / fx, (row - (cy + 0.5)) / fy)
    if isinstance(intrinsics, CalibratedIntrinsics) and intrinsics.distortion:
        x, y = _undistorted(x, y, intrinsics)
    return np.stack([x, y, np.ones(x.shape)], -1)


def _undistorted(x: Any, y: Any, camera: CalibratedIntrinsics) -> tuple[Any, Any]:
    """Where a lens would have drawn without its distortion, by the fixed point that OpenCV iterates as well.

    Raises:
        ConfigError: the lens bends so much that there is none.
    """
    seen_x, seen_y = x, y
    for _ in range(20):
        radial, along_x, along_y = _bend(x, y, camera.distortion)
        x, y = (seen_x - along_x) / radial, (seen_y - along_y) / radial
    radial, along_x, along_y = _bend(x, y, camera.distortion)
    off_px = np.hypot(x * radial + along_x - seen_x, y * radial + along_y - seen_y) * camera.fx_px
    if not np.max(off_px, initial=0.0) < _OFF_PX:  # NaN fails as well
        raise ConfigError(
            f"the distortion {list(camera.distortion)} cannot be undone over the whole {camera.width} × "
            f"{camera.height} image; rectify the image first"
        )
    return x, y


def _bend(x: Any, y: Any, coefficients: tuple[float, ...]) -> tuple[Any, Any, Any]:
    """What OpenCV's lens with the coefficients k1 k2 p1 p2 k3 multiplies a ray (x, y, 1) by, and adds to it."""
    k1, k2, p1, p2, k3 = (*coefficients, *[0.0] * (5 - len(coefficients)))
    square = x * x + y * y
    radial = 1.0 + square * (k1 + square * (k2 + square * k3))
    across = 2.0 * x * y
    return radial, p1 * across + p2 * (square + 2.0 * x * x), p1 * (square + 2.0 * y * y) + p2 * across


def to_cells(xy_m: Any, grid: Grid) -> Any:
    """Metres from the map's origin to fractional (column, row); whole numbers are cell centres.

    Works on NumPy arrays and torch tensors of shape `... 2`. With an even number of cells the origin lies on the corner
    of four cells, with an odd number in the middle of one.
    """
    scaled = xy_m / grid.cell_m
    scaled[..., 0] += (grid.cols - 1) / 2.0
    scaled[..., 1] += (grid.rows - 1) / 2.0
    return scaled


def from_cells(col_row: Any, grid: Grid) -> Any:
    """Fractional (column, row) to metres from the map's origin; inverse of `to_cells`."""
    shifted = col_row * 1.0
    shifted[..., 0] -= (grid.cols - 1) / 2.0
    shifted[..., 1] -= (grid.rows - 1) / 2.0
    return shifted * grid.cell_m


def lattice_cells(xy_m: Any, cell_m: float) -> Any:
    """Whole (column, row) of the world-aligned lattice's cell that holds each position; shape `... 2`.

    The one rule for tiles, maps and beliefs: cell k covers [k, k + 1) · `cell_m`, so that a position on the border of
    two cells belongs to the one above it. Works on NumPy arrays and torch tensors.
    """
    return _below(xy_m / cell_m)


def map_cells(xy_m: Any, grid: Grid) -> Any:
    """As `lattice_cells`, counted from a map's first cell; positions are metres from the map's origin.

    The cell may lie off the map; `on_map` says which do not.
    """
    return _below(to_cells(xy_m * 1.0, grid) + 0.5)


def on_map(col_row: Any, grid: Grid) -> Any:
    """Whether whole (column, row) lie on a map."""
    col, row = col_row[..., 0], col_row[..., 1]
    return (col >= 0) & (col < grid.cols) & (row >= 0) & (row < grid.rows)


def lattice_corner(origin_xy_m: Any, grid: Grid) -> Any:
    """Lattice (column, row) of a map's first cell; its origin comes from `snap_origin`."""
    size = np.array([grid.cols, grid.rows])
    return np.round(np.asarray(origin_xy_m, float) / grid.cell_m - size / 2.0).astype(np.int64)


def _below(values: Any) -> Any:
    """The largest whole numbers that are not larger."""
    return np.floor(values).astype(np.int64) if isinstance(values, np.ndarray) else values.floor().long()


def snap_origin(xy_m: Any, grid: Grid) -> Float[np.ndarray, "... 2"]:
    """Nearest map origin whose cells coincide with the world-aligned lattice of `grid.cell_m`.

    The lattice has cell corners at multiples of `cell_m`, so an even grid's origin is a multiple of `cell_m` and an odd
    grid's one lies half a cell beside it. Maps of different episodes then share cells, and a viewpoint's projected
    features can be cached once (see `mapping`).
    """
    parity = np.array([grid.cols % 2, grid.rows % 2]) / 2.0
    return (np.round(np.asarray(xy_m, float) / grid.cell_m - parity) + parity) * grid.cell_m
