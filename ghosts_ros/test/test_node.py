"""The node's logic without ROS, and its shell against a stub of the few calls that it makes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ghosts_sim.errors import GhostsError
from ghosts_sim.remote import RemoteGoal

FOLDER = Path(__file__).parents[1]
SECOND = 10**9


class Message(SimpleNamespace):
    """A message: fields are there when they are asked for, as ROS's have defaults."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = Message()
        setattr(self, name, value)
        return value


class FakeTracker:
    """Instead of the client."""

    def __init__(self, address: str = "", token: str | None = None) -> None:
        self.address, self.calls, self.broken = address, list[Any](), False

    def start(self, text: str, pose: Any) -> int:
        self.calls.append(("start", text, round(pose.x_m, 3)))
        return 7

    def observe(self, episode: int, rgb: Any, depth_m: Any, pose: Any, camera: Any, **how: Any) -> tuple[str, ...]:
        if self.broken:
            raise GhostsError("no tracker answers at here")
        self.calls.append(("observe", episode, rgb[0, 0].tolist(), float(depth_m[0, 0]), round(pose.x_m, 3), how))
        return ()

    def goal(self, episode: int) -> RemoteGoal:
        mass = np.zeros((2, 3), np.float32)
        mass[1, 2] = 0.75
        mass[0, 1] = 0.25
        return RemoteGoal(mass, np.array([1.0, 2.0, 3.0]), np.array([5.0, 6.0]), (3.0, 6.0), 0.75, True, ())


