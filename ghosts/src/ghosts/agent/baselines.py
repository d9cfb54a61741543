"""The paper's two baselines for goal prediction: LingUNet on the same map, and a hand-coded circle."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ghosts.agent.model import Briefing, Prediction, Vectors
from ghosts.belief.histogram import arg_max_m, gaussian, normalise
from ghosts.belief.lingunet import LingUNet
from ghosts.config import BaselineConfig, ModelConfig
from ghosts.mapping.cells import CellFeatures
from ghosts.mapping.mapper import Mapper, Masks
from ghosts.mapping.observations import Observations
from ghosts.words.decoder import InstructionModel
from ghosts_sim.geometry import to_cells
from ghosts_sim.types import Grid

MEAN_GOAL_DISTANCE_M = 7.6
"""Mean straight-line distance from start to goal in R2R's training set (paper, section 5.2)."""
BLUR_SIZE_M, BLUR_SIGMA_M = 22.5, 3.55
"""45 cells of 0.5 m, and the σ that OpenCV gives a blur of that size: 0.3 · (44 / 2 − 1) + 0.8 = 7.1 cells."""


class LingUNetModel(nn.Module):
    """The LingUNet baseline with the filter's own mapper and instruction encoder; made as `GoalModel` is."""

    def __init__(
        self, config: ModelConfig, baseline: BaselineConfig, labels: int = 0, vectors: Vectors | None = None
    ) -> None:
        super().__init__()
        self.config, vectors = config, vectors or Vectors()
        self.features = CellFeatures(config.mapper.features, labels, vectors.labels)
        self.language = InstructionModel(config.language, vectors.words)
        self.mapper = Mapper(config.mapper)
        self.head = LingUNetBaseline(config.mapper.channels, 2 * config.language.hidden, baseline)

    def forward(
        self, briefing: Briefing, seen: Observations, masks: Masks | None = None
    ) -> tuple[Float[Tensor, "b s y x"], Float[Tensor, "b s y x"]]:
        """Goal and path heat for every agent step; see `GoalModel.forward`."""
        maps = self.mapper(replace(seen, cells=self.features(seen.cells)), None, masks).maps()
        return self.head(maps, self.language.encoder(briefing.tokens, briefing.lengths).sentence)

    @torch.no_grad()
    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        """See `model.Predictor`."""
        heat, _ = self(briefing, seen)
        return _from_heat(heat.float(), Grid(seen.cells.rows, seen.cells.cols, self.config.mapper.cell_m))


class LingUNetBaseline(nn.Module):
    """Deep LingUNet from map and whole sentence to goal and path heat maps, at the map's resolution.

    Maps are padded to a multiple of 2^levels (96 → 96, or 128 for the paper's baseline map), so any size works.
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
    path_xy_m: Float[Tensor, "b p 2"], grid: Grid, sigma_m: float
) -> tuple[Float[Tensor, "b y x"], Float[Tensor, "b y x"]]:
    """Goal and path-visitation targets: Gaussians scaled to a maximum of 1.

    Args:
        path_xy_m: the demonstrator's positions, metres from the map's origin; the last one is the goal.
        grid: the map's grid.
        sigma_m: of the Gaussians.
    """
    heat = gaussian(path_xy_m, grid, sigma_m)
    heat = heat / heat.amax((-2, -1), keepdim=True)
    return heat[:, -1], heat.amax(1)


def heat_loss(
    goal: Float[Tensor, "b s y x"],
    path: Float[Tensor, "b s y x"],
    goal_target: Float[Tensor, "b y x"],
    path_target: Float[Tensor, "b y x"],
) -> Float[Tensor, ""]:
    """Mean squared error of both heads."""
    return ((goal - goal_target[:, None]) ** 2 + (path - path_target[:, None]) ** 2).mean()


class HandCoded(nn.Module):
    """The hand-coded baseline: it has no weights and reads no words."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config

    @torch.no_grad()
    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        """See `model.Predictor`."""
        cells, plan = seen.cells, seen.plan
        grid = Grid(cells.rows, cells.cols, self.config.mapper.cell_m)
        first = torch.full((cells.batch, cells.rows, cells.cols), cells.steps, device=plan.place.device)
        first.view(-1)[plan.place] = plan.first
        heat = [hand_coded_heat((first <= step)[:, None], briefing.start_xy_m, grid) for step in range(cells.steps)]
        return _from_heat(torch.stack(heat, 1), grid)


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


def _from_heat(heat: Float[Tensor, "b s y x"], grid: Grid) -> Prediction:
    """Heat as a distribution: negative heat counts as 0, and no heat at all gives the uniform distribution.

    Heat is no probability, so its peak is the goal.
    """
    mass, peak = normalise(heat.clamp(min=0.0)[:, :, None])[:, :, 0], arg_max_m(heat[:, :, None], grid)
    return Prediction(peak, peak, mass, grid)
