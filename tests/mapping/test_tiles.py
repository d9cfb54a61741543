"""Tiles: placed on a map with a snapped origin they are what projection gives there."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ghosts.config import MapperConfig
from ghosts.errors import ConfigError
from ghosts.geometry import snap_origin
from ghosts.mapping.cells import maps_from_cells
from ghosts.mapping.mapper import Mapper
from ghosts.mapping.points import Points
from ghosts.mapping.project import project
from ghosts.mapping.tiles import Tiles, join_tiles, place_tiles, tiles_from_points
from ghosts.types import Grid


def sight(seed: int, batch: int = 6) -> Points:
    """Random points around random viewpoints tens of metres from the world's origin."""
    torch.manual_seed(seed)
    centre = torch.rand(batch, 1, 3, dtype=torch.float64) * 4 + torch.tensor([-31.0, 17.0, 0.0])
    where = centre + torch.randn(batch, 200, 3, dtype=torch.float64) * 2
    return Points(torch.randn(batch, 200, 3), where, torch.rand(batch, 200) > 0.2)


@pytest.mark.parametrize("grid", [Grid(24, 20, 0.5), Grid(21, 23, 0.5)])
@pytest.mark.parametrize("reduce", ["max", "sum"])
def test_placed_tiles_equal_projection(grid: Grid, reduce: str) -> None:
    points = sight(0)
    origin = snap_origin(points.xyz_m[:2, 0, :2].numpy(), grid)
    item, step = [0, 1, 0, 1, 0, 1], [0, 0, 2, 1, 1, 2]
    tiles = tiles_from_points(points, grid.cell_m, reduce)
    features, observed = maps_from_cells(place_tiles(tiles, item, step, origin, grid))
    expected, seen = project(points, torch.from_numpy(origin[item]), grid, reduce)
    for tile in range(6):
        torch.testing.assert_close(features[item[tile], step[tile]], expected[tile])
        assert torch.equal(observed[item[tile], step[tile]], seen[tile])


def test_mapper_input_equals_dense_path() -> None:
    grid = Grid(24, 24, 0.5)
    points = sight(1, batch=4)
    origin = snap_origin(points.xyz_m[:2, 0, :2].numpy(), grid)
    torch.manual_seed(0)
    mapper = Mapper(MapperConfig(features=3, channels=4))
    cells = place_tiles(tiles_from_points(points, 0.5), [0, 1, 0, 1], [0, 0, 1, 1], origin, grid)
    maps, seen = mapper.unroll_cells(cells)
    features, observed = project(points, torch.from_numpy(origin[[0, 1, 0, 1]]), grid)
    dense, dense_seen = mapper.unroll(
        features.view(2, 2, 3, 24, 24).transpose(0, 1), observed.view(2, 2, 1, 24, 24).transpose(0, 1)
    )
    torch.testing.assert_close(maps, dense)
    assert torch.equal(seen, dense_seen)


def test_lattice_cells_by_hand() -> None:
    where = torch.tensor([[[0.1, -0.1, 0.0], [0.4, -0.4, 1.0], [-1.2, 2.3, 0.0]]])
    tiles = tiles_from_points(Points(torch.tensor([[[1.0], [-2.0], [3.0]]]), where, torch.ones(1, 3) > 0), 0.5)
    assert tiles.cells.tolist() == [[-1, 0], [4, -3]]
    assert tiles.features.tolist() == [[1.0], [3.0]]
    assert tiles.counts == (2,)


def test_select_and_join() -> None:
    tiles = Tiles(torch.arange(6.0)[:, None], torch.arange(12).reshape(6, 2), (1, 0, 3, 2), 0.5)
    picked = tiles.select([2, 0, 1, 2])
    assert picked.counts == (3, 1, 0, 3)
    assert picked.features[:, 0].tolist() == [1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]
    assert picked.cells[:, 0].tolist() == [2, 4, 6, 0, 2, 4, 6]
    joined = join_tiles([tiles.select([0, 1]), tiles.select([2, 3])])
    assert joined.counts == tiles.counts
    assert torch.equal(joined.features, tiles.features)
    with pytest.raises(ConfigError, match=r"one cell size.*0\.25.*0\.5"):
        join_tiles([tiles, Tiles(tiles.features, tiles.cells, tiles.counts, 0.25)])


def test_half_precision_storage() -> None:
    tiles = tiles_from_points(sight(2), 0.5)
    small = Tiles(tiles.features.half(), tiles.cells, tiles.counts, 0.5)
    grid = Grid(40, 40, 0.5)
    origin = snap_origin(np.array([[-29.0, 19.0]]), grid)
    cells = place_tiles(small, [0] * 6, range(6), origin, grid)
    assert cells.features.dtype == torch.float16
    assert cells.steps == 6


def test_gradient_reaches_the_points() -> None:
    points = sight(3, batch=1)
    features = points.features.clone().requires_grad_()
    tiles = tiles_from_points(Points(features, points.xyz_m, points.valid), 0.5)
    tiles.features.sum().backward()
    assert features.grad.sum().item() == tiles.features.numel()
    assert (features.grad[~points.valid] == 0).all()


@pytest.mark.parametrize(
    ("item", "step", "origin", "cell_m", "message"),
    [
        ([0, 0], [1, 1], (0.0, 0.0), 0.5, "episode 0 has two tiles at step 1"),
        ([0, 1], [0, 0], (0.0, 0.0), 0.5, r"items must lie in \[0, 1\)"),
        ([0], [0], (0.0, 0.0), 0.5, "2 tiles need as many items and steps, got 1 and 1"),
        ([0, 0], [0, 1], (0.2, 0.0), 0.5, "off the lattice of 0.5 m; use snap_origin"),
        ([0, 0], [0, 1], (0.0, 0.0), 0.25, "tiles have cells of 0.5 m, the map of 0.25 m"),
    ],
)
def test_bad_places_are_named(item: list, step: list, origin: tuple, cell_m: float, message: str) -> None:
    tiles = Tiles(torch.zeros(2, 1), torch.zeros(2, 2, dtype=torch.int), (1, 1), 0.5)
    with pytest.raises(ConfigError, match=message):
        place_tiles(tiles, item, step, np.array([origin]), Grid(8, 8, cell_m))


def test_an_empty_view_is_an_empty_tile() -> None:
    blind = Points(torch.zeros(2, 4, 3), torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.bool))
    tiles = tiles_from_points(blind, 0.5)
    assert tiles.counts == (0, 0)
    cells = place_tiles(tiles, [0, 0], [0, 1], np.zeros((1, 2)), Grid(4, 4, 0.5))
    assert cells.counts == (0, 0)
    assert not maps_from_cells(cells)[1].any()
