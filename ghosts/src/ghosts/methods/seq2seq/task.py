"""Training the sequence-to-sequence agent: walk first, then the loss of all steps of the walk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.agent.known import KnownGraph
from ghosts.agent.policy import policy_loss
from ghosts.data.batches import Batch
from ghosts.devices import to_device
from ghosts.methods.seq2seq.model import (
    Moves,
    Seq2Seq,
    Seq2SeqAgent,
    option_mask,
    option_numbers,
    options_of,
    standing_xy_m,
)
from ghosts.run.rollout import GraphWalks, walk_episodes
from ghosts.train.own_walks import WalkPlan, WalkTask, mixed_choice


@dataclass(frozen=True)
class Seq2SeqStep:
    """One step of all walks."""

    options: Moves
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


class Seq2SeqTask(WalkTask[Seq2SeqBatch]):
    """The sequence-to-sequence baseline (Anderson et al. 2018)."""

    model: Seq2Seq

    def collect(self, world: GraphWalks, plan: WalkPlan) -> Seq2SeqBatch:
        """Walk a plan with the present weights."""
        episodes = world.begin(plan.examples, plan.symmetries, plan.drops)
        targets = partial(next_slots, first=episodes.first, to_goal_m=world.goal_distances(episodes))
        most = plan.draws.shape[1]
        choose = mixed_choice(targets, plan.draws, self.settings.own_actions)
        agent = Seq2SeqAgent(self.model, most + 1)
        rollout = walk_episodes(agent, world, episodes, choose=choose, most=most, keep=True)
        steps = []
        for step in rollout.steps:
            assert step.thought is not None, "thoughts are kept"
            options = options_of(step.known, step.active, step.thought.heading_rad, self.model.sectors)
            mask = option_mask(step.known, step.active)
            number = (option_numbers(mask, slot, step.active) for slot in (targets(step.known), step.chosen))
            steps.append(to_device(Seq2SeqStep(options, *number), world.device))
        seen = world.data.batch(plan.examples, rollout.rows.tolist(), plan.symmetries, plan.drops)
        seen = world.data.load(seen, world.device)
        active = torch.from_numpy(rollout.active).to(world.device)
        xy_m = torch.stack([standing_xy_m(step.known, seen.briefing) for step in rollout.steps], 1)
        return Seq2SeqBatch(seen, active, xy_m.flatten(0, 1), tuple(steps))

    def forward(self, batch: Seq2SeqBatch) -> Float[Tensor, ""]:
        """Cross entropy to the expert's move, averaged over all steps."""
        # In float32, as the agent walks (`Seq2SeqAgent.step`).
        with torch.autocast(batch.xy_m.device.type, enabled=False):
            loss = self._loss(batch)
            return loss if batch.share is None else loss * batch.share

    def _loss(self, batch: Seq2SeqBatch) -> Float[Tensor, ""]:
        briefing, steps = batch.batch.briefing, len(batch.steps)
        seen = self.model.panoramas(batch.batch.seen.cells, batch.xy_m).unflatten(0, (-1, steps))
        encoded = self.model.encoder(briefing.tokens, briefing.lengths)
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
    """
    walkers = np.arange(len(first))
    row = np.where(known.filled, known.viewpoint - first[:, None], 0)
    way = known.edge_m[walkers, known.here] + np.take_along_axis(to_goal_m, row, 1)
    here = to_goal_m[walkers, row[walkers, known.here]]
    return np.where((here == 0.0) | ~np.isfinite(here), known.here, way.argmin(1))
