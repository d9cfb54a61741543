"""Latent observations and actions: what a follower of the instruction would see and do at each filter step.

Nothing here depends on the map or the belief, so all T steps are decoded once an episode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ghosts.config import LanguageConfig
from ghosts.language.attention import Attention
from ghosts.language.encoder import Encoded, Encoder


@dataclass(frozen=True)
class Latents:
    """Latent vectors of every filter step and where they come from."""

    observations: Float[Tensor, "b t d"]
    """o_t = [attended words, decoder state]."""
    actions: Float[Tensor, "b t d"]
    """a_t, likewise with its own attention."""
    observation_attention: Float[Tensor, "b t l"]
    action_attention: Float[Tensor, "b t l"]
    sentence: Float[Tensor, "b e"]
    """Encoding of the whole instruction (the LingUNet baseline's input)."""


def positional_encoding(steps: int, size: int) -> Float[Tensor, "t d"]:
    """Vaswani's sines and cosines: sine in even, cosine in odd columns."""
    position = torch.arange(steps, dtype=torch.float32)[:, None]
    rate = torch.exp(torch.arange(0, size, 2, dtype=torch.float32) * (-math.log(10000.0) / size))
    return torch.stack([torch.sin(position * rate), torch.cos(position * rate)], -1).reshape(steps, size)


class Decoder(nn.Module):
    """LSTM decoder with one attention for observations and one for actions.

    Paper: the input is the positional encoding of t alone, so all steps run in one call. Released code
    (`decoder_context`): the previous attended contexts come along, the first being the average over the words (over the
    padding too in the released code, which is a slip).
    """

    position: Tensor

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.steps, self.context = config.steps, config.decoder_context
        encoded = 2 * config.hidden
        self.register_buffer("position", positional_encoding(config.steps, config.position), persistent=False)
        self.start = nn.Linear(encoded, 2 * config.hidden)
        self.lstm = nn.LSTM(config.position + (2 * encoded if self.context else 0), config.hidden, batch_first=True)
        self.observation = Attention(config.hidden, encoded, config.attention)
        self.action = Attention(config.hidden, encoded, config.attention)

    def forward(self, encoded: Encoded) -> Latents:
        """Decode all filter steps."""
        hidden, cell = torch.tanh(self.start(encoded.sentence))[None].chunk(2, -1)
        state = (hidden.contiguous(), cell.contiguous())
        position = self.position.to(encoded.states.dtype).expand(len(encoded.sentence), -1, -1)
        keys = self.observation.keys(encoded.states), self.action.keys(encoded.states)
        if not self.context:
            decoded, _ = self.lstm(position, state)
            return self._latents(decoded, encoded, keys)
        count = encoded.mask.sum(1, keepdim=True).clamp(min=1)
        context = (encoded.states.sum(1) / count).repeat(1, 2)  # padded states are zero
        steps = []
        for t in range(self.steps):
            decoded, state = self.lstm(torch.cat([position[:, t], context], -1)[:, None], state)
            steps.append(self._latents(decoded, encoded, keys))
            seen, done = (
                values[:, 0, : encoded.states.shape[-1]] for values in (steps[-1].observations, steps[-1].actions)
            )
            context = torch.cat([seen, done], -1)
        return Latents(
            observations=torch.cat([step.observations for step in steps], 1),
            actions=torch.cat([step.actions for step in steps], 1),
            observation_attention=torch.cat([step.observation_attention for step in steps], 1),
            action_attention=torch.cat([step.action_attention for step in steps], 1),
            sentence=encoded.sentence,
        )

    def _latents(self, decoded: Float[Tensor, "b t h"], encoded: Encoded, keys: tuple[Tensor, Tensor]) -> Latents:
        seen, seen_weights = self.observation(decoded, keys[0], encoded.states, encoded.mask)
        done, done_weights = self.action(decoded, keys[1], encoded.states, encoded.mask)
        return Latents(
            observations=torch.cat([seen, decoded], -1),
            actions=torch.cat([done, decoded], -1),
            observation_attention=seen_weights,
            action_attention=done_weights,
            sentence=encoded.sentence,
        )


class InstructionModel(nn.Module):
    """Words to latents: encoder, then decoder."""

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    def forward(self, tokens: Int[Tensor, "b l"], lengths: Int[Tensor, " b"]) -> Latents:
        """Latent observations and actions of padded instructions (see `Encoder.forward`)."""
        return self.decoder(self.encoder(tokens, lengths))
