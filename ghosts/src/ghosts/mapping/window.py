"""Maps that grow: a shift of the frame by whole cells.

A window's cells coincide with the old map's, and with those of the belief's coarser grid.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from jaxtyping import Shaped
from torch import Tensor

from ghosts_sim.types import Grid


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

    def origin(self, origin_xy_m: Any, old: Grid) -> Any:
        """The map's origin after the change of frame; array or tensor of shape `... 2`."""
        moved = origin_xy_m * 1.0
        moved[..., 0] += (self.col + self.cols / 2.0 - old.cols / 2.0) * old.cell_m
        moved[..., 1] += (self.row + self.rows / 2.0 - old.rows / 2.0) * old.cell_m
        return moved


def growth_window(col_rows: Iterable[tuple[float, float]], grid: Grid, margin_m: float, multiple: int = 8) -> Window:
    """The window that grows a map so that every position keeps a margin to its edge; the map itself if none is near it.

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
