"""Agents on the comb-shaped buildings of `landmark_world`, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from experiments import acting, task_of
from ghosts.config import Experiment
from ghosts.data.dataset import Dataset
from ghosts.data.examples import DEV_UNSEEN, Example
from ghosts.run.load import Run
from ghosts.run.rollout import GraphWalks
from ghosts.train.task import EpisodeTask
from landmark_world import load, make_landmark_root, small_experiment


@dataclass(frozen=True)
class Comb:
    """A task on the small world."""

    data: Dataset
    task: EpisodeTask[Any, Any]
    world: GraphWalks

    @property
    def examples(self) -> list[Example]:
        """The first instruction of each path of the unseen building."""
        return self.data.examples(DEV_UNSEEN)[::3]

    @property
    def run(self) -> Run:
        """The task's model as a run."""
        return Run("comb", self.task.experiment, self.task.model, self.data.reading)


def make_comb(folder: Path, experiment: Experiment | None = None) -> Comb:
    """Write the world and make an untrained task on it, in evaluation mode."""
    experiment = experiment or acting(small_experiment(), step_limit=8)
    data = load(make_landmark_root(folder / "root"), experiment)
    task = task_of(experiment, data)
    task.eval()
    return Comb(data, task, GraphWalks(data, torch.device("cpu")))
