"""Walking a batch of episodes with an agent, on the same tiles as training: index arithmetic, no pixel, no simulator.

Deterministic: the same agent on the same examples in the same batches walks the same paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.agent.interface import Briefing
from ghosts.agent.known import KnownGraph, Neighbours, start_graph, visit, walk_to
from ghosts.agent.loop import Action, Agent, C, Choose, Observation, choose_best, step
from ghosts.belief.histogram import pose_belief
from ghosts.config import ModelConfig
from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops
from ghosts.data.examples import Example
from ghosts.data.symmetry import Symmetry
from ghosts.devices import to_device
from ghosts.mapping.cells import ragged_rows, starts_of
from ghosts_sim.geometry import heading_of

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes being walked."""

    examples: list[Example]
    symmetries: list[Symmetry]
    briefing: Briefing
    matrix: Float[np.ndarray, "b 2 2"]
    """From the building's to the episode's frame: a row vector times this."""
    first: Int[np.ndarray, " b"]
    """Number of the first viewpoint of each episode's building."""
    drops: Drops | None = None
    """Words and labels hidden from each, in training."""
    beliefs: Float[Tensor, "b t1 c y x"] | None = None
    """True ones, instead of the filter's; see `GraphWalks.with_true_beliefs`."""

    @property
    def start_viewpoint(self) -> Int[np.ndarray, " b"]:
        """Where each episode starts."""
        return self.first + np.array([example.start for example in self.examples])


class GraphWalks:
    """A data set to walk in: what agents observe at its viewpoints, which are numbered through all buildings.

    Args:
        data: the buildings, on the device.
        device: where the agent lives.
    """

    def __init__(self, data: Dataset, device: torch.device) -> None:
        self.data, self.device = data, device
        graphs = {scan: data.root.graph(scan) for scan in data.scans}
        firsts = starts_of(np.array([len(graph.ids) for graph in graphs.values()]))
        self.first = dict(zip(graphs, firsts.tolist()))
        """Number of each building's first viewpoint."""
        self.position_m = np.concatenate([graph.position_m for graph in graphs.values()])
        edges = [graph.adjacent.nonzero() for graph in graphs.values()]
        counts = [np.bincount(rows, minlength=len(graph.ids)) for (rows, _), graph in zip(edges, graphs.values())]
        # Viewpoint v has neighbours `starts[v]` to `starts[v + 1]`.
        self._starts = starts_of(np.concatenate(counts))
        self._neighbour = np.concatenate([cols + first for (_, cols), first in zip(edges, firsts)])

    def begin(
        self,
        examples: Sequence[Example],
        symmetries: Sequence[Symmetry] | None = None,
        drops: Drops | None = None,
    ) -> Episodes:
        """Put walkers at the starts of episodes; see `Dataset.batch`."""
        symmetries = list(symmetries or [Symmetry()] * len(examples))
        angles = [self.data.bank.angles_rad[symmetry.variant] for symmetry in symmetries]
        # The rows of the unit matrix, rotated: what x and y become.
        matrix = np.stack([symmetry.points(np.eye(2), angle) for symmetry, angle in zip(symmetries, angles)])
        first = np.array([self.first[example.scan] for example in examples])
        briefing = to_device(self.data.briefing(examples, symmetries, drops), self.device)
        return Episodes(list(examples), symmetries, briefing, matrix, first, drops)

    def observe(
        self,
        episodes: Episodes,
        known: KnownGraph,
        active: Bool[np.ndarray, " b"],
        heading_rad: Float[np.ndarray, " b"] | None = None,
    ) -> Observation[KnownGraph]:
        """What active walkers observe where they stand, added to what they know of their graphs.

        Args:
            episodes: being walked.
            known: viewpoints seen so far, and where the walkers stand.
            active: walkers that look.
            heading_rad: where each looks, in the building's frame; the start's heading by default.
        """
        chosen, viewpoint = np.flatnonzero(active), known.viewpoint_here
        examples, symmetries = [episodes.examples[k] for k in chosen], [episodes.symmetries[k] for k in chosen]
        rows, drops = (viewpoint - episodes.first)[chosen].tolist(), episodes.drops
        looked = self.start_headings(episodes) if heading_rad is None else heading_rad
        hidden = drops.of(chosen) if drops is not None else None
        cells = self.data.see(examples, rows, symmetries, self.device, hidden, looked[chosen])
        item = torch.from_numpy(chosen).to(self.device)[cells.item]
        cells = replace(cells, item=item, batch=len(episodes.examples))
        return Observation(cells, visit(known, active, self.neighbours(episodes, viewpoint, active)))

    def neighbours(
        self, episodes: Episodes, viewpoint: Int[np.ndarray, " b"], active: Bool[np.ndarray, " b"]
    ) -> Neighbours:
        """Where active walkers can go from the given viewpoints."""
        chosen = np.flatnonzero(active)
        owner, entry = ragged_rows(self._starts, viewpoint[chosen])
        near, episode = self._neighbour[entry], chosen[owner]
        delta = self.position_m[near] - self.position_m[episodes.start_viewpoint[episode]]
        flat = np.einsum("md,mde->me", delta[:, :2], episodes.matrix[episode])
        return Neighbours(episode, near, np.concatenate([flat, delta[:, 2:]], 1))

    def start_headings(self, episodes: Episodes) -> Float[np.ndarray, " b"]:
        """Where walkers look at first, in the building's frame."""
        return np.array([example.start_heading_rad for example in episodes.examples])

    def turned(
        self, heading_rad: Float[np.ndarray, " b"], before: Int[np.ndarray, " b"], viewpoint: Int[np.ndarray, " b"]
    ) -> Float[np.ndarray, " b"]:
        """Where walkers look after they moved from one viewpoint to another; those that stayed look on."""
        way_m = (self.position_m[viewpoint] - self.position_m[before])[:, :2]
        return np.where((way_m != 0.0).any(1), heading_of(way_m), heading_rad)

    def with_true_beliefs(self, episodes: Episodes, model: ModelConfig) -> Episodes:
        """The same episodes with the demonstrators' true trajectories as beliefs, the start included."""
        path, heading = (
            torch.from_numpy(part).float().to(self.device)
            for part in self.data.paths(episodes.examples, episodes.symmetries)
        )
        xy_m = torch.cat([episodes.briefing.start_xy_m[:, None], path], 1)
        heading_rad = torch.cat([episodes.briefing.start_heading_rad[:, None], heading], 1)
        beliefs = pose_belief(xy_m, heading_rad, model.belief_grid, model.filter.sigma_m, model.filter.headings)
        return replace(episodes, beliefs=beliefs)

    def goal_distances(self, episodes: Episodes) -> Float[np.ndarray, "b rows"]:
        """Shortest walk from every viewpoint of each episode's building to its goal; infinite beyond the last one."""
        distances = [self.data.root.graph(item.scan).distance_m[:, item.goal] for item in episodes.examples]
        table = np.full((len(distances), max(len(item) for item in distances)), np.inf)
        for number, item in enumerate(distances):
            table[number, : len(item)] = item
        return table


