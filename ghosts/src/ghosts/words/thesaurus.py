"""A thesaurus that comes with the package: for each word those that directions use and that mean about the same.

Made from WordNet 3.0 (Princeton University; `src/ghosts/weights/thesaurus.LICENSE`) and the Moby Thesaurus II (Grady
Ward, public domain) by `ghosts/tests/reference/word_kin.py` of the git tag `ideas-2026-11`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from ghosts.weights import THESAURUS
from ghosts.words.packed import WordTable, read_table

FORMAT = "ghosts-thesaurus-2"
STRANGER = math.exp(-11.0)
"""Kinship of words that the thesaurus does not call kin."""
_ENDINGS = {"ies": "y", "ves": "f", "es": "", "s": "", "ing": "", "ied": "y", "ed": "", "ward": "", "wards": ""}
"""Endings of inflected forms and directions, and what replaces them in the base form; after `ing` and `ed` that may
also be an `e`."""
_SHORTEST = 3
"""Fewest letters of a word without its ending."""


def kin_of(word: str) -> dict[str, float]:
    """Words that can stand in for one, with their kinship, from 0 to 1; for an inflected form those of its base."""
    table = shipped_thesaurus()
    found: dict[str, float] = {}
    for base in (word, *bases(word)):
        for other, near in ({base: 1.0} | table.entry(base) if base in table else {}).items():
            found[other] = max(found.get(other, 0.0), near)
    found.pop(word, None)
    return found


def ending(word: str) -> str:
    """The ending of an inflected form, or of a word that looks like one."""
    return next((end for end in ("ing", "ed", "s", "ly") if word.endswith(end)), "")


def bases(word: str) -> Iterator[str]:
    """Words that this may be an inflected form of."""
    for end, instead in _ENDINGS.items():
        stem = word.removesuffix(end)
        if stem != word and len(stem) >= _SHORTEST:
            yield stem + instead
            if end in ("ing", "ed"):
                yield f"{stem}e"
                if stem[-1] == stem[-2]:  # stopping, stopped
                    yield stem[:-1]


@lru_cache(maxsize=1)
def shipped_thesaurus() -> WordTable:
    """The thesaurus that comes with the package; read once."""
    return read_table(THESAURUS, FORMAT, "a thesaurus")
