"""Learning to act: filter and policy together, by imitation (paper, section 4.4).

An iteration has two parts. First the agent walks, without gradients or dropout: a share of its moves is sampled from
its policy, the others are the target's. Then the loss of all it saw on the way is computed as one batch, as in goal
prediction, so that all filter steps of all maps are one call. Where the beliefs do not depend on what is trained (a
frozen filter, true beliefs), the loss uses only what the policy read during the walk.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.agent.candidates import Candidates
from ghosts.agent.known import KnownGraph
from ghosts.agent.loop import GhostAgent
from ghosts.agent.policy import policy_loss
from ghosts.agent.reader import Scene, words_of
from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.data.examples import Selection
from ghosts.methods.ghost.model import GoalModel, GoalTrace
from ghosts.methods.ghost.settings import AgentExperiment, AgentTrainConfig
from ghosts.run.rollout import Episodes, GraphWalks, Rollout, walk_episodes
from ghosts.train.own_walks import Targets, WalkPlan, WalkTask, mixed_choice


@dataclass(frozen=True)
class NavBatch:
    """What the agent saw on its walks, and what it should have chosen."""

    batch: Batch
    """All steps, `s` per episode."""
    active: Bool[Tensor, "b s"]
    """Steps that took place; the others repeat the last one."""
    candidates: Candidates
    """Of all steps; step (e, s) is number e · s_max + s."""
    target: Int[Tensor, " bs"]
    """Flat index of the candidate to choose at each step; −1 where none took place."""
    share: Float[Tensor, ""] | None = None
    """Weight of this process's steps beside the others' (`WalkTask.ready`); None for one process."""


@dataclass(frozen=True)
class Choices:
    """The policy's part of the walks: what it read of each candidate, and which it should have chosen."""

    features: Float[Tensor, "k f"]
    episode: Int[Tensor, " k"]
    """Step each candidate belongs to, in [0, n)."""
    target: Int[Tensor, " n"]
    """Flat index of the candidate to choose at each step."""
    share: Float[Tensor, ""] | None = None
    """See `NavBatch`."""
    words: Float[Tensor, "b t d"] | None = None
    """What the instructions say, for a policy that reads."""
    owner: Int[Tensor, " n"] | None = None
    """Row of the words of each step."""

    @property
    def active(self) -> Bool[Tensor, " n"]:
        """All steps took place."""
        return torch.ones_like(self.target, dtype=torch.bool)


class NavigationTask(WalkTask["NavBatch | Choices"]):
    """The paper's agent. Its model is a goal predictor's, so each can start from the other's weights."""

    model: GoalModel
    experiment: AgentExperiment
    settings: AgentTrainConfig

    def __init__(self, experiment: AgentExperiment, data: Dataset, selection: Selection | None = None) -> None:
        super().__init__(experiment, data, selection)
        if self.settings.policy_alone:
            self.requires_grad_(False)
            self.model.policy.requires_grad_(True)

    @property
    def learns_map(self) -> bool:
        """Whether the mapper is trained."""
        return not self.settings.policy_alone

    def collect(self, world: GraphWalks, plan: WalkPlan) -> NavBatch | Choices:
        """Walk a plan with the present weights."""
        episodes = world.begin(plan.examples, plan.symmetries, plan.drops)
        most = plan.draws.shape[1]
        # One more than is walked: the limit's forced stop belongs to evaluation.
        agent = GhostAgent(self.model, step_limit=most + 1)
        targets = partial(target_slots, first=episodes.first, to_goal_m=world.goal_distances(episodes))
        choose = mixed_choice(targets, plan.draws, self.settings.own_actions)
        if self.settings.true_beliefs:
            episodes = world.with_true_beliefs(episodes, self.experiment.model)
        rollout = walk_episodes(agent, world, episodes, choose=choose, most=most)
        if self.settings.policy_alone:
            choices = gather_choices(rollout, targets, world.device)
            return choices if self.model.policy.reader is None else self._with_words(choices, episodes, rollout)
        return gather(world, plan, rollout, targets)

    def _with_words(self, choices: Choices, episodes: Episodes, rollout: Rollout) -> Choices:
        """Choices with what their instructions say."""
        with torch.no_grad():
            words = words_of(self.model.read(episodes.briefing).latents).float()
        owner = np.concatenate([np.flatnonzero(step.active) for step in rollout.steps])
        return replace(choices, words=words, owner=torch.from_numpy(owner).to(words.device))

    def forward(self, batch: NavBatch | Choices) -> Float[Tensor, ""]:
        """The filter's loss plus the weighted policy's; the policy's alone where the filter does not learn."""
        if isinstance(batch, Choices):
            with torch.autocast(batch.features.device.type, enabled=False):
                steps = len(batch.target)
                chosen, _ = self.model.policy.choose(batch.features, batch.episode, steps, batch.words, batch.owner)
                loss = policy_loss(chosen, batch.target)
        else:
            loss = self._joint(batch)
        return loss if batch.share is None else loss * batch.share

    def _joint(self, batch: NavBatch) -> Float[Tensor, ""]:
        seen, active = batch.batch, batch.active
        settings = self.experiment.model.filter
        trace = self.model(seen.briefing, seen.seen, seen.masks)
        targets = pose_belief(seen.path_xy_m, seen.path_heading_rad, trace.grid, settings.sigma_m, settings.headings)
        loss = filter_loss(trace.filter.posteriors, targets, active)
        starts = seen.briefing.start_xy_m.repeat_interleave(active.shape[1], 0)
        with torch.autocast(starts.device.type, enabled=False):
            beliefs = trace.filter.beliefs.flatten(0, 1)
            chosen = self.model.policy(batch.candidates, beliefs, starts, trace.grid, self._scene(trace))
            imitated = policy_loss(chosen, batch.target, active.flatten())
        return loss + self.settings.policy_weight * imitated

    def _scene(self, trace: GoalTrace) -> Scene | None:
        """What a policy that reads looks at, at all steps; it learns from the filter, not the filter from it."""
        if self.model.policy.reader is None:
            return None
        maps, words = trace.map.pooled(), words_of(trace.latents)
        words = words.repeat_interleave(maps.shape[1], 0)
        return Scene(maps.flatten(0, 1).detach().float(), words.detach().float())


