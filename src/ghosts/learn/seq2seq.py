"""Training the sequence-to-sequence agent by the same loop: walk first, then the loss of all steps of the walk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.act.known import KnownGraph
from ghosts.act.policy import policy_loss
from ghosts.act.seq2seq import (
    Options,
    Seq2Seq,
    Seq2SeqAgent,
    option_mask,
    option_numbers,
    options_of,
    sector_features,
)
from ghosts.config import ModelConfig
from ghosts.errors import ConfigError
from ghosts.learn.batches import Batch
from ghosts.learn.navigate import WalkPlan, mixed_choice
from ghosts.learn.rollout import Rollout, World, goal_distances, walk_episodes
from ghosts.learn.tasks import CellFeatures
from ghosts.presets import NavigationConfig
from ghosts.types import Grid


@dataclass(frozen=True)
class Seq2SeqStep:
    """One step of all walks."""

    options: Options
    target: Int[Tensor, " b"]
    """Flat number of the option to choose; −1 for walks that had ended."""
    taken: Int[Tensor, " b"]
    """Flat number of the option chosen."""


@dataclass(frozen=True)
class Seq2SeqBatch:
    """What the agent saw on its walks, what it did, and what it should have done."""

    batch: Batch
    active: Bool[Tensor, "b s"]
    xy_m: Float[Tensor, "bs 2"]
    """From where it looked, metres from the map's origin."""
    steps: tuple[Seq2SeqStep, ...]
    share: Float[Tensor, ""] | None = None
    """See `navigate.NavBatch`."""


class Seq2SeqTask(nn.Module):
    """The sequence-to-sequence baseline.

    Args:
        config: its language and features are used.
        navigation: how it learns.
        labels: number of landmark labels; 0 for stored features.
    """

    def __init__(self, config: ModelConfig, navigation: NavigationConfig, labels: int = 0) -> None:
        super().__init__()
        self.config, self.navigation = config, navigation
        self.features = CellFeatures(config.mapper.features, labels)
        self.model = Seq2Seq(config.language, config.mapper.features, navigation.seq2seq)

    def draw_masks(self, batch: int, generator: torch.Generator) -> None:
        """There is no map."""

    def agent(self, grid: Grid, planner: object = None) -> Seq2SeqAgent:
        """The agent that acts on this task's weights."""
        if planner is not None:
            raise ConfigError("a sequence-to-sequence agent has no belief for the planner; leave out --planner")
        return Seq2SeqAgent(self.model, grid, self.navigation.step_limit)

    def given_beliefs(self, batch: Batch, grid: Grid) -> None:
        """There are no beliefs."""

    def collect(self, world: World, plan: WalkPlan) -> Seq2SeqBatch:
        """Walk, and gather all that was seen and should have been done."""
        episodes = world.begin(plan.examples, plan.turns, plan.unknown)
        targets = partial(next_slots, first=episodes.first, to_goal_m=goal_distances(world.root, episodes))
        most = plan.draws.shape[1]
        agent = Seq2SeqAgent(self.model, world.builder.grid, most + 1)
        choose = mixed_choice(targets, plan.draws, self.navigation.own_actions)
        rollout = walk_episodes(agent, world, episodes, choose=choose, most=most, keep=True)
        steps = []
        for look in rollout.looks:
            options = options_of(look.known, look.active, look.trace.heading_rad, self.model.sectors)
            mask = option_mask(look.known, look.active)
            number = [option_numbers(mask, slot, look.active) for slot in (targets(look.known), look.chosen)]
            parts = options.episode, options.place, options.sector
            steps.append(
                Seq2SeqStep(
                    Options(*(part.to(world.device) for part in parts)), *(part.to(world.device) for part in number)
                )
            )
        seen = world.builder.build(plan.examples, rollout.rows.tolist(), plan.turns, plan.unknown).to(world.device)
        active = torch.from_numpy(rollout.active).to(world.device)
        return Seq2SeqBatch(seen, active, _standing(rollout, seen), tuple(steps))

    def forward(self, batch: Seq2SeqBatch, stored: Float[Tensor, "n c"] | None, masks: object) -> Float[Tensor, ""]:
        """Cross entropy to the expert's move, averaged over all steps."""
        # In float32, as the agent walks (`Seq2SeqAgent.step`).
        with torch.autocast(batch.xy_m.device.type, enabled=False):
            loss = self._loss(batch, stored)
            return loss if batch.share is None else loss * batch.share

    def _loss(self, batch: Seq2SeqBatch, stored: Float[Tensor, "n c"] | None) -> Float[Tensor, ""]:
        cells = self.features(batch.batch, stored)
        grid = Grid(cells.rows, cells.cols, self.config.mapper.cell_m)
        seen = sector_features(cells, batch.xy_m, grid, self.model.sectors).unflatten(0, (-1, len(batch.steps)))
        encoded = self.model.encoder(batch.batch.tokens, batch.batch.lengths)
        state, loss = self.model.begin(encoded), seen.new_zeros(())
        for number, step in enumerate(batch.steps):
            state, scores, _ = self.model(state, encoded, seen[:, number], step.options)
            state = self.model.take(state, seen[:, number], step.options, step.taken)
            active = batch.active[:, number]
            loss = loss + policy_loss(scores, step.target, active) * active.sum()
        return loss / batch.active.sum().clamp(min=1)


def next_slots(
    known: KnownGraph, first: Int[np.ndarray, " b"], to_goal_m: Float[np.ndarray, "b rows"]
) -> Int[np.ndarray, " b"]:
    """The expert's move: to the next viewpoint on the shortest walk to the goal; at the goal, and where no walk leads
    there, stop.

    Args:
        known: what each walker has seen.
        first: number of the first viewpoint of each building.
        to_goal_m: from `rollout.goal_distances`.
    """
    walkers = np.arange(len(first))
    row = np.where(known.known, known.viewpoint - first[:, None], 0)
    way = known.edge_m[walkers, known.here] + np.take_along_axis(to_goal_m, row, 1)
    here = to_goal_m[walkers, row[walkers, known.here]]
    return np.where((here == 0.0) | ~np.isfinite(here), known.here, way.argmin(1))


def _standing(rollout: Rollout, batch: Batch) -> Float[Tensor, "bs 2"]:
    """Where walkers looked from, metres from the map's origin, episode-major."""
    walkers = np.arange(len(rollout.paths))
    xy = np.stack([look.known.xyz_m[walkers, look.known.here, :2] for look in rollout.looks], 1)
    return (torch.from_numpy(xy).to(batch.start_xy_m) + batch.start_xy_m[:, None]).flatten(0, 1)
