"""Training the LingUNet baseline."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

from ghosts.data.batches import Batch
from ghosts.methods.lingunet.model import LingUNetModel, heat_loss, heat_targets
from ghosts.methods.lingunet.settings import LingUNetExperiment
from ghosts.train.goal_task import GoalTask


class LingUNetTask(GoalTask):
    """Squared errors of goal and path heat."""

    model: LingUNetModel
    experiment: LingUNetExperiment

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The heat maps' loss."""
        goal, path = self.model(batch.briefing, batch.seen, batch.masks)
        settings = self.experiment.model
        return heat_loss(goal, path, *heat_targets(batch.path_xy_m, settings.mapper.grid, settings.heat.sigma_m))
