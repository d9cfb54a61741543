"""Observation model p(o_t | s_t, M), the likelihood in equation 5 of the paper (section 4.2): how well a latent
observation fits every state, from the map."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ghosts.belief.lingunet import LingUNet
from ghosts.config import FilterConfig


def likelihood(logits: Float[Tensor, "*n c y x"], floor: float) -> Float[Tensor, "*n c y x"]:
    """Sigmoid, at least `floor`: no single observation may exclude a state."""
    return torch.sigmoid(logits).clamp(min=floor)


class ObservationModel(nn.Module):
    """LingUNet with one output channel per heading bin; the likelihood is not normalised over the map."""

    def __init__(self, channels: int, observation: int, config: FilterConfig) -> None:
        super().__init__()
        self.floor = config.likelihood_floor
        self.lingunet = LingUNet(channels, observation, config.headings, config.observation)

    def forward(
        self, maps: Float[Tensor, "n channels y x"], observations: Float[Tensor, "b t d"]
    ) -> Float[Tensor, "n t c y x"]:
        """Likelihoods of all filter steps on all maps; see `FactorisedMotion.forward`."""
        logits = self.lingunet(maps, observations)
        return likelihood(logits.to(torch.promote_types(logits.dtype, torch.float32)), self.floor)
