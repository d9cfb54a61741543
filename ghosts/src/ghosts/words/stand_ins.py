"""Which known words stand in for those of an instruction that training never met.

A noisy channel: the person meant known words, which follow each other as in R2R's training instructions, and said some
of them in another way: with a synonym, or misspelt. `StandIns.read` finds the most probable known words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32, Float64, Shaped

from ghosts.weights import WORD_ORDER
from ghosts.words.packed import WordTable, read_table
from ghosts.words.thesaurus import STRANGER, bases, ending, kin_of, shipped_thesaurus
from ghosts.words.vectors import shipped_vectors

FORMAT = "ghosts-word-order-2"
STOP = "."
"""An instruction is read as if this stood before its first word, and after its last one if it does not end so."""
ALIKE = 5.0
"""Weight of two words' cosine beside logarithms of probabilities. This and the weights below are the likeliest ones for
five lists of synonyms by different authors; docs/ideas.md tests them with others."""
NEAREST = 0.25
"""A known word can stand in for another if the thesaurus calls them kin, their vectors have at least this cosine, or
they are spelt alike."""
SPELT = 7.0
"""Weight of spelling: of the share of pairs of letters that two words have in common, beyond `SPELT_ALIKE`."""
SPELT_ALIKE = 0.45
ENDED = 1.9
"""Cost of a stand-in with another ending: who says *portals* means *doors* rather than *door*."""
MOST = 24
"""Most stand-ins that are considered for a word."""
STAYS = -4.0
"""Score of reading a word by its own vector, if it has one, instead of as a known word."""
ANY_ORDER = 0.1
"""Probability that a word does not depend on those before it; then frequent words come more often (Zipf's law)."""
PAIR = 0.3
"""Weight of the last word alone, beside the last two words, in telling the next one."""
RARE = 10
"""In Zipf's law the most frequent words, up to about this rank, are taken to be equally frequent."""
_TOTAL = sum(1.0 / (RARE + rank) for rank in range(1000))
BEAM = 60
"""Readings of an instruction that the beam search keeps."""
MAX_CACHED = 50_000
"""Words whose candidates are kept."""
MAX_READ = 400
"""Words of a text that are read as known ones; more than any model reads. Later words stay as they are."""

_NONE = ""
"""Stands for "no known word"."""


class _Hypothesis(NamedTuple):
    """Known words for the beginning of an instruction."""

    score: float
    word: str
    before: _Hypothesis | None

    @property
    def two(self) -> tuple[str, str]:
        """The last two words."""
        return (self.before.word if self.before else STOP, self.word)


class _Known(NamedTuple):
    """A model's words, without marks."""

    names: list[str]
    often: Float64[np.ndarray, " n"]
    """How often each comes, as a probability."""
    unit: Float32[np.ndarray, "n d"]
    """Vectors of length 1."""
    columns: dict[str, int]
    """Of pairs of letters, in `letters`."""
    letters: Float32[np.ndarray, "n pairs"]
    """Which pairs of letters each word has: 1, else 0."""
    endings: Shaped[np.ndarray, " n"]
    forms: dict[str, list[int]]
    """Rows of the names that are a word or may be its inflected forms."""


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
        readings = [_Hypothesis(0.0, STOP, None)]
        for candidates in map(self._candidates, between_stops(words)[1:]):
            best: dict[tuple[str, str], _Hypothesis] = {}
            for reading in readings:
                first, second = reading.two
                for word, own in candidates.items():
                    score = reading.score + own + self._follows(first, second, word)
                    if (second, word) not in best or score > best[second, word].score:
                        best[second, word] = _Hypothesis(score, word, reading)
            readings = sorted(best.values(), key=lambda reading: -reading.score)[:BEAM]
        hidden, last = list[str](), readings[0]
        while last.before is not None:
            hidden.append(last.word)
            last = last.before
        return [other if other not in (_NONE, word) else None for word, other in zip(words, reversed(hidden))]

    def akin(self, word: str, other: str) -> bool:
        """Whether a thesaurus, or the spelling, says that one may mean the other.

        Example:
            >>> known = StandIns(["couch", "room"])
            >>> known.akin("settee", "couch"), known.akin("pool", "room")
            (True, False)
        """
        kin, common = kin_of(word), len(_pairs(word) & _pairs(other))
        spelt = 2.0 * common / (len(_pairs(word)) + len(_pairs(other)))
        return spelt >= SPELT_ALIKE or any(base in kin for base in (other, *bases(other)))

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
        known, pairs = self._known, _pairs(word)
        kinship = np.full(len(known.names), STRANGER)
        for other, kin in kin_of(word).items():
            rows = known.forms.get(other, [])
            kinship[rows] = np.maximum(kinship[rows], kin)
        alike = known.unit @ _unit_vectors([word])[0]
        common = known.letters[:, [known.columns[pair] for pair in pairs if pair in known.columns]].sum(1)
        spelt = 2.0 * common / (len(pairs) + known.letters.sum(1)) - SPELT_ALIKE
        scores = ALIKE * alike + SPELT * np.maximum(spelt, 0.0) + np.log(kinship / STRANGER)
        scores -= np.where(known.endings == ending(word), 0.0, ENDED)
        near = np.flatnonzero((kinship > STRANGER) | (alike >= NEAREST) | (spelt >= 0.0))
        best = near[np.argsort(-(scores + np.log(known.often))[near], kind="stable")[:MOST]]
        return {_NONE: STAYS} | {known.names[row]: float(scores[row]) for row in best}

    @cached_property
    def _known(self) -> _Known:
        names = [name for name in self._often if name.isalpha()]
        pairs = [*map(_pairs, names)]
        columns = {pair: column for column, pair in enumerate(sorted(frozenset().union(*pairs)))}
        letters = np.zeros((len(names), len(columns)), np.float32)
        for row, own in enumerate(pairs):
            letters[row, [columns[pair] for pair in own]] = 1.0
        forms: dict[str, list[int]] = {}
        for row, name in enumerate(names):
            for base in {name, *bases(name)}:
                forms.setdefault(base, []).append(row)
        often = np.array([self._often[name] for name in names])
        return _Known(names, often, _unit_vectors(names), columns, letters, np.array([*map(ending, names)]), forms)

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
        """Common words that are not known and that a person may say for a known one, with probabilities."""
        table, kin = shipped_thesaurus(), dict[str, float]()
        for base, end in [*((base, ending(word)) for base in bases(word)), (word, "")]:
            kin |= {name + end: near for name, near in table.headwords(base).items() if name in shipped_vectors().ids}
        scores = {name: math.log(near) for name, near in kin.items() if name not in self._often}
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


def _shares(scores: Mapping[str, float]) -> dict[str, float]:
    """Probabilities from logarithmic scores."""
    most = max(scores.values(), default=0.0)
    weights = {name: math.exp(score - most) for name, score in scores.items()}
    total = sum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def _unit_vectors(words: Sequence[str]) -> Float32[np.ndarray, "n d"]:
    """Vectors of words, of length 1; zeros where there are none."""
    rows = shipped_vectors().rows(words)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def _pairs(word: str) -> frozenset[str]:
    """Pairs of letters that follow each other in a word, its ends included."""
    return frozenset(map("".join, pairwise(f"^{word}$")))


def between_stops(words: Sequence[str]) -> list[str]:
    """Words with a full stop before and after them."""
    return [STOP, *words, *([STOP] if words and words[-1] != STOP else [])]


@lru_cache(maxsize=20_000)
def _followers(words: str) -> dict[str, float]:
    return shipped_word_order().entry(words)


@lru_cache(maxsize=1)
def shipped_word_order() -> WordTable:
    """For each word, and each two words, those that often follow in R2R's training instructions, with their share.

    `ghosts/tests/reference/word_order.py` of the git tag `ideas-2026-11` makes the file.
    """
    return read_table(WORD_ORDER, FORMAT, "a table of word order")