@dataclass(frozen=True, eq=False)
class WalkStep(Generic[T]):
    """One agent step of a batch."""

    row: Int[np.ndarray, " b"]
    """From which viewpoint of its building's graph each looked; of walkers that stopped, the last one."""
    action: Action[KnownGraph]
    thought: T | None
    """What the agent thought; None unless asked for."""

    @property
    def active(self) -> Bool[np.ndarray, " b"]:
        """Who looked."""
        return self.action.active

    @property
    def known(self) -> KnownGraph:
        """What each knew of its graph."""
        return self.action.places

    @property
    def chosen(self) -> Int[np.ndarray, " b"]:
        """The slot that each chose; −1 for those that had stopped."""
        return self.action.chosen


@dataclass(frozen=True, eq=False)
class Rollout(Generic[T]):
    """Finished walks."""

    paths: list[list[int]]
    """Rows of all viewpoints walked through, the start first."""
    steps: list[WalkStep[T]]
    stopped: Bool[np.ndarray, " b"]
    """Whether the walker stopped by itself; the others were cut off."""

    @property
    def active(self) -> Bool[np.ndarray, "b s"]:
        """Which walkers looked at each step."""
        return np.stack([step.active for step in self.steps], 1)

    @property
    def rows(self) -> Int[np.ndarray, "b s"]:
        """From where they looked."""
        return np.stack([step.row for step in self.steps], 1)


def choose_together(count: int, choose: Choose[KnownGraph]) -> Choose[KnownGraph]:
    """How groups of `count` walkers choose, which follow one instruction in worlds that are symmetric to each other.

    All walkers of a group take the same slot, by the mean of their scores.
    """

    def chosen(
        known: KnownGraph, table: Float[np.ndarray, "b slots"], active: Bool[np.ndarray, " b"]
    ) -> Int[np.ndarray, " b"]:
        mean = table.reshape(-1, count, table.shape[1]).mean(1)
        return choose(known, mean.repeat(count, 0), active)

    return chosen


@torch.no_grad()
def walk_episodes(
    agent: Agent[C, T, KnownGraph],
    walks: GraphWalks,
    episodes: Episodes,
    *,
    choose: Choose[KnownGraph] = choose_best,
    most: int | None = None,
    keep: bool = False,
    watch: Callable[[Action[KnownGraph]], None] = lambda action: None,
) -> Rollout[T]:
    """Walk until every agent has stopped.

    Args:
        agent: chooses; it must stop by itself, unless `most` is given.
        walks: the data set.
        episodes: from `walks.begin`.
        choose: how a slot is chosen from the scores.
        most: steps after which the walk is cut off, as in training.
        keep: whether to keep the agent's thoughts (large).
        watch: called after every action.
    """
    carry, known = agent.start(episodes.briefing, episodes.beliefs), start_graph(episodes.start_viewpoint)
    paths = [[example.start] for example in episodes.examples]
    steps: list[WalkStep[T]] = []
    looked, before = walks.start_headings(episodes), episodes.start_viewpoint
    while not carry.stopped.all() and (most is None or len(steps) < most):
        row = known.viewpoint_here - episodes.first
        looked, before = walks.turned(looked, before, known.viewpoint_here), known.viewpoint_here
        seen = walks.observe(episodes, known, ~carry.stopped, looked)
        carry, action, thought = step(agent, carry, seen, choose)
        known, moves = walk_to(action.places, action.chosen)
        for number, walked in enumerate(moves.tolist()):
            paths[number].extend(int(move - episodes.first[number]) for move in walked if move >= 0)
        steps.append(WalkStep(row, action, thought if keep else None))
        watch(action)
    return Rollout(paths, steps, carry.stopped)
