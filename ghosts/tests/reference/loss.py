"""The definition of the filter's loss, one belief at a time."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ghosts.belief.loss import PROBABILITY_FLOOR


def kl_divergence(
    target: Float[Tensor, "*n c y x"],
    belief: Float[Tensor, "*n c y x"],
    *,
    floor: float = PROBABILITY_FLOOR,
    mask: Bool[Tensor, "*n c y x"] | None = None,
) -> Float[Tensor, "*n"]:
    """KL(target ‖ belief) in nats, one value per item.

    The belief is clamped at `floor`, so a target where the belief is zero costs about 18 nats; the released code leaves
    such cells out, so that unreachable goals cost nothing.

    Args:
        target: sums to 1.
        belief: sums to 1.
        floor: least probability a state is taken to have.
        mask: states that count; all by default.
    """
    terms = torch.special.xlogy(target, target) - target * belief.clamp(min=floor).log()
    if mask is not None:
        terms = terms * mask
    return terms.sum((-3, -2, -1))
