"""The filter as a CUDA graph: many small kernels, which take longer to launch one by one than to run.

Measured on an H200 (`ghosts bench model --device cuda`; batch 5, 6 agent steps × 6 filter steps): a training iteration
takes 47 to 49 ms with the filter launched kernel by kernel and 16.5 ms with it captured (features also stayed in half
precision on the way there in the second case, so not all of the difference is the capture).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ghosts.belief.filter import BayesFilter, FilterTrace
from ghosts.belief.kernel import Kernel
from ghosts_sim.errors import ConfigError

Track = Callable[[Tensor, Tensor, Tensor, Tensor], FilterTrace]
"""`BayesFilter.forward`'s interface: maps, actions, observations, start."""


class _Flat(nn.Module):  # pragma: no cover - needs a GPU
    """The filter's trace as a tuple, which a captured module must return."""

    def __init__(self, model: BayesFilter, dtype: torch.dtype) -> None:
        super().__init__()
        self.model, self.dtype = model, dtype

    def forward(self, maps: Tensor, actions: Tensor, observations: Tensor, start: Tensor) -> tuple[Tensor, ...]:
        # A cached cast would be an address of the first run that a replay no longer fills.
        with torch.autocast("cuda", self.dtype, enabled=self.dtype != torch.float32, cache_enabled=False):
            trace = self.model(maps, actions, observations, start)
        return trace.predictions, trace.likelihoods, trace.posteriors


def graph_filter(
    model: BayesFilter, maps: Tensor, actions: Tensor, observations: Tensor, start: Tensor, dtype: torch.dtype
) -> Track:
    """Capture the filter, on a CUDA device and in its present mode (training or evaluation), for given shapes.

    The captured filter uses the model's own parameters, so it follows every step of an optimiser. A trace's kernels are
    computed anew when they are asked for.

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
    return _capture(model, maps, actions, observations, start, dtype)  # pragma: no cover - needs a GPU


def _capture(  # pragma: no cover - needs a GPU
    model: BayesFilter, maps: Tensor, actions: Tensor, observations: Tensor, start: Tensor, dtype: torch.dtype
) -> Track:
    """`graph_filter` after its check."""
    example = tuple(value.detach().clone().requires_grad_() for value in (maps, actions, observations))
    run: Any = torch.cuda.make_graphed_callables(_Flat(model, dtype), (*example, start.detach().clone()))
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
