"""Recordings of ROS 2 (MCAP files, rosbag2 folders) and ROS 1 (.bag), read without ROS, one message at a time.

Images are decoded only when they are shown to the tracker. A frame waits until its transform, and its detections, have
arrived; what waits is dropped after two seconds, so memory does not grow with the recording.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ghosts.agent.frames import BoundingBox
from ghosts.agent.sensors import Detection
from ghosts.recordings.frame import Choice, Frame, Recording
from ghosts_sim.errors import DataError, MissingExtraError, UnknownNameError
from ghosts_sim.ros import SECOND, Frames, camera_of, colours, depth_m, is_depth, stamp_ns
from ghosts_sim.types import Intrinsics

SUFFIXES = (".mcap", ".db3", ".bag")
DETECTION_TYPES = {
    "vision_msgs/msg/ObjectHypothesis": "string class_id\nfloat64 score",
    "vision_msgs/msg/ObjectHypothesisWithPose": (
        "vision_msgs/ObjectHypothesis hypothesis\ngeometry_msgs/PoseWithCovariance pose"
    ),
    "vision_msgs/msg/Point2D": "float64 x\nfloat64 y",
    "vision_msgs/msg/Pose2D": "vision_msgs/Point2D position\nfloat64 theta",
    "vision_msgs/msg/BoundingBox2D": "vision_msgs/Pose2D center\nfloat64 size_x\nfloat64 size_y",
    "vision_msgs/msg/BoundingBox3D": "geometry_msgs/Pose center\ngeometry_msgs/Vector3 size",
    "vision_msgs/msg/Detection2D": (
        "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\nvision_msgs/BoundingBox2D bbox\n"
        "string id"
    ),
    "vision_msgs/msg/Detection3D": (
        "std_msgs/Header header\nvision_msgs/ObjectHypothesisWithPose[] results\nvision_msgs/BoundingBox3D bbox\n"
        "string id"
    ),
    "vision_msgs/msg/Detection2DArray": "std_msgs/Header header\nvision_msgs/Detection2D[] detections",
    "vision_msgs/msg/Detection3DArray": "std_msgs/Header header\nvision_msgs/Detection3D[] detections",
}
"""vision_msgs 4, for bags without definitions of their own, and for writing."""
_TOGETHER_NS = SECOND // 50
"""Colour and depth belong together when their times differ by less."""
_PATIENCE_NS = 2 * SECOND
_CAMERA = "the camera of a pose topic (optical)"
_IMAGES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
_POSES = ("geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/PoseWithCovarianceStamped")
_DETECTIONS = ("vision_msgs/msg/Detection2DArray", "vision_msgs/msg/Detection3DArray")


def require_rosbags() -> Any:
    """The library that reads bags.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import rosbags.highlevel
        import rosbags.typesys
    except ImportError:
        raise MissingExtraError("rosbags", "recordings", "reading and writing bags") from None
    return rosbags


def ros_types() -> Any:
    """Definitions of ROS 2's messages, and vision_msgs'."""
    typesys = require_rosbags().typesys
    types = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    for name, text in DETECTION_TYPES.items():
        types.register(typesys.get_types_from_msg(text, name))
    return types


@dataclass(frozen=True)
class _Topics:
    """Which topic is read for what; nothing where there is none."""

    colour: str
    depth: str
    info: str
    transforms: tuple[str, ...]
    odometry: str
    pose: str
    detections: str


