"""Language and filter of a training iteration as CUDA graphs: on a GPU their many small kernels take longer to launch
one by one than to run.

The mapper stays as it is: how many cells an iteration observes differs, and a graph's shapes do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from ghosts.act.model import GoalModel
from ghosts.belief.graphed import Track, graph_filter
from ghosts.language.decoder import Latents
from ghosts.language.graphed import graph_instructions
from ghosts.language.tokens import MAX_TOKENS


@dataclass(frozen=True)
class Captured:
    """The captured parts, each with the interface of the model's own."""

    read: Callable[[Int[Tensor, "b l"], Int[Tensor, " b"]], Latents]
    track: Track


def capture(model: GoalModel, batch: int, steps: int, dtype: torch.dtype, words: int = MAX_TOKENS) -> Captured:
    """Capture a model's instruction model and filter, on a CUDA device and in its present mode.

    Args:
        model: on its device.
        batch: episodes.
        steps: agent steps an episode.
        dtype: of the filter's networks (autocast); instructions are read and the recursion runs in float32.
        words: longest instruction.
    """
    config, device = model.config, model.mapper.state_to_state.weight.device
    read = graph_instructions(model.language, batch, words)
    grid, settings = model.belief_grid(config.mapper.rows, config.mapper.cols), config.filter
    # The mapper writes channels-last maps; the captured filter expects the strides it was shown.
    maps = torch.zeros(batch, steps, grid.rows, grid.cols, config.mapper.channels, device=device, dtype=dtype)
    latent = torch.zeros(batch, config.language.steps, 3 * config.language.hidden, device=device)
    start = torch.full((batch, settings.headings, grid.rows, grid.cols), 1.0, device=device)
    return Captured(
        read, graph_filter(model.filter, maps.permute(0, 1, 4, 2, 3), latent, latent, start / start[0].numel(), dtype)
    )
