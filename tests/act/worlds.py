"""Agents on the comb-shaped buildings of `landmark_world`, for tests."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ghosts.config import ModelConfig
from ghosts.learn.data import GoalData
from ghosts.learn.examples import Example
from ghosts.learn.navigate import NavigationTask
from ghosts.learn.rollout import World
from ghosts.presets import NavigationConfig
from landmark_world import load, make_landmark_root, small_experiment


@dataclass(frozen=True)
class Comb:
    """A task on the small world."""

    data: GoalData
    task: NavigationTask
    world: World

    @property
    def examples(self) -> list[Example]:
        """The first instruction of each path of the unseen building."""
        return self.data.splits["dev_unseen"][::3]


def make_comb(folder: Path, navigation: NavigationConfig | None = None, model: ModelConfig | None = None) -> Comb:
    """Write the world and make an untrained task on it."""
    experiment = small_experiment()
    data = load(make_landmark_root(folder / "root"), experiment)
    assert data.labels is not None
    torch.manual_seed(0)
    task = NavigationTask(model or experiment.model, navigation or NavigationConfig(step_limit=8), len(data.labels))
    world = World(data.root, data.builder, data.root.scans, task.features, None, torch.device("cpu"))
    return Comb(data, task.eval(), world)
