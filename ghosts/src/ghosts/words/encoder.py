"""Instruction encoder: word embeddings, and states that know their neighbours (paper, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.config import LanguageConfig
from ghosts.words.embedding import OpenEmbedding
from ghosts_sim.errors import ConfigError


@dataclass(frozen=True)
class Encoded:
    """An encoded batch of instructions."""

    states: Float[Tensor, "b l e"]
    """One vector per word; zero on padding."""
    mask: Bool[Tensor, "b l"]
    """Which words exist."""
    sentence: Float[Tensor, "b e"]
    """Of the whole instruction."""


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
    """Word embeddings, then an LSTM in each direction.

    Args:
        config: sizes.
        vectors: of all word ids, where words are read by their meaning (`config.vectors`).
    """

    vectors: Tensor | None

    def __init__(self, config: LanguageConfig, vectors: Float[Tensor, "n d"] | None = None) -> None:
        super().__init__()
        self.embedding: OpenEmbedding | nn.Embedding = nn.Embedding(config.vocabulary, config.embedding)
        if config.vectors:
            if vectors is None:
                raise ConfigError("language.vectors needs the vectors of the vocabulary's words; make the model anew")
            self.embedding = OpenEmbedding(config.vocabulary, config.embedding, vectors.shape[1])
            self.embedding.start(vectors)
        # Not saved with the weights: they come with the package.
        self.register_buffer("vectors", vectors if config.vectors else None, persistent=False)
        self.states = BothWays(config)
        self.dropout = nn.Dropout(config.dropout)

    def embed(self, tokens: Int[Tensor, "b l"]) -> Float[Tensor, "b l d"]:
        """Embeddings of word ids."""
        if isinstance(self.embedding, OpenEmbedding):
            assert self.vectors is not None, "given with the embedding"
            return self.embedding(tokens, self.vectors)
        return self.embedding(tokens)

    def forward(self, tokens: Int[Tensor, "b l"], lengths: Int[Tensor, " b"]) -> Encoded:
        """Encode instructions.

        Args:
            tokens: word ids, padded at the end with any id.
            lengths: number of words of each row; an empty row is read as one word, so that attention has a place to go.
        """
        lengths = lengths.clamp(min=1)
        mask = word_mask(lengths, tokens.shape[1])
        states, sentence = self.states(self.dropout(self.embed(tokens)), lengths)
        states = self.dropout(states.masked_fill(~mask[..., None], 0.0))
        return Encoded(states=states, mask=mask, sentence=self.dropout(sentence))


class BothWays(nn.Module):
    """An LSTM in each direction (the paper's).

    The backward direction is a second LSTM on the reversed words. With the padding at the end of both directions,
    padding never reaches a word's state, and no lengths travel to the host as packing would need.
    """

    def __init__(self, config: LanguageConfig) -> None:
        super().__init__()
        self.forwards = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        self.backwards = nn.LSTM(config.embedding, config.hidden, batch_first=True)

    def forward(
        self, words: Float[Tensor, "b l d"], lengths: Int[Tensor, " b"]
    ) -> tuple[Float[Tensor, "b l e"], Float[Tensor, "b e"]]:
        """A state per word, and one of the whole: the last one of each direction."""
        ahead, _ = self.forwards(words)
        behind, _ = self.backwards(reverse_words(words, lengths))
        last = (lengths - 1)[:, None, None].expand(-1, 1, ahead.shape[-1])
        sentence = torch.cat([ahead.gather(1, last), behind.gather(1, last)], -1)[:, 0]
        return torch.cat([ahead, reverse_words(behind, lengths)], -1), sentence
