"""What lies in which direction of a place."""

from __future__ import annotations

import math

import torch

from ghosts.mapping.cells import MapCells, sector_features, to_sector
from ghosts_sim.types import Grid

GRID = Grid(8, 8, 1.0)


def cells() -> MapCells:
    """Seen from the middle: two cells east, one north; a second panorama sees one west."""
    return MapCells(
        features=torch.tensor([[1.0], [3.0], [5.0], [7.0]]),
        step=torch.tensor([0, 0, 0, 1]),
        item=torch.zeros(4, dtype=torch.long),
        row=torch.tensor([4, 4, 7, 4]),
        col=torch.tensor([6, 7, 4, 0]),
        counts=(3, 1),
        batch=1,
        rows=8,
        cols=8,
    )


def test_sectors_are_centred_on_their_directions() -> None:
    angles = torch.tensor([0.0, 0.7, 0.9, math.pi / 2, math.pi, -math.pi / 2, -0.1])
    assert to_sector(angles, 4).tolist() == [0, 0, 1, 1, 2, 3, 0]


def test_features_average_what_lies_in_a_direction() -> None:
    seen = sector_features(cells(), torch.full((2, 2), 0.5), GRID, 4)
    assert seen[:, :, 0].tolist() == [[2.0, 5.0, 0.0, 0.0], [0.0, 0.0, 7.0, 0.0]]


def test_rings_divide_directions_into_near_and_far() -> None:
    """The near cell east is 2 m away, the far one 3 m, those north and west 3 and 4 m."""
    seen = sector_features(cells(), torch.full((2, 2), 0.5), GRID, 4, (2.5, 3.5))
    near, middle, far = seen[:, :, 0].unflatten(1, (3, 4)).unbind(1)
    assert near.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    assert middle.tolist() == [[3.0, 5.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    assert far.tolist() == [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 7.0, 0.0]]