def open_bag(path: Path, choice: Choice) -> Recording:
    """A bag's frames.

    Raises:
        DataError: the file is damaged, or something is missing without which nothing can be read.
        UnknownNameError: a topic was named that there is not.
    """
    with _reader(path) as reader:
        listed = {item.topic: item.msgtype for item in reader.connections}
        counts = {item.topic: item.msgcount for item in reader.connections}
        topics = _choose(reader, listed, choice)
        seconds = max(0.0, reader.duration / 1e9)
    found = tuple(
        f"{what}: {topic} ({listed[topic]}, {counts[topic]} messages)"
        for what, topic in (
            ("colour", topics.colour),
            ("depth", topics.depth),
            ("calibration", topics.info),
            *(("transforms", topic) for topic in topics.transforms),
            ("odometry", topics.odometry),
            ("camera pose", topics.pose),
            ("detections", topics.detections),
        )
        if topic
    )
    lacks = [
        *([] if topics.colour else ["colour images (sensor_msgs/Image; --colour TOPIC)"]),
        *([] if topics.depth else ["depth images in 16UC1 or 32FC1 (--depth TOPIC)"]),
        *([] if topics.info or choice.k else ["a calibration (sensor_msgs/CameraInfo; --info TOPIC, or --k)"]),
        *([] if topics.transforms or topics.odometry or topics.pose else ["poses (tf, nav_msgs/Odometry)"]),
    ]
    if lacks:
        there = "; ".join(f"{topic} ({kind})" for topic, kind in sorted(listed.items())) or "nothing"
        raise DataError(f"the recording has no {', no '.join(lacks)}; it holds {there}", file=path)
    missing = () if topics.detections else ("detections (vision_msgs/Detection2DArray or Detection3DArray)",)
    return Recording(found, lambda: _frames(path, topics, choice), seconds, missing)


@contextmanager
def _reader(path: Path) -> Iterator[Any]:
    highlevel = require_rosbags().highlevel
    try:
        with highlevel.AnyReader([path], default_typestore=ros_types()) as reader:
            yield reader
    except (highlevel.AnyReaderError, OSError, ValueError, AssertionError, IndexError, KeyError, struct.error) as error:
        why = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise DataError(f"no bag, or a damaged one: {why}", file=path, hint="copy or record it again") from None


def _choose(reader: Any, listed: dict[str, str], choice: Choice) -> _Topics:
    """The topics named, and of the others the first that suits."""
    for name in (choice.colour, choice.depth, choice.info, choice.detections):
        if name and name not in listed:
            raise UnknownNameError("topic", name, listed)

    def of(*kinds: str) -> list[str]:
        return sorted(topic for topic, kind in listed.items() if kind in kinds)

    images = of(*_IMAGES)
    # Raw before compressed, depth that is registered to colour before depth that is not.
    images.sort(key=lambda topic: (listed[topic] != _IMAGES[0], "aligned" not in topic, "infra" in topic, topic))
    deep = {topic: _deep(reader, topic) for topic in images} if not (choice.colour and choice.depth) else {}
    colour = choice.colour or next((topic for topic in images if not deep[topic]), "")
    depth = choice.depth or next((topic for topic in images if deep[topic]), "")
    near = colour.rsplit("/", 1)[0]
    infos = sorted(of("sensor_msgs/msg/CameraInfo"), key=lambda topic: (not topic.startswith(near), topic))
    info = choice.info or ("" if choice.k else next(iter(infos), ""))
    transforms = tuple(of("tf2_msgs/msg/TFMessage"))
    moving = any(not topic.endswith("static") for topic in transforms)
    odometry = "" if moving else next(iter(of("nav_msgs/msg/Odometry")), "")
    pose = "" if moving or odometry else next(iter(of(*_POSES)), "")
    detections = choice.detections or next(iter(of(*_DETECTIONS)), "")
    return _Topics(colour, depth, info, transforms, odometry, pose, detections)


def _deep(reader: Any, topic: str) -> bool:
    """Whether a topic's first image is depth."""
    connections = [item for item in reader.connections if item.topic == topic]
    for connection, _, raw in reader.messages(connections=connections):
        return is_depth(reader.deserialize(raw, connection.msgtype))
    return "depth" in topic


