"""Hidden words guessed from those around them: what an encoder of instructions can learn without any building."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor, nn

from ghosts.config import ModelConfig
from ghosts.words.encoder import Encoder
from ghosts.words.tokens import Vocabulary


class HiddenWords(nn.Module):
    """The encoder of a goal predictor, and a guess at each word from its state.

    Both encoders read both ways: a state knows all words of the instruction.

    Args:
        config: of the goal predictor; only its language is used.
        vectors: of all word ids, where words are read by their meaning.
    """

    def __init__(self, config: ModelConfig, vectors: Float[Tensor, "n d"] | None = None) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config.language, vectors)
        self.guess = nn.Linear(2 * config.language.hidden, config.language.vocabulary)

    def forward(self, tokens: Int[Tensor, "b l"], lengths: Int[Tensor, " b"]) -> Float[Tensor, "b l n"]:
        """Scores of all listed words, for each word of instructions in which some are read as unknown."""
        return self.guess(self.encoder(tokens, lengths).states)


def choose_hidden(
    ids: Int64[np.ndarray, "b l"], draws: Float[np.ndarray, "b l"], share: float, vocabulary: Vocabulary
) -> Bool[np.ndarray, "b l"]:
    """Which words are hidden: a share of the listed ones, and of every instruction at least one.

    Args:
        ids: word ids, padded with 0.
        draws: a number from 0 to 1 for each.
        share: of the listed words that are hidden on average.
        vocabulary: words without an id of their own are never hidden, since nobody could guess them.
    """
    listed = (ids > 1) & (ids < len(vocabulary))
    draws = np.where(listed, draws, 2.0)
    return listed & (draws <= np.maximum(share, draws.min(1, keepdims=True)))
