"""The hand-coded rule for goals: the right distance, on the side where something was seen."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from agent.makers import seen_from
from ghosts.agent.interface import Briefing
from ghosts.belief.histogram import arg_max_m
from ghosts.config import MapperConfig
from ghosts.mapping.points import Points
from ghosts.methods.hand_coded.model import MEAN_GOAL_DISTANCE_M, HandCoded, gaussian_blur, hand_coded_heat
from ghosts.methods.hand_coded.settings import HandCodedModelConfig
from ghosts_sim.types import Grid


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
