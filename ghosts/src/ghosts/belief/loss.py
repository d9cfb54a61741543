"""The filter's loss (paper, section 4.4): KL divergence from the demonstrator's true pose to the belief."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

PROBABILITY_FLOOR = 1e-8
"""Smaller probabilities count as this: zero ones, which have no logarithm, and positive ones too. So a place costs at
most 18.4 nats per unit of the target's mass, and gets no gradient while the belief there is below this. In the released
code the cost of a positive probability has no limit, and a probability of zero is left out and costs nothing."""


def filter_loss(
    posteriors: Float[Tensor, "b s t c y x"],
    targets: Float[Tensor, "b t c y x"],
    valid: Bool[Tensor, "b s"] | None = None,
) -> Float[Tensor, ""]:
    """KL(target ‖ belief) in nats, summed over the T filter steps, averaged over the agent steps that count.

    Beliefs count as at least `PROBABILITY_FLOOR`. `equations.divergence` is one term of the sum.

    Args:
        posteriors: beliefs after each filter step, for the map of each agent step.
        targets: the demonstrator's pose at each filter step; the same for every agent step.
        valid: agent steps that count (episodes of unequal length); all by default.
    """
    # The targets' own entropy is the same for every agent step; only the cross entropy is computed s times.
    targets = targets[:, None]
    own = torch.special.xlogy(targets, targets).sum((-4, -3, -2, -1))
    per_map = own - (targets * posteriors.clamp(min=PROBABILITY_FLOOR).log()).sum((-4, -3, -2, -1))
    if valid is None:
        return per_map.mean()
    return (per_map * valid).sum() / valid.sum().clamp(min=1)
