"""Convolution on maps of which only some cells were observed, in both kinds the paper and the released code use.

These are the definitions, on whole maps. `ghosts.mapping.stencil` computes the same at the observed cells alone.
"""

from __future__ import annotations

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor


def sparse_conv2d(
    values: Float[Tensor, "b c y x"],
    observed: Bool[Tensor, "b 1 y x"],
    weight: Float[Tensor, "d c k k"],
    bias: Float[Tensor, " d"] | None = None,
) -> tuple[Float[Tensor, "b d y x"], Bool[Tensor, "b 1 y x"]]:
    """Sparsity-aware convolution (Uhrig et al. 2017): the average over observed inputs, then the bias.

    The plain convolution of the observed values is divided by the number of observed cells under the kernel; where
    there is none, the result is the bias alone.

    Returns:
        The result and its mask: observed where any cell under the kernel is (a max-pooling of the mask).
    """
    known = observed.to(values.dtype)
    side = weight.shape[-1]
    count = F.conv2d(known, known.new_ones(1, 1, side, side), padding=side // 2)
    result = F.conv2d(values * known, weight, padding=side // 2) / count.clamp(min=1.0)
    return result if bias is None else result + bias[:, None, None], count > 0.5


def masked_conv2d(
    values: Float[Tensor, "b c y x"],
    observed: Bool[Tensor, "b 1 y x"],
    weight: Float[Tensor, "d c k k"],
    bias: Float[Tensor, " d"] | None = None,
) -> tuple[Float[Tensor, "b d y x"], Bool[Tensor, "b 1 y x"]]:
    """Plain convolution, zero where the cell itself was not observed (released code).

    Returns:
        The result and its mask, which is the one given.
    """
    return F.conv2d(values, weight, bias, padding=weight.shape[-1] // 2) * observed.to(values.dtype), observed
