"""Data about words that comes with the package: safetensors files with a checksum of their tensors."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np
from jaxtyping import UInt8, UInt16
from safetensors import SafetensorError
from safetensors.numpy import load

from ghosts_sim.errors import DataError


def read_packed(
    path: Path, form: str, names: Sequence[str], what: str
) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Words and tensors of a file.

    Args:
        path: of the file.
        form: its format and version.
        names: of its tensors; `words` holds one word per line.
        what: it is, for the message.

    Raises:
        DataError: it is missing, damaged, or of another format.
    """
    try:
        content = path.read_bytes()
        parts = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        if header["format"] != form or header["sha256"] != digest(parts, names):
            raise ValueError
        return tuple(bytes(parts["words"]).decode().split("\n")), parts
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        raise DataError(f"not {what}, or a damaged one", file=path, hint="install the package again") from None


PER_NAT = 32
"""A `WordTable` keeps natural logarithms in steps of 1 / this."""
_PARTS = ("count", "kin", "far", "words")


@dataclass(frozen=True, eq=False)
class WordTable:
    """Entries of words: for each headword other words, each with a number from 0 to 1."""

    words: tuple[str, ...]
    """All words, in alphabetical order."""
    count: UInt8[np.ndarray, " n"] | UInt16[np.ndarray, " n"]
    """Length of each word's entry; the entries follow each other in `kin`."""
    kin: UInt16[np.ndarray, " k"]
    """The words of all entries, as rows of `words`."""
    far: UInt8[np.ndarray, " k"]
    """− ln of the number, in steps of 1 / `PER_NAT`."""

    @cached_property
    def _rows(self) -> dict[str, tuple[int, int]]:
        ends = self.count.cumsum(dtype=np.int64).tolist()
        return {word: (start, end) for word, start, end in zip(self.words, [0, *ends], ends) if end > start}

    def __contains__(self, word: str) -> bool:
        return word in self._rows

    def entry(self, word: str) -> dict[str, float]:
        """The entry of a headword: other words, with their numbers."""
        start, end = self._rows.get(word, (0, 0))
        near = np.exp(self.far[start:end] / -PER_NAT).tolist()
        return {self.words[row]: value for row, value in zip(self.kin[start:end].tolist(), near)}

    def headwords(self, word: str) -> dict[str, float]:
        """Headwords whose entries have a word, with its numbers there: `entry`, looked up the other way."""
        row = bisect_left(self.words, word)
        places = np.flatnonzero(self.kin == row) if word in self.words[row : row + 1] else np.zeros(0, np.int64)
        owners = np.searchsorted(self.count.cumsum(dtype=np.int64), places, "right").tolist()
        return {self.words[owner]: value for owner, value in zip(owners, np.exp(self.far[places] / -PER_NAT).tolist())}


def read_table(path: Path, form: str, what: str) -> WordTable:
    """A table from a file; arguments and errors are those of `read_packed`."""
    words, parts = read_packed(path, form, _PARTS, what)
    return WordTable(words, parts["count"], parts["kin"], parts["far"])


def digest(parts: Mapping[str, np.ndarray], names: Sequence[str]) -> str:
    """SHA-256 of some tensors."""
    return sha256(b"".join(parts[name].tobytes() for name in names)).hexdigest()
