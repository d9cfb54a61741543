"""What is seen from a place, by direction: the panorama's cells pooled into sectors and rings around it."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ghosts.mapping.cells import MapCells
from ghosts_sim.geometry import TAU, from_cells
from ghosts_sim.types import Grid


def sector_features(
    cells: MapCells, xy_m: Float[Tensor, "bs 2"], grid: Grid, sectors: int, rings_m: tuple[float, ...] = ()
) -> Float[Tensor, "bs sectors c"]:
    """Mean feature of the cells in each direction of each panorama; zero where nothing was seen.

    Args:
        cells: observed cells of all steps, with features.
        xy_m: where each panorama was taken, metres from the map's origin; number e · s + step.
        grid: of the maps.
        sectors: directions, the first centred on +x, counter-clockwise.
        rings_m: distances that divide a direction into near and far; ring-major along the axis of sectors.
    """
    panorama = cells.item * cells.steps + cells.step
    place_m = from_cells(torch.stack([cells.col, cells.row], 1).to(xy_m.dtype), grid)
    delta = place_m - xy_m[panorama]
    sector = to_sector(torch.atan2(delta[:, 1], delta[:, 0]), sectors)
    ring = torch.bucketize(delta.norm(dim=1), torch.tensor(rings_m, device=delta.device, dtype=delta.dtype))
    parts = sectors * (len(rings_m) + 1)
    bucket = panorama * parts + ring * sectors + sector
    total = cells.features.new_zeros(len(xy_m) * parts, cells.features.shape[1])
    count = cells.features.new_zeros(len(total)).index_add(0, bucket, torch.ones_like(delta[:, 0], dtype=total.dtype))
    return (total.index_add(0, bucket, cells.features) / count.clamp(min=1.0)[:, None]).unflatten(0, (-1, parts))


def to_sector(angle_rad: Float[Tensor, "*n"], sectors: int) -> Int[Tensor, "*n"]:
    """Number of the direction a mathematical angle falls into."""
    return torch.floor(angle_rad / (TAU / sectors) + 0.5).long() % sectors
