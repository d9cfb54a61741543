"""Word vectors that come with the package: the meaning of words, also of those that training never met.

GloVe 6B (Pennington et al. 2014; public domain, PDDL 1.0), 100 dimensions, the 20 000 most frequent English words and
all of R2R's and REVERIE's. Kept as eight bits per number with a scale per word: cosines change by less than 0.01.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from ghosts.weights import WORDS
from ghosts.words.packed import read_packed

FORMAT, PARTS = "ghosts-words-1", ("vectors", "scale", "words")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Vectors of words."""

    words: tuple[str, ...]
    table: Float32[np.ndarray, "n d"]
    """Centred, and of variance 1 over all numbers."""

    @cached_property
    def ids(self) -> dict[str, int]:
        """Row of each word."""
        return {word: row for row, word in enumerate(self.words)}

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""
        return self.table.shape[1]

    def rows(self, words: Iterable[str]) -> Float32[np.ndarray, "k d"]:
        """A vector per word; zeros for those that are not known."""
        found = np.array([self.ids.get(word, -1) for word in words], np.int64)
        return self.table[found] * (found >= 0)[:, None].astype(np.float32)

    def mean(self, words: Iterable[str]) -> Float32[np.ndarray, " d"] | None:
        """Mean vector of the known ones among some words; None where none is known."""
        found = [self.ids[word] for word in words if word in self.ids]
        return self.table[found].mean(0) if found else None


@lru_cache(maxsize=1)
def shipped_vectors() -> WordVectors:
    """The vectors that come with the package; read once."""
    return read_vectors(WORDS)


def read_vectors(path: Path) -> WordVectors:
    """Vectors from a file.

    Raises:
        DataError: it is missing, damaged, or no such file.
    """
    words, parts = read_packed(path, FORMAT, PARTS, "a file of word vectors")
    table = parts["vectors"].astype(np.float32) * parts["scale"].astype(np.float32)[:, None]
    table -= table.mean(0)
    return WordVectors(words, table / np.sqrt((table**2).mean()))
