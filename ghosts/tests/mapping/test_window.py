"""Maps that grow are the same as on the big grid."""

from __future__ import annotations

import numpy as np
import torch

from ghosts.config import MapperConfig
from ghosts.mapping.mapper import Mapper, MapState
from ghosts.mapping.window import Window, growth_window, reframe
from ghosts_sim.geometry import from_cells, to_cells
from ghosts_sim.types import Grid
from mapping.whole_maps import unroll, update

GRID = Grid(96, 96, 0.5)


def scene(low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(9)
    observed = torch.zeros(2, 3, 1, 96, 96, dtype=torch.bool)
    observed[..., low:high, low:high] = torch.rand(2, 3, 1, high - low, high - low) < 0.3
    return torch.randn(2, 3, 2, 96, 96) * observed, observed


def make() -> Mapper:
    torch.manual_seed(0)
    return Mapper(MapperConfig(features=2, channels=3))


def test_origin_of_the_window_names_the_same_places() -> None:
    window = Window(row=-8, col=30, rows=40, cols=24)
    origin = np.array([[2.0, -3.0]])
    moved = window.origin(origin, GRID)
    cell = np.array([[35.0, 2.0]])  # column, row on the old grid
    place = origin + from_cells(cell, GRID)
    np.testing.assert_allclose(to_cells(place - moved, window.grid(GRID)), cell - [30.0, -8.0], atol=1e-12)
    assert torch.equal(window.origin(torch.from_numpy(origin), GRID), torch.from_numpy(moved))


def test_a_grown_map_continues_as_the_big_map_would() -> None:
    """Start on a small map, grow it when the agent leaves, and compare with the big map from the start."""
    features, observed = scene(36, 60)
    mapper = make()
    observed[:, 2, :, 36:60, 60:75] = torch.rand(2, 1, 24, 15) < 0.3
    features[:, 2] = torch.randn(2, 2, 96, 96) * observed[:, 2]
    whole, seen = unroll(mapper, features, observed)

    small = Window(row=36, col=36, rows=24, cols=24)
    state = mapper.empty(2, 24, 24)
    for step in range(2):
        state = update(mapper, state, reframe(features[:, step], small), reframe(observed[:, step], small))
    grid = small.grid(GRID)
    growth = growth_window([(12.0, 12.0), (36.0, 12.0)], grid, margin_m=1.0)
    assert growth == Window(row=0, col=0, rows=24, cols=40)
    grown = MapState(reframe(state.map, growth), reframe(state.observed, growth))
    frame = Window(row=36, col=36, rows=24, cols=40)
    grown = update(mapper, grown, reframe(features[:, 2], frame), reframe(observed[:, 2], frame))
    torch.testing.assert_close(grown.map, reframe(whole[:, 2], frame))
    assert torch.equal(grown.observed, reframe(seen[:, 2], frame))


def test_growth_on_every_side_and_none() -> None:
    grid = Grid(16, 16, 0.5)
    assert growth_window([(8.0, 8.0)], grid, margin_m=2.0) == Window(0, 0, 16, 16)
    assert growth_window([(-1.0, 17.0), (12.0, 3.0)], grid, margin_m=2.0) == Window(-8, -8, 32, 32)
    assert growth_window([(-20.0, 8.0)], grid, margin_m=0.5) == Window(0, -24, 16, 40)
    state = make().empty(1, 16, 16)
    assert reframe(state.map, Window(0, 0, 16, 16)) is state.map
