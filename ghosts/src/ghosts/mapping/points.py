"""Points in the world that carry a feature vector, and how images with depth become points (paper, section 4.1,
feature projection, first half)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import rays_through
from ghosts_sim.types import Intrinsics


@dataclass(frozen=True)
class Points:
    """Points of a batch of observations; an item is what one agent step sees, from however many views."""

    features: Float[Tensor, "b p c"]
    xyz_m: Float[Tensor, "b p 3"]
    """World frame. Never in half precision: a cell is 0.5 m and a building 100 m."""
    valid: Bool[Tensor, "b p"]
    """False for padding, pixels without depth and points above the height clip; their features must still be finite."""


def points_from_rgbd(
    features: Float[Tensor, "b v c h w"],
    depth_m: Float[Tensor, "b v H W"],
    camera_to_world: Float[Tensor, "b v 4 4"],
    intrinsics: Intrinsics,
    height_clip_m: float = 5.0,
) -> Points:
    """Un-project image features into the world: one point per feature pixel, any number of views per item.

    Rays go through the centres of the feature pixels. The geometry is computed in the precision of `camera_to_world`.

    Args:
        features: image features, coarser than the images by a whole or fractional factor.
        depth_m: z-depth at image resolution, 0 = no reading.
        camera_to_world: camera frame (x right, y down, z forward) to world.
        intrinsics: of the images at full resolution.
        height_clip_m: points more than this above their camera become invalid (the floor above, seen up a stairwell).

    Returns:
        `v * h * w` points per item, view-major.

    Raises:
        ConfigError: the depth images do not have the size the intrinsics say.
    """
    if depth_m.shape[-2:] != (intrinsics.height, intrinsics.width):
        raise ConfigError(
            f"depth images are {depth_m.shape[-2]} × {depth_m.shape[-1]} (rows × columns), "
            f"the intrinsics say {intrinsics.height} × {intrinsics.width}"
        )
    batch, views, channels, rows, cols = features.shape
    depth, valid = masked_depth_pool(depth_m.to(camera_to_world.dtype), (rows, cols))
    xyz = torch.einsum("bvij,bvhwj->bvhwi", camera_to_world[..., :3, :3], depth[..., None] * _rays(intrinsics, depth))
    valid = valid & (xyz[..., 2] <= height_clip_m)
    xyz = xyz + camera_to_world[:, :, None, None, :3, 3]
    return Points(
        features=features.permute(0, 1, 3, 4, 2).reshape(batch, views * rows * cols, channels),
        xyz_m=xyz.reshape(batch, -1, 3),
        valid=valid.reshape(batch, -1),
    )


def masked_depth_pool(
    depth_m: Float[Tensor, "*n H W"], size: tuple[int, int]
) -> tuple[Float[Tensor, "*n h w"], Bool[Tensor, "*n h w"]]:
    """Average the non-zero depths that fall into each cell of a coarser image.

    The released code leaves a cell without any reading at depth 0, so that its feature lands on the camera's own map
    cell; here the cell is reported as invalid and its point is never used.

    Args:
        depth_m: z-depth images, 0 = no reading; any leading axes.
        size: rows and columns of the result.

    Returns:
        The pooled depth (0 where there was no reading) and whether there was one.
    """
    leading = depth_m.shape[:-2]
    flat = depth_m.reshape(-1, 1, *depth_m.shape[-2:])
    known = (flat != 0).to(flat.dtype)
    total = F.adaptive_avg_pool2d(flat, size)
    share = F.adaptive_avg_pool2d(known, size)
    valid = share > 0
    pooled = total / torch.where(valid, share, torch.ones_like(share))
    return pooled.reshape(*leading, *size), valid.reshape(*leading, *size)


def _rays(intrinsics: Intrinsics, pooled: Float[Tensor, "b v h w"]) -> Float[Tensor, "h w 3"]:
    """Camera-frame rays with z = 1 through the centres of the pooled pixels.

    Each axis is scaled on its own: an image side that is no multiple of the stride keeps its true field of view.
    """
    rows, cols = pooled.shape[-2:]
    col = (np.arange(cols) + 0.5) * (intrinsics.width / cols)
    row = (np.arange(rows) + 0.5) * (intrinsics.height / rows)
    return torch.from_numpy(rays_through(intrinsics, col, row[:, None])).to(pooled)
