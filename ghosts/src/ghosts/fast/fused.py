"""The factorised kernel's predict step as one GPU kernel each way.

Written with torch alone, a step reads and writes tensors of K² channels five times forwards and about twelve times
backwards. Here they are read once, and the only one written is the gradient of the map part. Triton comes with torch's
CUDA builds; without it, or on a CPU, `kernel.FactorisedKernel` computes the same with torch.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

try:
    import triton
    import triton.language as tl  # pragma: no cover - needs a GPU
except ImportError:
    triton = None

BLOCK = 256
"""Cells per program."""


def can_fuse(flow: Tensor) -> bool:
    """Whether `distribute` can be used: float32 on a CUDA device, and Triton is there."""
    return triton is not None and flow.is_cuda and flow.dtype == torch.float32


if triton is not None:  # pragma: no cover - needs a GPU

    @triton.jit
    def _forward_kernel(
        maps, language, flow, arrival, moved, rows, cols, SIZE: tl.constexpr, BINS: tl.constexpr, CELLS: tl.constexpr
    ):
        item = tl.program_id(0).to(tl.int64)
        cell = tl.program_id(1) * CELLS + tl.arange(0, CELLS)
        area, on_map = rows * cols, cell < rows * cols
        row, col, bins = cell // cols, cell % cols, tl.arange(0, BINS)
        total = tl.zeros((BINS, CELLS), tl.float32)
        for entry in range(SIZE * SIZE):
            from_row, from_col = row - (entry // SIZE - SIZE // 2), col - (entry % SIZE - SIZE // 2)
            inside = on_map & (from_row >= 0) & (from_row < rows) & (from_col >= 0) & (from_col < cols)
            source = from_row * cols + from_col
            weight = tl.load(maps + (item * SIZE * SIZE + entry) * area + source, mask=inside, other=0.0)
            leaving = tl.load(
                flow + (item * BINS + bins[:, None]) * area + source[None, :], mask=inside[None, :], other=0.0
            )
            spoken = tl.load(language + (item * BINS + bins) * SIZE * SIZE + entry)
            turned = tl.load(arrival + bins * SIZE * SIZE + entry)
            total += turned[:, None] * (weight * tl.sum(leaving * spoken[:, None], 0))[None, :]
        tl.store(moved + (item * BINS + bins[:, None]) * area + cell[None, :], total, mask=on_map[None, :])

    @triton.jit
    def _backward_kernel(
        maps,
        language,
        flow,
        arrival,
        gradient,
        to_maps,
        to_language,
        to_flow,
        rows,
        cols,
        SIZE: tl.constexpr,
        BINS: tl.constexpr,
        CELLS: tl.constexpr,
    ):
        item, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
        cell = block * CELLS + tl.arange(0, CELLS)
        area, on_map = rows * cols, cell < rows * cols
        row, col, bins = cell // cols, cell % cols, tl.arange(0, BINS)
        own = (item * BINS + bins[:, None]) * area + cell[None, :]
        leaving = tl.load(flow + own, mask=on_map[None, :], other=0.0)
        total = tl.zeros((BINS, CELLS), tl.float32)
        for entry in range(SIZE * SIZE):
            to_row, to_col = row + (entry // SIZE - SIZE // 2), col + (entry % SIZE - SIZE // 2)
            inside = on_map & (to_row >= 0) & (to_row < rows) & (to_col >= 0) & (to_col < cols)
            target = to_row * cols + to_col
            wanted = tl.load(
                gradient + (item * BINS + bins[:, None]) * area + target[None, :], mask=inside[None, :], other=0.0
            )
            spoken = tl.load(language + (item * BINS + bins) * SIZE * SIZE + entry)
            turned = tl.load(arrival + bins * SIZE * SIZE + entry)
            value = tl.sum(wanted * turned[:, None], 0)
            place = (item * SIZE * SIZE + entry) * area + cell
            weight = tl.load(maps + place, mask=on_map, other=0.0)
            tl.store(to_maps + place, value * tl.sum(leaving * spoken[:, None], 0), mask=on_map)
            value *= weight
            total += spoken[:, None] * value[None, :]
            part = ((item * tl.num_programs(1) + block) * BINS + bins) * SIZE * SIZE + entry
            tl.store(to_language + part, tl.sum(leaving * value[None, :], 1))
        tl.store(to_flow + own, total, mask=on_map[None, :])


class _Distribute(torch.autograd.Function):  # pragma: no cover - needs a GPU
    @staticmethod
    def forward(ctx: Any, maps: Tensor, language: Tensor, flow: Tensor, arrival: Tensor) -> Tensor:
        inputs = tuple(value.contiguous() for value in (maps, language, flow, arrival))
        ctx.save_for_backward(*inputs)
        moved = torch.empty_like(inputs[2])
        rows, cols = maps.shape[-2:]
        _forward_kernel[_programs(maps)](*inputs, moved, rows, cols, math.isqrt(maps.shape[1]), flow.shape[1], BLOCK)
        return moved

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        maps, language, flow, arrival = ctx.saved_tensors
        to_maps, to_flow = torch.empty_like(maps), torch.empty_like(flow)
        programs = _programs(maps)
        # Summed afterwards rather than by atomics, whose order and so whose rounding differs from run to run.
        to_language = language.new_empty(programs[0], programs[1], *language.shape[1:])
        shape = *maps.shape[-2:], math.isqrt(maps.shape[1]), flow.shape[1], BLOCK
        _backward_kernel[programs](
            maps, language, flow, arrival, gradients[0].contiguous(), to_maps, to_language, to_flow, *shape
        )
        return to_maps, to_language.sum(1), to_flow, None


def _programs(maps: Tensor) -> tuple[int, int]:  # pragma: no cover - needs a GPU
    return len(maps), math.ceil(maps.shape[-2] * maps.shape[-1] / BLOCK)


def distribute(
    map_weights: Float[Tensor, "n k y x"],
    language_weights: Float[Tensor, "n c k"],
    flow: Float[Tensor, "n c y x"],
    arrival: Float[Tensor, "c k"],
) -> Float[Tensor, "n c y x"]:
    """Mass that arrives: Σ_k arrival[θ', k] · (m(k) Σ_θ l_θ(k) flow_θ), moved by displacement k.

    Differentiable in everything but `arrival`.

    Args:
        map_weights: m of a factorised kernel.
        language_weights: l, turned to each source heading.
        flow: mass over its normaliser, b_θ / Z_θ.
        arrival: weights of the new heading.
    """
    return _Distribute.apply(map_weights, language_weights, flow, arrival)  # pragma: no cover - needs a GPU
