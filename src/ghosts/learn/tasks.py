"""What is trained: a model with its input features and its loss, as one module that a batch goes through.

Every task predicts the goal on the map of every agent step, so that training and evaluation treat all rows of Table 1
alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Tensor, nn

from ghosts.act.baselines import hand_coded_heat, heat_loss, heat_targets
from ghosts.act.captured import Captured, capture
from ghosts.act.model import GoalModel, LingUNetModel
from ghosts.belief.filter import FilterTrace
from ghosts.belief.histogram import arg_max_m, marginal, normalise, pose_belief
from ghosts.belief.loss import filter_loss
from ghosts.config import BaselineConfig, ModelConfig
from ghosts.errors import ConfigError
from ghosts.learn.batches import Batch
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import Masks
from ghosts.presets import GoalKind
from ghosts.types import Grid


@dataclass(frozen=True)
class Prediction:
    """What a task says about the goal, for the map of every agent step."""

    goal_xy_m: Float[Tensor, "b s 2"]
    """Most likely position, metres from the map's origin."""
    goal: Float[Tensor, "b s y x"]
    """Distribution over the cells of `grid`."""
    grid: Grid


class CellFeatures(nn.Module):
    """Feature vectors of a batch's cells: stored ones, or the sum of learned label embeddings.

    Args:
        channels: of a feature vector.
        labels: number of labels; 0 when features are stored.
    """

    def __init__(self, channels: int, labels: int) -> None:
        super().__init__()
        self.channels = channels
        self.embedding = nn.Embedding(labels, channels) if labels else None

    @torch.no_grad()
    def start_from(self, labels: Int64[np.ndarray, " k"], vectors: Float32[np.ndarray, "k c"]) -> None:
        """Set the embeddings of some labels; the others keep their random start.

        Raises:
            ConfigError: features are stored, so that there are no labels.
        """
        if self.embedding is None:
            raise ConfigError(
                "this model reads tiles of images and knows no labels; leave out --landmarks.word-vectors"
            )
        self.embedding.weight[torch.from_numpy(labels)] = torch.from_numpy(vectors)

    def forward(self, batch: Batch, stored: Float[Tensor, "n c"] | None) -> MapCells:
        """The batch's cells with their features."""
        if self.embedding is None:
            if stored is None:
                raise ConfigError("this model reads tiles of images, but the data has landmarks; choose another preset")
            return replace(batch.cells, features=stored.index_select(0, batch.rows).float())
        if batch.labels is None:
            raise ConfigError("this model reads landmarks, but the data has tiles of images; choose another preset")
        vectors = self.embedding(batch.labels.label) * batch.labels.weight[:, None]
        features = vectors.new_zeros(len(batch.rows), self.channels).index_add(0, batch.labels.cell, vectors)
        return replace(batch.cells, features=features)


def filter_batch(
    model: GoalModel, cells: MapCells, batch: Batch, masks: Masks | None = None, captured: Captured | None = None
) -> FilterTrace:
    """The filter on every map of a batch.

    Args:
        model: language, mapper and filter.
        cells: the batch's, with their features.
        batch: everything else.
        masks: the mapper's dropout, in training.
        captured: language and filter as CUDA graphs, for batches of the shape they were captured for.
    """
    read, track = (captured.read, captured.track) if captured is not None else (model.read, None)
    latents = read(batch.tokens, batch.lengths)
    start = batch.start_xy_m, batch.start_heading_rad
    return model.beliefs(cells, latents, *start, batch.plan, batch.coarse, masks, track)


class GoalTask(nn.Module):
    """One row of Table 1.

    Args:
        kind: which.
        config: of mapper, language and filter.
        baseline: of the LingUNet row.
        labels: number of landmark labels; 0 for stored features.
    """

    def __init__(
        self, kind: GoalKind, config: ModelConfig, baseline: BaselineConfig | None = None, labels: int = 0
    ) -> None:
        super().__init__()
        self.kind, self.config, self.baseline = kind, config, baseline or BaselineConfig()
        self._captured: Captured | None = None
        if kind == "hand-coded":
            return
        self.features = CellFeatures(config.mapper.features, labels)
        self.model = GoalModel(config) if kind == "filter" else LingUNetModel(config, self.baseline)

    def capture(self, batch: int, steps: int, dtype: torch.dtype) -> None:
        """Train with language and filter as CUDA graphs from now on; see `act.captured`."""
        if isinstance(self.model, GoalModel):
            self._captured = capture(self.model, batch, steps, dtype)

    def draw_masks(self, batch: int, generator: torch.Generator) -> Masks | None:
        """Dropout masks of the map for a batch."""
        return self.model.mapper.draw_masks(batch, generator) if self.kind != "hand-coded" else None

    def forward(self, batch: Batch, stored: Float[Tensor, "n c"] | None, masks: Masks | None) -> Float[Tensor, ""]:
        """The training loss."""
        cells = self.features(batch, stored)
        if isinstance(self.model, GoalModel):
            trace = filter_batch(self.model, cells, batch, masks, self._captured if self.training else None)
            settings = self.config.filter
            grid = self.model.belief_grid(cells.rows, cells.cols)
            targets = pose_belief(batch.path_xy_m, batch.path_heading_rad, grid, settings.sigma_m, settings.headings)
            return filter_loss(trace.posteriors, targets)
        goal, path = self.model(cells, batch.tokens, batch.lengths, masks, plan=batch.plan)
        grid = self.config.mapper.grid
        everywhere = torch.ones(batch.path_xy_m.shape[:2], dtype=torch.bool, device=goal.device)
        goal_target, path_target = heat_targets(batch.path_xy_m, everywhere, grid, self.baseline.sigma_m)
        return heat_loss(goal, path, goal_target, path_target)

    @torch.no_grad()
    def predict(self, batch: Batch, stored: Float[Tensor, "n c"] | None) -> Prediction:
        """Goal distributions and their maxima, for the map of every agent step."""
        if self.kind == "hand-coded":
            return self._hand_coded(batch)
        cells = self.features(batch, stored)
        if isinstance(self.model, GoalModel):
            goal = filter_batch(self.model, cells, batch).goal
            grid = self.model.belief_grid(cells.rows, cells.cols)
            return Prediction(arg_max_m(goal, grid, radius=1), marginal(goal), grid)
        heat, _ = self.model(cells, batch.tokens, batch.lengths, plan=batch.plan)
        return _from_heat(heat.float(), self.config.mapper.grid)

    def _hand_coded(self, batch: Batch) -> Prediction:
        cells, grid = batch.cells, self.config.mapper.grid
        first = torch.full((cells.batch, cells.rows, cells.cols), cells.steps, device=cells.item.device)
        flat = (cells.item * cells.rows + cells.row) * cells.cols + cells.col
        first.view(-1).scatter_reduce_(0, flat, cells.step, "amin")
        heat = [hand_coded_heat((first <= step)[:, None], batch.start_xy_m, grid) for step in range(cells.steps)]
        return _from_heat(torch.stack(heat, 1), grid)


def _from_heat(heat: Float[Tensor, "b s y x"], grid: Grid) -> Prediction:
    """Heat as a distribution: what is negative counts as nothing, and nothing anywhere as anywhere."""
    mass = normalise(heat.clamp(min=0.0)[:, :, None])[:, :, 0]
    return Prediction(arg_max_m(heat[:, :, None], grid), mass, grid)
