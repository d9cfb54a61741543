"""What a robot's tracker costs on one thread of a CPU: time and memory per instruction, observation and belief."""

from __future__ import annotations

import itertools
import math
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ghosts.agent.frames import BoundingBox, Description
from ghosts.agent.tracker import GoalTracker
from ghosts.run.tracker import load_tracker
from ghosts_benchmarks.measure import Measurement, measure
from ghosts_houses.make import make_house
from ghosts_houses.mesh.renderers import make_renderer
from ghosts_sim.types import Intrinsics, Pose

TEXT = "Walk past the sofa, turn left at the table and stop in the kitchen next to the stove."
RGBD = Intrinsics(640, 480, math.radians(49.0))
"""About a RealSense's or a Kinect's."""
_VIEWS = 12
_SAID = Description("a living room with a sofa and a table", (BoundingBox("sofa", (100.0, 200.0, 400.0, 450.0), 0.9),))


@dataclass(frozen=True)
class Row:
    """One thing that a tracker does."""

    tracker: str
    what: str
    cost: Measurement


def measure_tracker(perception: bool, repeats: int) -> Iterator[Row]:
    """Measure the shipped trackers in a generated house, at 640 × 480 pixels.

    Args:
        perception: also with BLIP and DETR, whose weights must be there.
        repeats: of each measurement; each is of another view.
    """
    frames = _frames()
    trackers: list[tuple[str, Callable[[], GoalTracker], Any]] = [
        ("houses-agent", lambda: load_tracker("houses-agent", "houses-backbone"), None),
        ("landmarks-agent", lambda: load_tracker("landmarks-agent"), _SAID),
    ]
    if perception:
        from ghosts.run.perception import load_perception

        seen = load_perception()
        trackers.append(
            ("landmarks-agent, BLIP and DETR", lambda: load_tracker("landmarks-agent", perception=seen), None)
        )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for name, make, said in trackers:
            yield from _measured(name, make(), said, frames, repeats)
    finally:
        torch.set_num_threads(threads)


def peak_mb() -> float:
    """The most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def _measured(name: str, tracker: GoalTracker, said: Any, frames: list[Any], repeats: int) -> Iterator[Row]:
    device, coming = torch.device("cpu"), itertools.cycle(frames)
    state = tracker.start(TEXT, frames[0][2])
    for rgb, depth_m, pose in frames:
        state = tracker.observe(state, rgb, depth_m, pose, RGBD, said)

    def observe() -> None:
        rgb, depth_m, pose = next(coming)
        tracker.observe(state, rgb, depth_m, pose, RGBD, said)

    texts = (f"{TEXT} {number}" for number in itertools.count())
    works: dict[str, Callable[[], object]] = {
        "instruction": lambda: tracker.start(next(texts), frames[0][2]),
        "observation": observe,
        "belief": lambda: tracker.goal(state),
    }
    for what, work in works.items():
        yield Row(name, what, measure(work, device, repeats=repeats, clock=time.process_time))


def _frames() -> list[tuple[np.ndarray, np.ndarray, Pose]]:
    """Views all around a place in a house, half a metre on from one to the next."""
    house = make_house(0)
    room = max(house.rooms, key=lambda room: (room.x1_m - room.x0_m) * (room.y1_m - room.y0_m))
    x, y, z = (room.x0_m + room.x1_m) / 2, (room.y0_m + room.y1_m) / 2, room.floor_z_m + 1.25
    poses = [Pose(x + 0.05 * k, y, z, k * math.tau / _VIEWS, -0.3) for k in range(_VIEWS)]
    drawn = make_renderer("exact", house).render(poses, RGBD)
    return [(drawn.rgb[k], drawn.depth_m[k], pose) for k, pose in enumerate(poses)]
