"""Words of instructions, as R2R's own tools make them."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence

from ghosts_sim.errors import DataError

PAD, UNKNOWN = "<pad>", "<unk>"
"""The first two words of a list: padding, and any word that is not listed."""
MIN_COUNT = 5
_SPLIT = re.compile(r"(\W+)")
_PUNCTUATION = set(string.punctuation)


def tokenise(text: str) -> list[str]:
    """Lower-case words and punctuation marks, in order.

    Runs of punctuation are single marks each, except runs of full stops, which stay together (R2R's rule).

    Example:
        >>> tokenise("Turn left, then stop...")
        ['turn', 'left', ',', 'then', 'stop', '...']
    """
    tokens: list[str] = []
    for piece in _SPLIT.split(text):
        word = "".join(piece.split()).lower() if not piece.isalnum() else piece.lower()
        if not word:
            continue
        if set(word) <= _PUNCTUATION and set(word) != {"."}:
            tokens.extend(word)
        else:
            tokens.append(word)
    return tokens


def frequent_words(texts: Iterable[str], min_count: int = MIN_COUNT) -> tuple[str, ...]:
    """`PAD`, `UNKNOWN` and the words seen at least so often, most frequent first, ties in alphabetical order."""
    counts = Counter(token for text in texts for token in tokenise(text))
    kept = (word for word, count in counts.items() if count >= min_count)
    return (PAD, UNKNOWN, *sorted(kept, key=lambda word: (-counts[word], word)))


def check_words(words: Sequence[str]) -> None:
    """Refuse what is no list of words.

    Raises:
        DataError: it does not start with `PAD` and `UNKNOWN`, or holds a word twice.
    """
    if tuple(words[:2]) != (PAD, UNKNOWN):
        raise DataError(f"a vocabulary starts with {PAD} and {UNKNOWN}", field="words", value=words[:2])
    if len(set(words)) != len(words):
        twice = next(word for word, count in Counter(words).items() if count > 1)
        raise DataError("a word is listed twice", field="words", value=twice, hint="remove one of the two")
