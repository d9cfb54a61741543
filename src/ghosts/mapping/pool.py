"""Depth pooled to the resolution of the features, over the readings that exist."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor


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
