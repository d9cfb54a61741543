"""A thesaurus that comes with the package: which known word stands in for one that training never met.

Made from WordNet 3.0 (Princeton University; `src/ghosts/weights/thesaurus.LICENSE`) by `tests/reference/word_kin.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import UInt8, UInt16

from ghosts.language.packed import read_packed
from ghosts.weights import THESAURUS

FORMAT, PARTS = "ghosts-thesaurus-1", ("count", "kin", "far", "words")
PER_NAT = 32
"""Steps in which kinship, a natural logarithm, is kept."""
INFLECTED = 0.5
"""Share of a word's kinship that its inflected forms have (`divans`: that of `divan`)."""
_ENDINGS = {"ies": "y", "ves": "f", "es": "", "s": "", "ing": "", "ied": "y", "ed": "", "ward": "", "wards": ""}
"""Of inflected forms and directions, and what the word itself has instead; after `ing` and `ed` perhaps another `e`."""
_SHORTEST = 3
"""Letters of a word without its ending."""


@dataclass(frozen=True, eq=False)
class Thesaurus:
    """Words and their kin: those that mean about the same, or something more general."""

    words: tuple[str, ...]
    """In alphabetical order."""
    count: UInt8[np.ndarray, " n"]
    """Number of kin of each word; they follow each other in `kin`."""
    kin: UInt16[np.ndarray, " k"]
    """Rows of `words`."""
    far: UInt8[np.ndarray, " k"]
    """− ln of the kinship, in steps of 1 / `PER_NAT`."""

    @cached_property
    def _rows(self) -> dict[str, tuple[int, int]]:
        ends = self.count.cumsum(dtype=np.int64).tolist()
        return {word: (start, end) for word, start, end in zip(self.words, [0, *ends], ends) if end > start}

    def of(self, word: str) -> dict[str, float]:
        """Words that can stand in for one, with their kinship, from 0 to 1; for an inflected form also its base."""
        found = dict(self._kin(word))
        for base in _bases(word):
            if base in self._rows:
                found[base] = 1.0
                for other, near in self._kin(base):
                    found[other] = max(found.get(other, 0.0), INFLECTED * near)
        found.pop(word, None)
        return found

    def _kin(self, word: str) -> Iterator[tuple[str, float]]:
        start, end = self._rows.get(word, (0, 0))
        for row, far in zip(self.kin[start:end].tolist(), self.far[start:end].tolist()):
            yield self.words[row], float(np.exp(-far / PER_NAT))


def _bases(word: str) -> Iterator[str]:
    """Words that this may be an inflected form of."""
    for ending, instead in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _SHORTEST:
            yield stem + instead
            if ending in ("ing", "ed"):
                yield f"{stem}e"
                if stem[-1] == stem[-2]:  # stopping, stopped
                    yield stem[:-1]


@lru_cache(maxsize=1)
def shipped_thesaurus() -> Thesaurus:
    """The thesaurus that comes with the package; read once."""
    return read_thesaurus(THESAURUS)


def read_thesaurus(path: Path) -> Thesaurus:
    """A thesaurus from a file.

    Raises:
        DataError: it is missing, damaged, or no such file.
    """
    words, parts = read_packed(path, FORMAT, PARTS, "a thesaurus")
    return Thesaurus(words, parts["count"], parts["kin"], parts["far"])
