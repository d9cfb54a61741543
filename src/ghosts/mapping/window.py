"""The part of the map that matters, and maps that grow: both are a shift of the frame by whole cells.

An episode touches a small part of the paper's 48 m × 48 m. A window holds what was observed and what the filter can
reach; its cells coincide with the big map's, and with those of the belief's coarser grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Shaped
from torch import Tensor

from ghosts.config import require
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import MapState
from ghosts.types import Grid


@dataclass(frozen=True)
class Window:
    """A rectangle of a grid's cells; it may stick out, which pads the map."""

    row: int
    col: int
    """First row and column, counted on the old grid; negative = beyond its edge."""
    rows: int
    cols: int

    def grid(self, old: Grid) -> Grid:
        """The window's own grid."""
        return Grid(self.rows, self.cols, old.cell_m)

    def shift_m(self, old: Grid) -> tuple[float, float]:
        """What to add to a map's origin (x, y): the window's centre seen from the old map's."""
        return (
            (self.col + self.cols / 2.0 - old.cols / 2.0) * old.cell_m,
            (self.row + self.rows / 2.0 - old.rows / 2.0) * old.cell_m,
        )

    def origin(self, origin_xy_m: Any, old: Grid) -> Any:
        """The map's origin after the change of frame; array or tensor of shape `... 2`."""
        moved = origin_xy_m * 1.0
        x_m, y_m = self.shift_m(old)
        moved[..., 0] += x_m
        moved[..., 1] += y_m
        return moved


def reach_window(
    cells: MapCells, grid: Grid, reach_m: float, sigma_m: float = 0.5, multiple: int = 8, pool: int = 2
) -> Window:
    """The smallest window, common to the batch, that holds everything observed and everything the filter can reach.

    Args:
        cells: the observations.
        grid: their grid, whose centre is the start of the episode (to within a cell).
        reach_m: filter steps × 3.5 m.
        sigma_m: of the first belief; three of it are added to the reach.
        multiple: sides are multiples of this many cells (the U-Net halves them several times).
        pool: the first row and column are multiples of this, so that the belief's cells coincide.
    """
    require(multiple % pool == 0, "window multiple must be divisible by the pool", multiple)
    reach = math.ceil((reach_m + 3.0 * sigma_m) / grid.cell_m)
    sides = []
    for seen, size in ((cells.row, grid.rows), (cells.col, grid.cols)):
        first, last = size // 2 - reach, (size - 1) // 2 + reach
        if len(seen):
            first, last = min(first, int(seen.min())), max(last, int(seen.max()))
        sides.append(_align(max(first, 0), min(last, size - 1), size, multiple, pool))
    return Window(row=sides[0][0], col=sides[1][0], rows=sides[0][1], cols=sides[1][1])


def growth_window(col_rows: Iterable[tuple[float, float]], grid: Grid, margin_m: float, multiple: int = 8) -> Window:
    """The window that grows a map so that every position keeps a margin to its edge; the whole map if none is near.

    Args:
        col_rows: fractional cells (column, row) of the positions, from `geometry.to_cells`.
        grid: the present grid.
        margin_m: least distance between a position and the edge.
        multiple: each side grows by a multiple of this many cells, so that coarser grids stay aligned.
    """
    first, last = [0, 0], [grid.cols - 1, grid.rows - 1]
    margin = margin_m / grid.cell_m
    for position in col_rows:
        for axis, size in enumerate((grid.cols, grid.rows)):
            before = math.ceil(max(0.0, margin - position[axis] - 0.5) / multiple) * multiple
            after = math.ceil(max(0.0, position[axis] + 0.5 + margin - size) / multiple) * multiple
            first[axis], last[axis] = min(first[axis], -before), max(last[axis], size - 1 + after)
    return Window(row=first[1], col=first[0], rows=last[1] - first[1] + 1, cols=last[0] - first[0] + 1)


def reframe(values: Shaped[Tensor, "*n y x"], window: Window) -> Shaped[Tensor, "*n h w"]:
    """Maps seen through a window: cropped where it is smaller, zero or False where it sticks out. Differentiable."""
    rows, cols = values.shape[-2:]
    sides = (-window.col, window.col + window.cols - cols, -window.row, window.row + window.rows - rows)
    return values if not any(sides) else F.pad(values, sides)


def reframe_state(state: MapState, window: Window) -> MapState:
    """A map state seen through a window."""
    return MapState(map=reframe(state.map, window), observed=reframe(state.observed, window))


def reframe_cells(cells: MapCells, window: Window) -> MapCells:
    """Observed cells seen through a window; those outside are dropped."""
    row, col = cells.row - window.row, cells.col - window.col
    kept = ((row >= 0) & (row < window.rows) & (col >= 0) & (col < window.cols)).nonzero()[:, 0]
    moved = replace(cells, row=row, col=col, rows=window.rows, cols=window.cols)
    if len(kept) == len(row):
        return moved
    step = cells.step[kept]
    return replace(
        moved,
        features=cells.features.index_select(0, kept),
        step=step,
        item=cells.item[kept],
        row=row[kept],
        col=col[kept],
        counts=tuple(torch.bincount(step, minlength=cells.steps).tolist()),
    )


def _align(first: int, last: int, size: int, multiple: int, pool: int) -> tuple[int, int]:
    """First cell and number of cells of an aligned interval that holds [first, last], inside the map if it fits."""
    first -= first % pool
    count = math.ceil((last + 1 - first) / multiple) * multiple
    if first + count > size:
        first = max(0, (size - count) // pool * pool)
        count = max(count, math.ceil((last + 1 - first) / multiple) * multiple)
    return first, count