class Node:
    """rclpy's, as far as the node uses it."""

    def __init__(self, name: str) -> None:
        self.name, self.subscribed, self.published, self.services = name, dict[str, Any](), dict[str, list[Any]](), {}
        self.timers, self.told = list[Any](), list[str]()

    def declare_parameter(self, name: str, value: Any) -> Any:
        return SimpleNamespace(value=value)

    def get_logger(self) -> Any:
        return SimpleNamespace(info=self.told.append)

    def create_subscription(self, kind: Any, topic: str, call: Any, quality: Any) -> None:
        self.subscribed[topic] = call

    def create_publisher(self, kind: Any, topic: str, quality: int) -> Any:
        return SimpleNamespace(publish=self.published.setdefault(topic, []).append)

    def create_service(self, kind: Any, name: str, call: Any) -> None:
        self.services[name] = call

    def create_timer(self, period_s: float, call: Any, callback_group: Any) -> None:
        self.timers.append((period_s, call))

    def get_clock(self) -> Any:
        return SimpleNamespace(now=lambda: SimpleNamespace(to_msg=lambda: "now"))


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The node, in a world with a stub of ROS."""
    named = {
        "rclpy": {},
        "rclpy.node": {"Node": Node},
        "rclpy.callback_groups": {"MutuallyExclusiveCallbackGroup": object},
        "rclpy.executors": {"MultiThreadedExecutor": object},
        "rclpy.qos": {
            "DurabilityPolicy": SimpleNamespace(TRANSIENT_LOCAL=1),
            "QoSProfile": lambda **how: how,
            "qos_profile_sensor_data": {},
        },
        "geometry_msgs.msg": {"PoseStamped": Message},
        "nav_msgs.msg": {"OccupancyGrid": Message},
        "sensor_msgs.msg": {"CameraInfo": Message, "Image": Message},
        "std_msgs.msg": {"String": Message},
        "std_srvs.srv": {"Trigger": Message},
        "tf2_msgs.msg": {"TFMessage": Message},
        "vision_msgs.msg": {"Detection2DArray": Message},
    }
    for name, things in named.items():
        module = ModuleType(name)
        vars(module).update(things)
        monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.setitem(sys.modules, name.split(".")[0], sys.modules.get(name.split(".")[0], module))
    monkeypatch.syspath_prepend(str(FOLDER))
    for name in [name for name in sys.modules if name.split(".")[0] == "ghosts_ros"]:
        monkeypatch.delitem(sys.modules, name)  # the folder, which pytest takes for a package
    monkeypatch.setattr("ghosts_sim.remote.Tracker", FakeTracker)
    import ghosts_ros.node

    yield ghosts_ros.node.TrackerNode()
    for name in ("ghosts_ros", "ghosts_ros.node", "ghosts_ros.logic"):
        sys.modules.pop(name)


def header(when_ns: int, frame: str = "camera_optical_frame") -> SimpleNamespace:
    return SimpleNamespace(stamp=SimpleNamespace(sec=when_ns // SECOND, nanosec=when_ns % SECOND), frame_id=frame)


def image(when_ns: int, encoding: str, pixels: np.ndarray) -> SimpleNamespace:
    size = {"height": pixels.shape[0], "width": pixels.shape[1], "step": pixels[0].nbytes, "is_bigendian": 0}
    return SimpleNamespace(header=header(when_ns), encoding=encoding, data=pixels.tobytes(), **size)


def placed(parent: str, child: str, when_ns: int, x: float, xyzw: tuple[float, ...]) -> SimpleNamespace:
    at, turned = SimpleNamespace(x=x, y=0.0, z=0.0), SimpleNamespace(**dict(zip("xyzw", xyzw)))
    place = SimpleNamespace(translation=at, rotation=turned)
    one = SimpleNamespace(header=header(when_ns, parent), child_frame_id=child, transform=place)
    return SimpleNamespace(transforms=[one])


def send_images(node: Any, when_ns: int) -> None:
    node.subscribed["color"](image(when_ns, "bgr8", np.full((2, 3, 3), (30, 20, 10), np.uint8)))
    node.subscribed["depth"](image(when_ns + 10**6, "16UC1", np.full((2, 3), 1500, np.uint16)))


def test_belief_and_goal_follow_instruction_images_and_transforms(node: Any) -> None:
    ((period_s, look),) = node.timers
    assert period_s == 0.5
    tracker, say = node.follower.tracker, SimpleNamespace(data="Go to the sofa. ")
    look()
    info = SimpleNamespace(k=[30.0, 0, 1, 0, 30, 1, 0, 0, 1], d=[], width=3, height=2)
    ahead = (-0.5, 0.5, -0.5, 0.5)
    node.subscribed["~/instruction"](say)
    look()
    node.subscribed["camera_info"](info)
    node.subscribed["/tf_static"](placed("base", "camera_optical_frame", 0, 0.5, ahead))
    send_images(node, 10 * SECOND)
    assert tracker.calls == []
    for second in (9, 11):
        node.subscribed["/tf"](placed("map", "base", second * SECOND, 2.0 * second, (0.0, 0.0, 0.0, 1.0)))
    look()
    how = {"boxes": [], "time_s": 10.0}
    assert tracker.calls == [("start", "Go to the sofa.", 20.5), ("observe", 7, [10, 20, 30], 1.5, 20.5, how)]
    look()  # nothing new
    assert len(tracker.calls) == 2
    (grid,), (goal,) = node.published["~/belief"], node.published["~/goal"]
    assert grid.data == [0, 33, 0, 0, 0, 100]
    assert (grid.header.frame_id, grid.info.width, grid.info.height, grid.info.resolution) == ("map", 3, 2, 1.0)
    assert (grid.info.origin.position.x, grid.info.origin.position.y) == (0.5, 4.5)
    assert (goal.pose.position.x, goal.pose.position.y, goal.header.stamp) == (3.0, 6.0, "now")
    assert node.told == [
        "waiting for an instruction",
        "waiting for the camera's calibration (CameraInfo)",
        "ready",
    ]

    hypothesis = SimpleNamespace(hypothesis=SimpleNamespace(class_id="sofa", score=0.5))
    middle = SimpleNamespace(position=SimpleNamespace(x=1.0, y=1.0))
    box = SimpleNamespace(results=[hypothesis], bbox=SimpleNamespace(center=middle, size_x=2.0, size_y=1.0))
    node.subscribed["detections"](SimpleNamespace(header=header(11 * SECOND), detections=[box]))
    send_images(node, 11 * SECOND)
    look()
    assert tracker.calls[-1][-1]["boxes"] == [("sofa", (0.0, 0.5, 2.0, 1.5), 0.5)]
    node.subscribed["/tf"](placed("map", "base", 13 * SECOND, 0.0, (0.0, 0.0, 0.0, 1.0)))
    tracker.broken = True
    send_images(node, 12 * SECOND)
    look()
    assert node.told[-1] == "no tracker answers at here"
    tracker.broken = False
    send_images(node, 13 * SECOND)
    look()
    assert [call[0] for call in tracker.calls[-2:]] == ["start", "observe"]  # a server that came back knows no episode


def test_nav2_is_sent_where_the_tracker_is_sure(node: Any) -> None:
    go = node.services["~/go"]
    answer = go(None, Message())
    assert (answer.success, answer.message.split(";")[0]) == (False, "there is no goal yet")
    node.follower.goal = FakeTracker().goal(7)
    answer = go(None, Message())
    assert (answer.success, answer.message) == (True, "(3.0, 6.0) m, 75% within 3 m")
    ((sent),) = node.published["goal_pose"]
    assert (sent.pose.position.x, sent.pose.position.y, sent.pose.orientation.w) == (3.0, 6.0, 1.0)
    node.least = 0.8
    answer = go(None, Message())
    assert not answer.success
    assert answer.message.startswith("not sure enough to go there")
    assert len(node.published["goal_pose"]) == 1


def test_the_package_names_what_it_imports() -> None:
    listed = {item.text for item in ElementTree.parse(FOLDER / "package.xml").iter("exec_depend")}
    lines = (FOLDER / "ghosts_ros" / "node.py").read_text(encoding="utf-8").splitlines()
    imported = {line.split()[1].split(".")[0] for line in lines if line.startswith(("from ", "import "))}
    own = {"__future__", "functools", "typing", "ghosts_sim", "ghosts_ros"}
    assert imported - own == listed
