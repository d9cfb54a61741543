"""Which observed cells lie under the kernel of which: the index work of the sparse map update, without gradients.

A GRU update writes only the cells observed at its step, so input-to-state and state-to-state convolutions are needed
there alone, and only their observed neighbours contribute. At the paper's shapes that is about 2 % of the map's cells
and about half of the kernel's taps.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.mapping.cells import MapCells
from ghosts_sim.types import Grid


@dataclass(frozen=True)
class Stencil:
    """Neighbourhoods of `n` cell observations on a table of `u` map cells (all cells seen by the end, or before)."""

    sources: Int[Tensor, "n k"]
    """Observations of the same step under each one's kernel; `n` where there is none."""
    inputs: Int[Tensor, " n"]
    """Observed cells under the kernel, at the same step."""
    cell: Int[Tensor, " n"]
    """Row of the table each observation updates."""
    neighbours: Int[Tensor, "n k"]
    """Rows of the table under the kernel; `u` where the cell is never seen."""
    seen: Bool[Tensor, "n k"]
    """Which neighbours had been seen before the observation's step."""
    place: Int[Tensor, " u"]
    """Position (item, row, col flattened) of each row of the table."""
    first: Int[Tensor, " u"]
    """Step at which each row of the table was first seen; −1 = before the first."""

    @cached_property
    def pairs(self) -> tuple[tuple[Int[Tensor, " p"], Int[Tensor, " p"]], ...]:
        """The sources as pairs: for each tap of the flattened kernel, sources and the observations they lie under."""
        tap, target = (len(self.sources) > self.sources.T).nonzero(as_tuple=True)
        source = self.sources[target, tap]
        counts = torch.bincount(tap, minlength=self.sources.shape[1]).tolist()
        return tuple(zip(source.split(counts), target.split(counts), strict=True))


def stencil(cells: MapCells, kernel: int, seen_before: Bool[Tensor, "b 1 y x"] | None = None) -> Stencil:
    """Neighbourhoods of the observed cells.

    Args:
        cells: the observations.
        kernel: side of the convolution, odd.
        seen_before: cells of the maps that the update starts from; none when it starts from empty maps.
    """
    pad = kernel // 2
    tall, wide = cells.rows + 2 * pad, cells.cols + 2 * pad
    count, device = len(cells.item), cells.item.device
    # Padded by half a kernel, a neighbour is a constant offset away and never on another row or map.
    inside = (cells.row + pad) * wide + cells.col + pad
    on_map = cells.item * (tall * wide) + inside
    on_step = (cells.step * cells.batch + cells.item) * (tall * wide) + inside
    tap = torch.arange(-pad, pad + 1, device=device)
    offsets = (tap[:, None] * wide + tap).reshape(-1)

    order = torch.arange(count, device=device)
    # Only what is looked up is filled: a table of all maps at all steps is large.
    under = on_step[:, None] + offsets
    lookup = torch.empty(cells.steps * cells.batch * tall * wide, dtype=torch.long, device=device)
    lookup[under] = count
    lookup[on_step] = order
    sources = lookup[under]

    ever = torch.zeros(cells.batch, tall, wide, dtype=torch.bool, device=device)
    if seen_before is not None:
        ever[:, pad : pad + cells.rows, pad : pad + cells.cols] = seen_before[:, 0]
    before = ever.reshape(-1)
    table = before.index_fill(0, on_map, True).nonzero()[:, 0]
    lookup = torch.full((cells.batch * tall * wide,), len(table), device=device)
    lookup[table] = torch.arange(len(table), device=device)
    cell, neighbours = lookup[on_map], lookup[on_map[:, None] + offsets]
    never = torch.full((len(table) + 1,), cells.steps, device=device)
    first = never.scatter_reduce(0, cell, cells.step, "amin")
    first[:-1] = torch.where(before[table], -1, first[:-1])
    item, row, col = table // (tall * wide), table // wide % tall - pad, table % wide - pad
    return Stencil(
        sources=sources,
        inputs=(sources < count).sum(1),
        cell=cell,
        neighbours=neighbours,
        seen=first[neighbours] < cells.step[:, None],
        place=(item * cells.rows + row) * cells.cols + col,
        first=first[:-1],
    )