def target_slots(
    known: KnownGraph, first: Int[np.ndarray, " b"], to_goal_m: Float[np.ndarray, "b rows"]
) -> Int[np.ndarray, " b"]:
    """The candidate that is closest to the goal: what the policy learns to choose.

    The paper's target is the first action on the shortest path. The released code's is the closest candidate. They
    differ only in how far ahead the agent aims, since it pauses at the first unvisited viewpoint anyway.

    Args:
        known: what each walker has seen.
        first: number of the first viewpoint of each building.
        to_goal_m: from `GraphWalks.goal_distances`.
    """
    row = np.where(known.filled, known.viewpoint - first[:, None], 0)
    distance = np.take_along_axis(to_goal_m, row, 1)
    return np.where(known.filled, distance, np.inf).argmin(1)


def gather_choices(rollout: Rollout[Any], targets: Targets, device: torch.device) -> Choices:
    """All steps of finished walks, with what the policy read."""
    episodes, wanted, steps, count = [], [], 0, 0
    for step in rollout.steps:
        mine = step.known.filled & step.active[:, None]
        number = np.cumsum(step.active) - 1 + steps
        episodes.append(number[mine.nonzero()[0]])
        wanted.append(_flat_targets(mine, targets(step.known), count)[step.active])
        steps, count = steps + int(step.active.sum()), count + int(mine.sum())

    def whole(parts: list[np.ndarray]) -> Tensor:
        return torch.from_numpy(np.concatenate(parts)).to(device)

    scores = [step.action.scores for step in rollout.steps]
    features = torch.cat([item.features for item in scores if item is not None and item.features is not None])
    return Choices(features, whole(episodes), whole(wanted))


def gather(world: GraphWalks, plan: WalkPlan, rollout: Rollout[Any], targets: Targets) -> NavBatch:
    """All steps of finished walks as one batch, with the candidate to choose at each."""
    active, device, count = rollout.active, world.device, 0
    batch, steps = active.shape
    parts: list[Candidates] = []
    target = np.full((batch, steps), -1)
    for number, step in enumerate(rollout.steps):
        mine = step.known.filled & step.active[:, None]
        found = step.known.candidates(step.active, torch.device("cpu"))
        target[:, number] = np.where(step.active, _flat_targets(mine, targets(step.known), count), -1)
        parts.append(replace(found, episode=found.episode * steps + number))
        count += len(found.episode)
    names = [item.name for item in fields(Candidates)]
    whole = Candidates(**{name: torch.cat([getattr(part, name) for part in parts]).to(device) for name in names})
    seen = world.data.batch(plan.examples, rollout.rows.tolist(), plan.symmetries, plan.drops)
    seen = world.data.load(replace(seen, masks=plan.masks), device)
    wanted = torch.from_numpy(target.reshape(-1)).to(device)
    return NavBatch(seen, torch.from_numpy(active).to(device), whole, wanted)


def _flat_targets(mine: Bool[np.ndarray, "b slots"], slot: Int[np.ndarray, " b"], before: int) -> Int[np.ndarray, " b"]:
    """Flat number of a slot of each walker among all slots of a mask, after so many others."""
    place = (np.cumsum(mine.ravel()) - 1).reshape(mine.shape) + before
    return place[np.arange(len(slot)), slot]
