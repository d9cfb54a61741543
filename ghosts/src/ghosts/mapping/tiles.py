"""Tiles: what a viewpoint shows of the ground plane (paper, section 4.1, feature projection, second half).

Their cells lie on the lattice that all maps of a building share.

With a frozen backbone a viewpoint's projected features are constants. `geometry.snap_origin` puts every map's cells on
the world's lattice, so a tile is computed once, stored sparsely (about 190 cells) and placed on any episode's map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from ghosts.mapping.cells import MapCells, place_cells, ragged_rows, starts_of
from ghosts.mapping.points import Points
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import lattice_cells, lattice_corner
from ghosts_sim.types import Grid

_SPAN = 1 << 20
"""Cells per side that a key can tell apart: 500 km of 0.5 m cells."""


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
        _, rows = ragged_rows(starts_of(np.array(self.counts)), np.array(tiles))
        index = torch.from_numpy(rows).to(self.cells.device)
        features, cells = self.features.index_select(0, index), self.cells.index_select(0, index)
        return Tiles(features, cells, tuple(self.counts[tile] for tile in tiles), self.cell_m)


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


def tiles_from_points(points: Points, cell_m: float) -> Tiles:
    """One tile per item of the batch. Differentiable in the features: those that tie for a maximum share its gradient.

    The maximum is over the points alone. The released code also counts a fill value of 0, which clips negative
    features and calls a cell observed only if one of its features is positive.
    """
    item, point = points.valid.nonzero(as_tuple=True)
    cell = lattice_cells(points.xyz_m[item, point, :2], cell_m)
    key = (item * _SPAN + cell[:, 1] + _SPAN // 2) * _SPAN + cell[:, 0] + _SPAN // 2
    cells, inverse = key.unique(return_inverse=True)
    flat = item * points.valid.shape[1] + point
    source = points.features.flatten(0, 1).index_select(0, flat)
    empty = source.new_zeros(len(cells), source.shape[1])
    return Tiles(
        features=empty.scatter_reduce_(0, inverse[:, None].expand_as(source), source, "amax", include_self=False),
        cells=torch.stack([cells // _SPAN % _SPAN - _SPAN // 2, cells % _SPAN - _SPAN // 2], 1).int(),
        counts=tuple(torch.bincount(cells // (_SPAN * _SPAN), minlength=len(points.valid)).tolist()),
        cell_m=cell_m,
    )


def place_tiles(tiles: Tiles, steps: int, origin_xy_m: Float[np.ndarray, "b 2"], grid: Grid) -> MapCells:
    """Place tiles on the maps of a batch of episodes; cells off a map are dropped.

    Args:
        tiles: one per episode and agent step, episode-major.
        steps: agent steps per episode.
        origin_xy_m: centre of each episode's map, from `geometry.snap_origin`.
        grid: of the maps.
    """
    size = np.array([grid.cols, grid.rows])
    away = np.abs(origin_xy_m / grid.cell_m - size / 2.0 - lattice_corner(origin_xy_m, grid))
    if away.max(initial=0.0) > 1e-3:
        raise ConfigError(f"map origin {origin_xy_m.tolist()} is off the lattice of {grid.cell_m} m; use snap_origin")
    if len(tiles) != steps * len(origin_xy_m) or not len(tiles):
        raise ConfigError(f"{len(origin_xy_m)} episodes of {steps} steps need a tile for each, got {len(tiles)}")
    if tiles.cell_m != grid.cell_m:
        raise ConfigError(f"tiles have cells of {tiles.cell_m} m, the map of {grid.cell_m} m; make the tiles again")
    order = np.arange(len(tiles)).reshape(-1, steps).T.ravel()  # step by step, as the mapper takes them
    tiles, device = tiles.select(order.tolist()), tiles.cells.device
    item, step = (torch.from_numpy(part).to(device) for part in np.divmod(order, steps))
    counts = torch.tensor(tiles.counts, device=device)
    places = step.repeat_interleave(counts), item.repeat_interleave(counts)
    cells, kept = place_cells(tiles.cells, *places, steps, origin_xy_m, grid)
    return replace(cells, features=tiles.features.index_select(0, kept))
