"""Episodes as the filter learns them: an instruction, a start, and the demonstrator's pose at every filter step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ghosts import geometry
from ghosts.language.episodes import Episode, each_instruction
from ghosts.world.dataroot import DataRoot
from ghosts.world.graph import NavGraph


@dataclass(frozen=True, eq=False)
class Example:
    """One instruction with its demonstration."""

    instr_id: str
    scan: str
    text: str
    start: int
    """Row of the start in the building's graph."""
    goal: int
    start_heading_rad: float
    start_xy_m: Float[np.ndarray, " 2"]
    path_xy_m: Float[np.ndarray, "t 2"]
    """The demonstrator's position after each filter step; a shorter path stays at the goal."""
    path_heading_rad: Float[np.ndarray, " t"]
    """Direction of arrival; kept while standing."""

    @property
    def goal_xy_m(self) -> Float[np.ndarray, " 2"]:
        """Where the path ends."""
        return self.path_xy_m[-1]


def make_examples(root: DataRoot, episodes: list[Episode], steps: int) -> list[Example]:
    """All instructions of the given episodes.

    Args:
        root: where their buildings are.
        episodes: with goals.
        steps: filter steps T; of a longer path the first T − 1 moves are kept, and the last step jumps to its goal.
    """
    return [
        _example(root.graph(item.episode.scan), item.episode, item.instr_id, item.text, steps)
        for item in each_instruction(episodes)
    ]


def _example(graph: NavGraph, episode: Episode, instr_id: str, text: str, steps: int) -> Example:
    rows = [graph.index(viewpoint) for viewpoint in episode.path]
    xy = graph.position_m[rows, :2]
    stops = np.minimum(np.arange(1, steps + 1), len(rows) - 1)
    stops[-1] = len(rows) - 1
    headings = [episode.heading_rad]
    for step in np.diff(xy, axis=0):
        # A move straight up or down turns nobody.
        headings.append(float(geometry.heading_of(step)) if step.any() else headings[-1])
    return Example(
        instr_id=instr_id,
        scan=episode.scan,
        text=text,
        start=rows[0],
        goal=rows[-1],
        start_heading_rad=episode.heading_rad,
        start_xy_m=xy[0],
        path_xy_m=xy[stops],
        path_heading_rad=np.array(headings)[stops],
    )


def unseen_buildings(scans: list[str], every: int = 8, offset: int = 3) -> list[str]:
    """The development split: every eighth building of the sorted training list, fixed for good."""
    return sorted(scans)[offset::every]
