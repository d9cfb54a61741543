"""Tables of words, written as text. An entry that ends with `*3` is listed three times: it is said more often."""

from __future__ import annotations

from collections.abc import Iterable


def names(text: str) -> tuple[str, ...]:
    """Entries between commas.

    Example:
        >>> names("walk*2, keep going")
        ('walk', 'walk', 'keep going')
    """
    return _listed(text.split(","))


def lines(text: str) -> tuple[str, ...]:
    """One entry per line."""
    return _listed(text.strip().splitlines())


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
    for line in text.strip().splitlines():
        key, _, rest = line.strip().partition(": ")
        table[key] = table.get(key, ()) + names(rest)
    return table


def templates(**texts: str) -> dict[str, tuple[str, ...]]:
    """Lines by key; an underscore in a key stands for a space."""
    return {name.replace("_", " "): lines(text) for name, text in texts.items()}
