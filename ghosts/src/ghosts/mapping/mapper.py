"""The semantic map: a convolutional GRU that integrates each step's observed cells (paper, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.config import MapperConfig
from ghosts.fast.choose import cell_conv, gru
from ghosts.fast.stencil import Stencil, flat_weight, table_conv
from ghosts.mapping.cells import MapCells
from ghosts.mapping.observations import Observations
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid


@dataclass(frozen=True)
class MapState:
    """Maps of a batch of episodes. A map is zero where it was never observed."""

    map: Float[Tensor, "b m y x"]
    observed: Bool[Tensor, "b 1 y x"]

    def pooled(self, pool: int) -> Float[Tensor, "b 1 m y2 x2"]:
        """Max-pooled to the belief's cells, as one agent step."""
        return pool_maps(self.map, pool)[:, None]


@dataclass(frozen=True)
class MapSteps:
    """Maps after each of `s` steps, kept as their observed cells: a whole map has 49 times as many at the paper's
    shapes. Whole maps are written when asked for, in channels-last memory order.
    """

    tables: Float[Tensor, "s u1 m"]
    """The plan's cells after each step, the empty one last."""
    seen: Observations

    def pooled(self, steps: Sequence[int] | None = None) -> Float[Tensor, "b s m y2 x2"]:
        """Max-pooled to the belief's cells, after the named steps or all; in autocast's type where that is on."""
        tables, coarse, cells = self.tables, self.seen.coarse, self.seen.cells
        if steps is not None:
            tables = torch.stack([tables[step] for step in steps])
        kind = tables.device.type
        if torch.is_autocast_enabled(kind):
            tables = tables.to(torch.get_autocast_dtype(kind))
        count, channels = len(tables), tables.shape[-1]
        shared = tables.index_select(1, coarse.rows.reshape(-1)).view(count, *coarse.rows.shape, channels).amax(2)
        shape = (cells.batch, count, cells.rows // coarse.pool, cells.cols // coarse.pool)
        return _write(shared, coarse.place, shape)

    def maps(self) -> Float[Tensor, "b s m y x"]:
        """Whole maps, zero where nothing was observed."""
        cells = self.seen.cells
        return _write(self.tables[:, :-1], self.seen.plan.place, (cells.batch, cells.steps, cells.rows, cells.cols))

    def last(self) -> MapState:
        """The maps after the last step, to go on from."""
        cells, place = self.seen.cells, self.seen.plan.place
        shape = (cells.batch, 1, cells.rows, cells.cols)
        observed = torch.zeros(shape, dtype=torch.bool, device=place.device)
        observed.view(-1)[place] = True
        return MapState(_write(self.tables[-1:, :-1], place, shape)[:, 0], observed)


@dataclass(frozen=True)
class Masks:
    """Channel dropout of both convolutions' gates, fixed for an episode; already scaled by 1 / (1 − p)."""

    input: Float[Tensor, "b g"]
    state: Float[Tensor, "b g"]


def draw_masks(config: MapperConfig, batch: int, generator: torch.Generator | None = None) -> Masks:
    """Dropout masks of a batch in training, on the CPU, so that equal seeds give equal masks on every device.

    They keep the mean (the released code scales the wrong way round: mean 0.5 in training, 2 in evaluation).
    """
    keep = 1.0 - config.dropout
    scaled = (torch.rand(2, batch, 3 * config.channels, generator=generator) < keep) / keep
    return Masks(input=scaled[0], state=scaled[1])


class Mapper(nn.Module):
    """Conv-GRU over observed cells.

    The gates are reset, update and candidate, in this order along the channels of both convolutions. A cell changes
    only at the steps that observe it (elsewhere the update gate is forced to "keep"), so nothing else is computed.
    The maps may have any size; `config.rows` and `config.cols` are not used here.
    """

    def __init__(self, config: MapperConfig) -> None:
        super().__init__()
        self.config = config
        pad, gates = config.kernel // 2, 3 * config.channels
        self.input_to_state = nn.Conv2d(config.features, gates, config.kernel, padding=pad)
        self.state_to_state = nn.Conv2d(config.channels, gates, config.kernel, padding=pad)

    def empty(self, batch: int, rows: int, cols: int) -> MapState:
        """Maps of which nothing was observed."""
        weight = self.state_to_state.weight
        return MapState(
            map=weight.new_zeros(batch, self.config.channels, rows, cols),
            observed=torch.zeros(batch, 1, rows, cols, dtype=torch.bool, device=weight.device),
        )

    def forward(self, seen: Observations, state: MapState | None = None, masks: Masks | None = None) -> MapSteps:
        """Maps after each of several steps.

        Input-to-state is one batched call for all steps; only state-to-state is sequential.

        Args:
            seen: what each step observed, with features.
            state: the maps to go on from; empty ones when not given.
            masks: of the episode, in training.
        """
        cells, plan = seen.cells, seen.plan
        if cells.features.shape[1] != self.config.features:
            raise ConfigError(
                f"the mapper takes {self.config.features} features per cell (mapper.features), "
                f"got {cells.features.shape[1]}; make both the same"
            )
        # Split rather than sliced: the gradient of a slice is a whole tensor of zeros, once per step.
        from_input = self._input_gates(cells, plan, masks).split(cells.counts)
        scale, bias = (part.split(cells.counts) for part in self._state_scale(cells, plan, masks))
        rows, neighbours = plan.cell.split(cells.counts), plan.neighbours.split(cells.counts)
        table, tables, weight = self._table(plan, state), [], flat_weight(self.state_to_state.weight)
        for step in range(cells.steps):
            from_state = bias[step]
            if state is not None or step > 0:
                sums = table_conv(table, neighbours[step], weight).to(table.dtype)
                from_state = torch.addcmul(from_state, sums, scale[step])
            new = gru(from_input[step], from_state, table.index_select(0, rows[step]))
            table = table.index_copy(0, rows[step], new)
            tables.append(table)
        return MapSteps(torch.stack(tables), seen)

    def _input_gates(self, cells: MapCells, plan: Stencil, masks: Masks | None) -> Float[Tensor, "n g"]:
        """Input-to-state part of the gates at every observation."""
        weight, bias = self.input_to_state.weight, cast(Tensor, self.input_to_state.bias)
        gates = cell_conv(cells.features.to(weight.dtype), plan, weight).to(weight.dtype)
        if self.config.convolution == "sparse":
            gates = gates / plan.inputs[:, None]
        gates = gates + bias
        return gates if masks is None else gates * masks.input.index_select(0, cells.item)

    def _state_scale(
        self, cells: MapCells, plan: Stencil, masks: Masks | None
    ) -> tuple[Float[Tensor, "n #g"], Float[Tensor, "n g"]]:
        """What multiplies the state-to-state sums, and what is added after."""
        bias = cast(Tensor, self.state_to_state.bias)
        if self.config.convolution == "sparse":
            scale = 1.0 / plan.seen.sum(1, keepdim=True).clamp(min=1).to(bias.dtype)
            added = bias.expand(scale.shape[0], -1)
        else:
            # The convolution is masked by the cell's own past: a cell seen for the first time has no state part.
            scale = plan.seen[:, plan.seen.shape[1] // 2, None].to(bias.dtype)
            added = scale * bias
        if masks is None:
            return scale, added
        dropped = masks.state.index_select(0, cells.item)
        return scale * dropped, added * dropped

    def _table(self, plan: Stencil, state: MapState | None) -> Float[Tensor, "u m"]:
        """Present values of the table's cells, and the empty cell as its last row."""
        weight = self.state_to_state.weight
        if state is None:
            return weight.new_zeros(len(plan.place) + 1, self.config.channels)
        flat = state.map.permute(0, 2, 3, 1).reshape(-1, self.config.channels)
        return torch.cat([flat.index_select(0, plan.place), flat.new_zeros(1, self.config.channels)])


def pool_maps(maps: Float[Tensor, "n m y x"], pool: int) -> Float[Tensor, "n m y2 x2"]:
    """Max-pool maps to the belief's resolution."""
    Grid(maps.shape[-2], maps.shape[-1], 1.0).coarser(pool)  # refuses what does not divide
    return F.max_pool2d(maps, pool) if pool > 1 else maps


def _write(
    values: Float[Tensor, "s u m"], place: Int[Tensor, " u"], shape: tuple[int, int, int, int]
) -> Float[Tensor, "b s m y x"]:
    """Values of each step at their places (item, row, col flattened) of otherwise empty maps, channels last."""
    batch, steps, rows, cols = shape
    area, channels = rows * cols, values.shape[-1]
    step = torch.arange(steps, device=place.device)[:, None]
    index = ((place // area * steps + step) * area + place % area).reshape(-1)
    maps = values.new_zeros(batch * steps * area, channels)
    return maps.index_copy_(0, index, values.reshape(-1, channels)).view(*shape, channels).permute(0, 1, 4, 2, 3)
