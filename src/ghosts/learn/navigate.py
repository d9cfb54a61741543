"""Learning to act: filter and policy together, by imitation (paper, section 4.4).

An iteration has two parts. First the agent walks, without gradients or dropout: a share of its moves is sampled from
its policy, the others are the target's. Then the loss of all it saw on the way is computed as one batch, as in goal
prediction, so that all filter steps of all maps are one call. Where the beliefs do not depend on what is trained (a
frozen filter, true beliefs), what the policy read on the walk is all that its loss needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.act.agent import AgentTrace, Choose, GhostAgent
from ghosts.act.candidates import Candidates
from ghosts.act.known import KnownGraph, candidates_of
from ghosts.act.model import GoalModel
from ghosts.act.planner import Planner
from ghosts.act.policy import policy_loss
from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.config import ModelConfig
from ghosts.learn.batches import Batch, Turn
from ghosts.learn.examples import Example
from ghosts.learn.rollout import Rollout, World, goal_distances, target_slots, true_beliefs, walk_episodes
from ghosts.learn.tasks import CellFeatures, filter_batch
from ghosts.mapping.mapper import Masks
from ghosts.presets import NavigationConfig
from ghosts.types import Grid


@dataclass(frozen=True)
class WalkPlan:
    """What an iteration will walk: made beforehand, in threads, since it does not depend on the weights."""

    examples: list[Example]
    turns: list[Turn]
    unknown: Bool[np.ndarray, "b l"]
    draws: Float[np.ndarray, "b s 2"]
    """For every look, uniform in [0, 1): whose move it is, and which one is sampled."""

    def to(self, device: torch.device | str) -> WalkPlan:
        """Nothing here belongs on a device."""
        return self


@dataclass(frozen=True)
class NavBatch:
    """What the agent saw on its walks, and what it should have chosen."""

    batch: Batch
    """All looks, `s` an episode."""
    active: Bool[Tensor, "b s"]
    """Looks that took place; the others repeat the last one."""
    candidates: Candidates
    """Of all looks; look (e, s) is number e · s_max + s."""
    target: Int[Tensor, " bs"]
    """Flat index of the candidate to choose at each look; −1 where none took place."""
    share: Float[Tensor, ""] | None = None
    """Weight of this process's looks beside the others' (`vln.prepare_walks`); None for one process."""


@dataclass(frozen=True)
class Choices:
    """The policy's part of the walks: what it read of each candidate, and which it should have chosen."""

    features: Float[Tensor, "k f"]
    episode: Int[Tensor, " k"]
    """Look each candidate belongs to, in [0, n)."""
    target: Int[Tensor, " n"]
    """Flat index of the candidate to choose at each look."""
    share: Float[Tensor, ""] | None = None
    """See `NavBatch`."""

    @property
    def active(self) -> Bool[Tensor, " n"]:
        """All looks took place."""
        return torch.ones_like(self.target, dtype=torch.bool)


