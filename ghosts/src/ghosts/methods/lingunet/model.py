"""LingUNet on the filter's map: the paper's baseline for goal prediction (section 5.2)."""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from ghosts.agent.interface import Briefing, Prediction, Vectors
from ghosts.belief.histogram import arg_max_m, gaussian, normalise
from ghosts.belief.lingunet import LingUNet
from ghosts.mapping.cells import CellFeatures
from ghosts.mapping.mapper import Mapper, Masks
from ghosts.mapping.observations import Observations
from ghosts.methods.lingunet.settings import HeatConfig, HeatModelConfig
from ghosts.words.decoder import InstructionModel
from ghosts_sim.types import Grid


class LingUNetModel(nn.Module):
    """The LingUNet baseline with the filter's own mapper and instruction encoder; made as `GoalModel` is."""

    def __init__(self, config: HeatModelConfig, labels: int = 0, vectors: Vectors | None = None) -> None:
        super().__init__()
        self.config, vectors = config, vectors or Vectors()
        self.features = CellFeatures(config.mapper.features, labels, vectors.labels)
        self.language = InstructionModel(config.language, vectors.words)
        self.mapper = Mapper(config.mapper)
        self.head = LingUNetBaseline(config.mapper.channels, 2 * config.language.hidden, config.heat)

    def forward(
        self, briefing: Briefing, seen: Observations, masks: Masks | None = None
    ) -> tuple[Float[Tensor, "b s y x"], Float[Tensor, "b s y x"]]:
        """Goal and path heat for every agent step; see `GoalModel.forward`."""
        maps = self.mapper(replace(seen, cells=self.features(seen.cells)), None, masks).maps()
        return self.head(maps, self.language.encoder(briefing.tokens, briefing.lengths).sentence)

    @torch.no_grad()
    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        heat, _ = self(briefing, seen)
        return prediction_of(heat.float(), Grid(seen.cells.rows, seen.cells.cols, self.config.mapper.cell_m))


class LingUNetBaseline(nn.Module):
    """Deep LingUNet from map and whole sentence to goal and path heat maps, at the map's resolution.

    Maps are padded to a multiple of 2^levels (96 → 96, or 128 for the paper's baseline map), so any size works.
    """

    def __init__(self, channels: int, sentence: int, config: HeatConfig) -> None:
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


def prediction_of(heat: Float[Tensor, "b s y x"], grid: Grid) -> Prediction:
    """Heat as a distribution: negative heat counts as 0, and no heat at all gives the uniform distribution.

    Heat is no probability, so its peak is the goal.
    """
    mass, peak = normalise(heat.clamp(min=0.0)[:, :, None])[:, :, 0], arg_max_m(heat[:, :, None], grid)
    return Prediction(peak, peak, mass, grid)
