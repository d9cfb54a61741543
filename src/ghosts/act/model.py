"""The whole model: words and observed cells in, beliefs about the demonstrator's trajectory out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.act.baselines import LingUNetBaseline
from ghosts.act.policy import Policy
from ghosts.belief.filter import FilterTrace, build_filter
from ghosts.belief.graphed import Track
from ghosts.belief.histogram import pose_belief
from ghosts.config import BaselineConfig, ModelConfig
from ghosts.language.decoder import InstructionModel, Latents
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import Mapper, MapState, Masks
from ghosts.mapping.points import Points
from ghosts.mapping.project import Reduce
from ghosts.mapping.stencil import Pooling, Stencil
from ghosts.mapping.tiles import place_tiles, tiles_from_points
from ghosts.types import Grid


@dataclass(frozen=True)
class GoalTrace:
    """Everything the model thought, for the maps of s agent steps of b episodes."""

    maps: Float[Tensor, "b s channels y x"]
    observed: Bool[Tensor, "b s 1 y x"]
    latents: Latents
    """Latent observations and actions, and the words they attend to."""
    filter: FilterTrace
    """Kernels, predictions, likelihoods and posteriors of every filter step."""
    grid: Grid
    """The belief's grid."""

    @property
    def beliefs(self) -> Float[Tensor, "b s t1 c y2 x2"]:
        """Belief at the start and after each filter step, on the map of each agent step."""
        return self.filter.beliefs


def cells_from_points(
    points: Points, steps: int, origin_xy_m: Float[np.ndarray, "b 2"], grid: Grid, reduce: Reduce = "max"
) -> MapCells:
    """Project points straight to observed cells; differentiable in the features.

    Args:
        points: one item an episode and agent step, episode-major.
        steps: agent steps s an episode.
        origin_xy_m: centre of each episode's map, on the lattice (`geometry.snap_origin`).
        grid: the maps' grid.
        reduce: how features that share a cell combine.
    """
    episodes = range(len(origin_xy_m))
    item = [episode for episode in episodes for _ in range(steps)]
    step = [step for _ in episodes for step in range(steps)]
    return place_tiles(tiles_from_points(points, grid.cell_m, reduce), item, step, origin_xy_m, grid)


