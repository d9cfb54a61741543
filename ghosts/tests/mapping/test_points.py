"""Points: un-projection through pixel centres, masked depth pooling, what becomes invalid."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from ghosts.mapping.points import masked_depth_pool, points_from_rgbd
from ghosts_sim import geometry
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Intrinsics

LENS = Intrinsics(width=40, height=32, vfov_rad=math.pi / 3)


def pose(*positions: tuple[float, float, float], heading: float = 0.0, elevation: float = 0.0) -> torch.Tensor:
    matrices = geometry.camera_to_world(np.array(positions), heading, elevation)
    return torch.from_numpy(matrices)[None]


def test_full_resolution_features_follow_the_pixel_rays() -> None:
    rng = np.random.default_rng(5)
    depth = rng.uniform(1, 6, (32, 40))
    camera = pose((3.0, -2.0, 1.5), heading=0.7, elevation=-0.3)
    points = points_from_rgbd(torch.zeros(1, 1, 2, 32, 40), torch.from_numpy(depth)[None, None], camera, LENS)
    rays = geometry.pixel_rays(LENS) * depth[..., None]
    expected = rays @ camera[0, 0, :3, :3].numpy().T + camera[0, 0, :3, 3].numpy()
    np.testing.assert_allclose(points.xyz_m[0].numpy(), expected.reshape(-1, 3), atol=1e-12)
    assert points.valid.all()


def test_odd_feature_sizes_keep_the_field_of_view() -> None:
    """Centres of 3 columns over 40 pixels lie at 1/6, 3/6 and 5/6 of the image."""
    points = points_from_rgbd(torch.zeros(1, 1, 1, 1, 3), torch.ones(1, 1, 32, 40), pose((0.0, 0.0, 0.0)).float(), LENS)
    expected = (np.array([1, 3, 5]) / 6 - 0.5) * 40 / LENS.focal_px
    np.testing.assert_allclose(points.xyz_m[0, :, 0].numpy(), expected, atol=1e-6)


def test_no_depth_is_invalid_and_not_at_the_camera() -> None:
    depth = torch.full((1, 2, 32, 40), 2.0)
    depth[0, 1, :16, :20] = 0.0
    cameras = pose((0.0, 0.0, 1.0), (5.0, 0.0, 1.0)).float()
    features = torch.arange(8.0).reshape(1, 2, 1, 2, 2)
    points = points_from_rgbd(features, depth, cameras, LENS)
    assert points.valid.tolist() == [[True] * 4 + [False] + [True] * 3]
    assert points.features[0, :, 0].tolist() == list(range(8))


def test_height_clip_is_relative_to_the_camera() -> None:
    camera = pose((0.0, 0.0, 100.0), elevation=math.radians(60))
    depth = torch.full((1, 1, 32, 40), 4.0)
    features = torch.zeros(1, 1, 1, 32, 40)
    points = points_from_rgbd(features, depth, camera, LENS, height_clip_m=3.0)
    assert torch.equal(points.valid, points.xyz_m[..., 2] <= 103.0)
    assert 0 < int(points.valid.sum()) < points.valid.numel()
    assert points_from_rgbd(features, depth, camera, LENS, height_clip_m=5.0).valid.all()


def test_wrong_depth_size_is_named() -> None:
    with pytest.raises(ConfigError, match=r"depth images are 16 × 40.*32 × 40"):
        points_from_rgbd(torch.zeros(1, 1, 1, 4, 5), torch.zeros(1, 1, 16, 40), pose((0.0, 0.0, 0.0)).float(), LENS)


def test_depth_is_averaged_over_readings_only() -> None:
    depth = torch.tensor([[1.0, 3.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [4.0, 4.0, 0.0, 5.0], [4.0, 4.0, 0.0, 0.0]])
    pooled, valid = masked_depth_pool(depth, (2, 2))
    assert pooled.tolist() == [[2.0, 0.0], [4.0, 5.0]]
    assert valid.tolist() == [[True, False], [True, True]]


def test_golden_pooling(golden: Path) -> None:
    recorded = np.load(golden / "model" / "masked_pool.npz")
    expected = torch.from_numpy(recorded["pooled"])
    pooled, valid = masked_depth_pool(torch.from_numpy(recorded["depth"]), (4, 5))
    torch.testing.assert_close(pooled, expected, rtol=1e-5, atol=0.0)
    assert torch.equal(valid, expected != 0)
    assert (~valid).any()


def test_golden_unprojection(golden: Path) -> None:
    """World positions of the released code, which subtracts the start before it adds the pose."""
    recorded = np.load(golden / "model" / "projection.npz")
    # Recorded image i belongs to map i % 2; ours are [map, view].
    views = {
        name: torch.from_numpy(recorded[name].reshape(3, 2, *recorded[name].shape[1:])).transpose(0, 1)
        for name in ("T", "depth", "world_xyz", "features_nchw")
    }
    points = points_from_rgbd(views["features_nchw"], views["depth"][:, :, 0] / 4000.0, views["T"], LENS)
    expected = views["world_xyz"].reshape(2, -1, 3)
    torch.testing.assert_close(points.xyz_m, expected, rtol=1e-5, atol=2e-6)
