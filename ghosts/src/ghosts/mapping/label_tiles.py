"""Tiles of landmarks: lattice cells with labels on them instead of features, any number per cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float, Float32, Int, Int32, Int64, UInt16
from torch import Tensor

from ghosts.mapping.cells import CellLabels, MapCells, place_cells, ragged_rows, starts_of
from ghosts.mapping.landmark_views import ALL_ROUND, LandmarkView
from ghosts_sim.geometry import lattice_cells
from ghosts_sim.types import Grid
from ghosts_sim.values import require


@dataclass(frozen=True, eq=False)
class LabelTiles:
    """Tiles one after the other; within a tile cells are sorted by row, then column, each once."""

    counts: Int64[np.ndarray, " tiles"]
    """Cells of each tile."""
    cells: Int32[np.ndarray, "n 2"]
    """(row, column) on the world's lattice."""
    starts: Int64[np.ndarray, " n1"]
    """Cell k has labels `starts[k]` to `starts[k + 1]`."""
    label: Int32[np.ndarray, " m"]
    weight: Float32[np.ndarray, " m"]
    """Probability that the cell holds the label."""
    sectors: UInt16[np.ndarray, " m"]
    """Bits of the directions in which each label is seen (`landmark_views.LandmarkView`)."""
    vectors: Float[Tensor, "labels d"] | None = None
    """Vector of each label, where labels are read by their meaning."""

    def labels_of(self, rows: Int[np.ndarray, " k"]) -> CellLabels:
        """Labels of the named cells, numbered in the order named."""
        owner, picked = ragged_rows(self.starts, rows)
        label, weight = torch.from_numpy(self.label[picked].astype(np.int64)), torch.from_numpy(self.weight[picked])
        sectors = torch.from_numpy(self.sectors[picked].astype(np.int32))
        return CellLabels(torch.from_numpy(owner), label, weight, self.vectors, sectors)

    def pick(self, tiles: Int[np.ndarray, " k"]) -> LabelTiles:
        """Some of the tiles, in the order named."""
        _, rows = ragged_rows(starts_of(self.counts), tiles)
        _, entries = ragged_rows(self.starts, rows)
        return LabelTiles(
            counts=self.counts[tiles],
            cells=self.cells[rows],
            starts=starts_of(np.diff(self.starts)[rows]),
            label=self.label[entries],
            weight=self.weight[entries],
            sectors=self.sectors[entries],
            vectors=self.vectors,
        )


def label_tiles(
    views: Sequence[LandmarkView], cell_m: float, vectors: Float[Tensor, "labels d"] | None = None
) -> LabelTiles:
    """A tile per view, one after the other: points of one label in one cell merge, their weights add up to at most 1.

    The lattice is the one of `geometry.snap_origin`, so a viewpoint's tile serves every map and can be cached.

    Args:
        views: labelled points.
        cell_m: side of a cell.
        vectors: of each label, where labels are read by their meaning.
    """
    require(cell_m > 0.0, "cell_m must be positive", cell_m)
    cells, entries, ids, weights, sectors = [], [], [], [], []
    for view in views:
        lattice = lattice_cells(view.xyz_m[:, :2], cell_m)
        low = lattice.min(0, initial=0)
        column, row = (lattice - low).T
        columns, labels = column.max(initial=0) + 1, view.label_id.max(initial=0) + 1
        # Row, column and label as one number: sorting rows of an array takes several times as long.
        merged, where = np.unique((row * columns + column) * labels + view.label_id, return_inverse=True)
        cell, label = np.divmod(merged, labels)
        places, count = np.unique(cell, return_counts=True)
        cells.append(np.stack(np.divmod(places, columns), 1) + low[::-1])
        entries.append(count)
        ids.append(label)
        # Two chairs in one cell are a cell with a chair; a line of floor points is one floor.
        weights.append(np.minimum(np.bincount(where, view.weight, len(merged)), 1.0))
        seen = np.full(len(merged), ALL_ROUND, np.uint16)
        if view.sectors is not None:
            seen[:] = 0
            np.bitwise_or.at(seen, where.reshape(-1), view.sectors)
        sectors.append(seen)
    return LabelTiles(
        counts=np.array([len(part) for part in cells], np.int64),
        cells=np.concatenate(cells).astype(np.int32),
        starts=starts_of(np.concatenate(entries)),
        label=np.concatenate(ids).astype(np.int32),
        weight=np.concatenate(weights).astype(np.float32),
        sectors=np.concatenate(sectors),
        vectors=vectors,
    )


def join_label_tiles(parts: Sequence[LabelTiles]) -> LabelTiles:
    """Tiles of several sets one after the other; all sets have the same labels."""
    return LabelTiles(
        counts=np.concatenate([part.counts for part in parts]),
        cells=np.concatenate([part.cells for part in parts]),
        starts=starts_of(np.concatenate([np.diff(part.starts) for part in parts])),
        label=np.concatenate([part.label for part in parts]),
        weight=np.concatenate([part.weight for part in parts]),
        sectors=np.concatenate([part.sectors for part in parts]),
        vectors=parts[0].vectors,
    )


def cells_from_labels(
    view: LandmarkView, origin_xy_m: tuple[float, float], grid: Grid, vectors: Float[Tensor, "labels d"] | None = None
) -> MapCells:
    """Labelled points seen at one agent step of one episode as map cells, on the CPU.

    Args:
        view: the points, in the world.
        origin_xy_m: centre of the map, on the lattice.
        grid: of the map.
        vectors: of each label, where labels are read by their meaning.
    """
    tile = label_tiles([view], grid.cell_m, vectors)
    here = torch.zeros(len(tile.cells), dtype=torch.long)
    cells, kept = place_cells(torch.from_numpy(tile.cells), here, here, 1, np.array([origin_xy_m]), grid)
    return replace(cells, labels=tile.labels_of(kept.numpy()))
