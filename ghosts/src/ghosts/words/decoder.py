"""Latent observations and actions (paper, section 4.2): what a follower of the instruction would see and do at each
filter step.

Nothing here depends on the map or the belief, so all T steps are decoded once per episode.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from ghosts.config import LanguageConfig
from ghosts.words.attention import Attention, padding_penalty
from ghosts.words.encoder import Encoded, Encoder


@dataclass(frozen=True)
class Latents:
    """Latent vectors of every filter step and where they come from."""

    observations: Float[Tensor, "b t d"]
    """o_t = [attended words, decoder state]."""
    actions: Float[Tensor, "b t d"]
    """a_t = the same with an attention of its own."""
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

    Paper: the input is the positional encoding of t alone. Released code (`decoder_context`): the previous attended
    contexts come along, the first being the average over the words (over the padding too in the released code, which is
    a slip).
    """

    position: Tensor

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.steps, self.context = config.steps, config.decoder_context
        encoded = 2 * config.hidden
        self.register_buffer("position", positional_encoding(config.steps, config.position), persistent=False)
        self.start = nn.Linear(encoded, 2 * config.hidden)
        self.cell = nn.LSTMCell(config.position + (2 * encoded if self.context else 0), config.hidden)
        self.attention = Attention(config.hidden, encoded, config.attention, heads=2)

    def forward(self, encoded: Encoded) -> Latents:
        """Decode all filter steps."""
        keys, penalty = self.attention.keys(encoded.states), padding_penalty(encoded.mask)
        start = torch.tanh(self.start(encoded.sentence)).chunk(2, -1)
        position = self.position.to(start[0].dtype).expand(len(encoded.sentence), -1, -1).unbind(1)
        if self.context:
            hidden, attended, weights = self._with_context(encoded, keys, penalty, start, position)
        else:
            hidden = torch.stack(self._hidden_states(start, position), 1)
            attended, weights = self.attention(hidden, keys, encoded.states, penalty)
        observations, actions = torch.cat([attended, hidden[:, None].expand(-1, 2, -1, -1)], -1).unbind(1)
        return Latents(
            observations=observations,
            actions=actions,
            observation_attention=weights[:, 0],
            action_attention=weights[:, 1],
            sentence=encoded.sentence,
        )

    def _hidden_states(self, state: tuple[Tensor, ...], inputs: tuple[Tensor, ...]) -> list[Tensor]:
        hidden = []
        for step in inputs:
            state = self.cell(step, state)
            hidden.append(state[0])
        return hidden

    def _with_context(
        self,
        encoded: Encoded,
        keys: Float[Tensor, "b _ l k"],
        penalty: Float[Tensor, "b 1 1 l"],
        state: tuple[Tensor, ...],
        position: tuple[Tensor, ...],
    ) -> tuple[Float[Tensor, "b t h"], Float[Tensor, "b 2 t e"], Float[Tensor, "b 2 t l"]]:
        """Hidden states, attended words and attention weights when each step sees what the last one attended to."""
        count = encoded.mask.sum(1, keepdim=True).clamp(min=1)
        context = (encoded.states.sum(1) / count).repeat(1, 2)  # padded states are zero
        hidden, attended, weights = [], [], []
        for step in position:
            state = self.cell(torch.cat([step, context], -1), state)
            seen, weight = self.attention(state[0][:, None], keys, encoded.states, penalty)
            context = seen.flatten(1)
            hidden.append(state[0])
            attended.append(seen)
            weights.append(weight)
        return torch.stack(hidden, 1), torch.cat(attended, 2), torch.cat(weights, 2)


class InstructionModel(nn.Module):
    """Words to latents: encoder, then decoder."""

    def __init__(self, config: LanguageConfig, vectors: Float[Tensor, "n d"] | None = None) -> None:
        super().__init__()
        self.encoder = Encoder(config, vectors)
        self.decoder = Decoder(config)

    def forward(self, tokens: Int[Tensor, "b l"], lengths: Int[Tensor, " b"]) -> Latents:
        """Latent observations and actions of padded instructions (see `Encoder.forward`)."""
        return self.decoder(self.encoder(tokens, lengths))
