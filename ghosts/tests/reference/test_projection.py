"""Projection: values by hand, the released code's answers, gradients, and turning the world."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from ghosts.mapping.points import Points, points_from_rgbd
from ghosts_sim.types import Grid, Intrinsics
from reference.projection import project

GRID = Grid(4, 6, 0.5)


def points(features: list, xy: list, valid: list | None = None) -> Points:
    """One item from plain lists."""
    place = torch.tensor([[[x, y, 9.0] for x, y in xy]])
    return Points(torch.tensor([features]), place, torch.tensor([valid or [True] * len(xy)]))


def test_max_per_cell_keeps_negative_features() -> None:
    seen = points([[-1.0, 5.0], [-2.0, 7.0], [3.0, 3.0], [9.0, 9.0]], [(0.1, 0.1), (0.2, 0.3), (-1.2, 0.6), (5.0, 0.0)])
    features, observed = project(seen, torch.zeros(1, 2), GRID)
    assert features[0, :, 2, 3].tolist() == [-1.0, 7.0]
    assert features[0, :, 3, 0].tolist() == [3.0, 3.0]
    assert observed.nonzero().tolist() == [[0, 0, 2, 3], [0, 0, 3, 0]]
    assert (features * ~observed == 0).all()


def test_sum_for_landmarks_and_invalid_points() -> None:
    seen = points([[1.0], [2.0], [40.0]], [(0.1, 0.1), (0.2, 0.3), (0.2, 0.2)], [True, True, False])
    features, observed = project(seen, torch.zeros(1, 2), GRID, reduce="sum")
    assert features[0, 0, 2, 3].item() == 3.0
    assert int(observed.sum()) == 1


def test_no_points_at_all() -> None:
    empty = Points(torch.zeros(2, 0, 3), torch.zeros(2, 0, 3), torch.zeros(2, 0, dtype=torch.bool))
    features, observed = project(empty, torch.zeros(2, 2), GRID)
    assert features.shape == (2, 3, 4, 6)
    assert not observed.any()


def test_batch_equals_items_alone() -> None:
    torch.manual_seed(2)
    batch = Points(torch.randn(3, 50, 4), torch.randn(3, 50, 3), torch.rand(3, 50) > 0.3)
    origin = torch.randn(3, 2)
    features, observed = project(batch, origin, GRID)
    for i in range(3):
        one = Points(batch.features[i : i + 1], batch.xyz_m[i : i + 1], batch.valid[i : i + 1])
        alone, seen = project(one, origin[i : i + 1], GRID)
        assert torch.equal(alone[0], features[i])
        assert torch.equal(seen[0], observed[i])


@pytest.mark.parametrize("grid", [Grid(8, 8, 0.5), Grid(9, 9, 0.5)])
@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_turning_the_world_turns_the_map(grid: Grid, quarters: int) -> None:
    torch.manual_seed(7)
    # Multiples of 1/64 m keep the turned coordinates exact.
    where = torch.randint(-150, 150, (2, 80, 3)) / 64.0 + 1 / 128
    origin = torch.randint(-64, 64, (2, 2)) / 64.0
    seen = Points(torch.randn(2, 80, 3), where, torch.ones(2, 80, dtype=torch.bool))
    turned_where, turned_origin = where.clone(), origin.clone()
    for _ in range(quarters):
        turned_where = torch.stack([-turned_where[..., 1], turned_where[..., 0], turned_where[..., 2]], -1)
        turned_origin = torch.stack([-turned_origin[:, 1], turned_origin[:, 0]], -1)
    features, observed = project(seen, origin, grid)
    turned, turned_observed = project(Points(seen.features, turned_where, seen.valid), turned_origin, grid)
    # Rows grow with +y, so a counter-clockwise turn of the world goes from axis x (3) to axis y (2).
    assert torch.equal(turned, torch.rot90(features, quarters, dims=(3, 2)))
    assert torch.equal(turned_observed, torch.rot90(observed, quarters, dims=(3, 2)))
    assert int(observed.sum()) > 30


@pytest.mark.parametrize("reduce", ["max", "sum"])
def test_gradcheck(reduce: str) -> None:
    torch.manual_seed(0)
    features = torch.randn(2, 12, 3, dtype=torch.float64, requires_grad=True)
    where = torch.rand(2, 12, 3, dtype=torch.float64) * 3.0 - 1.5
    valid = torch.rand(2, 12) > 0.2
    origin = torch.zeros(2, 2, dtype=torch.float64)
    assert torch.autograd.gradcheck(
        lambda values: project(Points(values, where, valid), origin, Grid(3, 3, 0.8), reduce)[0], (features,)
    )


def test_ties_share_the_gradient() -> None:
    features = torch.ones(1, 2, 1, requires_grad=True)
    seen = Points(features, torch.zeros(1, 2, 3), torch.ones(1, 2, dtype=torch.bool))
    project(seen, torch.zeros(1, 2), Grid(3, 3, 1.0))[0].sum().backward()
    assert features.grad.tolist() == [[[0.5], [0.5]]]


@pytest.mark.parametrize(
    ("prefix", "grid", "clip_m"), [("", Grid(12, 12, 0.5), 5.0), ("odd/", Grid(13, 11, 0.5), 0.05)]
)
def test_golden(golden: Path, prefix: str, grid: Grid, clip_m: float) -> None:
    """The recorded features are not negative and every pooled depth exists, so both definitions agree."""
    recorded = np.load(golden / "model" / "projection.npz")
    views = {
        name: torch.from_numpy(recorded[name].reshape(3, 2, *recorded[name].shape[1:])).transpose(0, 1)
        for name in ("T_w", "depth", "features_nchw")
    }
    lens = Intrinsics(width=40, height=32, vfov_rad=math.pi / 3)
    seen = points_from_rgbd(views["features_nchw"], views["depth"][:, :, 0] / 4000.0, views["T_w"], lens, clip_m)
    origin = torch.from_numpy(recorded["xyzhe_start"][:, :2])
    features, observed = project(seen, origin, grid)
    expected = torch.from_numpy(recorded[f"{prefix}spatial_map_nhwc"]).permute(0, 3, 1, 2)
    torch.testing.assert_close(features, expected, rtol=1e-5, atol=0.0)
    assert torch.equal(observed[:, 0].float(), torch.from_numpy(recorded[f"{prefix}mask"]))