@dataclass
class _Waiting:
    """What has been read and not yet shown."""

    topics: _Topics
    choice: Choice
    frames: Frames
    camera: Intrinsics | None
    images: dict[str, deque[tuple[int, Any]]]
    """Of each of the two topics: times, and how each is decoded."""
    pairs: deque[tuple[int, Any, Any, int]]
    """Time, colour, depth, and when they were recorded."""
    found: deque[tuple[int, Any]]
    """Times and detections."""
    due_ns: float = -np.inf

    def pair(self, here: str, there: str, stamp: int, logged: int) -> None:
        """Look for the other image of one that has just come."""
        when, other = min(self.images[there], key=lambda item: abs(item[0] - stamp), default=(0, None))
        if other is None or abs(when - stamp) > _TOGETHER_NS:
            return
        mine = self.images[here].pop()[1]
        self.images[there] = deque((item for item in self.images[there] if item[0] > when), maxlen=8)
        if stamp >= self.due_ns:
            both = (mine, other) if here == self.topics.colour else (other, mine)
            self.due_ns = stamp + self.choice.period_ns
            self.pairs.append((stamp, *both, logged))

    def ready(self, now: int, *, last: bool = False) -> Iterator[Frame]:
        """Frames of which everything is there, or which have waited long enough."""
        while self.pairs:
            stamp, colour, depth, logged = self.pairs[0]
            late = last or now - logged > _PATIENCE_NS
            frame_id = _header(colour)[1]  # decoded once more when it is shown: only few wait
            frame = _CAMERA if self.topics.pose and not self.frames.known(frame_id) else frame_id
            told = not self.topics.detections or (bool(self.found) and self.found[-1][0] >= stamp)
            placed = self.frames.known(frame) and self.frames.newest_ns(frame) >= stamp
            if not (late or (placed and told and self.camera is not None)):
                return
            self.pairs.popleft()
            pose = self.frames.pose(frame, stamp) if self.frames.known(frame) else None
            if pose is None or self.camera is None:
                continue
            rgb, metres = colours(colour()), depth_m(depth())
            yield Frame(stamp, rgb, _same_size(metres, rgb), pose, self.camera, *self._seen(frame, stamp))

    def _seen(self, frame: str, stamp: int) -> tuple[tuple[BoundingBox, ...], tuple[Detection, ...]]:
        """What a detector found in the image of this time."""
        near = min(self.found, key=lambda item: abs(item[0] - stamp), default=None)
        if near is None or abs(near[0] - stamp) > _TOGETHER_NS:
            return (), ()
        boxes: list[BoundingBox] = []
        things: list[Detection] = []
        for item in near[1].detections:
            if not item.results:
                continue
            # vision_msgs 3 has label and score beside the pose, vision_msgs 4 in a message of their own.
            every: list[Any] = [getattr(result, "hypothesis", result) for result in item.results]
            said, middle = max(every, key=lambda one: one.score), item.bbox.center
            label = str(getattr(said, "class_id", None) or said.id)
            if hasattr(item.bbox, "size"):  # a box in space
                place = _to_camera(self.frames, item.header.frame_id or near[1].header.frame_id, frame, stamp)
                if place is not None:
                    at = middle.position
                    x, y, z = (place @ (at.x, at.y, at.z, 1.0))[:3].tolist()
                    things.append(Detection(label, (x, y, z)))
                continue
            x, y = (getattr(getattr(middle, "position", middle), axis) for axis in "xy")
            wide, high = item.bbox.size_x / 2, item.bbox.size_y / 2
            edges = (x - wide, y - high, x + wide, y + high)
            boxes.append(BoundingBox(label, edges, min(1.0, max(0.0, float(said.score)))))
        return tuple(boxes), tuple(things)


