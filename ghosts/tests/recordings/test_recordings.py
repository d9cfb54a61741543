from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from agent.makers import CAMERA, small_model
from ghosts.agent.tracker import GoalTracker
from ghosts.cli import track as command
from ghosts.mapping.backbone import SmallBackbone
from ghosts.recordings.frame import Choice, Frame
from ghosts.recordings.open import open_recording
from ghosts.recordings.track import Tracked, film_picture, track
from ghosts.words.tokens import Vocabulary
from ghosts_houses.task.episode import houses_of, open_episode
from ghosts_sim.episodes import each_instruction
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.motion import MOVE_FORWARD, TURN_LEFT
from ghosts_sim.types import Intrinsics, Pose
from residing import SMALL, simulators

typesys = pytest.importorskip("rosbags.typesys", reason="of the extra recordings")
pytest.importorskip("mcap", reason="of the extra recordings")
from ghosts.recordings.bags import ros_types  # noqa: E402
from ghosts.recordings.written import open_writer  # noqa: E402

WORDS = Vocabulary(("<pad>", "<unk>", "go", "ahead"))


def made_up(count: int, camera: Intrinsics = CAMERA) -> Iterator[Frame]:
    """Frames half a second apart, of a camera that goes ahead and turns."""
    random, start_ns = np.random.default_rng(0), 10**18
    shape = (camera.height, camera.width)
    for k in range(count):
        rgb, depth_m = random.integers(0, 256, (*shape, 3), np.uint8), random.uniform(0.5, 4.0, shape)
        pose = Pose(0.1 * k, 0.2, 1.5, 0.3 * k % math.tau, -0.4, 0.05)
        yield Frame(start_ns + k * 500_000_000, rgb, depth_m.astype(np.float32), pose, camera)


def believed(frames: Iterator[Frame]) -> list[Tracked]:
    torch.manual_seed(1)
    return list(track(GoalTracker(small_model(), WORDS, SmallBackbone(8), margin_m=3.0), "go ahead", frames))


def test_a_drive_in_a_house_written_as_mcap_gives_the_same_beliefs(world: Path, tmp_path: Path) -> None:
    root = houses_of(world)
    episode = open_episode(simulators(world, SMALL), root, next(iter(each_instruction(root.episodes("val_unseen")))))
    driven = []
    for number, action in enumerate((TURN_LEFT, MOVE_FORWARD, MOVE_FORWARD, TURN_LEFT, MOVE_FORWARD)):
        seen = episode.look()
        driven.append(Frame(number * 500_000_000, seen.rgb, seen.depth_m, seen.pose, episode.camera))
        episode.act(action)
    bag = tmp_path / "drive.mcap"
    with open_writer(bag) as writer:
        for frame in driven:
            writer.frame(frame)
    read = open_recording(bag, Choice())
    assert [line.split(":")[0] for line in read.found] == ["colour", "depth", "calibration", "transforms"]
    before, after = believed(iter(driven)), believed(read.frames())
    assert len(after) == len(driven) == 5
    for one, other in zip(before, after):
        np.testing.assert_array_equal(one.frame.depth_m, other.frame.depth_m)
        np.testing.assert_allclose(one.estimate.mass, other.estimate.mass, atol=1e-6)
    assert np.abs(before[0].estimate.mass - before[-1].estimate.mass).sum() > 0.01
    assert film_picture(after[-1], "go ahead").shape == (560, 1100, 3)


def test_a_bag_is_read_with_flat_memory(tmp_path: Path) -> None:
    peaks = []
    for count in (20, 60):
        with open_writer(tmp_path / f"{count}.mcap") as writer:
            for frame in made_up(count, Intrinsics(160, 128, 1.0)):
                writer.frame(frame)
        tracemalloc.start()
        assert sum(1 for _ in open_recording(tmp_path / f"{count}.mcap", Choice(hz=2.0)).frames()) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]  # 40 frames more are 5.7 MB


