"""Tiles: what a viewpoint shows of the ground plane, on the lattice of cells that all maps of a building share.

With a frozen backbone a viewpoint's projected features are constants. `geometry.snap_origin` puts every map's cells on
the world's lattice, so a tile is computed once, stored sparsely (about 190 cells) and placed on any episode's map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ghosts.errors import ConfigError
from ghosts.mapping.cells import MapCells
from ghosts.mapping.points import Points
from ghosts.mapping.project import Reduce
from ghosts.types import Grid

_SPAN = 1 << 20
"""Cells a side that a key can tell apart: 500 km of 0.5 m cells."""


@dataclass(frozen=True)
class Tiles:
    """A ragged batch of tiles, one after the other; within a tile cells are sorted by row, then column, each once."""

    features: Float[Tensor, "n c"]
    """Any float type; float16 is enough for storage."""
    cells: Int[Tensor, "n 2"]
    """(row, column) on the world's lattice: cell (r, c) covers y in [r, r + 1) and x in [c, c + 1) cell sides."""
    counts: tuple[int, ...]
    """Cells of each tile."""
    cell_m: float

    def __len__(self) -> int:
        return len(self.counts)

    def select(self, tiles: Sequence[int]) -> Tiles:
        """The named tiles, in the order given; a tile may be named more than once."""
        counts = np.array(self.counts, dtype=np.int64)
        starts, sizes = (np.cumsum(counts) - counts)[list(tiles)], counts[list(tiles)]
        rows = np.repeat(starts - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        index = torch.from_numpy(rows).to(self.cells.device)
        features, cells = self.features.index_select(0, index), self.cells.index_select(0, index)
        return Tiles(features=features, cells=cells, counts=tuple(sizes.tolist()), cell_m=self.cell_m)


def join_tiles(batches: Sequence[Tiles]) -> Tiles:
    """Several batches of tiles as one."""
    sides = {batch.cell_m for batch in batches}
    if len(sides) != 1:
        raise ConfigError(f"tiles to be joined must share one cell size, got {sorted(sides)} m")
    return Tiles(
        features=torch.cat([batch.features for batch in batches]),
        cells=torch.cat([batch.cells for batch in batches]),
        counts=tuple(count for batch in batches for count in batch.counts),
        cell_m=sides.pop(),
    )


def tiles_from_points(points: Points, cell_m: float, reduce: Reduce = "max") -> Tiles:
    """One tile an item of the batch. Differentiable in the features, with `project`'s rules.

    Equal to `project` on a map with a snapped origin, except for points exactly on the border of two cells, which
    `torch.round` sends to the even index: of the lattice here, of the map there.
    """
    item, point = points.valid.nonzero(as_tuple=True)
    nearest = (points.xyz_m[item, point, :2] / cell_m - 0.5).round().long()
    key = (item * _SPAN + nearest[:, 1] + _SPAN // 2) * _SPAN + nearest[:, 0] + _SPAN // 2
    cells, inverse = key.unique(return_inverse=True)
    flat = item * points.valid.shape[1] + point
    source = points.features.flatten(0, 1).index_select(0, flat)
    empty = source.new_zeros(len(cells), source.shape[1])
    if reduce == "max":
        features = empty.scatter_reduce_(0, inverse[:, None].expand_as(source), source, "amax", include_self=False)
    else:
        features = empty.index_add_(0, inverse, source)
    return Tiles(
        features=features,
        cells=torch.stack([cells // _SPAN % _SPAN - _SPAN // 2, cells % _SPAN - _SPAN // 2], 1).int(),
        counts=tuple(torch.bincount(cells // (_SPAN * _SPAN), minlength=len(points.valid)).tolist()),
        cell_m=cell_m,
    )


def place_tiles(
    tiles: Tiles,
    item: Sequence[int],
    step: Sequence[int],
    origin_xy_m: Float[np.ndarray, "b 2"],
    grid: Grid,
) -> MapCells:
    """Place tiles on the maps of a batch of episodes; cells off a map are dropped.

    Args:
        tiles: one for each observation.
        item: which episode each belongs to.
        step: at which agent step it was made; (item, step) pairs are distinct.
        origin_xy_m: centre of each episode's map, from `geometry.snap_origin`.
        grid: of the maps.

    Returns:
        The mapper's input: `b` episodes over `max(step) + 1` steps.
    """
    _check_places(tiles, item, step, len(origin_xy_m), grid)
    shift = _lattice_corner(origin_xy_m, grid)
    order = np.lexsort((np.asarray(item), np.asarray(step)))
    tiles, device = tiles.select(order.tolist()), tiles.cells.device
    counts = torch.tensor(tiles.counts, device=device)
    items = torch.tensor(np.asarray(item)[order], device=device).repeat_interleave(counts)
    steps = torch.tensor(np.asarray(step)[order], device=device).repeat_interleave(counts)
    place = tiles.cells.long() - torch.from_numpy(shift).to(device)[items]
    on_map = ((place >= 0) & (place < torch.tensor([grid.rows, grid.cols], device=device))).all(1).nonzero()[:, 0]
    return MapCells(
        features=tiles.features.index_select(0, on_map),
        step=steps[on_map],
        item=items[on_map],
        row=place[on_map, 0],
        col=place[on_map, 1],
        counts=tuple(torch.bincount(steps[on_map], minlength=max(step) + 1).tolist()),
        batch=len(origin_xy_m),
        rows=grid.rows,
        cols=grid.cols,
    )


def _check_places(tiles: Tiles, item: Sequence[int], step: Sequence[int], batch: int, grid: Grid) -> None:
    if not len(tiles) == len(item) == len(step) or not len(tiles):
        raise ConfigError(f"{len(tiles)} tiles need as many items and steps, got {len(item)} and {len(step)}")
    if tiles.cell_m != grid.cell_m:
        raise ConfigError(f"tiles have cells of {tiles.cell_m} m, the map of {grid.cell_m} m; make the tiles again")
    if min(item) < 0 or max(item) >= batch or min(step) < 0:
        raise ConfigError(f"items must lie in [0, {batch}) and steps be at least 0, got {list(item)} and {list(step)}")
    twice = [one for one, other in pairwise(sorted(zip(item, step, strict=True))) if one == other]
    if twice:
        raise ConfigError(f"episode {twice[0][0]} has two tiles at step {twice[0][1]}; join their points first")


def _lattice_corner(origin_xy_m: Float[np.ndarray, "b 2"], grid: Grid) -> Int[np.ndarray, "b 2"]:
    """Lattice (row, column) of each map's first cell."""
    exact = origin_xy_m[:, ::-1] / grid.cell_m - np.array([grid.rows, grid.cols]) / 2.0
    corner = np.round(exact)
    if np.abs(exact - corner).max(initial=0.0) > 1e-3:
        raise ConfigError(f"map origin {origin_xy_m.tolist()} is off the lattice of {grid.cell_m} m; use snap_origin")
    return corner.astype(np.int64)
