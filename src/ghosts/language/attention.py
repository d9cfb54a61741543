"""Attention over the words of an instruction, in both kinds: dot product (paper) and additive (released code)."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn


def dot_scores(query: Float[Tensor, "b t d"], keys: Float[Tensor, "b l d"]) -> Float[Tensor, "b t l"]:
    """Luong's dot product."""
    return query @ keys.transpose(1, 2)


def additive_scores(
    query: Float[Tensor, "b t d"], keys: Float[Tensor, "b l d"], vector: Float[Tensor, " d"]
) -> Float[Tensor, "b t l"]:
    """Bahdanau's v · tanh(query + key)."""
    return torch.tanh(query[:, :, None] + keys[:, None]) @ vector


def attend(
    scores: Float[Tensor, "b t l"], values: Float[Tensor, "b l d"], mask: Bool[Tensor, "b l"]
) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t l"]]:
    """Softmax over the words that exist, and the average of their values.

    Returns:
        The attended values and the weights, which sum to 1 and are exactly 0 on padding.
    """
    weights = scores.masked_fill(~mask[:, None], float("-inf")).softmax(-1).to(values.dtype)
    return weights @ values, weights


class Attention(nn.Module):
    """Learned attention; `keys` are computed once for all queries.

    Args:
        query: size of the queries.
        value: size of the attended vectors.
        kind: see `LanguageConfig.attention`. The dot product needs a projection of the query, since the decoder's state
            is half as long as the encoder's.
    """

    def __init__(self, query: int, value: int, kind: Literal["dot", "additive"]) -> None:
        super().__init__()
        self.kind = kind
        if kind == "dot":
            self.query = nn.Linear(query, value, bias=False)
        else:
            self.query = nn.Linear(query, query)
            self.key = nn.Linear(value, query, bias=False)
            self.vector = nn.Parameter(torch.empty(query).uniform_(-(query**-0.5), query**-0.5))

    def keys(self, values: Float[Tensor, "b l d"]) -> Float[Tensor, "b l k"]:
        """What queries are compared with."""
        return values if self.kind == "dot" else self.key(values)

    def forward(
        self,
        query: Float[Tensor, "b t q"],
        keys: Float[Tensor, "b l k"],
        values: Float[Tensor, "b l d"],
        mask: Bool[Tensor, "b l"],
    ) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b t l"]]:
        """Attended values and attention weights of every query."""
        projected = self.query(query)
        if self.kind == "dot":
            return attend(dot_scores(projected, keys), values, mask)
        return attend(additive_scores(projected, keys, self.vector), values, mask)
