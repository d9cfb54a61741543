"""A recording shown to a tracker, frame by frame, and pictures of what it believes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import cv2
import numpy as np
from jaxtyping import UInt8

from ghosts.agent.estimate import GoalEstimate
from ghosts.agent.frames import Description
from ghosts.agent.tracker import GoalTracker
from ghosts.recordings.frame import Frame
from ghosts.view.film import even_picture
from ghosts_houses.draw.canvas import new_figure
from ghosts_sim.types import Pose

MOST_POSES = 5000
"""Poses of the way that are kept; of a longer one every second is dropped."""


@dataclass(frozen=True)
class Tracked:
    """What a tracker believes after a frame."""

    frame: Frame
    estimate: GoalEstimate
    walked: tuple[Pose, ...]


def track(tracker: GoalTracker, instruction: str, frames: Iterable[Frame]) -> Iterator[Tracked]:
    """Beliefs after each frame. The instruction is given where the first frame was taken.

    Args:
        tracker: on images, or on labels. Detections of the recording take the place of its own perception.
        instruction: words.
        frames: of a recording; each is forgotten before the next one is read.
    """
    state, walked = None, list[Pose]()
    for frame in frames:
        state = tracker.start(instruction, frame.pose) if state is None else state
        said = Description("", frame.boxes) if frame.boxes and tracker.labels is not None else None
        time_s = frame.time_ns / 1e9
        state = tracker.observe(state, frame.rgb, frame.depth_m, frame.pose, frame.camera, said, time_s=time_s)
        if frame.things and tracker.labels is not None:
            state = tracker.observe_landmarks(state, frame.things, frame.pose)
        walked.append(frame.pose)
        if len(walked) > MOST_POSES:
            walked = walked[::2]
        yield Tracked(frame, tracker.goal(state), tuple(walked))


def film_picture(tracked: Tracked, instruction: str) -> UInt8[np.ndarray, "h w 3"]:
    """What the camera sees, and where the instruction leads."""
    figure = new_figure(11.0, 5.6, "drawing a film")
    figure.set_dpi(100)
    left = figure.add_axes((0.01, 0.04, 0.48, 0.82), xticks=[], yticks=[])
    rgb = tracked.frame.rgb
    scale = 640.0 / rgb.shape[1]
    left.imshow(cv2.resize(rgb, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) if scale < 1.0 else rgb)
    right = figure.add_axes((0.55, 0.1, 0.43, 0.7))
    tracked.estimate.plot(right)
    right.plot(*np.array([(pose.x_m, pose.y_m) for pose in tracked.walked]).T, color="#555555", lw=1.0)
    words = textwrap.fill(f"“{instruction}”", 110)
    figure.text(0.5, 0.98, words, ha="center", va="top", fontsize=10)
    return even_picture(figure)
