"""Training on the agent's own walks: what an iteration walks, whose moves are taken, how the walks are scored."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from lightning_fabric import Fabric

from ghosts.agent.known import KnownGraph
from ghosts.agent.loop import Choose
from ghosts.config import Experiment, WalkTrainConfig
from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops, draw_drops
from ghosts.data.examples import Example, Selection
from ghosts.data.symmetry import Symmetry
from ghosts.evaluate.goal import Execution
from ghosts.evaluate.vln import score_walks, walk_split
from ghosts.mapping.mapper import Masks
from ghosts.run.load import Run
from ghosts.run.rollout import GraphWalks
from ghosts.train.task import EpisodeTask, Share
from ghosts_sim.errors import ConfigError

Targets = Callable[[KnownGraph], Int[np.ndarray, " b"]]
"""Known graph to the slot that each walker should choose."""
Walked = TypeVar("Walked", bound=Any)
"""A dataclass with `active` and `share`, see `methods.ghost.act.NavBatch`."""


@dataclass(frozen=True)
class WalkPlan:
    """What an iteration will walk: made beforehand, in threads, since it does not depend on the weights."""

    examples: list[Example]
    symmetries: list[Symmetry]
    drops: Drops
    draws: Float[np.ndarray, "b s 2"]
    """For every step, uniform in [0, 1): whose move it is, and which one is sampled."""
    masks: Masks | None
    """Of the map, where the filter is trained too."""


class WalkTask(EpisodeTask[WalkPlan, Walked]):
    """A task whose batches are the agent's own walks."""

    settings: WalkTrainConfig

    def __init__(self, experiment: Experiment, data: Dataset, selection: Selection | None = None) -> None:
        if data.stream is not None:
            hint = "make the world without --shards, or name another --data"
            raise ConfigError(f"agents cannot learn from a streamed training split; {hint}")
        super().__init__(experiment, data, selection)
        self._world: GraphWalks | None = None

    def draw(self, iteration: int, share: Share) -> WalkPlan:
        """Everything random of an iteration's walks."""
        chosen = self.examples(iteration, share, 3)
        symmetries = [self.draw_symmetry(random) for _, random in chosen]
        drops = draw_drops(self.settings, chosen, self.data.labels)
        draws = [random.random((self.settings.agent_steps, 2)) for _, random in chosen]
        masks = self.draw_masks(iteration, share) if self.learns_map else None
        return WalkPlan([example for example, _ in chosen], symmetries, drops, np.stack(draws), masks)

    @property
    def learns_map(self) -> bool:
        """Whether the mapper is trained."""
        return False

    def ready(self, drawn: WalkPlan, fabric: Fabric) -> Walked:
        """Walk, without dropout, and gather all that was seen and should have been done.

        Losses are means over steps, and walks of several processes are of unequal length: each batch gets the share by
        which its loss counts, so that the mean over processes is the mean over all steps.
        """
        if self._world is None:
            self._world = GraphWalks(self.data, fabric.device)
        self.eval()
        try:
            batch = self.collect(self._world, drawn)
        finally:
            self.train()
        if fabric.world_size == 1:
            return batch
        steps = batch.active.sum().float()
        everyone = torch.as_tensor(fabric.all_reduce(steps.clone(), reduce_op="mean"))
        return replace(batch, share=steps / everyone.clamp(min=1.0))

    @abstractmethod
    def collect(self, world: GraphWalks, plan: WalkPlan) -> Walked:
        """Walk a plan with the present weights."""

    def scores_of(self, examples: list[Example], fabric: Fabric) -> dict[str, float]:
        """Navigation metrics."""
        how = Execution(fabric, precision=self.settings.precision)
        run = Run(self.experiment.name, self.experiment, self.model, self.data.reading)
        means = score_walks(self.data.root, examples, walk_split(run, self.data, examples, how)).means()
        return {metric: means[metric] for metric in ("SPL", "SR", "OS", "NE", "TL")}


def mixed_choice(targets: Targets, draws: Float[np.ndarray, "b s 2"], own: float) -> Choose[KnownGraph]:
    """Moves for training: with probability `own` sampled from the agent's distribution, otherwise the target's.

    Args:
        targets: the slot each walker should choose.
        draws: see `WalkPlan`; one pair is used up at every call.
        own: share of own moves.
    """
    steps = iter(range(draws.shape[1]))

    def choose(
        known: KnownGraph, table: Float[np.ndarray, "b slots"], active: Bool[np.ndarray, " b"]
    ) -> Int[np.ndarray, " b"]:
        draw = draws[:, next(steps)]
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
