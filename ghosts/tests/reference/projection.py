"""Points straight onto a whole map: what tiles, placed on a map with a snapped origin, must equal."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ghosts.mapping.points import Points
from ghosts_sim.geometry import map_cells, on_map
from ghosts_sim.types import Grid


def project(
    points: Points, origin_xy_m: Float[Tensor, "b 2"], grid: Grid, reduce: str = "max"
) -> tuple[Float[Tensor, "b c y x"], Bool[Tensor, "b 1 y x"]]:
    """Project points onto the map: drop z, then reduce the features that share a cell.

    Differentiable in the features. Where several points tie for a maximum, they share its gradient evenly. The maximum
    is over the points alone; the released code also counts a fill value of 0, which clips negative features and calls
    a cell observed only if one of its features is positive.

    Args:
        points: with `b` items.
        origin_xy_m: world position of each map's centre.
        grid: the maps' grid.
        reduce: "max" for image features (paper, section 4.1), "sum" for landmarks.

    Returns:
        The map, in channels-last memory order, zero where nothing was observed; and the cells that received a point.
    """
    batch, count, channels = points.features.shape
    cell = map_cells(points.xyz_m[..., :2] - origin_xy_m[:, None].to(points.xyz_m.dtype), grid)
    inside, col, row = on_map(cell, grid) & points.valid, cell[..., 0], cell[..., 1]
    cells = batch * grid.rows * grid.cols
    item = torch.arange(batch, device=row.device)[:, None]
    # Dropped points go to one extra cell at the end: no data-dependent shape, so no wait for the device.
    flat = torch.where(inside, (item * grid.rows + row) * grid.cols + col, cells).reshape(-1)
    source = points.features.reshape(batch * count, channels)
    if reduce == "max":
        reduced = source.new_zeros(cells + 1, channels).scatter_reduce_(
            0, flat[:, None].expand(-1, channels), source, "amax", include_self=False
        )
    else:
        reduced = source.new_zeros(cells + 1, channels).index_add_(0, flat, source)
    observed = torch.zeros(cells + 1, dtype=torch.bool, device=flat.device).index_fill_(0, flat, True)
    return (
        reduced[:cells].view(batch, grid.rows, grid.cols, channels).permute(0, 3, 1, 2),
        observed[:cells].view(batch, 1, grid.rows, grid.cols),
    )
