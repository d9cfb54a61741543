"""Walking a batch of episodes with an agent, on the same tiles as training: index arithmetic, no pixel, no simulator.

Deterministic: the same agent on the same examples in the same batches walks the same paths.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.act.agent import Action, Briefing, Choose, Observation, choose_best
from ghosts.act.known import KnownGraph
from ghosts.belief.histogram import pose_belief
from ghosts.config import FilterConfig
from ghosts.learn.bank import entry_tensors, ragged_rows
from ghosts.learn.batches import Batch, Builder, Labels, Turn
from ghosts.learn.examples import Example
from ghosts.mapping.cells import MapCells
from ghosts.types import Grid
from ghosts.world.dataroot import DataRoot


@runtime_checkable
class Walker(Protocol):
    """An agent that can be walked: `act.agent.GhostAgent`, `act.seq2seq.Seq2SeqAgent`."""

    def start(self, briefing: Briefing) -> Any:
        """The first carry; it has `stopped` and `known`."""
        ...

    def step(self, carry: Any, observation: Observation, choose: Choose) -> tuple[Any, Action, Any]:
        """Next carry, action, trace."""
        ...


@dataclass(frozen=True, eq=False)
class Buildings:
    """Graphs of several buildings as one: viewpoints are numbered through."""

    first: dict[str, int]
    """Number of each building's first viewpoint."""
    starts: Int[np.ndarray, " v1"]
    """Viewpoint v has neighbours `starts[v]` to `starts[v + 1]`."""
    neighbour: Int[np.ndarray, " e"]
    position_m: Float[np.ndarray, "v 3"]


def number_buildings(root: DataRoot, scans: Sequence[str]) -> Buildings:
    """Put the graphs of the given buildings one after the other."""
    first, counts, neighbours, positions, total = {}, [np.zeros(1, np.int64)], [], [], 0
    for scan in scans:
        graph = root.graph(scan)
        rows, cols = graph.adjacent.nonzero()
        first[scan] = total
        counts.append(np.bincount(rows, minlength=len(graph.ids)))
        neighbours.append(cols + total)
        positions.append(graph.position_m)
        total += len(graph.ids)
    starts = np.cumsum(np.concatenate(counts))
    return Buildings(first, starts, np.concatenate(neighbours), np.concatenate(positions))


class World:
    """What agents perceive in a data root.

    Args:
        root: graphs.
        builder: tiles, words and the map's grid.
        scans: buildings that will be walked in.
        features: a step's cells with their features (`tasks.CellFeatures`).
        stored: the bank's features on the device, where it has them.
        device: where the agent lives.
    """

    def __init__(
        self,
        root: DataRoot,
        builder: Builder,
        scans: Sequence[str],
        features: Callable[[Batch, Tensor | None], MapCells],
        stored: Float[Tensor, "n c"] | None,
        device: torch.device,
    ) -> None:
        self.root, self.builder, self.features, self.stored, self.device = root, builder, features, stored, device
        self.buildings = number_buildings(root, scans)

    def begin(
        self,
        examples: Sequence[Example],
        turns: Sequence[Turn] | None = None,
        unknown: Bool[np.ndarray, "b l"] | None = None,
    ) -> Episodes:
        """Put walkers at the starts of episodes; see `Builder.build`."""
        turns = list(turns or [Turn()] * len(examples))
        batch = self.builder.build(examples, [[example.start] for example in examples], turns, unknown)
        angles = [self.builder.bank.angles_rad[turn.variant] for turn in turns]
        # The rows of the unit matrix, turned: what x and y become.
        matrix = np.stack([turn.points(np.eye(2), angle) for turn, angle in zip(turns, angles)])
        first = np.array([self.buildings.first[example.scan] for example in examples])
        return Episodes(list(examples), turns, batch.to(self.device), matrix, first)

    def observe(
        self, episodes: Episodes, viewpoint: Int[np.ndarray, " b"], active: Bool[np.ndarray, " b"]
    ) -> Observation:
        """What active walkers perceive at the given viewpoints (numbered through all buildings)."""
        chosen = np.flatnonzero(active)
        seen = self.see(episodes, chosen, (viewpoint - episodes.first)[chosen])
        owner, entry = ragged_rows(self.buildings.starts, viewpoint[chosen])
        near, episode = self.buildings.neighbour[entry], chosen[owner]
        delta = self.buildings.position_m[near] - self.buildings.position_m[episodes.start_viewpoint[episode]]
        turned = np.einsum("md,mde->me", delta[:, :2], episodes.matrix[episode])
        return Observation(seen, episode, near, np.concatenate([turned, delta[:, 2:]], 1))

    def see(self, episodes: Episodes, chosen: Int[np.ndarray, " a"], rows: Int[np.ndarray, " a"]) -> MapCells:
        """Cells that some of the episodes' walkers observe at rows of their graphs, with features."""
        examples, turns = [episodes.examples[k] for k in chosen], [episodes.turns[k] for k in chosen]
        _, origin = self.builder.starts(examples, turns)
        cells, places = self.builder.place(examples, [[int(row)] for row in rows], turns, origin)
        entries = self.builder.bank.entries
        batch = replace(
            episodes.batch,
            cells=replace(cells, item=torch.from_numpy(chosen)[cells.item], batch=len(episodes.examples)),
            rows=torch.from_numpy(places),
            labels=Labels(*entry_tensors(entries, places)) if entries is not None else None,
        )
        return self.features(batch.to(self.device), self.stored)


@dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes being walked."""

    examples: list[Example]
    turns: list[Turn]
    batch: Batch
    """Words, starts and paths; its cells are those of the start."""
    matrix: Float[np.ndarray, "b 2 2"]
    """From the building's to the episode's frame: a row vector times this."""
    first: Int[np.ndarray, " b"]
    """Number of the first viewpoint of each episode's building."""

    @property
    def start_viewpoint(self) -> Int[np.ndarray, " b"]:
        """Where each episode starts."""
        return self.first + np.array([example.start for example in self.examples])


@dataclass(frozen=True, eq=False)
class Look:
    """One step of a batch: who looked, from where, knowing what, and what was chosen."""

    active: Bool[np.ndarray, " b"]
    row: Int[np.ndarray, " b"]
    """Of the viewpoint in its building's graph; of walkers that stopped, the last one."""
    known: KnownGraph
    chosen: Int[np.ndarray, " b"]
    trace: Any
    """What the agent thought, or what was asked for of it; None unless asked for."""


@dataclass(frozen=True, eq=False)
class Rollout:
    """Finished walks."""

    paths: list[list[int]]
    """Rows of all viewpoints walked through, the start first."""
    looks: list[Look] = field(default_factory=list)

    @property
    def active(self) -> Bool[np.ndarray, "b s"]:
        """Which walkers looked at each step."""
        return np.stack([look.active for look in self.looks], 1)

    @property
    def rows(self) -> Int[np.ndarray, "b s"]:
        """From where they looked."""
        return np.stack([look.row for look in self.looks], 1)


@torch.no_grad()
def walk_episodes(
    agent: Walker,
    world: World,
    episodes: Episodes,
    *,
    choose: Choose = choose_best,
    beliefs: Float[Tensor, "b t1 c y x"] | None = None,
    most: int | None = None,
    keep: bool | Callable[[Any], Any] = False,
) -> Rollout:
    """Walk until every agent has stopped.

    Args:
        agent: chooses; it must stop by itself, unless `most` is given.
        world: shows.
        episodes: from `world.begin`.
        choose: how a slot is chosen from the scores.
        beliefs: true ones, instead of the filter's.
        most: looks after which the walk is cut off, as in training.
        keep: whether to keep the agent's traces (large), or what to keep of each.
    """
    batch = episodes.batch
    start = Briefing(
        batch.tokens,
        batch.lengths,
        batch.start_xy_m,
        batch.start_heading_rad,
        episodes.start_viewpoint,
        beliefs,
    )
    carry = agent.start(start)
    paths = [[example.start] for example in episodes.examples]
    looks: list[Look] = []
    while not carry.stopped.all() and (most is None or len(looks) < most):
        active = ~carry.stopped
        viewpoint = carry.known.viewpoint_at(carry.known.here)
        observation = world.observe(episodes, viewpoint, active)
        carry, action, trace = agent.step(carry, observation, choose)
        for number, moves in enumerate(action.moves.tolist()):
            paths[number].extend(int(move - episodes.first[number]) for move in moves if move >= 0)
        kept = keep(trace) if callable(keep) else trace if keep else None
        looks.append(Look(active, viewpoint - episodes.first, trace.known, action.chosen, kept))
    return Rollout(paths, looks)


def true_beliefs(batch: Batch, grid: Grid, settings: FilterConfig) -> Float[Tensor, "b t1 c y x"]:
    """The demonstrator's true trajectory as beliefs, the start included."""
    xy = torch.cat([batch.start_xy_m[:, None], batch.path_xy_m], 1)
    heading = torch.cat([batch.start_heading_rad[:, None], batch.path_heading_rad], 1)
    return pose_belief(xy, heading, grid, settings.sigma_m, settings.headings)


def goal_distances(root: DataRoot, episodes: Episodes) -> Float[np.ndarray, "b rows"]:
    """Shortest walk from every viewpoint of each episode's building to its goal; infinite beyond the last one."""
    distances = [root.graph(example.scan).distance_m[:, example.goal] for example in episodes.examples]
    table = np.full((len(distances), max(len(item) for item in distances)), np.inf)
    for number, item in enumerate(distances):
        table[number, : len(item)] = item
    return table


def target_slots(
    known: KnownGraph, first: Int[np.ndarray, " b"], to_goal_m: Float[np.ndarray, "b rows"]
) -> Int[np.ndarray, " b"]:
    """The candidate that is closest to the goal: what the policy learns to choose.

    The paper's target is the first action on the shortest path, the released code's the closest candidate; they differ
    only in how far ahead is aimed, since the agent pauses at the first unvisited viewpoint anyway.

    Args:
        known: what each walker has seen.
        first: number of the first viewpoint of each building.
        to_goal_m: from `goal_distances`.
    """
    row = np.where(known.known, known.viewpoint - first[:, None], 0)
    distance = np.take_along_axis(to_goal_m, row, 1)
    return np.where(known.known, distance, np.inf).argmin(1)
