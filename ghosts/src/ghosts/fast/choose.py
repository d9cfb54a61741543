"""The one place that chooses how something is computed: by the device of what is given.

| what | on a CPU | on a GPU |
| --- | --- | --- |
| convolution of the map's observed cells | a product per tap of the kernel (`stencil.pair_conv`) | one product of all neighbourhoods (`stencil.table_conv`) |
| gates of the map's GRU | written out | torch's fused cell |
| predict step of the factorised kernel | strided views (`strided.distribute`) | one Triton kernel (`fused.distribute`) |
| language and filter of a training iteration | as they are | CUDA graphs (`graphs.capture`), on a single GPU |
"""  # noqa: E501

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from ghosts.fast import fused, strided
from ghosts.fast.stencil import Stencil, flat_weight, pair_conv, table_conv


def cell_conv(features: Float[Tensor, "n c"], plan: Stencil, weight: Float[Tensor, "d c k k"]) -> Float[Tensor, "n d"]:
    """Convolution of the observed cells at the observed cells, without bias."""
    if features.is_cuda or torch.compiler.is_exporting():
        # About half of the products are with zeros; on a GPU they cost less than launching one product per tap. And an
        # exported network cannot leave out what depends on values.
        return table_conv(F.pad(features, (0, 0, 0, 1)), plan.sources, flat_weight(weight))
    return pair_conv(features, plan, weight)


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


def distribute(
    map_weights: Float[Tensor, "n k y x"],
    language_weights: Float[Tensor, "n c k"],
    flow: Float[Tensor, "n c y x"],
    arrival: Float[Tensor, "c k"],
) -> Float[Tensor, "n c y x"]:
    """Mass that arrives after a step of the factorised kernel; arguments are those of `strided.distribute`."""
    run = fused.distribute if fused.can_fuse(flow) else strided.distribute
    return run(map_weights, language_weights, flow, arrival)
