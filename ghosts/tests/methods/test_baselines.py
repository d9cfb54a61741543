"""The paper's baselines: LingUNet's heat, its targets and loss; the hand-coded circle on the side that was seen."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from agent.makers import random_points, seen_from, small_config
from ghosts.agent.interface import Briefing
from ghosts.belief.histogram import arg_max_m
from ghosts.config import MapperConfig
from ghosts.mapping.points import Points
from ghosts.methods.hand_coded.model import MEAN_GOAL_DISTANCE_M, HandCoded, gaussian_blur, hand_coded_heat
from ghosts.methods.hand_coded.settings import HandCodedModelConfig
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


@pytest.mark.parametrize("start", [(0.0, 0.0), (1.3, -0.7)])
def test_hand_coded_prefers_the_seen_side_at_the_right_distance(start: tuple[float, float]) -> None:
    grid = Grid(96, 96, 0.5)
    observed = torch.zeros(1, 1, 96, 96, dtype=torch.bool)
    observed[..., 48:, :] = True  # the northern half
    observed[..., :, :40] = False
    heat = hand_coded_heat(observed, torch.tensor([start]), grid)
    x_m, y_m = arg_max_m(heat[:, None], grid)[0].tolist()
    assert y_m > 0
    assert abs(np.hypot(x_m - start[0], y_m - start[1]) - MEAN_GOAL_DISTANCE_M) <= grid.cell_m / 2 + 1e-6


def test_hand_coded_peak_lies_at_the_papers_distance_with_everything_seen() -> None:
    """Circle and blur the other way round put it at 6 m (released code)."""
    config = HandCodedModelConfig(mapper=MapperConfig(features=1, rows=96, cols=96))
    side = torch.arange(-23.75, 24.0, 0.5)
    everywhere = F.pad(torch.cartesian_prod(side, side), (0, 1))[None]
    points = Points(torch.zeros(1, 96 * 96, 1), everywhere, torch.ones(1, 96 * 96, dtype=torch.bool))
    start = torch.tensor([[0.2, -0.1]])
    briefing = Briefing(torch.ones(1, 1, dtype=torch.long), torch.ones(1, dtype=torch.long), start, torch.zeros(1))
    prediction = HandCoded(config).predict(briefing, seen_from(points, 1, np.zeros((1, 2)), config))
    assert MEAN_GOAL_DISTANCE_M == 7.6
    assert float((prediction.goal_xy_m[0, 0] - start[0]).norm()) == pytest.approx(7.6, abs=0.25 + 1e-6)
    away_m = torch.hypot(side - 0.2, side[:, None] + 0.1)
    assert float((prediction.goal[0, 0] * away_m).sum()) == pytest.approx(7.6, abs=0.05)


def test_hand_coded_circle_is_centred_on_the_start() -> None:
    grid = Grid(96, 96, 0.5)
    heat = hand_coded_heat(torch.ones(1, 1, 96, 96, dtype=torch.bool), torch.zeros(1, 2), grid)[0]
    assert_close(heat, heat.flip(0))
    assert_close(heat, heat.flip(1))
    assert_close(heat, heat.T)


def test_gaussian_blur_keeps_mass_and_has_its_sigma() -> None:
    image = torch.zeros(1, 1, 41, 41)
    image[..., 20, 20] = 1.0
    blurred = gaussian_blur(image, 2.0, 15)
    offsets = torch.arange(-20.0, 21.0)
    assert_close(blurred.sum(), torch.tensor(1.0))
    assert float((blurred[0, 0].sum(0) * offsets**2).sum()) == pytest.approx(4.0, rel=1e-3)
