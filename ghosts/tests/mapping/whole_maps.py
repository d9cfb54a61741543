"""Whole maps and lists of observed cells, turned into each other; the mapper driven by whole maps."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import Mapper, MapState, Masks
from ghosts.mapping.observations import observations_of
from ghosts.mapping.points import Points, points_from_rgbd
from ghosts_sim.types import Intrinsics


def cells_from_maps(features: Float[Tensor, "b s c y x"], observed: Bool[Tensor, "b s 1 y x"]) -> MapCells:
    """List the observed cells of whole maps. Differentiable in the features."""
    batch, steps, channels, rows, cols = features.shape
    step, item, row, col = observed[:, :, 0].transpose(0, 1).nonzero(as_tuple=True)
    flat = features.permute(0, 1, 3, 4, 2).reshape(-1, channels)
    return MapCells(
        features=flat.index_select(0, ((item * steps + step) * rows + row) * cols + col),
        step=step,
        item=item,
        row=row,
        col=col,
        counts=tuple(torch.bincount(step, minlength=steps).tolist()),
        batch=batch,
        rows=rows,
        cols=cols,
    )


def maps_from_cells(cells: MapCells) -> tuple[Float[Tensor, "b s c y x"], Bool[Tensor, "b s 1 y x"]]:
    """Whole maps, zero where nothing was observed; inverse of `cells_from_maps`."""
    flat = ((cells.item * cells.steps + cells.step) * cells.rows + cells.row) * cells.cols + cells.col
    total, channels = cells.batch * cells.steps * cells.rows * cells.cols, cells.features.shape[1]
    shape = (cells.batch, cells.steps, cells.rows, cells.cols)
    features = cells.features.new_zeros(total, channels).index_copy_(0, flat, cells.features)
    observed = torch.zeros(total, dtype=torch.bool, device=flat.device).index_fill_(0, flat, True)
    return features.view(*shape, channels).permute(0, 1, 4, 2, 3), observed.view(*shape)[:, :, None]


def unroll(
    mapper: Mapper,
    features: Float[Tensor, "b s c y x"],
    observed: Bool[Tensor, "b s 1 y x"],
    masks: Masks | None = None,
    state: MapState | None = None,
) -> tuple[Float[Tensor, "b s m y x"], Bool[Tensor, "b s 1 y x"]]:
    """Maps after each of several steps, and what has been observed by then."""
    before = None if state is None else state.observed
    seen = observations_of(cells_from_maps(features, observed), mapper.config.kernel, 1, before)
    ever = observed if before is None else torch.cat([observed[:, :1] | before[:, None], observed[:, 1:]], 1)
    return mapper(seen, state, masks).maps(), ever.cumsum(1) > 0


def update(
    mapper: Mapper,
    state: MapState,
    features: Float[Tensor, "b c y x"],
    observed: Bool[Tensor, "b 1 y x"],
    masks: Masks | None = None,
) -> MapState:
    """One step on maps that are there."""
    cells = cells_from_maps(features[:, None], observed[:, None])
    return mapper(observations_of(cells, mapper.config.kernel, 1, state.observed), state, masks).last()


def recorded_points(golden: Path, clip_m: float) -> tuple[Points, dict[str, np.ndarray]]:
    """What the released code projected: the points of two maps, three views each, and everything that was recorded."""
    recorded = dict(np.load(golden / "model" / "projection.npz"))
    features, depth, poses = (
        torch.from_numpy(recorded[name].reshape(3, 2, *recorded[name].shape[1:])).transpose(0, 1)
        for name in ("features_nchw", "depth", "T_w")
    )
    lens = Intrinsics(width=40, height=32, vfov_rad=math.pi / 3)
    return points_from_rgbd(features, depth[:, :, 0] / 4000.0, poses, lens, clip_m), recorded
