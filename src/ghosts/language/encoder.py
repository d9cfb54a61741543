"""Instruction encoder: word embeddings and an LSTM in each direction (paper, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.config import LanguageConfig


@dataclass(frozen=True)
class Encoded:
    """An encoded batch of instructions."""

    states: Float[Tensor, "b l e"]
    """One vector a word, both directions concatenated; zero on padding."""
    mask: Bool[Tensor, "b l"]
    """Which words exist."""
    sentence: Float[Tensor, "b e"]
    """The last state of each direction: a complete pass."""


def word_mask(lengths: Int[Tensor, " b"], longest: int) -> Bool[Tensor, "b l"]:
    """Which positions hold a word."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def reverse_words(values: Float[Tensor, "b l d"], lengths: Int[Tensor, " b"]) -> Float[Tensor, "b l d"]:
    """Reverse each row's first `length` vectors and leave its padding where it is. Its own inverse."""
    position = torch.arange(values.shape[1], device=values.device)
    mirrored = lengths[:, None] - 1 - position
    source = torch.where(mirrored >= 0, mirrored, position)
    return values.gather(1, source[..., None].expand_as(values))


class Encoder(nn.Module):
    """Bi-directional LSTM over word embeddings.

    The backward direction is a second LSTM on the reversed words. With the padding at the end of both directions,
    padding never reaches a word's state, and no lengths travel to the host as packing would need.
    """

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocabulary, config.embedding)
        self.forwards = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        self.backwards = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, tokens: Int[Tensor, "b l"], lengths: Int[Tensor, " b"]) -> Encoded:
        """Encode instructions.

        Args:
            tokens: word ids, padded at the end with any id.
            lengths: number of words of each row; an empty row is read as one word, so that attention has a place to go.
        """
        lengths = lengths.clamp(min=1)
        words = self.dropout(self.embedding(tokens))
        ahead, _ = self.forwards(words)
        behind, _ = self.backwards(reverse_words(words, lengths))
        last = (lengths - 1)[:, None, None].expand(-1, 1, ahead.shape[-1])
        sentence = torch.cat([ahead.gather(1, last), behind.gather(1, last)], -1)[:, 0]
        mask = word_mask(lengths, tokens.shape[1])
        states = torch.cat([ahead, reverse_words(behind, lengths)], -1)
        return Encoded(
            states=self.dropout(states.masked_fill(~mask[..., None], 0.0)), mask=mask, sentence=self.dropout(sentence)
        )
