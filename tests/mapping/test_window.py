"""Windows: the same maps as on the big grid, aligned with the belief's cells; maps that grow."""

from __future__ import annotations

import numpy as np
import torch

from ghosts.config import MapperConfig
from ghosts.geometry import from_cells, to_cells
from ghosts.mapping.cells import cells_from_maps
from ghosts.mapping.mapper import Mapper
from ghosts.mapping.window import Window, growth_window, reach_window, reframe, reframe_cells, reframe_state
from ghosts.types import Grid

GRID = Grid(96, 96, 0.5)


def scene(low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(9)
    observed = torch.zeros(2, 3, 1, 96, 96, dtype=torch.bool)
    observed[..., low:high, low:high] = torch.rand(2, 3, 1, high - low, high - low) < 0.3
    return torch.randn(2, 3, 2, 96, 96) * observed, observed


def make() -> Mapper:
    torch.manual_seed(0)
    return Mapper(MapperConfig(features=2, channels=3))


def test_window_gives_the_same_maps() -> None:
    features, observed = scene(40, 61)
    cells, mapper = cells_from_maps(features, observed), make()
    window = reach_window(cells, GRID, reach_m=3.5)
    assert window == Window(row=38, col=38, rows=24, cols=24)
    whole, seen = mapper.unroll_cells(cells)
    small, small_seen = mapper.unroll_cells(reframe_cells(cells, window))
    torch.testing.assert_close(small, reframe(whole, window))
    assert torch.equal(small_seen, reframe(seen, window))
    assert int(small_seen.sum()) == int(seen.sum())


def test_reach_alone_and_the_whole_map() -> None:
    nothing = cells_from_maps(torch.zeros(1, 1, 2, 96, 96), torch.zeros(1, 1, 1, 96, 96, dtype=torch.bool))
    # 3 σ and 7 m are 17 cells to each side of the middle: 34, rounded up to 40, from an even cell.
    assert reach_window(nothing, GRID, reach_m=7.0) == Window(row=30, col=30, rows=40, cols=40)
    assert reach_window(nothing, GRID, reach_m=60.0) == Window(row=0, col=0, rows=96, cols=96)


def test_windows_stay_aligned_and_hold_everything() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        low = int(rng.integers(0, 90))
        high = int(rng.integers(low + 1, 97))
        size = int(rng.choice([96, 97, 90]))
        high = min(high, size)
        low = min(low, high - 1)
        observed = torch.zeros(1, 1, 1, size, size, dtype=torch.bool)
        observed[..., low:high, low:high] = True
        window = reach_window(cells_from_maps(torch.zeros(1, 1, 1, size, size), observed), Grid(size, size, 0.5), 2.0)
        assert window.row % 2 == 0
        assert window.rows % 8 == 0
        assert 0 <= window.row <= low
        assert window.row + window.rows >= high
        assert window.row + window.rows <= size or size % 8


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
    whole, seen = mapper.unroll(features, observed)

    small = Window(row=36, col=36, rows=24, cols=24)
    state = mapper.empty(2, 24, 24)
    for step in range(2):
        state = mapper.update(state, reframe(features[:, step], small), reframe(observed[:, step], small))
    grid = small.grid(GRID)
    growth = growth_window([(12.0, 12.0), (36.0, 12.0)], grid, margin_m=1.0)
    assert growth == Window(row=0, col=0, rows=24, cols=40)
    grown = reframe_state(state, growth)
    frame = Window(row=36, col=36, rows=24, cols=40)
    grown = mapper.update(grown, reframe(features[:, 2], frame), reframe(observed[:, 2], frame))
    torch.testing.assert_close(grown.map, reframe(whole[:, 2], frame))
    assert torch.equal(grown.observed, reframe(seen[:, 2], frame))


def test_growth_on_every_side_and_none() -> None:
    grid = Grid(16, 16, 0.5)
    assert growth_window([(8.0, 8.0)], grid, margin_m=2.0) == Window(0, 0, 16, 16)
    assert growth_window([(-1.0, 17.0), (12.0, 3.0)], grid, margin_m=2.0) == Window(-8, -8, 32, 32)
    assert growth_window([(-20.0, 8.0)], grid, margin_m=0.5) == Window(0, -24, 16, 40)
    state = make().empty(1, 16, 16)
    assert reframe_state(state, Window(0, 0, 16, 16)).map is state.map


def test_cells_outside_are_dropped() -> None:
    features, observed = scene(40, 60)
    cells = cells_from_maps(features, observed)
    window = Window(row=50, col=44, rows=8, cols=8)
    kept = reframe_cells(cells, window)
    expected = cells_from_maps(reframe(features, window), reframe(observed, window))
    assert kept.counts == expected.counts
    for name in ("features", "step", "item", "row", "col"):
        assert torch.equal(getattr(kept, name), getattr(expected, name))
