"""Mass moved over the map without a scatter: a channel moved by its displacement is a view of a padded copy."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


class _Displace(torch.autograd.Function):
    """Channel (ky, kx) moved by `sign` times its displacement; its adjoint is the same with the sign turned round."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, sign: int) -> Tensor:
        ctx.sign = sign
        batch, channels, rows, cols = values.shape
        size = math.isqrt(channels)
        half = size // 2
        padded = F.pad(values, (half, half, half, half)).contiguous()
        item, plane, row, col = padded.stride()
        # Moved forwards, target cell z reads source z − δ: padded row z + 2·half − ky. Moved back: row z + ky.
        offset = padded.storage_offset() + (2 * half * (row + col) if sign > 0 else 0)
        strides = (item, size * plane - sign * row, plane - sign * col, row, col)
        moved = padded.as_strided((batch, size, size, rows, cols), strides, offset)
        return moved.reshape(batch, channels, rows, cols)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _Displace.apply(gradients[0], -ctx.sign), None


def displace(values: Float[Tensor, "n k y x"], *, back: bool = False) -> Float[Tensor, "n k y x"]:
    """Move channel k by its displacement: out[k, y + dy, x + dx] = in[k, y, x]; what leaves the map is dropped.

    Args:
        values: K² channels, K odd.
        back: move by the opposite displacement (the adjoint).
    """
    # Exporters know strides of fixed sizes only.
    return _gathered(values, back) if torch.compiler.is_exporting() else _Displace.apply(values, -1 if back else 1)


def _gathered(values: Float[Tensor, "n k y x"], back: bool) -> Float[Tensor, "n k y x"]:
    """As `displace`, by index."""
    (channels, rows, cols), device = values.shape[1:], values.device
    size = math.isqrt(channels)
    half = size // 2
    tap = torch.arange(size, device=device)[:, None]
    tap = tap if back else 2 * half - tap
    row, col = (torch.arange(count, device=device) + tap for count in (rows, cols))
    plane = torch.arange(channels, device=device).view(size, size, 1, 1)
    place = (plane * (rows + 2 * half) + row[:, None, :, None]) * (cols + 2 * half) + col[None, :, None]
    padded = F.pad(values, (half, half, half, half)).flatten(1)
    return padded.index_select(1, place.reshape(-1)).view(-1, channels, rows, cols)


def distribute(
    map_weights: Float[Tensor, "n k y x"],
    language_weights: Float[Tensor, "n c k"],
    flow: Float[Tensor, "n c y x"],
    arrival: Float[Tensor, "c k"],
) -> Float[Tensor, "n c y x"]:
    """Mass that arrives: Σ_k arrival[θ', k] · (m(k) Σ_θ l_θ(k) flow_θ), moved by displacement k.

    Args:
        map_weights: m of a factorised kernel.
        language_weights: l, turned to each source heading.
        flow: mass over its normaliser, b_θ / Z_θ.
        arrival: weights of the new heading.
    """
    leaving = map_weights * (language_weights.mT @ flow.flatten(2)).view_as(map_weights)
    return (arrival @ displace(leaving).flatten(2)).view_as(flow)
