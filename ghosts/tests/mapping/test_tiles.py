"""Tiles: placed on a map with a snapped origin they are what projection gives there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from ghosts.equations import project
from ghosts.mapping.points import Points
from ghosts.mapping.tiles import Tiles, join_tiles, place_tiles, tiles_from_points
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import snap_origin
from ghosts_sim.types import Grid
from mapping.whole_maps import maps_from_cells, recorded_points


def sight(seed: int, batch: int = 6) -> Points:
    """Random points around random viewpoints tens of metres from the world's origin."""
    torch.manual_seed(seed)
    centre = torch.rand(batch, 1, 3, dtype=torch.float64) * 4 + torch.tensor([-31.0, 17.0, 0.0])
    where = centre + torch.randn(batch, 200, 3, dtype=torch.float64) * 2
    return Points(torch.randn(batch, 200, 3), where, torch.rand(batch, 200) > 0.2)


@pytest.mark.parametrize("grid", [Grid(24, 20, 0.5), Grid(21, 23, 0.5)])
def test_placed_tiles_equal_projection(grid: Grid) -> None:
    points = sight(0)
    origin = snap_origin(points.xyz_m[:2, 0, :2].numpy(), grid)
    tiles = tiles_from_points(points, grid.cell_m)
    features, observed = maps_from_cells(place_tiles(tiles, 3, origin, grid))
    expected, seen = project(points, torch.from_numpy(origin.repeat(3, 0)), grid)
    torch.testing.assert_close(features.flatten(0, 1), expected)
    assert torch.equal(observed.flatten(0, 1), seen)


@pytest.mark.parametrize(
    ("prefix", "grid", "clip_m"), [("", Grid(12, 12, 0.5), 5.0), ("odd/", Grid(13, 11, 0.5), 0.05)]
)
def test_golden(golden: Path, prefix: str, grid: Grid, clip_m: float) -> None:
    """The released code's maps start anywhere: the world is shifted so that they lie on the lattice."""
    points, recorded = recorded_points(golden, clip_m)
    origin = snap_origin(np.zeros((2, 2)), grid)
    shift = torch.from_numpy(origin - recorded["xyzhe_start"][:, :2])
    xyz_m = points.xyz_m + torch.cat([shift, torch.zeros(2, 1)], 1)[:, None]
    tiles = tiles_from_points(Points(points.features, xyz_m, points.valid), grid.cell_m)
    features, observed = maps_from_cells(place_tiles(tiles, 1, origin, grid))
    expected = torch.from_numpy(recorded[f"{prefix}spatial_map_nhwc"]).permute(0, 3, 1, 2)
    torch.testing.assert_close(features[:, 0], expected, rtol=1e-5, atol=0.0)
    assert torch.equal(observed[:, 0, 0].float(), torch.from_numpy(recorded[f"{prefix}mask"]))


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
    cells = place_tiles(small, 6, origin, grid)
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
    ("steps", "origin", "cell_m", "message"),
    [
        (1, (0.0, 0.0), 0.5, "1 episodes of 1 steps need a tile for each, got 2"),
        (2, (0.2, 0.0), 0.5, "off the lattice of 0.5 m; use snap_origin"),
        (2, (0.0, 0.0), 0.25, "tiles have cells of 0.5 m, the map of 0.25 m"),
    ],
)
def test_bad_places_are_named(steps: int, origin: tuple[float, float], cell_m: float, message: str) -> None:
    tiles = Tiles(torch.zeros(2, 1), torch.zeros(2, 2, dtype=torch.int), (1, 1), 0.5)
    with pytest.raises(ConfigError, match=message):
        place_tiles(tiles, steps, np.array([origin]), Grid(8, 8, cell_m))


def test_an_empty_view_is_an_empty_tile() -> None:
    blind = Points(torch.zeros(2, 4, 3), torch.zeros(2, 4, 3), torch.zeros(2, 4, dtype=torch.bool))
    tiles = tiles_from_points(blind, 0.5)
    assert tiles.counts == (0, 0)
    cells = place_tiles(tiles, 2, np.zeros((1, 2)), Grid(4, 4, 0.5))
    assert cells.counts == (0, 0)
    assert not maps_from_cells(cells)[1].any()
