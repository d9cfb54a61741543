"""Map observations as lists of observed cells: about 190 of the paper's 96 × 96 a step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


@dataclass(frozen=True)
class MapCells:
    """The observed cells of `b` episodes over `s` agent steps, sorted by step, each (step, item, row, col) once."""

    features: Float[Tensor, "n c"]
    step: Int[Tensor, " n"]
    item: Int[Tensor, " n"]
    row: Int[Tensor, " n"]
    col: Int[Tensor, " n"]
    counts: tuple[int, ...]
    """Cells of each step: step `s` is the slice after the first `sum(counts[:s])`."""
    batch: int
    rows: int
    cols: int
    """Size of the maps."""

    @property
    def steps(self) -> int:
        """Agent steps."""
        return len(self.counts)

    def to(self, device: torch.device | str, dtype: torch.dtype | None = None) -> MapCells:
        """Move to a device; `dtype` is for the features."""
        places = {name: getattr(self, name).to(device) for name in ("step", "item", "row", "col")}
        return replace(self, features=self.features.to(device, dtype), **places)


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
