"""The LingUNet baseline: heat at the map's resolution, its targets, and learning from its loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from agent.makers import random_points, seen_from, small_config
from ghosts.agent.interface import Briefing
from ghosts.belief.histogram import arg_max_m
from ghosts.methods.lingunet.model import LingUNetBaseline, LingUNetModel, heat_loss, heat_targets
from ghosts.methods.lingunet.settings import HeatConfig, HeatModelConfig
from ghosts_sim.types import Grid

SMALL = HeatConfig(channels=5, language=4, output=6)


@pytest.mark.parametrize("size", [(32, 32), (24, 40), (7, 5)])
def test_lingunet_baseline_answers_at_the_maps_resolution(size: tuple[int, int]) -> None:
    torch.manual_seed(0)
    model = LingUNetBaseline(6, 10, SMALL)
    goal, path = model(torch.randn(2, 3, 6, *size), torch.randn(2, 10))
    assert goal.shape == path.shape == (2, 3, *size)
    assert float((goal - path).detach().abs().max()) > 1e-3


def test_heat_targets_are_scaled_to_one() -> None:
    grid = Grid(20, 16, 0.5)
    path = torch.tensor([[[-1.75, 0.25], [0.25, 0.25], [2.25, 2.25], [2.25, 2.25]]])
    goal, visited = heat_targets(path, grid, 2.0)
    assert_close(goal.amax(), torch.tensor(1.0))
    assert_close(arg_max_m(goal[:, None], grid), torch.tensor([[2.25, 2.25]]))
    # One cell beside the goal: exp(−0.5² / (2 · 2²)).
    assert_close(goal[0, 14, 13], torch.tensor(-(0.5**2) / 8).exp())
    for x_m, y_m in path[0, :3]:
        row, col = round(float(y_m) / 0.5 + 9.5), round(float(x_m) / 0.5 + 7.5)
        assert_close(visited[0, row, col], torch.tensor(1.0))
    assert bool((visited >= goal).all())


def test_heat_loss_is_zero_for_the_target_and_averages_steps() -> None:
    goal, path = torch.rand(2, 4, 5), torch.rand(2, 4, 5)
    perfect_goal, perfect_path = goal[:, None].repeat(1, 3, 1, 1), path[:, None].repeat(1, 3, 1, 1)
    assert float(heat_loss(perfect_goal, perfect_path, goal, path)) == 0.0
    worse = perfect_goal.clone()
    worse[0, 2] += 2.0
    assert float(heat_loss(worse, perfect_path, goal, path)) == pytest.approx(4.0 / 6, rel=1e-5)


def test_lingunet_model_learns_from_its_loss() -> None:
    torch.manual_seed(0)
    config = small_config()
    model = LingUNetModel(HeatModelConfig(config.language, config.mapper, SMALL))
    seen = seen_from(random_points(4, 60, 8), 2, np.zeros((2, 2)), config)
    briefing = Briefing(torch.randint(2, 20, (2, 5)), torch.tensor([5, 3]), torch.zeros(2, 2), torch.zeros(2))
    goal_target, path_target = heat_targets(torch.randn(2, 3, 2), config.mapper.grid, 2.0)
    optimiser = torch.optim.Adam(model.parameters(), 1e-2)
    losses = []
    for _ in range(8):
        loss = heat_loss(*model(briefing, seen), goal_target, path_target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.6 * losses[0]
