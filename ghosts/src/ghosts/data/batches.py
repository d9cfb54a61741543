"""A batch: what episodes are told, what they see, and where they lead; no parameters, no pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.agent.interface import Briefing
from ghosts.fast.stencil import Stencil
from ghosts.mapping.mapper import Masks
from ghosts.mapping.observations import Observations
from ghosts_sim import geometry
from ghosts_sim.types import Grid


@dataclass(frozen=True)
class Batch:
    """`b` episodes of `s` agent steps."""

    briefing: Briefing
    seen: Observations
    rows: Int[Tensor, " n"] | None
    """Row of each observed cell in the tile bank, whose stored features are filled in on the device; None with labels
    (`dataset.Dataset.load`)."""
    path_xy_m: Float[Tensor, "b t 2"]
    """From the map's origin, as all positions here."""
    path_heading_rad: Float[Tensor, "b t"]
    goal_seen: Bool[Tensor, "b s"]
    """Whether the goal's cell has been observed by each agent step."""
    seen_m2: Float[Tensor, "b s"]
    """Area of the map observed by each agent step."""
    masks: Masks | None = None
    """The mapper's dropout, in training."""
    supervised: tuple[int, ...] | None = None
    """Agent steps that training supervises; None for all."""


def coverage(
    plan: Stencil, steps: int, goal_xy_m: Float[np.ndarray, "b 2"], grid: Grid
) -> tuple[Bool[Tensor, "b s"], Float[Tensor, "b s"]]:
    """Whether the goal's cell is seen, and the area seen, by each agent step."""
    place, first, batch = plan.place.numpy(), plan.first.numpy(), len(goal_xy_m)
    size = grid.rows * grid.cols
    new = np.bincount(place // size * steps + first, minlength=batch * steps).reshape(batch, steps)
    goal = geometry.map_cells(goal_xy_m, grid)
    flat = np.arange(batch) * size + goal[:, 1] * grid.cols + goal[:, 0]
    # The plan's places ascend, so that the goal's can be looked up; the end stands for never.
    at = np.searchsorted(place, flat)
    found = geometry.on_map(goal, grid) & (np.append(place, -1)[at] == flat)
    when = np.where(found, np.append(first, steps)[at], steps)
    area = new.cumsum(1) * grid.cell_m**2
    return torch.from_numpy(when[:, None] <= np.arange(steps)), torch.from_numpy(area).float()
