"""Which known words stand in for those of an instruction that training never met.

A hidden Markov model: the hidden words are known ones, and follow each other as in R2R's training instructions. A word
that training never met was said instead of a known one of about the same meaning. `StandIns.read` finds the most
probable hidden words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from ghosts.language.packed import WordTable, read_table
from ghosts.language.thesaurus import kin_of
from ghosts.language.vectors import shipped_vectors
from ghosts.weights import WORD_ORDER

FORMAT = "ghosts-word-order-1"
STOP = "."
"""Taken to stand before the first word of an instruction, and after the last one where it does not."""
ALIKE = 8.0
"""Weight of two words' cosine beside the logarithms of kinship and word order. These numbers were chosen with two lists
of synonyms; docs/ideas.md tests them with others."""
NEAREST = 0.3
"""Only kin and words with at least this cosine can stand in for a word."""
STRANGER = 1e-3
"""Kinship of words that the thesaurus does not call kin."""
MOST = 24
"""Words that are considered in place of one."""
ANY_ORDER = 0.1
"""Probability that a word does not depend on the one before it; then frequent words come more often (Zipf's law)."""
RARE = 10
"""Known words before this one count as equally frequent there."""
_TOTAL = sum(1.0 / (RARE + rank) for rank in range(1000))
MAX_CACHED = 50_000
"""Words whose candidates are kept."""
MAX_READ = 400
"""Words of a text, longer than any that a model reads; those that follow stay what they are."""

_NONE = ""
"""Stands for "no known word"."""


class StandIns:
    """Reads words as known ones."""

    def __init__(self, known: Sequence[str]) -> None:
        """For a model's words, frequent ones first."""
        self._often = {word: 1.0 / (_TOTAL * (RARE + rank)) for rank, word in enumerate(known)}
        self._found: dict[str, dict[str, float]] = {}

    def read(self, words: Sequence[str]) -> list[str | None]:
        """For each word of an instruction the known one that stands in for it; None for known words and for strangers.

        Example:
            >>> StandIns(["the", "couch", "wait", "at"]).read(["wait", "at", "the", "settee"])
            [None, None, None, 'couch']
        """
        if len(words) > MAX_READ:
            return self.read(words[:MAX_READ]) + [None] * (len(words) - MAX_READ)
        if all(word in self._often for word in words):
            return [None] * len(words)
        # Viterbi: the best score of a reading that ends in each candidate, and the candidate before it.
        scores, came_from = {STOP: 0.0}, list[dict[str, str]]()
        for candidates in map(self._candidates, between_stops(words)[1:]):
            best = {
                word: max((score + self._follows(before, word), before) for before, score in scores.items())
                for word in candidates
            }
            came_from.append({word: before for word, (_, before) in best.items()})
            scores = {word: best[word][0] + own for word, own in candidates.items()}
        hidden = [STOP]
        for before in reversed(came_from):
            hidden.append(before[hidden[-1]])
        return [other if other not in (_NONE, word) else None for word, other in zip(words, hidden[-2::-1])]

    def _candidates(self, word: str) -> dict[str, float]:
        """Known words that one may stand for, with their logarithmic scores."""
        if word in self._often or word == STOP:
            return {word: 0.0}
        if word not in self._found:
            if len(self._found) >= MAX_CACHED:
                self._found.clear()
            self._found[word] = self._near(word)
        return self._found[word]

    def _near(self, word: str) -> dict[str, float]:
        if not word.isalpha():
            return {_NONE: 0.0}
        names, unit = self._vectors
        own, kin = shipped_vectors().rows([word])[0], kin_of(word)
        cosines = (unit @ own / max(float(np.linalg.norm(own)), 1e-9)).tolist()
        scores = {
            name: ALIKE * cosine + math.log1p(kin.get(name, 0.0) / STRANGER)
            for name, cosine in zip(names, cosines)
            if name in kin or cosine >= NEAREST
        }
        best = sorted(scores, key=lambda name: scores[name] + math.log(self._often[name]), reverse=True)[:MOST]
        return {_NONE: 0.0} | {name: scores[name] for name in best}

    @cached_property
    def _vectors(self) -> tuple[list[str], Float32[np.ndarray, "n d"]]:
        """Known words (no marks), and their vectors of length 1."""
        names = [name for name in self._often if name.isalpha()]
        rows = shipped_vectors().rows(names)
        return names, rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    def _follows(self, before: str, word: str) -> float:
        """Logarithm of the probability that a word follows another. A stranger may follow any word."""
        if word == _NONE:
            return 0.0
        often = self._often.get(word, 1.0 / (_TOTAL * RARE))
        if before == _NONE:
            return math.log(often)
        return math.log((1.0 - ANY_ORDER) * _followers(before).get(word, 0.0) + ANY_ORDER * often)


def between_stops(words: Sequence[str]) -> list[str]:
    """Words with a full stop before and after them."""
    return [STOP, *words, *([STOP] if words and words[-1] != STOP else [])]


@lru_cache(maxsize=10_000)
def _followers(word: str) -> dict[str, float]:
    return shipped_word_order().of(word)


@lru_cache(maxsize=1)
def shipped_word_order() -> WordTable:
    """For each word those that often follow it in R2R's training instructions, with their share; read once."""
    return read_word_order(WORD_ORDER)


def read_word_order(path: Path) -> WordTable:
    """Such a table from a file (`tests/reference/word_order.py` makes it).

    Raises:
        DataError: it is missing, damaged, or no such file.
    """
    return read_table(path, FORMAT, "a table of word order")
