"""Attention over the words of an instruction: dot product (paper, section 4.2) or additive (released code)."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


def dot_scores(query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b #h l d"]) -> Float[Tensor, "b h t l"]:
    """Luong's dot product."""
    return query @ keys.transpose(-1, -2)


def additive_scores(
    query: Float[Tensor, "b h t d"], keys: Float[Tensor, "b h l d"], vector: Float[Tensor, "h d"]
) -> Float[Tensor, "b h t l"]:
    """Bahdanau's v · tanh(query + key)."""
    return (torch.tanh(query[:, :, :, None] + keys[:, :, None]) @ vector[:, None, :, None])[..., 0]


def attend(
    scores: Float[Tensor, "b h t l"], values: Float[Tensor, "b l d"], penalty: Float[Tensor, "b 1 1 l"]
) -> tuple[Float[Tensor, "b h t d"], Float[Tensor, "b h t l"]]:
    """Softmax over the words that exist, and the average of their values.

    Args:
        scores: of every head and query.
        values: one vector per word.
        penalty: from `padding_penalty`.

    Returns:
        The attended values and the weights, which sum to 1 and are exactly 0 on padding.
    """
    weights = (scores + penalty).softmax(-1).to(values.dtype)
    return weights @ values[:, None], weights


def padding_penalty(mask: Bool[Tensor, "b l"]) -> Float[Tensor, "b 1 1 l"]:
    """What to add to scores: 0 for a word, −∞ for padding."""
    return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, float("-inf"))[:, None, None]


class Attention(nn.Module):
    """Learned attention with several heads; `keys` are computed once for all queries.

    Args:
        query: size of the queries.
        value: size of the attended vectors.
        kind: see `LanguageConfig.attention`. The dot product needs a projection of the query, since the decoder's state
            is half as long as the encoder's.
        heads: independent attentions over the same words, computed together.
    """

    def __init__(self, query: int, value: int, kind: Literal["dot", "additive"], heads: int) -> None:
        super().__init__()
        self.kind, self.heads = kind, heads
        if kind == "dot":
            self.query = nn.Linear(query, heads * value, bias=False)
        else:
            self.query = nn.Linear(query, heads * query)
            self.key = nn.Linear(value, heads * query, bias=False)
            self.vector = nn.Parameter(torch.empty(heads, query).uniform_(-(query**-0.5), query**-0.5))

    def keys(self, values: Float[Tensor, "b l d"]) -> Float[Tensor, "b h l k"]:
        """What queries are compared with, one set per head (one for all heads with dot products)."""
        return values[:, None] if self.kind == "dot" else self._split(self.key(values))

    def forward(
        self,
        query: Float[Tensor, "b t q"],
        keys: Float[Tensor, "b _ l k"],
        values: Float[Tensor, "b l d"],
        penalty: Float[Tensor, "b 1 1 l"],
    ) -> tuple[Float[Tensor, "b h t d"], Float[Tensor, "b h t l"]]:
        """Attended values and attention weights of every head and query."""
        projected = self._split(self.query(query))
        if self.kind == "dot":
            return attend(dot_scores(projected, keys), values, penalty)
        return attend(additive_scores(projected, keys, self.vector), values, penalty)

    def _split(self, values: Float[Tensor, "b n hk"]) -> Float[Tensor, "b h n k"]:
        return values.unflatten(-1, (self.heads, -1)).transpose(1, 2)
