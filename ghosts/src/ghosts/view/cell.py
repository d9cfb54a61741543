"""What the filter thinks about one cell at one filter step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from ghosts.belief.filter import FilterTrace
from ghosts.belief.histogram import marginal


@dataclass(frozen=True, eq=False)
class CellView:
    """A cell, where its mass goes, and what there is of it for each heading."""

    row: int
    col: int
    xy_m: tuple[float, float]
    """The cell's centre in the world."""
    kernel: Float[np.ndarray, "c k k"]
    """Where mass that leaves this cell goes, for each source heading; rows grow with +y."""
    before: Float[np.ndarray, " c"]
    prediction: Float[np.ndarray, " c"]
    likelihood: Float[np.ndarray, " c"]
    posterior: Float[np.ndarray, " c"]


def kernel_of(trace: FilterTrace, filter_step: int, row: int, col: int, size: int) -> Float[np.ndarray, "c k k"]:
    """Where a unit of mass at one cell goes at a filter step (1 to T), by source heading, for any kind of kernel."""
    half, kernel = size // 2, trace.kernel_at(filter_step - 1)
    headings, rows, cols = trace.posteriors.shape[3:]
    moved = np.zeros((headings, rows + 2 * half, cols + 2 * half))
    for heading in range(headings):
        unit = torch.zeros(1, headings, rows, cols)
        unit[0, heading, row, col] = 1.0
        moved[heading, half:-half, half:-half] = marginal(kernel.propagate(unit))[0].double().numpy()
    return moved[:, row : row + size, col : col + size].copy()
