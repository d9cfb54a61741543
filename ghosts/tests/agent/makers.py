"""Small models and synthetic observations for the tests of this package."""

from __future__ import annotations

import math

import numpy as np
import torch

from ghosts.config import (
    FilterConfig,
    LanguageConfig,
    LingUNetConfig,
    MapperConfig,
    ModelConfig,
    ModelParts,
    MotionConfig,
)
from ghosts.mapping.observations import Observations, observations_of
from ghosts.mapping.points import Points
from ghosts.mapping.tiles import place_tiles, tiles_from_points
from ghosts.methods.ghost.model import GoalModel
from ghosts_sim.types import Intrinsics

CAMERA = Intrinsics(width=40, height=32, vfov_rad=math.radians(60))


def small_config(headings: int = 4, kind: str = "factorised", features: int = 8) -> ModelConfig:
    """A model of a few thousand weights on a 24 × 24 map of 0.5 m cells."""
    return ModelConfig(
        language=LanguageConfig(vocabulary=20, embedding=6, hidden=5, position=4, steps=3, dropout=0.0),
        mapper=MapperConfig(features=features, channels=6, rows=24, cols=24),
        filter=FilterConfig(
            headings=headings,
            motion=MotionConfig(kind=kind, hidden=4, branch=3, language=6),
            observation=LingUNetConfig(channels=5, language=4, output=6),
        ),
    )


def small_model(headings: int = 4, kind: str = "factorised", features: int = 8, labels: int = 0) -> GoalModel:
    """The same weights every time."""
    torch.manual_seed(0)
    return GoalModel(small_config(headings, kind, features), labels)


def random_points(items: int, count: int, features: int, seed: int = 0, reach_m: float = 5.0) -> Points:
    """Points around the world's origin, all valid."""
    generator = torch.Generator().manual_seed(seed)
    xyz = (torch.rand(items, count, 3, generator=generator, dtype=torch.float64) - 0.5) * 2 * reach_m
    values = torch.randn(items, count, features, generator=generator)
    return Points(values, xyz, torch.ones(items, count, dtype=torch.bool))


def seen_from(points: Points, steps: int, origin_xy_m: np.ndarray, config: ModelParts) -> Observations:
    """Points of each episode and step, episode-major, as what a model takes in."""
    grid = config.mapper.grid
    cells = place_tiles(tiles_from_points(points, grid.cell_m), steps, origin_xy_m, grid)
    return observations_of(cells, config.mapper.kernel, config.pool)
