"""Word embeddings in two parts: the meaning (a projection of the word's vector), and what training learned."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class OpenEmbedding(nn.Module):
    """Embeddings of ids that have vectors: E(i) = P v(i) + own(i). Only trained ids have a part of their own.

    The projection starts orthonormal, and the own part at zero (at random where there is no vector). An id that
    training never met has only the projection, which was learned for all.

    Args:
        trained: ids below this have an own part.
        size: of an embedding.
        dimension: of a vector.
    """

    def __init__(self, trained: int, size: int, dimension: int) -> None:
        super().__init__()
        self.own = nn.Embedding(trained, size)
        self.project = nn.Linear(dimension, size, bias=False)
        nn.init.orthogonal_(self.project.weight)
        # Vectors have variance 1 per number, and so should embeddings.
        self.project.weight.data *= max(1.0, size / dimension) ** 0.5

    @torch.no_grad()
    def start(self, vectors: Float[Tensor, "n d"]) -> None:
        """Let ids with a vector start from it alone; the others keep a random own part."""
        if self.own.weight.is_meta:  # made only to compare its sizes
            return
        known = vectors[: len(self.own.weight)].abs().sum(1) > 0.0
        self.own.weight[: len(known)][known.to(self.own.weight.device)] = 0.0

    def forward(self, ids: Int[Tensor, "*n"], vectors: Float[Tensor, "n d"]) -> Float[Tensor, "*n size"]:
        """Embeddings of ids.

        Args:
            ids: any that have a vector.
            vectors: of all ids.
        """
        trained = ids < len(self.own.weight)
        own = self.own(torch.where(trained, ids, 0)) * trained[..., None]
        return own + self.project(vectors[ids])

    def table(self, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n size"]:
        """Embeddings of all ids at once."""
        own = torch.nn.functional.pad(self.own.weight, (0, 0, 0, vectors.shape[0] - len(self.own.weight)))
        return own + self.project(vectors)
