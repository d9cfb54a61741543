"""The histogram Bayes filter (paper, sections 3 and 4.2): a motion model plus an observation model.

Equations 3 and 5 in turn, T times, with every intermediate kept for inspection (`equations.filter_beliefs`).

The words alone determine the latent actions and observations. So kernels and likelihoods of all steps and all maps are
computed as one batch, and only predict–update is sequential.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ghosts.belief.histogram import normalise, update
from ghosts.belief.kernel import Kernel, KernelAt
from ghosts.belief.motion import build_motion, per_map
from ghosts.belief.observation import ObservationModel
from ghosts.config import FilterConfig


@dataclass(frozen=True)
class FilterTrace:
    """All T steps of the filter on each of s maps of b episodes."""

    start: Float[Tensor, "b c y x"]
    """The first belief."""
    predictions: Float[Tensor, "b s t c y x"]
    """After the motion model of each step."""
    likelihoods: Float[Tensor, "b s t c y x"]
    """Of each step's observation."""
    posteriors: Float[Tensor, "b s t c y x"]
    """After the observation: what the next step starts from."""
    kernel_at: Callable[[int], Kernel]
    """Step to motion kernel of all b · s maps (b-major)."""

    @property
    def beliefs(self) -> Float[Tensor, "b s t1 c y x"]:
        """The first belief and those after each step: T + 1."""
        steps = self.posteriors.shape[1]
        return torch.cat([self.start[:, None, None].expand(-1, steps, -1, -1, -1, -1), self.posteriors], 2)

    @property
    def goal(self) -> Float[Tensor, "b s c y x"]:
        """The belief after the last step."""
        return self.posteriors[:, :, -1]

    def smoothed(self) -> Float[Tensor, "b s t1 c y x"]:
        """The trajectory posterior: the demonstrator's pose at each step, given the whole instruction."""
        beliefs, likelihoods = self.beliefs.flatten(0, 1), self.likelihoods.flatten(0, 1)
        kernels = [self.kernel_at(step) for step in range(likelihoods.shape[1])]
        return smooth(beliefs, likelihoods, kernels).view_as(self.beliefs)


def smooth(
    beliefs: Float[Tensor, "n t1 c y x"], likelihoods: Float[Tensor, "n t c y x"], kernels: Sequence[Kernel]
) -> Float[Tensor, "n t1 c y x"]:
    """Forward–backward smoothing: beliefs given all observations, not only those so far.

    Args:
        beliefs: filtered beliefs, the first one included.
        likelihoods: of each step's observation.
        kernels: of each step.
    """
    message = torch.ones_like(beliefs[:, 0])
    smoothed = [beliefs[:, -1]]
    for step in reversed(range(likelihoods.shape[1])):
        message = kernels[step].gather(likelihoods[:, step] * message)
        # Only ratios count; without this, T floors of 0.004 underflow for long instructions.
        message = message / message.amax((-3, -2, -1), keepdim=True).clamp(min=torch.finfo(message.dtype).tiny)
        smoothed.append(normalise(beliefs[:, step] * message, beliefs[:, step]))
    return torch.stack(smoothed[::-1], 1)


class BayesFilter(nn.Module):
    """Filter = motion model + observation model. The recursion runs in float32 (or wider), whatever the networks use.

    Args:
        motion: `(maps, actions) -> KernelAt`.
        observation: `(maps, observations) -> likelihoods`.
    """

    def __init__(self, motion: nn.Module, observation: nn.Module) -> None:
        super().__init__()
        self.motion, self.observation = motion, observation

    def forward(
        self,
        maps: Float[Tensor, "b s channels y x"],
        actions: Float[Tensor, "b t d"],
        observations: Float[Tensor, "b t d2"],
        start: Float[Tensor, "b c y x"],
    ) -> FilterTrace:
        """Run the T steps of an instruction on every map.

        Args:
            maps: of each agent step, at the belief's resolution.
            actions: latent actions a_1..a_T.
            observations: latent observations o_1..o_T.
            start: belief at the known start.
        """
        batch, steps = maps.shape[:2]
        flat = maps.flatten(0, 1)
        kernel_at: KernelAt = self.motion(flat, actions)
        likelihoods: Tensor = self.observation(flat, observations)
        belief = per_map(start.to(torch.promote_types(start.dtype, torch.float32)), batch * steps)
        predictions, posteriors = [], []
        for step in range(actions.shape[1]):
            kernel = kernel_at(step)
            # Half-precision matrix products would lose mass; the recursion is cheap beside the networks.
            with torch.autocast(maps.device.type, enabled=False):
                prediction = kernel.propagate(belief)
                belief = update(prediction, likelihoods[:, step])
            predictions.append(prediction)
            posteriors.append(belief)
        moved, seen, weighed = (
            values.unflatten(0, (batch, steps))
            for values in (torch.stack(predictions, 1), likelihoods, torch.stack(posteriors, 1))
        )
        return FilterTrace(start, moved, seen, weighed, kernel_at)


def build_filter(channels: int, latent: int, config: FilterConfig) -> BayesFilter:
    """The filter the config asks for."""
    motion, observation = build_motion(channels, latent, config), ObservationModel(channels, latent, config)
    return BayesFilter(motion, observation)