class NavigationTask(nn.Module):
    """The paper's agent. Its weights have the names of `tasks.GoalTask`'s, so each can start from the other's.

    Args:
        config: of mapper, language, filter and policy.
        navigation: how it learns.
        labels: number of landmark labels; 0 for stored features.
    """

    def __init__(self, config: ModelConfig, navigation: NavigationConfig, labels: int = 0) -> None:
        super().__init__()
        self.config, self.navigation = config, navigation
        self.features = CellFeatures(config.mapper.features, labels)
        self.model = GoalModel(config)
        if navigation.policy_alone:
            self.requires_grad_(False)
            self.model.policy.requires_grad_(True)

    def draw_masks(self, batch: int, generator: torch.Generator) -> Masks | None:
        """Dropout masks of the map for a batch."""
        return None if self.navigation.policy_alone else self.model.mapper.draw_masks(batch, generator)

    def agent(self, grid: Grid, planner: Planner | None = None) -> GhostAgent:
        """The agent that acts on this task's weights."""
        return GhostAgent(self.model, grid, planner, self.navigation.step_limit)

    def given_beliefs(self, batch: Batch, grid: Grid) -> Float[Tensor, "b t1 c y x"] | None:
        """True beliefs where the task is the upper bound."""
        if not self.navigation.true_beliefs:
            return None
        return true_beliefs(batch, self.model.belief_grid(grid.rows, grid.cols), self.config.filter)

    def collect(self, world: World, plan: WalkPlan) -> NavBatch | Choices:
        """Walk, and gather all that was seen and should have been done."""
        episodes = world.begin(plan.examples, plan.turns, plan.unknown)
        grid = world.builder.grid
        to_goal_m = goal_distances(world.root, episodes)
        most = plan.draws.shape[1]
        # One more than is walked: the limit's forced stop belongs to evaluation.
        agent = GhostAgent(self.model, grid, step_limit=most + 1)
        targets = partial(target_slots, first=episodes.first, to_goal_m=to_goal_m)
        choose = mixed_choice(targets, plan.draws, self.navigation.own_actions)
        beliefs = self.given_beliefs(episodes.batch, grid)
        keep = read_features if self.navigation.policy_alone else False
        rollout = walk_episodes(agent, world, episodes, choose=choose, beliefs=beliefs, most=most, keep=keep)
        if self.navigation.policy_alone:
            return gather_choices(rollout, targets, world.device)
        return gather(world, plan, rollout, targets)

    def forward(
        self, batch: NavBatch | Choices, stored: Float[Tensor, "n c"] | None, masks: Masks | None
    ) -> Float[Tensor, ""]:
        """The filter's loss plus the weighted policy's; the policy's alone where the filter does not learn."""
        if isinstance(batch, Choices):
            with torch.autocast(batch.features.device.type, enabled=False):
                chosen = self.model.policy.choose(batch.features, batch.episode, len(batch.target))
                loss = policy_loss(chosen, batch.target)
        else:
            loss = self._joint(batch, stored, masks)
        return loss if batch.share is None else loss * batch.share

    def _joint(self, batch: NavBatch, stored: Float[Tensor, "n c"] | None, masks: Masks | None) -> Float[Tensor, ""]:
        seen, active = batch.batch, batch.active
        steps, settings = active.shape[1], self.config.filter
        grid = self.model.belief_grid(seen.cells.rows, seen.cells.cols)
        trace = filter_batch(self.model, self.features(seen, stored), seen, masks)
        targets = pose_belief(seen.path_xy_m, seen.path_heading_rad, grid, settings.sigma_m, settings.headings)
        loss = filter_loss(trace.posteriors, targets, active)
        starts = seen.start_xy_m.repeat_interleave(steps, 0)
        with torch.autocast(starts.device.type, enabled=False):
            chosen = self.model.policy(batch.candidates, trace.beliefs.flatten(0, 1), starts, grid)
        return loss + self.navigation.policy_weight * policy_loss(chosen, batch.target, active.flatten())


def plan_walks(
    examples: Sequence[Example],
    turns: Sequence[Turn],
    randoms: Sequence[np.random.Generator],
    steps: int,
    dropped: float,
) -> WalkPlan:
    """Draw everything random of an iteration's walks.

    Args:
        examples: episodes.
        turns: symmetry of each.
        randoms: random numbers of each.
        steps: looks an episode.
        dropped: share of words replaced by the unknown word.
    """
    unknown = np.stack([random.random(80) < dropped for random in randoms])
    draws = np.stack([random.random((steps, 2)) for random in randoms])
    return WalkPlan(list(examples), list(turns), unknown, draws)