class Bag:
    """Messages of a robot that has odometry, a camera on a body, and depth in millimetres."""

    def __init__(self, folder: Path) -> None:
        from rosbags.rosbag2 import Writer

        self.types, self.writer, self.connections = ros_types(), Writer(folder, version=9), dict[str, Any]()

    def __enter__(self) -> Bag:
        self.writer.open()
        return self

    def __exit__(self, *error: object) -> None:
        self.writer.close()

    def add(self, topic: str, kind: str, when_ns: int, **fields: Any) -> None:
        if topic not in self.connections:
            self.connections[topic] = self.writer.add_connection(topic, kind, typestore=self.types)
        data = self.types.serialize_cdr(self.types.types[kind](**fields), kind)
        self.writer.write(self.connections[topic], when_ns, data)

    def new(self, name: str, **fields: Any) -> Any:
        return self.types.types[name](**fields)

    def header(self, when_ns: int, frame: str) -> Any:
        stamp = self.new("builtin_interfaces/msg/Time", sec=when_ns // 10**9, nanosec=when_ns % 10**9)
        return self.new("std_msgs/msg/Header", stamp=stamp, frame_id=frame)

    def place(self, kind: str, xyz: tuple[float, ...], xyzw: tuple[float, ...]) -> Any:
        names, vector = (
            (("position", "orientation"), "Point") if kind == "Pose" else (("translation", "rotation"), "Vector3")
        )
        at = self.new(f"geometry_msgs/msg/{vector}", **dict(zip("xyz", xyz)))
        turned = self.new("geometry_msgs/msg/Quaternion", **dict(zip("xyzw", xyzw)))
        return self.new(f"geometry_msgs/msg/{kind}", **dict(zip(names, (at, turned))))

    def image(self, topic: str, when_ns: int, encoding: str, pixels: np.ndarray) -> None:
        data = np.ascontiguousarray(pixels).view(np.uint8).ravel()
        height, width = pixels.shape[:2]
        size = {"height": height, "width": width, "step": len(data) // height, "is_bigendian": 0}
        header = self.header(when_ns, "camera_optical_frame")
        self.add(topic, "sensor_msgs/msg/Image", when_ns, header=header, encoding=encoding, data=data, **size)


def odometry_bag(folder: Path, *, calibrated: bool = True) -> None:
    """Five seconds: odometry at 10 Hz, images at 5 Hz between two of its messages, boxes that come 0.3 s late."""
    with Bag(folder) as bag:
        ahead = (0.5, -0.5, 0.5, -0.5)  # an optical frame in a body's: it looks where the body's x points
        camera = bag.place("Transform", (0.1, 0.0, 1.2), ahead)
        fixed = bag.new(
            "geometry_msgs/msg/TransformStamped",
            header=bag.header(0, "base_link"),
            child_frame_id="camera_optical_frame",
            transform=camera,
        )
        bag.add("/tf_static", "tf2_msgs/msg/TFMessage", 1, transforms=[fixed])
        none = np.zeros(36)
        for k in range(51):
            when = 10**12 + k * 10**8
            twist = bag.new(
                "geometry_msgs/msg/Twist",
                linear=bag.new("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=0.0),
                angular=bag.new("geometry_msgs/msg/Vector3", x=0.0, y=0.0, z=0.0),
            )
            bag.add(
                "/odom",
                "nav_msgs/msg/Odometry",
                when,
                header=bag.header(when, "odom"),
                child_frame_id="base_link",
                pose=bag.new(
                    "geometry_msgs/msg/PoseWithCovariance",
                    pose=bag.place("Pose", (0.05 * k, 2.0, 0.0), (0.0, 0.0, math.sin(0.1), math.cos(0.1))),
                    covariance=none,
                ),
                twist=bag.new("geometry_msgs/msg/TwistWithCovariance", twist=twist, covariance=none),
            )
            if k % 2 == 0 and k < 50:
                taken = when + 5 * 10**7
                pixels = np.full((32, 40, 3), (30, 20, 10), np.uint8)
                bag.image("/camera/color/image_raw", taken, "bgr8", pixels)
                bag.image(
                    "/camera/aligned_depth_to_color/image_raw", taken, "16UC1", np.full((32, 40), 2500, np.uint16)
                )
                if calibrated:
                    roi = bag.new(
                        "sensor_msgs/msg/RegionOfInterest", x_offset=0, y_offset=0, height=0, width=0, do_rectify=False
                    )
                    bag.add(
                        "/camera/color/camera_info",
                        "sensor_msgs/msg/CameraInfo",
                        taken,
                        header=bag.header(taken, "camera_optical_frame"),
                        height=32,
                        width=40,
                        distortion_model="plumb_bob",
                        d=np.zeros(5),
                        k=np.array([30.0, 0, 19, 0, 31, 15, 0, 0, 1]),
                        r=np.eye(3).ravel(),
                        p=np.zeros(12),
                        binning_x=0,
                        binning_y=0,
                        roi=roi,
                    )
            if k % 2 == 1 and k > 3:
                of = when - 4 * 10**8 - 5 * 10**7
                bag.add("/boxes", "vision_msgs/msg/Detection2DArray", when, **boxes(bag, of))


def boxes(bag: Bag, when_ns: int) -> dict[str, Any]:
    header = bag.header(when_ns, "camera_optical_frame")
    sure = bag.new("vision_msgs/msg/ObjectHypothesis", class_id="sofa", score=0.75)
    pose = bag.new(
        "geometry_msgs/msg/PoseWithCovariance", pose=bag.place("Pose", (0.0,) * 3, (0.0,) * 4), covariance=np.zeros(36)
    )
    result = bag.new("vision_msgs/msg/ObjectHypothesisWithPose", hypothesis=sure, pose=pose)
    middle = bag.new("vision_msgs/msg/Pose2D", position=bag.new("vision_msgs/msg/Point2D", x=20.0, y=16.0), theta=0.0)
    box = bag.new("vision_msgs/msg/BoundingBox2D", center=middle, size_x=10.0, size_y=8.0)
    one = bag.new("vision_msgs/msg/Detection2D", header=header, results=[result], bbox=box, id="")
    return {"header": header, "detections": [one]}


def test_a_rosbag_with_odometry_millimetres_and_late_boxes(tmp_path: Path) -> None:
    odometry_bag(tmp_path / "bag")
    recording = open_recording(tmp_path / "bag", Choice(hz=1.0))
    assert recording.missing == ()
    assert [line.split(" (")[0] for line in recording.found] == [
        "colour: /camera/color/image_raw",
        "depth: /camera/aligned_depth_to_color/image_raw",
        "calibration: /camera/color/camera_info",
        "transforms: /tf_static",
        "odometry: /odom",
        "detections: /boxes",
    ]
    frames = list(recording.frames())
    assert [round((frame.time_ns - 10**12) / 1e9, 2) for frame in frames] == [0.05, 1.05, 2.05, 3.05, 4.05]
    for frame in frames:
        share = (frame.time_ns - 10**12) / 1e8
        # The body looks 0.2 rad to the left of +x; the camera is 0.1 m ahead of its middle and 1.2 m above it.
        at = (0.05 * share + 0.1 * math.cos(0.2), 2.0 + 0.1 * math.sin(0.2), 1.2)
        assert (frame.pose.x_m, frame.pose.y_m, frame.pose.z_m) == pytest.approx(at, abs=1e-9)
        assert (frame.pose.heading_rad, frame.pose.elevation_rad) == pytest.approx((math.pi / 2 - 0.2, 0.0), abs=1e-9)
        assert frame.rgb[0, 0].tolist() == [10, 20, 30]
        assert frame.depth_m.max() == frame.depth_m.min() == np.float32(2.5)
        assert frame.camera.k_px == (30.0, 31.0, 19.0, 15.0)
    assert [[(box.label, box.edges_px) for box in frame.boxes] for frame in frames] == [
        [("sofa", (15.0, 12.0, 25.0, 20.0))]
    ] * 5


def test_what_a_bag_lacks_is_said(tmp_path: Path) -> None:
    odometry_bag(tmp_path / "bag", calibrated=False)
    with pytest.raises(DataError, match=r"no a calibration .*CameraInfo.*; it holds /boxes .*; /odom \(nav_msgs"):
        open_recording(tmp_path / "bag", Choice())
    with pytest.raises(UnknownNameError, match=r"unknown topic '/camera/colour'"):
        open_recording(tmp_path / "bag", Choice(colour="/camera/colour"))
    frames = open_recording(tmp_path / "bag", Choice(k=(30.0, 31.0, 19.0, 15.0))).frames()
    assert next(frames).camera.k_px == (30.0, 31.0, 19.0, 15.0)
    (tmp_path / "cut.mcap").write_bytes(b"\x89MCAP0\r\n" + bytes(40))
    for name, said in (("cut.mcap", "no bag, or a damaged one"), ("none", "no such recording"), ("", "no known")):
        with pytest.raises(DataError, match=said):
            open_recording(tmp_path / name, Choice())


def test_folders_of_seven_scenes_and_tum(tmp_path: Path) -> None:
    scenes, tum = tmp_path / "scenes", tmp_path / "tum"
    scenes.mkdir()
    (tum / "rgb").mkdir(parents=True)
    colour, depth = np.full((32, 40, 3), (10, 20, 30), np.uint8), np.full((32, 40), 2000, np.uint16)
    depth[0, 0] = 65535
    # A world whose gravity points along +y, as of a camera held level: its y is down.
    (scenes / "gravity-direction.txt").write_text("0 1 0")
    (scenes / "camera-intrinsics.txt").write_text("30 0 19\n0 31 15\n0 0 1\n")
    for number in (0, 3, 33):
        stem = scenes / f"frame-{number:06d}"
        cv2.imwrite(f"{stem}.color.png", colour[..., ::-1])
        cv2.imwrite(f"{stem}.depth.png", depth)
        matrix = np.eye(4)
        matrix[:3, 3] = 0.5, -1.5, 2.0
        np.savetxt(f"{stem}.pose.txt", matrix)
    first, second = open_recording(scenes, Choice()).frames()
    assert (first.time_ns, second.time_ns) == (0, 1_100_000_000)
    assert (first.pose.z_m, first.pose.elevation_rad, first.pose.roll_rad) == pytest.approx((1.5, 0.0, 0.0))
    assert first.rgb[1, 1].tolist() == [10, 20, 30]
    assert (first.depth_m[0, 0], first.depth_m[1, 1]) == (0.0, 2.0)

    cv2.imwrite(str(tum / "rgb" / "a.png"), colour[..., ::-1])
    cv2.imwrite(str(tum / "rgb" / "d.png"), np.full((32, 40), 10000, np.uint16))
    (tum / "rgb.txt").write_text("# file\n1.00 rgb/a.png\n2.00 rgb/a.png\n3.0 rgb/a.png\n")
    (tum / "depth.txt").write_text("1.01 rgb/d.png\n2.01 rgb/d.png\n3.2 rgb/d.png\n")
    (tum / "groundtruth.txt").write_text(
        "1.0 1 2 1.5 -0.5 0.5 -0.5 0.5\n2.0 2 2 1.5 -0.5 0.5 -0.5 0.5\n3 0 0 0 0 0 0 1\n"
    )
    assert "525" in open_recording(tum, Choice()).missing[0]
    frames = list(open_recording(tum, Choice(hz=5.0, k=(30.0, 31.0, 19.0, 15.0))).frames())
    assert [frame.pose.x_m for frame in frames] == [1.0, 2.0]  # the third has no depth of its time
    assert frames[0].depth_m[3, 3] == np.float32(2.0)
    assert frames[0].pose.heading_rad == pytest.approx(math.pi / 2)  # +x
    (tum / "rgb.txt").write_text("1.00 ../../secret.png\n")
    with pytest.raises(DataError, match="outside of the recording"):
        open_recording(tum, Choice())


def test_the_command_says_what_it_found_and_writes_the_belief(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "ghosts.run.tracker.load_tracker",
        lambda *given, **more: GoalTracker(small_model(), WORDS, SmallBackbone(8), margin_m=3.0),
    )
    bag, out = tmp_path / "drive.mcap", tmp_path / "belief.mcap"
    with open_writer(bag) as writer:
        for frame in made_up(4):
            writer.frame(frame)
    gif, sent = tmp_path / "drive.gif", tmp_path / "drive.rrd"
    command.main([str(bag), "--instruction", "go ahead", "--mcap", str(out), "--film", str(gif)])
    told = capsys.readouterr().out
    assert "found colour: /camera/color/image_raw (sensor_msgs/msg/Image, 4 messages)" in told
    assert "missing detections" in told
    assert "4 images of 2 s" in told
    assert cv2.VideoCapture(str(gif)).isOpened()
    from rosbags.highlevel import AnyReader

    with AnyReader([out]) as reader:
        messages = [(item.topic, reader.deserialize(raw, item.msgtype)) for item, _, raw in reader.messages()]
    assert [topic for topic, _ in messages] == ["/ghosts/belief", "/ghosts/goal", "/ghosts/path"] * 4
    grid, goal, path = (message for _, message in messages[-3:])
    expected = believed(made_up(4))[-1].estimate
    mass = grid.data.reshape(grid.info.height, grid.info.width)
    assert mass.max() == 100
    assert np.unravel_index(mass.argmax(), mass.shape) == np.unravel_index(expected.mass.argmax(), mass.shape)
    corner = (grid.info.origin.position.x, grid.info.origin.position.y)
    assert corner == (expected.x_m[0] - 0.5, expected.y_m[0] - 0.5)
    assert (goal.pose.position.x, goal.pose.position.y) == pytest.approx(expected.position_m)
    assert [pose.pose.position.x for pose in path.poses] == pytest.approx([0.0, 0.1, 0.2, 0.3])
    with pytest.raises(ConfigError, match="--k takes four numbers"):
        command.main([str(bag), "--instruction", "go", "--k", "500 500"])
    if find_spec("rerun"):  # of the extra rerun
        command.main([str(bag), "--instruction", "go ahead", "--rerun", str(sent)])
        assert sent.read_bytes()[:3] == b"RRF"
