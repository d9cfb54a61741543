"""A thesaurus that comes with the package: words that mean about the same, or something more general.

Made from WordNet 3.0 (Princeton University; `src/ghosts/weights/thesaurus.LICENSE`) by `tests/reference/word_kin.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from ghosts.language.packed import WordTable, read_table
from ghosts.weights import THESAURUS

FORMAT = "ghosts-thesaurus-1"
INFLECTED = 0.5
"""Share of a word's kinship that its inflected forms have (`divans`: that of `divan`)."""
_ENDINGS = {"ies": "y", "ves": "f", "es": "", "s": "", "ing": "", "ied": "y", "ed": "", "ward": "", "wards": ""}
"""Of inflected forms and directions, and what the word itself has instead; after `ing` and `ed` perhaps another `e`."""
_SHORTEST = 3
"""Letters of a word without its ending."""


def kin_of(word: str) -> dict[str, float]:
    """Words that can stand in for one, with their kinship, from 0 to 1; for an inflected form also its base."""
    table = shipped_thesaurus()
    found = table.of(word)
    for base in _bases(word):
        if base in table:
            found[base] = 1.0
            for other, near in table.of(base).items():
                found[other] = max(found.get(other, 0.0), INFLECTED * near)
    found.pop(word, None)
    return found


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
def shipped_thesaurus() -> WordTable:
    """The thesaurus that comes with the package; read once."""
    return read_thesaurus(THESAURUS)


def read_thesaurus(path: Path) -> WordTable:
    """A thesaurus from a file.

    Raises:
        DataError: it is missing, damaged, or no such file.
    """
    return read_table(path, FORMAT, "a thesaurus")