class GoalModel(nn.Module):
    """Mapper + language + filter + policy. No state between calls; dropout masks and map states are passed in.

    Args:
        config: of all parts.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        latent = 3 * config.language.hidden
        self.language = InstructionModel(config.language)
        self.mapper = Mapper(config.mapper)
        self.filter = build_filter(config.mapper.channels, latent, config.filter)
        self.policy = Policy(config.policy, config.language.steps)

    def belief_grid(self, rows: int, cols: int) -> Grid:
        """The belief's grid for maps of this many cells."""
        return Grid(rows, cols, self.config.mapper.cell_m).coarser(self.config.filter.pool)

    def start_belief(
        self, start_xy_m: Float[Tensor, "b 2"], start_heading_rad: Float[Tensor, " b"], grid: Grid
    ) -> Float[Tensor, "b c y x"]:
        """The first belief: at the known start."""
        settings = self.config.filter
        return pose_belief(start_xy_m, start_heading_rad, grid, settings.sigma_m, settings.headings)

    def track(
        self,
        maps: Float[Tensor, "b s channels y x"],
        latents: Latents,
        start_xy_m: Float[Tensor, "b 2"],
        start_heading_rad: Float[Tensor, " b"],
    ) -> FilterTrace:
        """Filter the demonstrator's trajectory on given maps.

        Args:
            maps: of each agent step.
            latents: of each episode.
            start_xy_m: metres from the map's origin.
            start_heading_rad: clockwise from +y.
        """
        grid = self.belief_grid(maps.shape[-2], maps.shape[-1])
        start = self.start_belief(start_xy_m, start_heading_rad, grid)
        return self.filter(maps, latents.actions, latents.observations, start)

    def read(self, tokens: Int[Tensor, "b l"], lengths: Int[Tensor, " b"]) -> Latents:
        """Latents of instructions.

        Args:
            tokens: word ids, padded at the end.
            lengths: words of each instruction.
        """
        # Little work, many small steps: casts to half precision would cost more than they save.
        with torch.autocast(tokens.device.type, enabled=False):
            return self.language(tokens, lengths)

    def forward(
        self,
        cells: MapCells,
        tokens: Int[Tensor, "b l"],
        lengths: Int[Tensor, " b"],
        start_xy_m: Float[Tensor, "b 2"],
        start_heading_rad: Float[Tensor, " b"],
        masks: Masks | None = None,
        state: MapState | None = None,
        plan: Stencil | None = None,
    ) -> GoalTrace:
        """Read the instructions, then `follow` them; see there.

        Args:
            tokens: word ids of the instructions, padded at the end.
            lengths: words of each instruction.
        """
        return self.follow(cells, self.read(tokens, lengths), start_xy_m, start_heading_rad, masks, state, plan)

    def follow(
        self,
        cells: MapCells,
        latents: Latents,
        start_xy_m: Float[Tensor, "b 2"],
        start_heading_rad: Float[Tensor, " b"],
        masks: Masks | None = None,
        state: MapState | None = None,
        plan: Stencil | None = None,
    ) -> GoalTrace:
        """Beliefs for every agent step of every episode.

        Args:
            cells: what each agent step saw (`mapping.tiles.place_tiles`, or `cells_from_points`).
            latents: of the instructions (`read`).
            start_xy_m: metres from the map's origin.
            start_heading_rad: clockwise from +y.
            masks: the mapper's dropout (`mapper.draw_masks`), in training.
            state: maps to go on from; empty ones by default.
            plan: the mapper's stencil, when it was made beforehand.
        """
        maps, observed = self.mapper.unroll_cells(cells, masks, state, plan)
        trace = self.track(maps, latents, start_xy_m, start_heading_rad)
        return GoalTrace(maps, observed, latents, trace, self.belief_grid(cells.rows, cells.cols))

    def beliefs(
        self,
        cells: MapCells,
        latents: Latents,
        start_xy_m: Float[Tensor, "b 2"],
        start_heading_rad: Float[Tensor, " b"],
        plan: Stencil,
        coarse: Pooling,
        masks: Masks | None = None,
        track: Track | None = None,
    ) -> FilterTrace:
        """The filter's part of `follow`, without ever making whole maps: what training and evaluation need.

        Args:
            cells: as in `follow`, and the next three.
            latents: likewise.
            start_xy_m: likewise.
            start_heading_rad: likewise.
            plan: the mapper's stencil.
            coarse: the stencil's pooling to the belief's cells.
            masks: the mapper's dropout, in training.
            track: the filter, when it was captured (`act.captured`).
        """
        maps = self.mapper.unroll_pooled(cells, plan, coarse, masks)
        start = self.start_belief(start_xy_m, start_heading_rad, self.belief_grid(cells.rows, cells.cols))
        return (track or self.filter.on_pooled)(maps, latents.actions, latents.observations, start)


class LingUNetModel(nn.Module):
    """The LingUNet baseline with the same mapper and instruction encoder.

    Args:
        config: of mapper and language.
        baseline: of the LingUNet.
    """

    def __init__(self, config: ModelConfig, baseline: BaselineConfig) -> None:
        super().__init__()
        self.config = config
        self.language = InstructionModel(config.language)
        self.mapper = Mapper(config.mapper)
        self.head = LingUNetBaseline(config.mapper.channels, 2 * config.language.hidden, baseline)

    def forward(
        self,
        cells: MapCells,
        tokens: Int[Tensor, "b l"],
        lengths: Int[Tensor, " b"],
        masks: Masks | None = None,
        plan: Stencil | None = None,
    ) -> tuple[Float[Tensor, "b s y x"], Float[Tensor, "b s y x"]]:
        """Goal and path heat for every agent step; see `GoalModel.forward`."""
        maps, _ = self.mapper.unroll_cells(cells, masks, None, plan)
        return self.head(maps, self.language.encoder(tokens, lengths).sentence)
