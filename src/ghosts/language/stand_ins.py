"""Which known words stand in for those of an instruction that training never met.

A noisy channel: the person meant known words, which follow each other as in R2R's training instructions, and said some
of them in another way: with a synonym, or misspelt. `StandIns.read` finds the most probable known words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from ghosts.language.packed import WordTable, read_table
from ghosts.language.thesaurus import kin_of, shipped_thesaurus
from ghosts.language.vectors import shipped_vectors
from ghosts.weights import WORD_ORDER

FORMAT = "ghosts-word-order-2"
STOP = "."
"""Taken to stand before the first word of an instruction, and after the last one where it does not."""
ALIKE = 7.0
"""Weight of two words' cosine beside logarithms of probabilities. This and the numbers below were chosen with three
lists of synonyms; docs/ideas.md tests them with others."""
NEAREST = 0.25
"""Words can stand in for one that are its kin, have at least this cosine, or are spelt like it."""
STRANGER = 3e-4
"""Kinship of words that the thesaurus does not call kin."""
LEAST_KIN = 0.3
"""A word's kinship is shared among all words that it is kin to: `room` is kin to so many that it says little about
each. This is the least that is shared."""
SPELT = 10.0
"""Weight of spelling: of the share of pairs of letters that two words have in common, beyond `SPELT_ALIKE`."""
SPELT_ALIKE = 0.45
MOST = 24
"""Words that are considered in place of one."""
STAYS = -4.0
"""Score of reading a word by its vector, if it has one, and not as a known word."""
ANY_ORDER = 0.1
"""Probability that a word does not depend on those before it; then frequent words come more often (Zipf's law)."""
PAIR = 0.3
"""Weight of the word before beside that of the two words before."""
RARE = 10
"""Known words before this one count as equally frequent there."""
_TOTAL = sum(1.0 / (RARE + rank) for rank in range(1000))
BEAM = 60
"""Readings that are followed at a time."""
MAX_CACHED = 50_000
"""Words whose candidates are kept."""
MAX_READ = 400
"""Words of a text, longer than any that a model reads; those that follow stay what they are."""

_NONE = ""
"""Stands for "no known word"."""


class _Reading(NamedTuple):
    """Known words for the beginning of an instruction."""

    score: float
    word: str
    before: _Reading | None

    @property
    def two(self) -> tuple[str, str]:
        """The last two words."""
        return (self.before.word if self.before else STOP, self.word)


class _Known(NamedTuple):
    """A model's words, without marks."""

    names: list[str]
    unit: Float32[np.ndarray, "n d"]
    """Vectors of length 1."""
    columns: dict[str, int]
    """Of pairs of letters, in `letters`."""
    letters: Float32[np.ndarray, "n pairs"]
    """Which pairs of letters each word has: 1, else 0."""


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
        readings = [_Reading(0.0, STOP, None)]
        for candidates in map(self._candidates, between_stops(words)[1:]):
            best: dict[tuple[str, str], _Reading] = {}
            for reading in readings:
                first, second = reading.two
                for word, own in candidates.items():
                    score = reading.score + own + self._follows(first, second, word)
                    if (second, word) not in best or score > best[second, word].score:
                        best[second, word] = _Reading(score, word, reading)
            readings = sorted(best.values(), key=lambda reading: -reading.score)[:BEAM]
        hidden, last = list[str](), readings[0]
        while last.before is not None:
            hidden.append(last.word)
            last = last.before
        return [other if other not in (_NONE, word) else None for word, other in zip(words, reversed(hidden))]

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
            return {_NONE: STAYS}
        known, kin, pairs = self._known, kin_of(word), _pairs(word)
        alike = known.unit @ _unit_vectors([word])[0]
        common = known.letters[:, [known.columns[pair] for pair in pairs if pair in known.columns]].sum(1)
        spelt = 2.0 * common / (len(pairs) + known.letters.sum(1)) - SPELT_ALIKE
        scores = {
            name: ALIKE * cosine + SPELT * max(0.0, extra) + _kinship(kin.get(name, 0.0), name)
            for name, cosine, extra in zip(known.names, alike.tolist(), spelt.tolist())
            if name in kin or cosine >= NEAREST or extra >= 0.0
        }
        best = sorted(scores, key=lambda name: scores[name] + math.log(self._often[name]), reverse=True)[:MOST]
        return {_NONE: STAYS} | {name: scores[name] for name in best}

    @cached_property
    def _known(self) -> _Known:
        names = [name for name in self._often if name.isalpha()]
        pairs = [*map(_pairs, names)]
        columns = {pair: column for column, pair in enumerate(sorted(frozenset().union(*pairs)))}
        letters = np.zeros((len(names), len(columns)), np.float32)
        for row, own in enumerate(pairs):
            letters[row, [columns[pair] for pair in own]] = 1.0
        return _Known(names, _unit_vectors(names), columns, letters)

    def misread(self, word: str) -> dict[str, float]:
        """What may be read where a person meant a known word and said another, with probabilities; context left out.

        A word that is not known stands for itself, read by its vector. Marks are never misread.
        """
        found: dict[str, float] = {}
        if not word.isalpha():
            return found
        for said, probability in self._said_for(word).items():
            candidates = self._candidates(said)
            weights = _shares({name: own + math.log(self._often.get(name, 1.0)) for name, own in candidates.items()})
            for name, weight in weights.items():
                found[name or said] = found.get(name or said, 0.0) + probability * weight
        return found

    def _said_for(self, word: str) -> dict[str, float]:
        """Words that are not known and that a person may say for a known one, with probabilities."""
        vectors, kin = shipped_vectors(), shipped_thesaurus().among(word)
        alike = _all_unit_vectors() @ _unit_vectors([word])[0]
        near = np.argpartition(-alike, 4 * MOST)[: 4 * MOST].tolist() if alike.any() else []
        cosines = {vectors.words[row]: float(alike[row]) for row in near if alike[row] >= NEAREST}
        scores = {
            name: ALIKE * cosines.get(name, 0.0) + _kinship(kin.get(name, 0.0), word)
            for name in {*kin, *cosines}
            if name.isalpha() and name not in self._often
        }
        return _shares({name: scores[name] for name in sorted(scores, key=lambda name: (-scores[name], name))[:MOST]})

    def _follows(self, first: str, second: str, word: str) -> float:
        """Logarithm of the probability that a word follows two others. A stranger may follow any words."""
        if word == _NONE:
            return 0.0
        probability = self._often.get(word, 1.0 / (_TOTAL * RARE))
        if second != _NONE:
            probability = (1.0 - ANY_ORDER) * _followers(second).get(word, 0.0) + ANY_ORDER * probability
            after_two = _followers(f"{first} {second}")
            if after_two:
                probability = (1.0 - PAIR) * after_two.get(word, 0.0) + PAIR * probability
        return math.log(probability)


def _kinship(kinship: float, name: str) -> float:
    """Logarithmic score of a kinship to a known word."""
    return math.log1p(kinship / max(LEAST_KIN, _kinships().get(name, 0.0)) / STRANGER)


def _shares(scores: Mapping[str, float]) -> dict[str, float]:
    """Probabilities from logarithmic scores."""
    most = max(scores.values(), default=0.0)
    weights = {name: math.exp(score - most) for name, score in scores.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def _unit_vectors(words: Sequence[str]) -> Float32[np.ndarray, "n d"]:
    """Vectors of words, of length 1; zeros where there are none."""
    return _unit(shipped_vectors().rows(words))


@lru_cache(maxsize=1)
def _all_unit_vectors() -> Float32[np.ndarray, "n d"]:
    return _unit(shipped_vectors().table)


def _unit(rows: Float32[np.ndarray, "n d"]) -> Float32[np.ndarray, "n d"]:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _pairs(word: str) -> frozenset[str]:
    """Pairs of letters that follow each other in a word, its ends included."""
    return frozenset(map("".join, pairwise(f"^{word}$")))


def between_stops(words: Sequence[str]) -> list[str]:
    """Words with a full stop before and after them."""
    return [STOP, *words, *([STOP] if words and words[-1] != STOP else [])]


@lru_cache(maxsize=20_000)
def _followers(words: str) -> dict[str, float]:
    return shipped_word_order().of(words)


@lru_cache(maxsize=1)
def _kinships() -> dict[str, float]:
    return shipped_thesaurus().sums()


@lru_cache(maxsize=1)
def shipped_word_order() -> WordTable:
    """For each word, and each two words, those that often follow in R2R's training instructions, with their share."""
    return read_word_order(WORD_ORDER)


def read_word_order(path: Path) -> WordTable:
    """Such a table from a file (`tests/reference/word_order.py` makes it).

    Raises:
        DataError: it is missing, damaged, or no such file.
    """
    return read_table(path, FORMAT, "a table of word order")
