"""Learning to predict goals, for every method that does: walks that build a map, and scores."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from lightning_fabric import Fabric

from ghosts.data.batches import Batch
from ghosts.data.drops import draw_drops
from ghosts.data.examples import Example
from ghosts.evaluate.goal import Execution, evaluate_goal
from ghosts.methods import method_of
from ghosts.train.task import EpisodeTask, Share


class GoalTask(EpisodeTask[Batch, Batch]):
    """A goal predictor on sampled walks (paper, section 5.2)."""

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
        predictor = method_of(self.experiment).predictor(self.model)
        assert predictor is not None, "a method that predicts goals"
        scores = evaluate_goal(predictor, self.data, examples, how)
        return {"success": float(scores.success.mean()), "error": float(scores.error_m.mean())}
