"""How well the tracker does on real RGB-D recordings with poses: geometry, belief, speed and memory."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ghosts.agent.frames import BoundingBox, Description
from ghosts.agent.tracker import GoalTracker
from ghosts.driving.floor import floor_up
from ghosts.recordings.frame import Choice, Frame
from ghosts.recordings.open import open_recording
from ghosts_sim.errors import DataError
from ghosts_sim.geometry import lattice_cells, pixel_rays
from ghosts_sim.types import Intrinsics, Pose

WORDS = Path(__file__).with_name("rgbd_words.json")
"""Captions, boxes and instructions for the recordings, written by a person who looked at the pictures."""
_STEP = 8
_SAME_M = 0.3
"""A point that lies farther in front of or behind what another frame shows there is hidden in it."""
_OVERLAP = 0.3


def read_recordings(data: Path) -> dict[str, list[Frame]]:
    """The recordings that a folder holds, of `kitchen`, `office` (7-Scenes) and `house` (a quaternion per line).

    Raises:
        DataError: it holds none.
    """
    whole = Choice(hz=1000.0)
    found = {
        name: list(open_recording(data / name, whole).frames())
        for name in ("kitchen", "office")
        if (data / name).is_dir()
    }
    if (data / "house" / "pose.txt").is_file():
        found["house"] = _house(data / "house")
    if not found:
        raise DataError("no recordings here", file=data, hint="name a folder with kitchen/, office/ or house/")
    return found


def _house(folder: Path) -> list[Frame]:
    """Of slambook2, chapter 5. Its world is the first camera's: the floor says which way is up."""
    camera, up, frames = Intrinsics.from_focal(640, 480, 518.0, 519.0, 325.5, 253.5), None, []
    for number, row in enumerate(np.loadtxt(folder / "pose.txt")):
        rgb = cv2.imread(str(folder / "color" / f"{number + 1}.png"))
        depth = cv2.imread(str(folder / "depth" / f"{number + 1}.pgm"), cv2.IMREAD_UNCHANGED)
        if rgb is None or depth is None:
            raise DataError(f"picture {number + 1} is missing", file=folder, hint="copy the recording again")
        depth_m = depth.astype(np.float32) / 1000.0
        up = up or floor_up(depth_m, Pose.from_ros(row[:3], row[3:]).matrix, camera)
        frames.append(Frame(number, rgb[..., ::-1], depth_m, Pose.from_ros(row[:3], row[3:], up=up), camera))
    return frames


def reprojection_m(frames: Sequence[Frame]) -> tuple[float, float]:
    """How far the points of one frame lie from what another shows there: the median over pairs that overlap, and the
    worst pair's median."""
    medians = [off for one, other in itertools.permutations(frames, 2) if (off := _pair_m(one, other)) is not None]
    return float(np.median(medians)), float(np.max(medians))


def _pair_m(one: Frame, other: Frame) -> float | None:
    """The median for a pair; None where few points of one frame are in the other."""
    depth = one.depth_m[::_STEP, ::_STEP]
    points = (pixel_rays(one.camera)[::_STEP, ::_STEP] * depth[..., None])[depth > 0]
    here = np.linalg.inv(other.pose.matrix) @ one.pose.matrix
    x, y, z = (points @ here[:3, :3].T + here[:3, 3]).T
    fx, fy, cx, cy = other.camera.k_px
    with np.errstate(divide="ignore", invalid="ignore"):
        col, row = np.rint(fx * x / z + cx), np.rint(fy * y / z + cy)
    inside = (z > 0.1) & (col >= 0) & (col < other.camera.width) & (row >= 0) & (row < other.camera.height)
    there = other.depth_m[row[inside].astype(int), col[inside].astype(int)]
    off = np.abs(there - z[inside])[there > 0]
    shared = off < _SAME_M
    return float(np.median(off[shared])) if shared.sum() > _OVERLAP * len(points) else None


def share_in_cloud(tracker: GoalTracker, frames: Sequence[Frame]) -> float:
    """Share of the cells that a tracker on images observes in which points of the recording lie."""
    state = tracker.start("walk on", frames[0].pose)
    cloud = []
    for frame in frames:
        state = tracker.observe(state, frame.rgb, frame.depth_m, frame.pose, frame.camera)
        depth, matrix = frame.depth_m[::4, ::4], frame.pose.matrix
        points = (pixel_rays(frame.camera)[::4, ::4] * depth[..., None])[depth > 0]
        cloud.append(points @ matrix[:3, :3].T + matrix[:3, 3])
    seen, cell_m = tracker.map(state), state.grid.cell_m
    taken = set(map(tuple, lattice_cells(np.concatenate(cloud)[:, :2], cell_m).tolist()))
    row, col = np.nonzero(seen.observed)
    cells = lattice_cells(np.stack([seen.x_m[col], seen.y_m[row]], 1), cell_m).tolist()
    return float(np.mean([tuple(cell) in taken for cell in cells]))


@dataclass(frozen=True)
class InView:
    """A tracker's belief when it has seen the place that an instruction names."""

    recording: str
    instruction: str
    share: float
    """Of the goal's mass, on belief cells of which anything is observed, or beside which something is."""
    confidence: float


def mass_in_view(tracker: GoalTracker, recordings: dict[str, list[Frame]]) -> Iterator[InView]:
    """Where the mass lies after each recording, with the words of `WORDS`."""
    told = json.loads(WORDS.read_text())
    for name, frames in recordings.items():
        for text in told[name]["instructions"]:
            state = tracker.start(text, frames[0].pose)
            for number, frame in enumerate(frames):
                words = _description(told[name]["frames"].get(str(number)))
                state = tracker.observe(state, frame.rgb, frame.depth_m, frame.pose, frame.camera, words)
            goal, seen = tracker.goal(state), tracker.map(state)
            rows, cols = goal.mass.shape
            near = (seen.observed | seen.frontier).reshape(rows, -1, cols, seen.observed.shape[1] // cols).any((1, 3))
            yield InView(name, text, float(goal.mass[near].sum()), goal.confidence)


def _description(told: Any) -> Description | None:
    if told is None:
        return None
    caption, boxes = told
    return Description(
        caption, tuple(BoundingBox(label, (float(a), float(b), float(c), float(d))) for label, a, b, c, d in boxes)
    )


@dataclass(frozen=True)
class Replay:
    """A long recording, with a belief after every frame."""

    frames: int
    seconds: float
    cpu_s: float
    """Processor time: others may use the machine too."""
    memory_mb: tuple[float, float]
    """Of the process, after a fifth of the frames and at the end."""


def replay(tracker: GoalTracker, frames: Sequence[Frame], count: int) -> Replay:
    """Go to and fro through a recording until so many frames were seen."""
    to_and_fro = itertools.cycle([*frames, *frames[-2:0:-1]])
    state, memory = tracker.start("Walk past the table and stop at the sink.", frames[0].pose), []
    since, cpu_since = time.perf_counter(), time.process_time()
    for number, frame in enumerate(itertools.islice(to_and_fro, count)):
        state = tracker.observe(state, frame.rgb, frame.depth_m, frame.pose, frame.camera)
        tracker.goal(state)
        if number + 1 in (max(1, count // 5), count):
            memory.append(_memory_mb())
    return Replay(count, time.perf_counter() - since, time.process_time() - cpu_since, (memory[0], memory[-1]))


def _memory_mb() -> float:
    """What the process holds now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024.0
    return float("nan")
