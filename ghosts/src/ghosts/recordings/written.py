"""MCAP files for Foxglove, Nav2 and `ghosts track`: a robot's images and poses, and what a tracker made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ghosts.agent.estimate import GoalEstimate
from ghosts.recordings.bags import ros_types
from ghosts.recordings.frame import Frame
from ghosts_sim.errors import MissingExtraError
from ghosts_sim.files import atomic_path
from ghosts_sim.ros import SECOND
from ghosts_sim.types import Pose

WORLD, CAMERA = "map", "camera_color_optical_frame"


class BagWriter:
    """Writes messages as they come; `open_writer` makes one."""

    def __init__(self, writer: Any) -> None:
        self._writer, self._types, self._channels = writer, ros_types(), dict[str, int]()

    def frame(self, frame: Frame) -> None:
        """An image with depth, its camera and pose, as a RealSense's driver and tf give them."""
        when, (height, width) = frame.time_ns, frame.depth_m.shape
        header = self._header(when, CAMERA)
        fx, fy, cx, cy = frame.camera.k_px
        k = np.array([fx, 0, cx, 0, fy, cy, 0, 0, 1.0])
        # For no distortion ROS writes zeros.
        d = np.array(getattr(frame.camera, "distortion", ()) or [0.0] * 5)
        window = self._new(
            "sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
        )
        info = {"header": header, "height": height, "width": width, "distortion_model": "plumb_bob", "d": d, "k": k}
        more = {"r": np.eye(3).ravel(), "p": np.insert(k, [3, 6, 9], 0.0), "binning_x": 0, "binning_y": 0}
        self._image("camera/color/image_raw", header, "rgb8", frame.rgb, when)
        self._image("camera/aligned_depth_to_color/image_raw", header, "32FC1", frame.depth_m.astype("<f4"), when)
        self._write("camera/color/camera_info", "sensor_msgs/msg/CameraInfo", when, **info, **more, roi=window)
        (x, y, z), turned = frame.pose.to_ros()
        moved = self._new(
            "geometry_msgs/msg/Transform",
            translation=self._new("geometry_msgs/msg/Vector3", x=x, y=y, z=z),
            rotation=self._quaternion(turned),
        )
        place = self._new(
            "geometry_msgs/msg/TransformStamped",
            header=self._header(when, WORLD),
            child_frame_id=CAMERA,
            transform=moved,
        )
        self._write("tf", "tf2_msgs/msg/TFMessage", when, transforms=[place])

    def estimate(self, estimate: GoalEstimate, when_ns: int, walked: Sequence[Pose]) -> None:
        """A belief as an occupancy grid (100 is its likeliest cell), the goal, and the way so far."""
        header, cell = self._header(when_ns, WORLD), float(estimate.x_m[1] - estimate.x_m[0])
        corner = (float(estimate.x_m[0]) - cell / 2, float(estimate.y_m[0]) - cell / 2, 0.0)
        rows, cols = estimate.mass.shape
        info = self._new(
            "nav_msgs/msg/MapMetaData",
            map_load_time=header.stamp,
            resolution=cell,
            width=cols,
            height=rows,
            origin=self._pose(corner),
        )
        data = np.round(100.0 * estimate.mass / max(float(estimate.mass.max()), 1e-30)).astype(np.int8).ravel()
        self._write("ghosts/belief", "nav_msgs/msg/OccupancyGrid", when_ns, header=header, info=info, data=data)
        goal = self._pose((*estimate.position_m, 0.0))
        self._write("ghosts/goal", "geometry_msgs/msg/PoseStamped", when_ns, header=header, pose=goal)
        stamped = [
            self._new("geometry_msgs/msg/PoseStamped", header=header, pose=self._pose((item.x_m, item.y_m, item.z_m)))
            for item in walked
        ]
        self._write("ghosts/path", "nav_msgs/msg/Path", when_ns, header=header, poses=stamped)

    def _write(self, topic: str, kind: str, when_ns: int, **fields: Any) -> None:
        if topic not in self._channels:
            text, _ = self._types.generate_msgdef(kind, ros_version=2)
            schema = self._writer.register_schema(kind, "ros2msg", text.encode())
            self._channels[topic] = self._writer.register_channel(f"/{topic}", "cdr", schema)
        data = bytes(self._types.serialize_cdr(self._new(kind, **fields), kind))
        self._writer.add_message(self._channels[topic], when_ns, data, when_ns)

    def _image(self, topic: str, header: Any, encoding: str, pixels: np.ndarray, when_ns: int) -> None:
        height, width = pixels.shape[:2]
        data = np.ascontiguousarray(pixels).view(np.uint8).ravel()
        shape = {"height": height, "width": width, "step": len(data) // height, "is_bigendian": 0}
        self._write(topic, "sensor_msgs/msg/Image", when_ns, header=header, encoding=encoding, data=data, **shape)

    def _new(self, kind: str, **fields: Any) -> Any:
        return self._types.types[kind](**fields)

    def _header(self, when_ns: int, frame: str) -> Any:
        stamp = self._new("builtin_interfaces/msg/Time", sec=when_ns // SECOND, nanosec=when_ns % SECOND)
        return self._new("std_msgs/msg/Header", stamp=stamp, frame_id=frame)

    def _pose(self, xyz_m: tuple[float, float, float]) -> Any:
        x, y, z = xyz_m
        at = self._new("geometry_msgs/msg/Point", x=x, y=y, z=z)
        return self._new("geometry_msgs/msg/Pose", position=at, orientation=self._quaternion((0.0, 0.0, 0.0, 1.0)))

    def _quaternion(self, xyzw: tuple[float, float, float, float]) -> Any:
        x, y, z, w = xyzw
        return self._new("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)


@contextmanager
def open_writer(path: Path) -> Iterator[BagWriter]:
    """Write an MCAP file, whole or not at all.

    Raises:
        MissingExtraError: mcap or rosbags is not installed.
    """
    try:
        from mcap.writer import Writer
    except ImportError:
        raise MissingExtraError("mcap", "recordings", "writing MCAP") from None
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        writer = Writer(file)
        writer.start(profile="ros2", library="ghosts")
        yield BagWriter(writer)
        writer.finish()
