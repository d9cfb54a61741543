"""The paper's two baselines for goal prediction: LingUNet on the same map, and a hand-coded circle."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ghosts.belief.histogram import gaussian
from ghosts.belief.lingunet import LingUNet
from ghosts.config import BaselineConfig
from ghosts.geometry import to_cells
from ghosts.types import Grid

MEAN_GOAL_DISTANCE_M = 7.6
"""Mean straight-line distance from start to goal in R2R's training set (paper, section 5.2)."""
BLUR_SIZE_M, BLUR_SIGMA_M = 22.5, 3.55
"""45 cells of 0.5 m, and the σ that OpenCV gives a blur of that size: 0.3 · (44 / 2 − 1) + 0.8 = 7.1 cells."""


class LingUNetBaseline(nn.Module):
    """Deep LingUNet from map and whole sentence to goal and path heat maps, at the map's resolution.

    Maps are padded to a multiple of 2^levels (96 → 96, or 128 for the paper's baseline map), so any size works.

    Args:
        channels: channels of the map.
        sentence: size of the sentence's encoding.
        config: LingUNet and σ.
    """

    def __init__(self, channels: int, sentence: int, config: BaselineConfig) -> None:
        super().__init__()
        self.multiple = 2**config.levels
        self.lingunet = LingUNet(channels, sentence, 2, config)

    def forward(
        self, maps: Float[Tensor, "b s channels y x"], sentence: Float[Tensor, "b e"]
    ) -> tuple[Float[Tensor, "b s y x"], Float[Tensor, "b s y x"]]:
        """Heat of being the goal, and of lying on the path, for the map of every agent step."""
        batch, steps, _, rows, cols = maps.shape
        below, right = -rows % self.multiple, -cols % self.multiple
        padded = F.pad(maps.flatten(0, 1), (0, right, 0, below))
        heat = self.lingunet(padded, sentence[:, None])[:, 0, :, :rows, :cols].unflatten(0, (batch, steps))
        return heat[:, :, 0], heat[:, :, 1]


def heat_targets(
    path_xy_m: Float[Tensor, "b p 2"], valid: Bool[Tensor, "b p"], grid: Grid, sigma_m: float
) -> tuple[Float[Tensor, "b y x"], Float[Tensor, "b y x"]]:
    """Goal and path-visitation targets: Gaussians scaled to a maximum of 1.

    Args:
        path_xy_m: the demonstrator's positions, metres from the map's origin; the last valid one is the goal.
        valid: False for padding, which follows the path.
        grid: the map's grid.
        sigma_m: of the Gaussians.
    """
    heat = gaussian(path_xy_m, grid, sigma_m)
    heat = heat / heat.amax((-2, -1), keepdim=True)
    last = valid.sum(1) - 1
    goal = heat[torch.arange(len(heat), device=heat.device), last]
    return goal, (heat * valid[..., None, None]).amax(1)


def heat_loss(
    goal: Float[Tensor, "b s y x"],
    path: Float[Tensor, "b s y x"],
    goal_target: Float[Tensor, "b y x"],
    path_target: Float[Tensor, "b y x"],
    valid: Bool[Tensor, "b s"] | None = None,
) -> Float[Tensor, ""]:
    """Mean squared error of both heads, averaged over the agent steps that count."""
    error = (goal - goal_target[:, None]) ** 2 + (path - path_target[:, None]) ** 2
    per_map = error.mean((-2, -1))
    if valid is None:
        return per_map.mean()
    return (per_map * valid).sum() / valid.sum().clamp(min=1)


def hand_coded_heat(
    observed: Bool[Tensor, "b 1 y x"],
    start_xy_m: Float[Tensor, "b 2"],
    grid: Grid,
    *,
    radius_m: float = MEAN_GOAL_DISTANCE_M,
    neighbourhood_m: float = 1.0,
) -> Float[Tensor, "b y x"]:
    """Hand-coded goal heat: at the usual distance from the start, where most of the map was seen.

    A one-cell-wide circle, blurred, times the observed area in a Gaussian neighbourhood. Distances are measured from
    cell centres to the true start; the released code misses half a cell.

    Args:
        observed: cells seen so far.
        start_xy_m: metres from the map's origin.
        grid: the map's grid.
        radius_m: of the circle.
        neighbourhood_m: σ of the neighbourhood.
    """
    centre = to_cells(start_xy_m, grid)
    rows = torch.arange(grid.rows, device=centre.device, dtype=centre.dtype) - centre[:, 1, None]
    cols = torch.arange(grid.cols, device=centre.device, dtype=centre.dtype) - centre[:, 0, None]
    distance = torch.hypot(rows[:, :, None], cols[:, None, :])
    circle = ((distance - radius_m / grid.cell_m).abs() <= 0.5).to(centre.dtype)[:, None]
    ring = gaussian_blur(circle, BLUR_SIGMA_M / grid.cell_m, round(BLUR_SIZE_M / grid.cell_m) // 2)
    sigma = neighbourhood_m / grid.cell_m
    seen = gaussian_blur(observed.to(centre.dtype), sigma, max(1, round(3.0 * sigma)))
    return (ring * seen)[:, 0]


def gaussian_blur(images: Float[Tensor, "b 1 y x"], sigma: float, half: int) -> Float[Tensor, "b 1 y x"]:
    """Blur with a (2 · half + 1)² Gaussian kernel of standard deviation `sigma` cells; zeros beyond the edge."""
    offsets = torch.arange(-half, half + 1, device=images.device, dtype=images.dtype)
    kernel = torch.softmax(-0.5 * (offsets / sigma) ** 2, 0)
    blurred = F.conv2d(images, kernel.view(1, 1, -1, 1), padding=(half, 0))
    return F.conv2d(blurred, kernel.view(1, 1, 1, -1), padding=(0, half))
