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
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts_sim import rotations
from ghosts_sim.errors import ConfigError

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, UInt8

SUCCESS_M = 3.0
"""An episode succeeds when it ends nearer than this to the goal (Anderson et al. 2018)."""


@dataclass(frozen=True)
class Pose:
    """A camera or walker in the world: metres, z up; heading clockwise from +y; elevation up from the horizon; roll
    about where it looks, positive where its right side goes down."""

    x_m: float
    y_m: float
    z_m: float
    heading_rad: float
    elevation_rad: float = 0.0
    roll_rad: float = 0.0

    def __post_init__(self) -> None:
        for name in ("x_m", "y_m", "z_m", "heading_rad", "elevation_rad", "roll_rad"):
            if not abs(getattr(self, name)) <= 1e9:  # NaN too; beyond, cells cannot be counted
                raise ConfigError(f"Pose.{name} must be finite and at most 1e9, got {getattr(self, name)}")
        for name, most in (("elevation_rad", math.pi / 2), ("roll_rad", math.pi)):
            value = getattr(self, name)
            if abs(value) > most + 1e-3:
                hint = (
                    "these look like degrees; use math.radians" if abs(value) > math.tau else "check its sign and unit"
                )
                raise ConfigError(f"Pose.{name} must lie within ±{most:.2f}, got {value:g}; {hint}")

    @classmethod
    def from_matrix(cls, camera_to_world: Any, up: Any = (0.0, 0.0, 1.0)) -> Pose:
        """A pose from a 4 × 4 matrix, camera (x right, y down, z forward) to world.

        Args:
            camera_to_world: as SLAM, 7-Scenes and most recordings give it.
            up: away from gravity in that world. Where it is not +z, the world is turned by the smallest rotation
                that makes it so; give all poses of a recording the same one.

        Raises:
            ConfigError: this is no rigid motion.

        Example:
            >>> pose = Pose.from_matrix([[1, 0, 0, 2], [0, 0, 1, 3], [0, -1, 0, 1.5], [0, 0, 0, 1]])
            >>> pose.x_m, pose.z_m, pose.heading_rad
            (2.0, 1.5, 0.0)
        """
        matrix = np.asarray(camera_to_world, float)
        if matrix.shape != (4, 4) or not np.isfinite(matrix).all() or np.abs(matrix[3] - (0, 0, 0, 1)).max() > 1e-6:
            raise ConfigError(
                "camera_to_world has 4 × 4 finite numbers, 0 0 0 1 in the last row and the position in the last column "
                f"(is it transposed?), got {matrix.tolist()}"
            )
        turn = rotations.level(up)
        x_m, y_m, z_m = (turn @ matrix[:3, 3]).tolist()
        return cls(x_m, y_m, z_m, *rotations.angles_of(turn @ rotations.checked_rotation(matrix[:3, :3])))

    @classmethod
    def from_ros(
        cls, position: Any, orientation: Any, frame: str = rotations.OPTICAL, up: Any = (0.0, 0.0, 1.0)
    ) -> Pose:
        """A pose as ROS gives it, and TUM's files: a position and a quaternion x y z w of the camera in the world.

        Args:
            position: x y z in metres in a frame with z up (REP-103), such as REP-105's `map`; or a message with these
                fields.
            orientation: x y z w, or a message.
            frame: `optical` for a frame called `…_optical_frame` (REP-103: z forward, x right, y down), `body` for
                others, such as `camera_link` (x forward, y left, z up).
            up: as in `from_matrix`, for a world that is not level.

        Raises:
            ConfigError: the quaternion has not the length 1, or a number is not finite.

        Example:
            >>> pose = Pose.from_ros((2.0, 3.0, 1.5), (0.0, 0.0, 0.0, 1.0), "body")  # along +x: east
            >>> round(math.degrees(pose.heading_rad))
            90
        """
        matrix = np.eye(4)
        matrix[:3, 3] = _numbers(position, "xyz")
        matrix[:3, :3] = rotations.from_frame(rotations.from_quaternion(_numbers(orientation, "xyzw")), frame)
        return cls.from_matrix(matrix, up)

    def to_ros(
        self, frame: str = rotations.OPTICAL
    ) -> tuple[tuple[float, float, float], tuple[float, float, float, float]]:
        """Position, and quaternion x y z w of a frame; inverse of `from_ros`."""
        rotation = rotations.to_frame(self.matrix[:3, :3], frame)
        return (self.x_m, self.y_m, self.z_m), rotations.to_quaternion(rotation)

    @property
    def matrix(self) -> Float[np.ndarray, "4 4"]:
        """Camera (x right, y down, z forward) to world."""
        from ghosts_sim.geometry import camera_to_world  # which knows the types of this module

        return camera_to_world((self.x_m, self.y_m, self.z_m), self.heading_rad, self.elevation_rad, self.roll_rad)


