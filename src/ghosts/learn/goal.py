"""Learning to predict goals: the rows of Table 1 that are trained."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from lightning.fabric import Fabric
from torch import Tensor

from ghosts.act.baselines import LingUNetModel, heat_loss, heat_targets
from ghosts.act.model import GoalModel
from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.config import GoalExperiment
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.errors import ConfigError
from ghosts.evaluate.goal import evaluate_goal
from ghosts.learn.task import EpisodeTask, Selection, Share


class GoalTask(EpisodeTask[Batch, Batch]):
    """A goal predictor on sampled walks (paper, section 5.2)."""

    model: GoalModel | LingUNetModel

    def draw(self, iteration: int, share: Share) -> Batch:
        """Walks that build a map, seen through symmetries, with some words dropped."""
        examples, walks, symmetries, unknown = [], [], [], []
        for example, random in self.examples(iteration, share, 2):
            examples.append(example)
            walks.append(self.data.walk(example, self.settings.agent_steps, random))
            symmetries.append(self.draw_symmetry(random))
            unknown.append(random.random(80) < self.settings.word_dropout)
        batch = self.data.batch(examples, walks, symmetries, np.stack(unknown))
        return replace(batch, masks=self.draw_masks(iteration, share))

    def ready(self, drawn: Batch, fabric: Fabric) -> Batch:
        """The batch on the device."""
        return self.data.load(drawn, fabric.device)

    def score(self, fabric: Fabric) -> dict[str, float]:
        """Success and error on the selection."""
        if self.selection is None:
            return {}
        precision = self.settings.precision
        scores = evaluate_goal(self.model, self.data, self.selection.examples, fabric, precision=precision)
        split = self.selection.split
        return {f"{split} success": float(scores.success.mean()), f"{split} error": float(scores.error_m.mean())}


class FilterTask(GoalTask):
    """The Bayes filter: KL divergence from the demonstrator's true poses, on the map of every agent step."""

    model: GoalModel

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The filter's loss."""
        trace = self.model(batch.briefing, batch.seen, batch.masks)
        settings = self.experiment.model.filter
        targets = pose_belief(batch.path_xy_m, batch.path_heading_rad, trace.grid, settings.sigma_m, settings.headings)
        return filter_loss(trace.filter.posteriors, targets)

    def capture(self, dtype: torch.dtype) -> None:
        """Language and filter as CUDA graphs."""
        if self.settings.capture:
            self.model.capture(self.settings.batch, self.settings.agent_steps, dtype)


class LingUNetTask(GoalTask):
    """The LingUNet baseline: squared errors of goal and path heat."""

    model: LingUNetModel

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The heat maps' loss."""
        goal, path = self.model(batch.briefing, batch.seen, batch.masks)
        grid, sigma_m = self.experiment.model.mapper.grid, self.experiment.baseline.sigma_m
        return heat_loss(goal, path, *heat_targets(batch.path_xy_m, grid, sigma_m))


def goal_task(experiment: GoalExperiment, data: Dataset, selection: Selection | None = None) -> GoalTask:
    """The untrained task of a row of Table 1.

    Raises:
        ConfigError: there is nothing to train.
    """
    if experiment.kind == "hand-coded":
        raise ConfigError(
            f"preset {experiment.name!r} has nothing to train; run: ghosts eval goal --preset {experiment.name}"
        )
    kind = LingUNetTask if experiment.kind == "lingunet" else FilterTask
    return kind(experiment, data, selection)
