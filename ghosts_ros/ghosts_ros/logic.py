"""What the node does, without ROS: messages in, observations to the tracker, its belief as the fields of messages."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from ghosts_sim.errors import GhostsError
from ghosts_sim.remote import RemoteGoal, Tracker
from ghosts_sim.ros import SECOND, Frames, camera_of, colours, depth_m, stamp_ns

TOGETHER_NS = SECOND // 50
"""Colour and depth belong together when their times differ by less."""


class Follower:
    """Shows a robot's newest images to a tracker.

    Messages come from one thread, `look` is called from another, since the tracker may take longer than messages may
    wait.

    Args:
        tracker: the client of `ghosts serve`.
        tell: what is said to the user, such as a node's log.
    """

    def __init__(self, tracker: Tracker, tell: Callable[[str], None] = print) -> None:
        self.tracker, self.tell = tracker, tell
        self.frames, self.goal = Frames(), None  # type: Frames, RemoteGoal | None
        self._lock = threading.Lock()
        self._camera: Any = None
        self._colour: deque[Any] = deque(maxlen=8)
        self._depth: deque[Any] = deque(maxlen=8)
        self._boxes: deque[Any] = deque(maxlen=8)
        self._text, self._episode, self._last_ns, self._said = "", 0, -1, ""

    def on_instruction(self, message: Any) -> None:
        """A new instruction (std_msgs/String): an episode begins where the next image is taken."""
        with self._lock:
            self._text, self._episode, self.goal = message.data.strip(), 0, None

    def on_info(self, message: Any) -> None:
        """A CameraInfo; the first one counts."""
        if self._camera is None:
            self._camera = camera_of(message)

    def on_colour(self, message: Any) -> None:
        """An Image."""
        with self._lock:
            self._colour.append(message)

    def on_depth(self, message: Any) -> None:
        """An Image, registered to the colours."""
        with self._lock:
            self._depth.append(message)

    def on_boxes(self, message: Any) -> None:
        """A Detection2DArray."""
        with self._lock:
            self._boxes.append(message)

    def on_transforms(self, message: Any, fixed: bool = False) -> None:
        """A TFMessage of /tf or /tf_static."""
        with self._lock:
            for item in message.transforms:
                where = (item.header.frame_id, item.child_frame_id, stamp_ns(item.header), item.transform)
                self.frames.add(*where, fixed=fixed)

    def look(self) -> RemoteGoal | None:
        """Show the newest image to the tracker, and ask where the instruction leads; None where nothing is new."""
        found = self._newest()
        if found is None:
            return None
        text, episode, stamp, colour, depth, pose, boxes = found
        try:
            if not episode:
                episode = self.tracker.start(text, pose)
            how = {"boxes": boxes, "time_s": stamp / 1e9}
            notes = self.tracker.observe(episode, colours(colour), depth_m(depth), pose, self._camera, **how)
            goal = self.tracker.goal(episode)
        except GhostsError as error:
            # The server may come back, without the episode.
            with self._lock:
                self._episode = 0
            self._say(str(error))
            return None
        with self._lock:
            if text != self._text:  # another instruction came meanwhile
                return None
            self._episode, self.goal = episode, goal
        self._say("; ".join(notes) or "ready")
        return goal

    def nav_goal(self, least: float = 0.5) -> tuple[tuple[float, float] | None, str]:
        """Where to send Nav2, or why not.

        Args:
            least: confidence below which the robot is not sent.
        """
        with self._lock:
            goal = self.goal
        if goal is None:
            return None, "there is no goal yet; publish an instruction, and see that images and transforms arrive"
        x, y = goal.position_m
        told = f"({x:.1f}, {y:.1f}) m, {goal.confidence:.0%} within 3 m"
        if goal.confidence < least:
            return None, f"not sure enough to go there: {told}; look around, or say more"
        return goal.position_m, told

    def world_frame(self) -> str:
        """The frame at the top of the tree, in which goals are."""
        with self._lock:
            newest = self._colour[-1].header.frame_id if self._colour else ""
            return self.frames.root(newest) if newest else "map"

    def _newest(self) -> Any:
        """The newest image that has everything: depth of its time, a camera, and a pose; None without."""
        with self._lock:
            if not self._text:
                return self._say("waiting for an instruction")
            if self._camera is None:
                return self._say("waiting for the camera's calibration (CameraInfo)")
            if self._colour and stamp_ns(self._colour[-1].header) <= self._last_ns:
                return None
            placed = False
            for colour in reversed(self._colour):
                stamp = stamp_ns(colour.header)
                if stamp <= self._last_ns:
                    break
                depth = _at(self._depth, stamp)
                if depth is None:
                    continue
                pose = self.frames.pose(colour.header.frame_id, stamp)
                placed = True
                if pose is None:
                    continue
                self._last_ns = stamp
                boxes = _boxes(_at(self._boxes, stamp))
                return self._text, self._episode, stamp, colour, depth, pose, boxes
            frame = self._colour[-1].header.frame_id if self._colour else "?"
            if placed and not self.frames.known(frame):
                return self._say(f"waiting for a transform of {frame} (tf)")
            return self._say("waiting for colour and depth of the same time") if not placed else None

    def _say(self, text: str) -> None:
        """Tell once."""
        if text != self._said:
            self._said = text
            self.tell(text)


def _at(messages: Any, stamp: int) -> Any:
    """The message of a time; None where there is none."""
    near = min(messages, key=lambda item: abs(stamp_ns(item.header) - stamp), default=None)
    return near if near is not None and abs(stamp_ns(near.header) - stamp) <= TOGETHER_NS else None


def _boxes(message: Any) -> list[tuple[str, tuple[float, float, float, float], float]]:
    """Labels, edges and scores of a Detection2DArray."""
    found = []
    for item in message.detections if message is not None else ():
        if item.results:
            said = max((result.hypothesis for result in item.results), key=lambda one: one.score)
            at, wide, high = item.bbox.center.position, item.bbox.size_x / 2, item.bbox.size_y / 2
            edges = (at.x - wide, at.y - high, at.x + wide, at.y + high)
            found.append((str(said.class_id), edges, min(1.0, max(0.0, float(said.score)))))
    return found


def fill_grid(message: Any, goal: RemoteGoal) -> Any:
    """A belief as an OccupancyGrid; 100 is its likeliest cell."""
    cell = float(goal.x_m[1] - goal.x_m[0])
    message.info.resolution = cell
    message.info.height, message.info.width = (int(size) for size in goal.mass.shape)
    message.info.origin.position.x = float(goal.x_m[0]) - cell / 2
    message.info.origin.position.y = float(goal.y_m[0]) - cell / 2
    message.info.origin.orientation.w = 1.0
    message.data = np.round(100.0 * goal.mass / max(float(goal.mass.max()), 1e-30)).astype(int).ravel().tolist()
    return message


def fill_pose(message: Any, xy_m: tuple[float, float]) -> Any:
    """A place as a PoseStamped; nothing is known of the heading there."""
    message.pose.position.x, message.pose.position.y = xy_m
    message.pose.orientation.w = 1.0
    return message
