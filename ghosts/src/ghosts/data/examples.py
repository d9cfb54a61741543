"""Episodes as the filter learns them: an instruction, a start, and the demonstrator's pose at every filter step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from ghosts_sim import geometry
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Episode, Hidden, each_instruction, load_episodes
from ghosts_sim.errors import DataError
from ghosts_sim.graph import NavGraph

T = TypeVar("T")
TRAIN, DEV_UNSEEN, SPOKEN = "train", "dev_unseen", "spoken"
"""`dev_unseen` is the development split: buildings of `train` that no model is trained on. `spoken` are instructions
that a speaker said about other paths of the training buildings."""

MOST_HELD_OUT = 8
"""Buildings of `dev_unseen` where training buildings are streamed."""


@dataclass(frozen=True, eq=False)
class Example:
    """One instruction with its demonstration."""

    instr_id: str
    scan: str
    text: str
    path: tuple[int, ...]
    """Rows of the demonstrator's viewpoints in the building's graph; of a test split the start alone."""
    start_heading_rad: float
    start_xy_m: Float[np.ndarray, " 2"]
    path_xy_m: Float[np.ndarray, "t 2"]
    """The demonstrator's position after each filter step; a shorter path stays at the goal."""
    path_heading_rad: Float[np.ndarray, " t"]
    """Direction of arrival; kept while standing."""
    hidden: Hidden | None = None
    """Labels hidden from the path's speaker; training hides them from the follower too."""

    def stops(self, steps: int) -> list[int]:
        """Which viewpoint of the path each filter step leads to: the next one, and in the end the goal."""
        last = len(self.path) - 1
        return [min(step, last) for step in range(1, steps)] + [last]

    @property
    def start(self) -> int:
        """Row of the first viewpoint."""
        return self.path[0]

    @property
    def goal(self) -> int:
        """Row of the last viewpoint."""
        return self.path[-1]


@dataclass(frozen=True)
class Selection:
    """What chooses the best checkpoint."""

    split: str
    examples: list[Example]


def make_examples(root: DataRoot, episodes: list[Episode], steps: int) -> list[Example]:
    """All instructions of the given episodes.

    Args:
        root: where their buildings are.
        episodes: with goals.
        steps: filter steps T; of a longer path the first T − 1 moves are kept, and the last step jumps to its goal.
    """
    examples = []
    for item in each_instruction(episodes):
        graph, heading = root.graph(item.episode.scan), item.episode.heading_rad
        rows = tuple(graph.index(viewpoint) for viewpoint in item.episode.path)
        example = make_example(graph, item.instr_id, item.text, heading, rows, steps)
        examples.append(replace(example, hidden=item.episode.hidden))
    return examples


def make_example(
    graph: NavGraph, instr_id: str, text: str, heading_rad: float, path: tuple[int, ...], steps: int
) -> Example:
    """An instruction with a demonstration; see `make_examples`."""
    xy = graph.position_m[list(path), :2]
    stops = np.minimum(np.arange(1, steps + 1), len(path) - 1)
    stops[-1] = len(path) - 1
    arrived = np.array(headings_along(graph, path, heading_rad))
    return Example(instr_id, graph.scan, text, path, heading_rad, xy[0], xy[stops], arrived[stops])


def headings_along(graph: NavGraph, rows: tuple[int, ...], heading_rad: float) -> tuple[float, ...]:
    """Heading at every viewpoint of a walk: along the move that led there; the given one at the start."""
    headings = [heading_rad]
    for step in np.diff(graph.position_m[list(rows), :2], axis=0):
        # A move straight up or down turns nobody.
        headings.append(float(geometry.heading_of(step)) if step.any() else headings[-1])
    return tuple(headings)


def split_buildings(root: DataRoot, hold_out: int | None = None, buildings: int = 0) -> tuple[list[str], list[str]]:
    """Training and development-unseen buildings.

    The best checkpoint is chosen on buildings that no model is trained on and no table reports. R2R's public part here
    has no `val_unseen`, so every eighth building is held out to stand for it; a root that brings its own gives up every
    sixteenth (none where there are fewer than four). Of thousands of streamed buildings eight are enough.

    Args:
        root: the data.
        hold_out: every n-th building instead; 0 for none.
        buildings: take only this many training buildings, evenly spaced; 0 for all.

    Raises:
        DataError: the root has no training split, without which nobody knows which buildings are unseen; a root with
            `val_unseen` alone needs none.
    """
    if TRAIN not in root.splits:
        if root.splits == ["val_unseen"]:
            return [], []
        hint = "evaluation needs it too, to know which buildings are unseen; copy it there from the release"
        raise DataError("no such file", file=root.path / "r2r" / "R2R_train.json", hint=hint)
    scans, most = root.scans_of(TRAIN), None
    if hold_out is None:
        hold_out = 16 if "val_unseen" in root.splits else 8
        most = MOST_HELD_OUT if root.in_shards(TRAIN) else None
    held_out = scans[min(3, hold_out - 1) :: hold_out][:most] if hold_out else []
    away = set(held_out)
    return evenly([scan for scan in scans if scan not in away], buildings), held_out


def load_splits(
    root: DataRoot, steps: int, hold_out: int | None = None, buildings: int = 0
) -> dict[str, list[Example]]:
    """Examples of every split that has goals by name: `train` first, without the buildings of `dev_unseen`.

    Where the training split is in shards, `train` is empty: it is streamed (`data.stream`).
    """
    seen, held_out = split_buildings(root, hold_out, buildings)
    parts = {TRAIN: set(seen), **({DEV_UNSEEN: set(held_out)} if held_out else {})}
    if root.in_shards(TRAIN):
        episodes_of = {TRAIN: [], DEV_UNSEEN: [item for scan in held_out for item in root.shard(TRAIN, scan)]}
    else:
        every = root.episodes(TRAIN) if TRAIN in root.splits else []
        episodes_of = {name: [item for item in every if item.scan in scans] for name, scans in parts.items()}
    splits = {name: make_examples(root, episodes_of[name], steps) for name in parts}
    for name in root.splits:
        if name != TRAIN and all(episode.has_goal for episode in root.episodes(name)):
            splits[name] = make_examples(root, root.episodes(name), steps)
    return splits


def load_spoken(root: DataRoot, path: Path, scans: set[str], steps: int) -> list[Example]:
    """Examples of a speaker's file (R2R's format) that lie in some buildings.

    Raises:
        DataError: the file is malformed, a path is none of its building, or none lies in these buildings.
    """
    episodes = [episode for episode in load_episodes(path) if episode.scan in scans]
    if not episodes:
        hint = "make some with: ghosts speak --data ROOT --run SPEAKER --paths 50000 --out FILE"
        raise DataError("no path in the training buildings of this root", file=path, hint=hint)
    for episode in episodes:
        root.check_episode(episode, path)
    return make_examples(root, episodes, steps)


def evenly(examples: list[T], count: int) -> list[T]:
    """At most `count` items, evenly spaced; all of them for 0."""
    count = min(count or len(examples), len(examples))
    return [examples[number * len(examples) // count] for number in range(count)]
