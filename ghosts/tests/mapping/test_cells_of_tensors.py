"""The one rule for cells holds for torch tensors as well (the rule itself: the simulator's tests of geometry)."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from ghosts_sim import geometry
from ghosts_sim.types import Grid


def test_what_is_nowhere_is_not_on_the_map() -> None:
    xy_m = torch.tensor([[0.1, -0.1], [-1.4, 0.9], [1.6, 0.0], [math.nan, 0.0], [1e30, 0.0]])
    grid = Grid(4, 6, 0.5)
    cells = geometry.map_cells(xy_m, grid)
    assert geometry.on_map(cells, grid).tolist() == [True, True, False, False, False]
    assert cells[:2].tolist() == [[3, 1], [0, 3]]


@pytest.mark.parametrize("grid", [Grid(8, 8, 0.5), Grid(9, 9, 0.5), Grid(9, 6, 0.5)])
def test_tensors_lie_in_the_cells_of_arrays(grid: Grid) -> None:
    points = np.array([[0.5, 0.5], [1.0, 1.0], [0.0, -0.5], [0.49, 0.99], [-1.5, 0.25]])
    for cells in (lambda xy: geometry.lattice_cells(xy, 0.5), lambda xy: geometry.map_cells(xy, grid)):
        assert cells(torch.tensor(points)).tolist() == cells(points).tolist()