def whole_stencil(cells: MapCells, kernel: int, seen_before: Bool[Tensor, "1 1 y x"]) -> Stencil:
    """As `stencil`, of one agent step on one map, with the whole map as its table: no size depends on values.

    That is what a network can be exported with (`run.deploy`).
    """
    pad, count, device = kernel // 2, cells.item.shape[0], cells.item.device
    wide, area = cells.cols + 2 * pad, cells.rows * cells.cols
    tap = torch.arange(-pad, pad + 1, device=device)
    place = (cells.row + pad) * wide + cells.col + pad
    under = place[:, None] + (tap[:, None] * wide + tap).reshape(-1)
    observation = torch.full(((cells.rows + 2 * pad) * wide,), count, dtype=torch.long, device=device)
    sources = observation.index_copy(0, place, torch.arange(count, device=device))[under]
    number = F.pad(torch.arange(area, device=device).view(cells.rows, cells.cols), (pad,) * 4, value=-1).reshape(-1)
    neighbours = torch.where(number[under] < 0, area, number[under])
    ever = F.pad(seen_before.reshape(-1), (0, 1))
    return Stencil(
        sources=sources,
        inputs=(sources < count).sum(1),
        cell=cells.row * cells.cols + cells.col,
        neighbours=neighbours,
        seen=ever[neighbours],
        place=torch.arange(area, device=device),
        first=torch.where(ever[:-1], -1, 0),
    )


@dataclass(frozen=True)
class Pooling:
    """Which rows of a stencil's table share a cell of a coarser map."""

    rows: Int[Tensor, "v p2"]
    """Rows of the table in each of `v` coarse cells; the table's last row, the empty cell, where one is never seen."""
    place: Int[Tensor, " v"]
    """Position (item, row, col flattened) of each coarse cell."""
    pool: int
    """Side of a coarse cell in cells."""


def pooling(plan: Stencil, cells: MapCells, pool: int) -> Pooling:
    """Coarse cells, `pool` cells wide, that hold anything of the table; `pool` divides the maps."""
    wide, area = Grid(cells.rows, cells.cols, 1.0).coarser(pool).cols, cells.rows * cells.cols
    item, row, col = plan.place // area, plan.place % area // cells.cols, plan.place % cells.cols
    coarse = item * (area // pool**2) + row // pool * wide + col // pool
    place, number = torch.unique(coarse, return_inverse=True)
    rows = torch.full((len(place), pool * pool), len(plan.place), device=coarse.device)
    rows[number, row % pool * pool + col % pool] = torch.arange(len(coarse), device=coarse.device)
    return Pooling(rows, place, pool)


def pair_conv(features: Float[Tensor, "n c"], plan: Stencil, weight: Float[Tensor, "d c k k"]) -> Float[Tensor, "n d"]:
    """Convolution of the observed cells at the observed cells, without bias: a product per tap, of pairs that exist."""
    # Unbound rather than indexed: the gradient of an index is a whole kernel of zeros, once per tap.
    taps = weight.permute(2, 3, 1, 0).flatten(0, 1).unbind(0)
    centre = len(taps) // 2
    result = features @ taps[centre]
    for tap, (source, target) in enumerate(plan.pairs):
        if tap != centre and len(source):
            product = features.index_select(0, source) @ taps[tap]
            result = result.index_add(0, target, product)
    return result


def table_conv(
    table: Float[Tensor, "u c"], neighbours: Int[Tensor, "n k"], weight: Float[Tensor, "kc d"]
) -> Float[Tensor, "n d"]:
    """Convolution at `n` cells of a table whose last row is the empty cell, without bias; `weight` as `flat_weight`."""
    gathered = table.index_select(0, neighbours.reshape(-1))
    return gathered.view(-1, weight.shape[0]) @ weight


def flat_weight(weight: Float[Tensor, "d c k k"]) -> Float[Tensor, "kc d"]:
    """A convolution's weight as the matrix that multiplies a gathered neighbourhood."""
    return weight.permute(2, 3, 1, 0).reshape(-1, weight.shape[0])
