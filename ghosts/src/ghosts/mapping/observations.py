"""What the map takes in (paper, section 4.1): observed cells, and the index work of its update."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool
from torch import Tensor

from ghosts.devices import to_device
from ghosts.fast.stencil import Pooling, Stencil, pooling, stencil
from ghosts.mapping.cells import MapCells


@dataclass(frozen=True)
class Observations:
    """Observations of `b` episodes over `s` agent steps."""

    cells: MapCells
    plan: Stencil
    """Neighbourhoods of the cells."""
    coarse: Pooling
    """The plan's cells as the belief's cells."""

    def to(self, device: torch.device | str) -> Observations:
        """Move everything to a device."""
        return to_device(self, torch.device(device))


def observations_of(
    cells: MapCells, kernel: int, pool: int, seen_before: Bool[Tensor, "b 1 y x"] | None = None
) -> Observations:
    """Do the index work for observed cells.

    Args:
        cells: the observed cells.
        kernel: side of the map's convolutions.
        pool: belief cells are this many map cells wide.
        seen_before: cells of the maps that the update starts from; none where it starts from empty maps.
    """
    plan = stencil(cells, kernel, seen_before)
    return Observations(cells, plan, pooling(plan, cells, pool))
