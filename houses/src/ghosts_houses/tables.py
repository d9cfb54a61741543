"""Tables that are kept as text files of this package. An entry that ends with `*3` is listed three times."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def sections(file: str) -> dict[str, str]:
    """The parts of a text file of the package, each under a line `[name]`; lines that begin with `#` are left out."""
    found: dict[str, str] = {}
    for part in ("\n" + (Path(__file__).parent / file).read_text("utf-8")).split("\n[")[1:]:
        name, _, rest = part.partition("]\n")
        found[name] = "\n".join(line for line in rest.split("\n") if line and not line.startswith("#"))
    return found


def names(text: str) -> tuple[str, ...]:
    """Entries between commas.

    Example:
        >>> names("walk*2, keep going")
        ('walk', 'walk', 'keep going')
    """
    return _listed(" ".join(text.split()).split(","))


def lines(text: str) -> tuple[str, ...]:
    """One entry per line."""
    return _listed(text.split("\n"))


def _listed(parts: Iterable[str]) -> tuple[str, ...]:
    pairs = [part.strip().partition("*") for part in parts]
    return tuple(entry for entry, _, times in pairs for _ in range(int(times or 1)))


def entries(text: str) -> dict[str, tuple[str, ...]]:
    """A line per key: `key: entry, entry`. A key may have several lines.

    Example:
        >>> entries("sofa: sofa, couch")
        {'sofa': ('sofa', 'couch')}
    """
    table: dict[str, tuple[str, ...]] = {}
    for line in text.split("\n"):
        key, _, rest = line.partition(": ")
        table[key] = table.get(key, ()) + names(rest)
    return table
