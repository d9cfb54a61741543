"""The semantic map: a convolutional GRU that integrates each step's observed cells (paper, section 4.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.config import MapperConfig
from ghosts.errors import ConfigError
from ghosts.mapping.cells import MapCells, cells_from_maps
from ghosts.mapping.stencil import Pooling, Stencil, cell_conv, flat_weight, stencil, table_conv


@dataclass(frozen=True)
class MapState:
    """Maps of a batch of episodes. A map is zero where it was never observed."""

    map: Float[Tensor, "b c y x"]
    observed: Bool[Tensor, "b 1 y x"]


@dataclass(frozen=True)
class Masks:
    """Channel dropout of both convolutions' gates, fixed for an episode; already scaled by 1 / (1 − p)."""

    input: Float[Tensor, "b g"]
    state: Float[Tensor, "b g"]


class Mapper(nn.Module):
    """Conv-GRU over observed cells.

    The gates are reset, update and candidate, in this order along the channels of both convolutions. A cell changes
    only at the steps that observe it (the update gate is forced to "keep" elsewhere), so all is computed there alone.
    The maps may have any size; `config.rows` and `config.cols` are not used here.
    """

    def __init__(self, config: MapperConfig) -> None:
        super().__init__()
        self.config = config
        pad, gates = config.kernel // 2, 3 * config.channels
        self.input_to_state = nn.Conv2d(config.features, gates, config.kernel, padding=pad)
        self.state_to_state = nn.Conv2d(config.channels, gates, config.kernel, padding=pad)

    def draw_masks(self, batch: int, generator: torch.Generator | None = None) -> Masks:
        """Dropout masks for an episode in training; at evaluation pass None instead of masks.

        They keep the mean (the released code scales the wrong way round: mean 0.5 in training, 2 in evaluation). Drawn
        on the generator's device, the CPU by default, so that equal seeds give equal masks on every device.
        """
        keep, weight = 1.0 - self.config.dropout, self.input_to_state.weight
        device = generator.device if generator is not None else torch.device("cpu")
        drawn = torch.rand(2, batch, len(weight), generator=generator, device=device) < keep
        scaled = (drawn / keep).to(weight.dtype)
        if weight.is_cuda and not scaled.is_cuda:
            # From ordinary memory the copy would wait for all the GPU has still to do.
            scaled = scaled.pin_memory()
        scaled = scaled.to(weight.device, non_blocking=True)
        return Masks(input=scaled[0], state=scaled[1])

    def empty(self, batch: int, rows: int, cols: int) -> MapState:
        """Maps of which nothing was observed."""
        weight = self.state_to_state.weight
        return MapState(
            map=weight.new_zeros(batch, self.config.channels, rows, cols),
            observed=torch.zeros(batch, 1, rows, cols, dtype=torch.bool, device=weight.device),
        )

    def update(
        self,
        state: MapState,
        features: Float[Tensor, "b c y x"],
        observed: Bool[Tensor, "b 1 y x"],
        masks: Masks | None = None,
    ) -> MapState:
        """Integrate one step's projected features.

        Args:
            state: the maps so far.
            features: what `project` returned.
            observed: likewise.
            masks: of the episode, in training.
        """
        maps, seen = self.unroll(features[:, None], observed[:, None], masks, state)
        return MapState(map=maps[:, 0], observed=seen[:, 0])

    def unroll(
        self,
        features: Float[Tensor, "b s c y x"],
        observed: Bool[Tensor, "b s 1 y x"],
        masks: Masks | None = None,
        state: MapState | None = None,
    ) -> tuple[Float[Tensor, "b s m y x"], Bool[Tensor, "b s 1 y x"]]:
        """Maps after each of several steps; see `unroll_cells`."""
        return self.unroll_cells(cells_from_maps(features, observed), masks, state)

    def unroll_cells(
        self,
        cells: MapCells,
        masks: Masks | None = None,
        state: MapState | None = None,
        plan: Stencil | None = None,
    ) -> tuple[Float[Tensor, "b s m y x"], Bool[Tensor, "b s 1 y x"]]:
        """Maps after each of several steps, from the observed cells alone.

        Input-to-state is one batched call for all steps; only state-to-state is sequential.

        Args:
            cells: observations of all steps, for instance from cached tiles.
            masks: of the episode, in training.
            state: the maps to start from; empty ones when not given.
            plan: `stencil(cells, kernel, state.observed)`, when it was made beforehand (in a data loader, say).

        Returns:
            The map and the observed mask after each step. The maps are in channels-last memory order.
        """
        if plan is None:
            plan = stencil(cells, self.config.kernel, None if state is None else state.observed)
        return _spread(self._tables(cells, plan, masks, state), plan, cells)

    def unroll_pooled(
        self, cells: MapCells, plan: Stencil, coarse: Pooling, masks: Masks | None = None
    ) -> Float[Tensor, "b s m y2 x2"]:
        """Max-pooled maps after each of several steps, from empty ones: `unroll_cells`, then pooled, without the maps.

        At the paper's shapes a map has 49 times as many cells as are observed, so that whole maps of all steps would
        take most of an iteration's memory and much of its time.

        Args:
            cells: observations of all steps.
            plan: their stencil.
            coarse: the stencil's pooling.
            masks: of the episode, in training.

        Returns:
            Maps in channels-last memory order, in autocast's type where that is on.
        """
        tables = self._tables(cells, plan, masks, None)
        kind = tables.device.type
        if torch.is_autocast_enabled(kind):
            tables = tables.to(torch.get_autocast_dtype(kind))
        steps, channels = cells.steps, tables.shape[-1]
        shared = tables.index_select(1, coarse.rows.reshape(-1)).view(steps, *coarse.rows.shape, channels).amax(2)
        shape = (cells.batch, steps, cells.rows // coarse.pool, cells.cols // coarse.pool)
        return _write(shared, coarse.place, shape)

    def _tables(
        self, cells: MapCells, plan: Stencil, masks: Masks | None, state: MapState | None
    ) -> Float[Tensor, "s u1 m"]:
        """The table's cells after each step, the empty one last."""
        if cells.features.shape[1] != self.config.features:
            raise ConfigError(
                f"the mapper takes {self.config.features} features a cell (mapper.features), "
                f"got {cells.features.shape[1]}; make both the same"
            )
        # Split rather than sliced: the gradient of a slice is a whole tensor of zeros, once a step.
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
        return torch.stack(tables)

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
            added = bias.expand(len(scale), -1)
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


def gru(
    from_input: Float[Tensor, "n g"], from_state: Float[Tensor, "n g"], previous: Float[Tensor, "n m"]
) -> Float[Tensor, "n m"]:
    """The gates' arithmetic: reset, update, candidate. An update gate of 1 keeps the previous value."""
    if from_input.is_cuda:
        # torch's own fused cell, the same formula in one launch: 2.1 of 9.0 ms of a 6-step unroll on an H200.
        # Autocast would run it in half precision and hand back another type than the map's.
        with torch.autocast("cuda", enabled=False):
            return torch.ops.aten._thnn_fused_gru_cell(from_input.contiguous(), from_state.contiguous(), previous)[0]
    reset_x, update_x, new_x = from_input.chunk(3, -1)
    reset_h, update_h, new_h = from_state.chunk(3, -1)
    reset = torch.sigmoid(reset_x + reset_h)
    update = torch.sigmoid(update_x + update_h)
    new = torch.tanh(new_x + reset * new_h)
    return torch.lerp(new, previous, update)


def _spread(
    tables: Float[Tensor, "s u1 m"], plan: Stencil, cells: MapCells
) -> tuple[Float[Tensor, "b s m y x"], Bool[Tensor, "b s 1 y x"]]:
    """Write the tables of all steps onto whole maps."""
    area, steps = cells.rows * cells.cols, cells.steps
    shape = (cells.batch, steps, cells.rows, cells.cols)
    step = torch.arange(steps, device=tables.device)[:, None]
    seen = torch.zeros(cells.batch * steps * area, dtype=torch.bool, device=tables.device)
    seen[_places(plan.place, steps, area)] = plan.first <= step
    return _write(tables[:, :-1], plan.place, shape), seen.view(*shape)[:, :, None]


def _places(place: Int[Tensor, " u"], steps: int, area: int) -> Int[Tensor, "s u"]:
    """Positions on the maps of all steps (item, step, cell) of positions on one map an item."""
    step = torch.arange(steps, device=place.device)[:, None]
    return (place // area * steps + step) * area + place % area


def _write(
    values: Float[Tensor, "s u m"], place: Int[Tensor, " u"], shape: tuple[int, int, int, int]
) -> Float[Tensor, "b s m y x"]:
    """Values of each step at their places of otherwise empty maps."""
    batch, steps, rows, cols = shape
    channels, index = values.shape[-1], _places(place, steps, rows * cols).reshape(-1)
    maps = values.new_zeros(batch * steps * rows * cols, channels)
    return maps.index_copy_(0, index, values.reshape(-1, channels)).view(*shape, channels).permute(0, 1, 4, 2, 3)