def _frames(path: Path, topics: _Topics, choice: Choice) -> Iterator[Frame]:
    shown = pairs = 0
    with _reader(path) as reader:
        wanted = {topics.colour, topics.depth, topics.info, *topics.transforms, topics.odometry, topics.pose}
        connections = [item for item in reader.connections if item.topic in {*wanted, topics.detections}]
        camera = None
        images: dict[str, deque[tuple[int, Any]]] = {topic: deque(maxlen=8) for topic in (topics.colour, topics.depth)}
        waiting = _Waiting(topics, choice, Frames(), camera, images, deque(), deque(maxlen=64))
        frames, now = waiting.frames, 0
        for connection, now, raw in reader.messages(connections=connections):
            topic, kind = connection.topic, connection.msgtype

            def decode(raw: bytes = raw, kind: str = kind) -> Any:
                return reader.deserialize(raw, kind)

            if topic in images:
                if choice.k and waiting.camera is None and topic == topics.colour:
                    picture = colours(decode())
                    waiting.camera = Intrinsics.from_focal(picture.shape[1], picture.shape[0], *choice.k)
                stamp = _header(decode, raw if reader.is2 else None)[0]
                images[topic].append((stamp, decode))
                before = len(waiting.pairs)
                other = topics.depth if topic == topics.colour else topics.colour
                waiting.pair(topic, other, stamp, now)
                pairs += len(waiting.pairs) - before
            elif topic == topics.info:
                if waiting.camera is None and not choice.k:
                    waiting.camera = camera_of(decode())
            elif topic == topics.detections:
                message = decode()
                waiting.found.append((stamp_ns(message.header), message))
            elif topic in topics.transforms:
                for item in decode().transforms:
                    where = (item.header.frame_id, item.child_frame_id, stamp_ns(item.header), item.transform)
                    frames.add(*where, fixed=topic.endswith("static"))
            else:
                message = decode()
                place = getattr(message.pose, "pose", message.pose)
                child = message.child_frame_id if topic == topics.odometry else _CAMERA
                frames.add(message.header.frame_id, child, stamp_ns(message.header), place)
            for frame in waiting.ready(now):
                shown += 1
                yield frame
        for frame in waiting.ready(now, last=True):
            shown += 1
            yield frame
    if not shown:
        why = "no colour image and depth image of the same time (20 ms)"
        if pairs:
            why = "no image at whose time its frame has a place in the world, by tf or odometry"
            why = why if waiting.camera is not None else "no message with the camera's calibration"
        raise DataError(f"the recording has {why}", file=path, hint="name other topics, or record these as well")


def _header(decode: Any, raw: bytes | None = None) -> tuple[int, str]:
    """Time and frame of a message; of ROS 2's bytes the time alone, without decoding an image."""
    if raw is not None:
        order = "<" if raw[1] & 1 else ">"
        sec, nanosec = struct.unpack_from(f"{order}iI", raw, 4)
        return sec * SECOND + nanosec, ""
    header = decode().header
    return stamp_ns(header), str(header.frame_id)


def _same_size(metres: np.ndarray, rgb: np.ndarray) -> np.ndarray:
    """Depth at the size of the colours."""
    if metres.shape == rgb.shape[:2]:
        return metres
    if abs(metres.shape[0] * rgb.shape[1] - metres.shape[1] * rgb.shape[0]) > max(rgb.shape):
        raise DataError(
            f"depth of {metres.shape[0]} × {metres.shape[1]} is not registered to colour of {rgb.shape[0]} × "
            f"{rgb.shape[1]}",
            hint="record the registered depth (RealSense: align_depth.enable:=true, …/aligned_depth_to_color/…)",
        )
    return cv2.resize(metres, (rgb.shape[1], rgb.shape[0]), interpolation=cv2.INTER_NEAREST)


def _to_camera(frames: Frames, source: str, camera: str, stamp: int) -> np.ndarray | None:
    """Points of a frame to points of the camera (x right, y down, z forward)."""
    if source.strip("/") == camera.strip("/") and "optical" in camera:
        return np.eye(4)
    there, pose = frames.matrix(source, stamp), frames.pose(camera, stamp)
    return None if there is None or pose is None else np.linalg.inv(pose.matrix) @ there
