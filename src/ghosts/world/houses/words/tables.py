"""Tables of words, written as text."""

from __future__ import annotations


def lines(text: str) -> tuple[str, ...]:
    """One entry per line."""
    return tuple(line.strip() for line in text.strip().splitlines())


def names(text: str) -> tuple[str, ...]:
    """Entries between commas.

    Example:
        >>> names("red, dark blue")
        ('red', 'dark blue')
    """
    return tuple(part.strip() for part in text.split(","))


def often(text: str) -> tuple[str, ...]:
    """Entries between commas, each with how often it is listed.

    Example:
        >>> often("walk*2, go")
        ('walk', 'walk', 'go')
    """
    pairs = [part.partition("*") for part in names(text)]
    return tuple(word for word, _, times in pairs for _ in range(int(times or 1)))


def entries(text: str) -> dict[str, tuple[str, ...]]:
    """A line per key: `key: entry, entry`. A key may have several lines.

    Example:
        >>> entries("sofa: sofa, couch")
        {'sofa': ('sofa', 'couch')}
    """
    table: dict[str, tuple[str, ...]] = {}
    for line in lines(text):
        key, _, rest = line.partition(": ")
        table[key] = table.get(key, ()) + often(rest)
    return table


def templates(**texts: str) -> dict[str, tuple[str, ...]]:
    """Lines by key; an underscore in a key stands for a space."""
    return {name.replace("_", " "): lines(text) for name, text in texts.items()}
