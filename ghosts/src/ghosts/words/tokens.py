"""Tokens and vocabulary, as R2R's own tools make them."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32, Int64

from ghosts_sim.tokens import MIN_COUNT, check_words, frequent_words, tokenise

if TYPE_CHECKING:
    from ghosts.words.stand_ins import StandIns
    from ghosts.words.vectors import WordVectors

MAX_TOKENS = 80
MENTIONED = 6
"""Where a message lists many words, it names so many of them."""
MISREAD = 64
"""Ids drawn per word for training with misread words: what the model would read for synonyms of it."""
MAX_CACHED = 50_000
"""Instructions whose ids a vocabulary keeps in memory."""

_PUNCTUATION = set(string.punctuation)


@dataclass(frozen=True)
class Vocabulary:
    """Words in the order of their ids; id 0 is padding, id 1 any word not known.

    An open vocabulary reads other words too: as a listed word of about the same meaning (`words.stand_ins`), or else
    by their vector alone (`words.embedding.OpenEmbedding`). So every word of the package's vectors has an id after
    the listed ones.
    """

    words: tuple[str, ...]
    """Listed words: those of training."""
    open: bool = False

    def __post_init__(self) -> None:
        check_words(self.words)

    @cached_property
    def _ids(self) -> dict[str, int]:
        listed = {word: number for number, word in enumerate(self.words)}
        return dict(zip(*self._by_vector)) | listed if self.open else listed

    @property
    def parts(self) -> tuple[tuple[str, ...], ...]:
        """Listed words, and those of the vectors where the vocabulary is open, in the order of their ids."""
        return (self.words, _vectors().words) if self.open else (self.words,)

    @property
    def _by_vector(self) -> tuple[tuple[str, ...], range]:
        """Words of the vectors, and their ids."""
        words = _vectors().words
        return words, range(len(self.words), len(self.words) + len(words))

    @cached_property
    def by_meaning(self) -> Int64[np.ndarray, " words"]:
        """For each listed word the id under which its meaning alone is read; `<unk>` where it has no vector."""
        meant = dict(zip(*self._by_vector)) if self.open else {}
        ids = np.array([meant.get(word, 1) for word in self.words], np.int64)
        ids[0] = 0
        return ids

    @cached_property
    def misread(self) -> Int64[np.ndarray, "words draws"]:
        """For each listed word ids that may be read where a person says another word for it, equally probable."""
        ids = np.repeat(np.arange(len(self.words))[:, None], MISREAD, 1)
        if self.open:
            random = np.random.default_rng(0)
            for row in range(2, len(self.words)):
                others = self._stand_ins.misread(self.words[row])
                if others:
                    names = random.choice(sorted(others), MISREAD, p=[others[name] for name in sorted(others)])
                    ids[row] = [self.id(name) for name in names.tolist()]
        return ids

    @cached_property
    def vectors(self) -> Float32[np.ndarray, "ids d"]:
        """A vector per id, zeros where there is none; for an open vocabulary."""
        known = _vectors()
        return np.concatenate([known.rows(self.words), known.table])

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        return {}

    @cached_property
    def _stand_ins(self) -> StandIns:
        from ghosts.words.stand_ins import StandIns

        return StandIns(self.words)

    def __len__(self) -> int:
        return len(self.words)

    def id(self, word: str) -> int:
        """Id of a word by itself, or of `<unk>`."""
        return self._ids.get(word, 1)

    def stand_ins(self, words: Sequence[str]) -> list[str | None]:
        """For each word of a text the listed one as which an open vocabulary reads it; None where there is none.

        Example:
            >>> Vocabulary(("<pad>", "<unk>", "walk", "sofa"), open=True).stand_ins(["divan"])
            ['sofa']
        """
        return self._stand_ins.read(words) if self.open else [None] * len(words)

    def _is_listed(self, word: str) -> bool:
        return self._ids.get(word, len(self.words)) < len(self.words)

    def encode(self, texts: Sequence[str], max_tokens: int = MAX_TOKENS) -> Int64[np.ndarray, "b l"]:
        """Word ids of several instructions, padded at the end with 0 to the longest; cut at `max_tokens`.

        An empty text becomes a single `<unk>`, so that every row has a token.
        """
        rows = [self._row(text)[:max_tokens] for text in texts]
        ids = np.zeros((len(rows), max((len(row) for row in rows), default=0)), np.int64)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = row
        return ids

    def _row(self, text: str) -> list[int]:
        """Word ids of one instruction; training asks for each of them many times."""
        row = self._rows.get(text)
        if row is None:
            words = tokenise(text)
            row = [self.id(other or word) for word, other in zip(words, self.stand_ins(words))] or [1]
            if len(self._rows) >= MAX_CACHED:
                self._rows.clear()
            self._rows[text] = row
        return row

    def read(self, text: str, max_tokens: int = MAX_TOKENS) -> TextRead:
        """What a model reads of a text, in words for people."""
        words = tokenise(text)
        unlisted = [pair for pair in zip(words[:max_tokens], self.stand_ins(words)) if not self._is_listed(pair[0])]
        pairs = tuple(dict.fromkeys((word, other) for word, other in unlisted if other is not None))
        return TextRead(
            words=tuple(words[:max_tokens]),
            unknown=tuple(word for word, other in unlisted if self.id(other or word) == 1),
            new=tuple(word for word, other in unlisted if self.id(other or word) != 1),
            stand_ins=pairs,
            cut=max(0, len(words) - max_tokens),
            doubts=tuple(pair for pair in pairs if not self._stand_ins.akin(*pair)),
        )


def _vectors() -> WordVectors:
    # Imported here: a program that only makes tokens needs neither vectors nor a thesaurus.
    from ghosts.words.vectors import shipped_vectors

    return shipped_vectors()


_LITTLE = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be but by for from i if in is it its me my of on or so that the then there this to was "
        "we will with you your",
    )
)
"""Words that by themselves say nothing about a way."""


def said(words: Iterable[str]) -> list[str]:
    """Words without punctuation marks, those of any script."""
    return [
        word for word in words if not all(mark in _PUNCTUATION or unicodedata.category(mark)[0] == "P" for mark in word)
    ]


@dataclass(frozen=True)
class TextRead:
    """What a model makes of a text."""

    words: tuple[str, ...]
    """Tokens it reads."""
    unknown: tuple[str, ...]
    """Those it does not know at all."""
    new: tuple[str, ...]
    """Those that training never met, read by their meaning."""
    stand_ins: tuple[tuple[str, str], ...]
    """Those of them that are read as another word, each with that word; the others are read by their vector alone."""
    cut: int
    """Tokens after the last one it reads."""
    doubts: tuple[tuple[str, str], ...] = ()
    """Of the stand-ins those that neither a thesaurus nor the spelling suggests: that word only fits the others."""

    def notes(self) -> list[str]:
        """In words, where there is something to say."""
        lines, words, unknown, new = [], *(said(items) for items in (self.words, self.unknown, self.new))
        if not words:
            lines.append("there are no words in it")
        if unknown:
            lines.append(f"{len(unknown)} of {len(words)} words unknown: {', '.join(dict.fromkeys(unknown))}")
        if new:
            lines.append(f"words that training never met: {', '.join(map(self._described, dict.fromkeys(new)))}")
        if self.cut:
            lines.append(f"cut after {len(self.words)} words ({self.cut} left out)")
        return lines

    def _described(self, word: str) -> str:
        """A word that training never met, and how it is read."""
        others = " or ".join(other for said, other in self.stand_ins if said == word)
        return f"{word} (read as {others})" if others else f"{word} (read by its meaning)"

    @property
    def understood(self) -> float:
        """Share of the words, marks left out, that it reads and knows.

        0 where training met no word that can say where to go, as in "hello" or "the … and …".
        """
        known = set(self.words).difference(self.unknown, self.new)
        if not said(known - _LITTLE):
            return 0.0
        words, unknown = len(said(self.words)), len(said(self.unknown))
        return (words - unknown) / (words + self.cut)

    @property
    def trust(self) -> float:
        """What a model's own confidence is to be multiplied by; 0 where it understands nothing.

        Words that are missing cost little at first, since the others say much of the same. Houses-agent on 240
        instructions with 20, 35, 50 and 75 % of the words replaced by unknown ones: it was sure of 0.58, 0.57, 0.55 and
        0.51 and right in 0.55, 0.53, 0.50 and 0.40; with this factor it is sure of 0.57, 0.54, 0.48 and 0.30.
        """
        return 1.0 - (1.0 - self.understood) ** 3


def unread(vocabulary: Vocabulary, texts: Sequence[str]) -> list[str]:
    """What a model does not read of many instructions, in words; see `TextRead.notes`."""
    found = [vocabulary.read(text) for text in texts]
    lines, cut = [], sum(read.cut > 0 for read in found)
    for kind, each in (
        ("unknown words", [said(read.unknown) for read in found]),
        ("words that training never met", [said(read.new) for read in found]),
    ):
        strange = Counter(word for words in each for word in dict.fromkeys(words))
        if strange:
            most = ", ".join(word for word, _ in strange.most_common(MENTIONED))
            more = f" and {len(strange) - MENTIONED} more" if len(strange) > MENTIONED else ""
            lines.append(f"{sum(map(bool, each))} of {len(texts)} instructions hold {kind}: {most}{more}")
    if cut:
        lines.append(f"{cut} of {len(texts)} instructions are cut after {MAX_TOKENS} words")
    return lines


def build_vocabulary(texts: Iterable[str], *, open: bool = False, min_count: int = MIN_COUNT) -> Vocabulary:
    """Words seen at least `min_count` times, most frequent first, ties in alphabetical order."""
    return Vocabulary(frequent_words(texts, min_count), open)