def mixed_choice(
    targets: Callable[[KnownGraph], Int[np.ndarray, " b"]], draws: Float[np.ndarray, "b s 2"], own: float
) -> Choose:
    """Moves for training: with probability `own` sampled from the agent's distribution, otherwise the target's.

    Args:
        targets: known graph to the slot each walker should choose.
        draws: see `WalkPlan`; one pair is used up at every call.
        own: share of own moves.
    """
    looks = iter(range(draws.shape[1]))

    def choose(
        known: KnownGraph, table: Float[np.ndarray, "b slots"], active: Bool[np.ndarray, " b"]
    ) -> Int[np.ndarray, " b"]:
        draw = draws[:, next(looks)]
        sampled = sample_slots(table, active, draw[:, 1])
        return np.where(active, np.where(draw[:, 0] < own, sampled, targets(known)), known.here)

    return choose


def sample_slots(
    table: Float[np.ndarray, "b slots"], active: Bool[np.ndarray, " b"], draw: Float[np.ndarray, " b"]
) -> Int[np.ndarray, " b"]:
    """Sample a slot of each active walker from log-probabilities, by one uniform number each."""
    odds = np.where(active[:, None], np.exp(table), 1.0)
    total = np.cumsum(odds, 1)
    slot = (total <= draw[:, None] * total[:, -1:]).sum(1)
    # Rounding may carry a draw just below 1 past the last slot that can be chosen.
    last = table.shape[1] - 1 - (odds[:, ::-1] > 0.0).argmax(1)
    return np.minimum(slot, last)


def read_features(trace: AgentTrace) -> Float[Tensor, "k f"]:
    """What the policy read at a step."""
    assert trace.features is not None, "the planner does not learn"
    return trace.features


def gather_choices(
    rollout: Rollout, targets: Callable[[KnownGraph], Int[np.ndarray, " b"]], device: torch.device
) -> Choices:
    """All looks of finished walks whose traces kept what the policy read (`read_features`)."""
    episodes, wanted, looks, count = [], [], 0, 0
    for look in rollout.looks:
        mine = look.known.known & look.active[:, None]
        number = np.cumsum(look.active) - 1 + looks
        episodes.append(number[mine.nonzero()[0]])
        place = (np.cumsum(mine.ravel()) - 1).reshape(mine.shape) + count
        wanted.append(np.take_along_axis(place, targets(look.known)[:, None], 1)[look.active, 0])
        looks, count = looks + int(look.active.sum()), count + int(mine.sum())
    return Choices(
        torch.cat([look.trace for look in rollout.looks]),
        torch.from_numpy(np.concatenate(episodes)).to(device),
        torch.from_numpy(np.concatenate(wanted)).to(device),
    )


def gather(
    world: World, plan: WalkPlan, rollout: Rollout, targets: Callable[[KnownGraph], Int[np.ndarray, " b"]]
) -> NavBatch:
    """All looks of finished walks as one batch, with the candidate to choose at each."""
    active, device = rollout.active, world.device
    batch, steps = active.shape
    parts: list[Candidates] = []
    target, count = np.full((batch, steps), -1), 0
    for step, look in enumerate(rollout.looks):
        found = candidates_of(look.known, look.active, torch.device("cpu"))
        mine = look.known.known & look.active[:, None]
        place = (np.cumsum(mine.ravel()) - 1).reshape(mine.shape) + count
        target[:, step] = np.where(look.active, place[np.arange(batch), targets(look.known)], -1)
        parts.append(_renumbered(found, steps, step))
        count += len(found.episode)
    whole = Candidates(**{name: torch.cat([getattr(part, name) for part in parts]).to(device) for name in _FIELDS})
    seen = world.builder.build(plan.examples, rollout.rows.tolist(), plan.turns, plan.unknown).to(device)
    return NavBatch(seen, torch.from_numpy(active).to(device), whole, torch.from_numpy(target.reshape(-1)).to(device))


_FIELDS = ("episode", "xyz_m", "from_start_m", "from_agent_m", "visited")


def _renumbered(candidates: Candidates, steps: int, step: int) -> Candidates:
    values = {name: getattr(candidates, name) for name in _FIELDS}
    return Candidates(**values | {"episode": candidates.episode * steps + step})
