"""Learning to predict goals: the rows of Table 1 that are trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from lightning_fabric import Fabric
from torch import Tensor

from ghosts.agent.baselines import LingUNetModel, heat_loss, heat_targets
from ghosts.agent.model import GoalModel
from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.config import GoalExperiment
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.data.drops import draw_drops
from ghosts.data.examples import Example, Selection
from ghosts.evaluate.goal import Execution, evaluate_goal
from ghosts.fast.graphs import Captured, capture
from ghosts.run.load import find_checkpoint
from ghosts.train.start import start_from
from ghosts.train.task import EpisodeTask, Share
from ghosts_sim.errors import ConfigError


class GoalTask(EpisodeTask[Batch, Batch]):
    """A goal predictor on sampled walks (paper, section 5.2)."""

    model: GoalModel | LingUNetModel

    def draw(self, iteration: int, share: Share) -> Batch:
        """Walks that build a map, seen through symmetries, with some words dropped."""
        chosen, settings = self.examples(iteration, share, 2), self.settings
        examples = [example for example, _ in chosen]
        walks = [self.data.walk(example, settings.agent_steps, random) for example, random in chosen]
        symmetries = [self.draw_symmetry(random) for _, random in chosen]
        drops = draw_drops(settings, chosen, self.data.labels)
        batch = self.data.batch(examples, walks, symmetries, drops)
        supervised = None
        if settings.supervised:
            random = np.random.default_rng([settings.seed, 5, iteration])
            picked = random.choice(settings.agent_steps, settings.supervised, replace=False)
            supervised = tuple(sorted(picked.tolist()))
        return replace(batch, masks=self.draw_masks(iteration, share), supervised=supervised)

    def ready(self, drawn: Batch, fabric: Fabric) -> Batch:
        """The batch on the device."""
        return self.data.load(drawn, fabric.device)

    def scores_of(self, examples: list[Example], fabric: Fabric) -> dict[str, float]:
        """Success and error."""
        how = Execution(fabric, precision=self.settings.precision)
        scores = evaluate_goal(self.model, self.data, examples, how)
        return {"success": float(scores.success.mean()), "error": float(scores.error_m.mean())}


class FilterTask(GoalTask):
    """The Bayes filter: KL divergence from the demonstrator's true poses, on the map of every agent step."""

    model: GoalModel
    captured: Captured | None = None
    """Language and filter as CUDA graphs, once they are captured."""

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The filter's loss."""
        trace = self.model(batch.briefing, batch.seen, batch.masks, batch.supervised, self.captured)
        settings = self.experiment.model.filter
        targets = pose_belief(batch.path_xy_m, batch.path_heading_rad, trace.grid, settings.sigma_m, settings.headings)
        return filter_loss(trace.filter.posteriors, targets)

    def capture(self, dtype: torch.dtype) -> None:
        """Language and filter as CUDA graphs."""
        if self.settings.capture:
            steps = self.settings.supervised or self.settings.agent_steps
            model, batch = self.model, self.settings.batch
            self.captured = capture(model.language, model.filter, model.config, batch, steps, dtype)


class LingUNetTask(GoalTask):
    """The LingUNet baseline: squared errors of goal and path heat."""

    model: LingUNetModel

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The heat maps' loss."""
        goal, path = self.model(batch.briefing, batch.seen, batch.masks)
        grid, sigma_m = self.experiment.model.mapper.grid, self.experiment.baseline.sigma_m
        return heat_loss(goal, path, *heat_targets(batch.path_xy_m, grid, sigma_m))


def goal_task(
    experiment: GoalExperiment,
    data: Dataset,
    selection: Selection | None = None,
    warm_start: Path | None = None,
) -> GoalTask:
    """The task of a row of Table 1.

    Args:
        experiment: the run's settings.
        data: what it reads, on the device.
        selection: scored during training.
        warm_start: run, checkpoint or shipped weights to start from, of this data or of another: words and labels are
            taken by name.

    Raises:
        ConfigError: there is nothing to train.
        DataError: the weights do not fit.
    """
    if experiment.kind == "hand-coded":
        raise ConfigError(
            f"preset {experiment.name!r} has nothing to train; run: ghosts eval goal --preset {experiment.name}"
        )
    kind = LingUNetTask if experiment.kind == "lingunet" else FilterTask
    task = kind(experiment, data, selection)
    if warm_start is not None:
        start_from(task, find_checkpoint(warm_start), policy=False, by_name=True)
    return task
