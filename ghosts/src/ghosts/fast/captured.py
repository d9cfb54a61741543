"""Language and filter of a training iteration as CUDA graphs: on a GPU their many small kernels take longer to launch
one by one than to run.

The mapper stays as it is: the number of cells that an iteration observes differs, and a graph's shapes do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from ghosts.belief.filter import BayesFilter
from ghosts.config import ModelConfig
from ghosts.fast.graphed_filter import Track, graph_filter
from ghosts.fast.graphed_words import graph_instructions
from ghosts.words.decoder import InstructionModel, Latents
from ghosts.words.tokens import MAX_TOKENS


@dataclass(frozen=True)
class Captured:
    """The captured parts, each with the interface of the model's own."""

    read: Callable[[Int[Tensor, "b l"], Int[Tensor, " b"]], Latents]
    track: Track


def capture(
    language: InstructionModel,
    filter: BayesFilter,
    config: ModelConfig,
    batch: int,
    steps: int,
    dtype: torch.dtype,
) -> Captured:
    """Capture an instruction model and a filter, on a CUDA device and in their present mode.

    Args:
        language: reads instructions in float32.
        filter: its recursion runs in float32.
        config: the sizes of both.
        batch: episodes.
        steps: agent steps per episode.
        dtype: of the filter's networks (autocast).
    """
    device = next(language.parameters()).device
    read = graph_instructions(language, batch, MAX_TOKENS)
    grid = config.belief_grid
    # The mapper writes channels-last maps; the captured filter expects the strides it was shown.
    maps = torch.zeros(batch, steps, grid.rows, grid.cols, config.mapper.channels, device=device, dtype=dtype)
    latent = torch.zeros(batch, config.language.steps, 3 * config.language.hidden, device=device)
    start = torch.full((batch, config.filter.headings, grid.rows, grid.cols), 1.0, device=device)
    return Captured(
        read, graph_filter(filter, maps.permute(0, 1, 4, 2, 3), latent, latent, start / start[0].numel(), dtype)
    )
