"""Training the filter to predict goals (paper, section 4.4)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.data.batches import Batch
from ghosts.fast.graphs import Captured, capture
from ghosts.methods.ghost.model import GoalModel
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.train.goal_task import GoalTask


class FilterTask(GoalTask):
    """The Bayes filter: KL divergence from the demonstrator's true poses, on the map of every agent step."""

    model: GoalModel
    experiment: FilterExperiment
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
