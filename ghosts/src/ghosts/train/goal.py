"""Learning to predict goals: the rows of Table 1 that are trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from lightning_fabric import Fabric
from torch import Tensor

from ghosts.agent.baselines import LingUNetModel, heat_loss, heat_targets
from ghosts.agent.model import GoalModel
from ghosts.belief.histogram import pose_belief
from ghosts.belief.loss import distil_loss, filter_loss
from ghosts.config import GoalExperiment
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.data.drops import draw_drops
from ghosts.data.examples import Example, Selection
from ghosts.evaluate.goal import Execution, evaluate_goal
from ghosts.run.load import Run, find_checkpoint, load_run
from ghosts.train.start import start_from
from ghosts.train.task import EpisodeTask, Share
from ghosts.words.decoder import Latents
from ghosts_sim.errors import ConfigError

LEFT_M = 10.0
"""Unit of distances to the goal: about the length of a path of R2R."""


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
        rooms = self.data.rooms(examples) if settings.room_loss else None
        left_m = self.data.left_m(examples) if settings.progress_loss else None
        masks = self.draw_masks(iteration, share)
        return replace(batch, masks=masks, supervised=supervised, rooms=rooms, left_m=left_m)

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
    teachers: tuple[GoalModel, ...] = ()
    """Models whose mean belief is learned as well (`train.distil`); no part of what is trained or saved."""

    def ready(self, drawn: Batch, fabric: Fabric) -> Batch:
        """The batch on the device, and the teachers with it."""
        for teacher in self.teachers:
            teacher.to(fabric.device)
        return super().ready(drawn, fabric)

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        """The filter's loss."""
        trace = self.model(batch.briefing, batch.seen, batch.masks, batch.supervised)
        settings = self.experiment.model.filter
        targets = pose_belief(batch.path_xy_m, batch.path_heading_rad, trace.grid, settings.sigma_m, settings.headings)
        loss = filter_loss(trace.filter.posteriors, targets)
        if self.teachers:
            with torch.no_grad():
                told = [teacher(batch.briefing, batch.seen, None, batch.supervised) for teacher in self.teachers]
                taught = torch.stack([one.filter.posteriors for one in told]).mean(0)
            share = self.settings.distil
            loss = (1.0 - share) * loss + share * distil_loss(trace.filter.posteriors, taught)
        return loss + self._told_loss(trace.latents, batch)

    def _told_loss(self, latents: Latents, batch: Batch) -> Float[Tensor, ""]:
        """Losses of what the words alone predict at each filter step: its room, and the distance left."""
        step = torch.cat([latents.observations, latents.actions], -1)
        loss = step.new_zeros(())
        if batch.rooms is not None and self.model.rooms is not None:
            kinds = self.model.rooms(step).float().flatten(0, 1)
            rooms = F.cross_entropy(kinds, batch.rooms.flatten(), ignore_index=-1)
            loss = loss + self.settings.room_loss * rooms
        if batch.left_m is not None and self.model.progress is not None:
            left = self.model.progress(step).float()[..., 0]
            loss = loss + self.settings.progress_loss * F.l1_loss(left, batch.left_m / LEFT_M)
        return loss

    def capture(self, dtype: torch.dtype) -> None:
        """Language and filter as CUDA graphs."""
        if self.settings.capture:
            steps = self.settings.supervised or self.settings.agent_steps
            self.model.capture(self.settings.batch, steps, dtype)


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
    teachers: Sequence[Path] = (),
) -> GoalTask:
    """The task of a row of Table 1.

    Args:
        experiment: the run's settings.
        data: what it reads, on the device.
        selection: scored during training.
        warm_start: run, checkpoint or shipped weights to start from, of this data or of another: words and labels are
            taken by name.
        teachers: runs whose mean belief is learned too (`train.distil`): several models become one.

    Raises:
        ConfigError: there is nothing to train, or nothing to learn from the teachers.
        DataError: the weights do not fit.
    """
    if experiment.kind == "hand-coded":
        raise ConfigError(
            f"preset {experiment.name!r} has nothing to train; run: ghosts eval goal --preset {experiment.name}"
        )
    kind = LingUNetTask if experiment.kind == "lingunet" else FilterTask
    task = kind(experiment, data, selection)
    _check_told(task)
    if warm_start is not None:
        start_from(task, find_checkpoint(warm_start), policy=False, by_name=True)
    if bool(teachers) != bool(experiment.train.distil):
        raise ConfigError("teachers and their weight belong together; use --teacher RUN and --train.distil 0.5")
    if teachers:
        if not isinstance(task, FilterTask):
            raise ConfigError(f"preset {experiment.name} has no filter that could be taught; leave out --teacher")
        task.teachers = tuple(_teacher(load_run(path), data, experiment) for path in teachers)
    return task


def _check_told(task: GoalTask) -> None:
    """Refuse losses of parts that the model lacks.

    Raises:
        ConfigError: naming the setting that brings the part.
    """
    for loss, part in (("room_loss", "rooms"), ("progress_loss", "progress")):
        if getattr(task.settings, loss) and getattr(task.model, part, None) is None:
            more = f"add --model.language.{part}" if isinstance(task, FilterTask) else "only a filter has it"
            raise ConfigError(f"train.{loss} needs a model with language.{part}; {more}")


def _teacher(run: Run, data: Dataset, experiment: GoalExperiment) -> GoalModel:
    """The model of a teacher, which must read the same data as its pupil.

    Raises:
        ConfigError: it does not, or has no filter.
    """
    if not isinstance(run.model, GoalModel):
        raise ConfigError(f"{run.name} has no filter to learn from; name a run of a filter")
    mine, theirs = data.reading, run.reading
    same = ("vocabulary", "labels", "tiles", "landmarks", "grid", "kernel", "pool", "steps")
    other = next((name for name in same if getattr(mine, name) != getattr(theirs, name)), None)
    if other is None and run.experiment.model.filter.headings != experiment.model.filter.headings:
        other = "headings"
    if other is not None:
        raise ConfigError(f"{run.name} cannot teach this model: it reads other {other}; train both on the same data")
    return run.model.eval().requires_grad_(False)