def _numbers(value: Any, names: str) -> list[float]:
    """Numbers of a sequence, or of a message with these fields."""
    found = [getattr(value, name) for name in names] if hasattr(value, names[0]) else list(value)
    if len(found) != len(names):
        raise ConfigError(f"expected {len(names)} numbers {' '.join(names)}, got {found}")
    return [float(number) for number in found]


@dataclass(frozen=True)
class Intrinsics:
    """A pinhole camera with square pixels and its centre in the middle of the image; `from_k` and `from_focal` make
    one of a calibration."""

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

    @staticmethod
    def from_k(k: Any, width: int, height: int, distortion: Any = ()) -> CalibratedIntrinsics:
        """A camera of a calibration, such as ROS's `CameraInfo`: `Intrinsics.from_k(info.k, info.width, info.height,
        info.d)`.

        Args:
            k: 3 × 3, or its nine numbers row by row.
            width: columns of the image.
            height: rows of the image.
            distortion: OpenCV's k1 k2 p1 p2 k3 (ROS: `plumb_bob`), or fewer; none for a rectified image.

        Raises:
            ConfigError: this is no such camera, or K belongs to an image of another size.

        Example:
            >>> camera = Intrinsics.from_k([[585, 0, 320], [0, 585, 240], [0, 0, 1]], 640, 480)
            >>> camera.fx_px, camera.cx_px
            (585.0, 320.0)
        """
        matrix = np.asarray(k, float)
        matrix = matrix.reshape(3, 3) if matrix.size == 9 else matrix
        if matrix.shape != (3, 3) or np.abs(matrix[[1, 2, 2, 2], [0, 0, 1, 2]] - (0, 0, 0, 1)).max() > 1e-6:
            raise ConfigError(f"K must be fx 0 cx, 0 fy cy, 0 0 1 (is it transposed?), got {matrix.tolist()}")
        if abs(matrix[0, 1]) > 1e-3 * abs(matrix[0, 0]):
            raise ConfigError(f"K has a skew of {matrix[0, 1]:g}, which is not supported; rectify the image first")
        (fx, _, cx), (_, fy, cy) = matrix[:2].tolist()
        return Intrinsics.from_focal(width, height, fx, fy, cx, cy, distortion)

    @staticmethod
    def from_focal(
        width: int, height: int, fx: float, fy: float, cx: float, cy: float, distortion: Any = ()
    ) -> CalibratedIntrinsics:
        """As `from_k`, from K's four numbers in pixels."""
        below, above = math.atan2(height - 0.5 - cy, fy), math.atan2(cy + 0.5, fy)
        return CalibratedIntrinsics(width, height, below + above, fx, fy, cx, cy, tuple(map(float, distortion)))

    @property
    def focal_px(self) -> float:
        """Focal length in pixels."""
        return self.height / (2.0 * math.tan(self.vfov_rad / 2.0))

    @property
    def k_px(self) -> tuple[float, float, float, float]:
        """fx, fy, cx, cy: the middle of the first pixel is at 0, 0, as in OpenCV and ROS."""
        return self.focal_px, self.focal_px, self.width / 2.0 - 0.5, self.height / 2.0 - 0.5


@dataclass(frozen=True)
class CalibratedIntrinsics(Intrinsics):
    """A camera as a calibration describes it; `Intrinsics.from_k` makes it."""

    fx_px: float
    fy_px: float
    cx_px: float
    cy_px: float
    distortion: tuple[float, ...] = ()
    """OpenCV's k1 k2 p1 p2 k3; empty for none."""

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in ("fx_px", "fy_px", "cx_px", "cy_px")}
        for name, value in given.items():
            if not (math.isfinite(value) and value > 0.0):
                raise ConfigError(f"{name} of a camera must be a positive number, got {value:g}")
        if self.cx_px > self.width or self.cy_px > self.height:
            raise ConfigError(
                f"the principal point ({self.cx_px:g}, {self.cy_px:g}) lies outside an image of {self.width} × "
                f"{self.height} (width × height); is K that of another image size?"
            )
        super().__post_init__()
        used = np.trim_zeros(self.distortion, "b")
        if len(used) > 5 or not all(map(math.isfinite, used)):
            raise ConfigError(
                f"distortion takes OpenCV's k1 k2 p1 p2 k3, got {list(self.distortion)}; rectify the images of other "
                "lenses first (ROS: image_proc, OpenCV: cv2.undistort, cv2.fisheye.undistortImage)"
            )
        object.__setattr__(self, "distortion", tuple(used))

    @property
    def focal_px(self) -> float:
        """Refused: a calibrated camera has two focal lengths. Nothing that draws takes one."""
        raise ConfigError("a calibrated camera cannot draw; give Intrinsics(width, height, vfov_rad)")

    @property
    def k_px(self) -> tuple[float, float, float, float]:
        """fx, fy, cx, cy: the middle of the first pixel is at 0, 0, as in OpenCV and ROS."""
        return self.fx_px, self.fy_px, self.cx_px, self.cy_px


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
