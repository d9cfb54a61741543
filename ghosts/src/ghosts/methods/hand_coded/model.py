"""The hand-coded rule for goals (paper, section 5.2): a circle around the start, where something was seen."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ghosts.agent.interface import Briefing, Prediction
from ghosts.mapping.observations import Observations
from ghosts.methods.hand_coded.settings import HandCodedModelConfig
from ghosts.methods.lingunet.model import prediction_of
from ghosts_sim.geometry import to_cells
from ghosts_sim.types import Grid

MEAN_GOAL_DISTANCE_M = 7.6
"""Mean straight-line distance from start to goal in R2R's training set (paper, section 5.2)."""
BLUR_SIZE_M, BLUR_SIGMA_M = 22.5, 3.55
"""45 cells of 0.5 m, and the σ that OpenCV gives a blur of that size: 0.3 · (44 / 2 − 1) + 0.8 = 7.1 cells."""


class HandCoded(nn.Module):
    """The hand-coded baseline: it has no weights and reads no words."""

    def __init__(self, config: HandCodedModelConfig) -> None:
        super().__init__()
        self.config = config

    @torch.no_grad()
    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        cells, plan = seen.cells, seen.plan
        grid = Grid(cells.rows, cells.cols, self.config.mapper.cell_m)
        first = torch.full((cells.batch, cells.rows, cells.cols), cells.steps, device=plan.place.device)
        first.view(-1)[plan.place] = plan.first
        heat = [hand_coded_heat((first <= step)[:, None], briefing.start_xy_m, grid) for step in range(cells.steps)]
        return prediction_of(torch.stack(heat, 1), grid)


def hand_coded_heat(
    observed: Bool[Tensor, "b 1 y x"], start_xy_m: Float[Tensor, "b 2"], grid: Grid
) -> Float[Tensor, "b y x"]:
    """The paper's rule (section 5.2): of the positions at the usual distance from the start, the one with most of the
    observed area in a Gaussian neighbourhood.

    A one-cell-wide circle times the blurred observed area. The released code blurs the circle instead and multiplies
    by what is observed, which moves its peak inwards (to 6 m where all is seen), and misses half a cell.

    Args:
        observed: cells seen so far.
        start_xy_m: metres from the map's origin.
        grid: the map's grid.
    """
    centre = to_cells(start_xy_m * 1.0, grid)
    rows = torch.arange(grid.rows, device=centre.device, dtype=centre.dtype) - centre[:, 1, None]
    cols = torch.arange(grid.cols, device=centre.device, dtype=centre.dtype) - centre[:, 0, None]
    distance = torch.hypot(rows[:, :, None], cols[:, None, :])
    circle = ((distance - MEAN_GOAL_DISTANCE_M / grid.cell_m).abs() <= 0.5).to(centre.dtype)[:, None]
    half = round(BLUR_SIZE_M / grid.cell_m) // 2
    return (circle * gaussian_blur(observed.to(centre.dtype), BLUR_SIGMA_M / grid.cell_m, half))[:, 0]


def gaussian_blur(images: Float[Tensor, "b 1 y x"], sigma: float, half: int) -> Float[Tensor, "b 1 y x"]:
    """Blur with a (2 · half + 1)² Gaussian kernel of standard deviation `sigma` cells; zeros beyond the edge."""
    # Double precision: a GPU rounds convolutions of floats to 10 bits, and the peak moves.
    offsets = torch.arange(-half, half + 1, device=images.device, dtype=torch.float64)
    kernel = torch.softmax(-0.5 * (offsets / sigma) ** 2, 0)
    blurred = F.conv2d(images.double(), kernel.view(1, 1, -1, 1), padding=(half, 0))
    return F.conv2d(blurred, kernel.view(1, 1, 1, -1), padding=(0, half)).to(images.dtype)
