"""Language and filter of a training iteration as CUDA graphs: their many small kernels take longer to launch one by one
than to run.

Measured on an H200 (`ghosts bench model --device cuda`; batch 5, 6 agent steps × 6 filter steps): a training iteration
takes 47 to 49 ms with the filter launched kernel by kernel and 16.5 ms with it captured (features also stayed in half
precision on the way there in the second case, so not all of the difference is the capture). Of the instruction model
alone (80 words, forward and backward): 21 ms launched, 4.7 ms as a graph.

The mapper stays as it is: the number of cells that an iteration observes differs, and a graph's shapes do not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor, nn

from ghosts.belief.filter import BayesFilter, FilterTrace
from ghosts.belief.kernel import Kernel
from ghosts.config import ModelConfig
from ghosts.words.decoder import InstructionModel, Latents
from ghosts.words.tokens import MAX_TOKENS
from ghosts_sim.errors import ConfigError

Read = Callable[[Int[Tensor, "b l"], Int[Tensor, " b"]], Latents]
"""`InstructionModel.forward`'s interface: tokens, lengths."""
Track = Callable[[Tensor, Tensor, Tensor, Tensor], FilterTrace]
"""`BayesFilter.forward`'s interface: maps, actions, observations, start."""


@dataclass(frozen=True)
class Captured:
    """The captured parts of a model, each with the interface of the model's own. They use the model's parameters, so
    they follow every step of an optimiser."""

    read: Read
    track: Track


def capture(
    language: InstructionModel, filter: BayesFilter, config: ModelConfig, batch: int, steps: int, dtype: torch.dtype
) -> Captured:
    """Capture a model's language and filter, on a CUDA device and in their present mode (training or evaluation).

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


class _Tuple(nn.Module):
    """A model whose result is a tuple of the named tensors, as a captured module's must be."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], dtype: torch.dtype = torch.float32) -> None:
        super().__init__()
        self.model, self.names, self.dtype = model, names, dtype

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        # A cached cast would be an address of the first run that a replay no longer fills.
        with torch.autocast("cuda", self.dtype, enabled=self.dtype != torch.float32, cache_enabled=False):
            result = self.model(*inputs)
        return tuple(getattr(result, name) for name in self.names)


def graph_instructions(model: InstructionModel, batch: int, longest: int) -> Read:
    """Capture an instruction model for one batch size. Attention weights are as long as the words given.

    Args:
        model: on its device.
        batch: instructions per call.
        longest: most words of an instruction; shorter batches are padded, which changes no result.

    Returns:
        A function with the model's own interface, gradients included.
    """
    device = next(model.parameters()).device
    if device.type != "cuda":
        raise ConfigError(f"only a model on a CUDA device can be captured, this one is on {device}; call it as it is")
    names = ("observations", "actions", "observation_attention", "action_attention", "sentence")
    tokens, lengths = torch.zeros(batch, longest, dtype=torch.long), torch.full((batch,), longest)
    run: Any = torch.cuda.make_graphed_callables(_Tuple(model, names), (tokens.to(device), lengths.to(device)))

    def read(tokens: Int[Tensor, "b l"], lengths: Int[Tensor, " b"]) -> Latents:
        words = tokens.shape[1]
        if len(tokens) != batch or words > longest:
            raise ConfigError(f"captured for {batch} × {longest} words, got {len(tokens)} × {words}; capture it again")
        observations, actions, seen, done, sentence = run(F.pad(tokens, (0, longest - words)), lengths)
        return Latents(observations, actions, seen[..., :words], done[..., :words], sentence)

    return read


def graph_filter(
    model: BayesFilter, maps: Tensor, actions: Tensor, observations: Tensor, start: Tensor, dtype: torch.dtype
) -> Track:
    """Capture a filter for given shapes. A trace's kernels are computed anew when they are asked for.

    Args:
        model: on its device.
        maps: example maps; of all four examples only shapes, types and strides count.
        actions: example latent actions.
        observations: example latent observations.
        start: example first beliefs.
        dtype: of the networks (autocast); the recursion runs in float32.

    Returns:
        A function with the filter's own interface, gradients included.
    """
    if not maps.is_cuda:
        raise ConfigError(
            f"only a filter on a CUDA device can be captured, these maps are on {maps.device}; call it as it is"
        )
    example = tuple(value.detach().clone().requires_grad_() for value in (maps, actions, observations))
    names = ("predictions", "likelihoods", "posteriors")
    run: Any = torch.cuda.make_graphed_callables(_Tuple(model, names, dtype), (*example, start.detach().clone()))
    shapes = [tuple(value.shape) for value in (maps, actions, observations, start)]

    def track(maps: Tensor, actions: Tensor, observations: Tensor, start: Tensor) -> FilterTrace:
        given = [tuple(value.shape) for value in (maps, actions, observations, start)]
        if given != shapes:
            raise ConfigError(f"captured for the shapes {shapes}, got {given}; capture it again")

        def kernel_at(step: int) -> Kernel:
            return model.motion(maps.flatten(0, 1), actions)(step)

        predictions, likelihoods, posteriors = run(maps, actions, observations, start)
        return FilterTrace(start, predictions, likelihoods, posteriors, kernel_at)

    return track
