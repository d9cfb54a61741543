"""Words for things and rooms and for what they look like (`vocabulary.txt`), with their plurals and articles."""

from __future__ import annotations

import functools

from ghosts_houses.tables import entries, names, sections

_WORDS = sections("words/vocabulary.txt")
_NOUNS, _ROOMS = entries(_WORDS["things"]), entries(_WORDS["rooms"])
TRAITS, PLACES, COLORS, FLOORS, WALLS = (
    entries(_WORDS[name]) for name in ("traits", "places", "colors", "floors", "walls")
)
SIZES = names(_WORDS["sizes"])
UNSPOKEN, SMALL, FRONTED = (frozenset(names(_WORDS[name])) for name in ("unspoken", "small", "fronted"))
WOODEN, METAL, FABRIC, AGAINST = (frozenset(names(_WORDS[name])) for name in ("wooden", "metal", "fabric", "against"))
MANY, MASS = (frozenset(names(_WORDS[name])) for name in ("plural already", "without plural"))
NUMBERS = ("", *names(_WORDS["numbers"]))
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")


def nouns(kind: str) -> tuple[str, ...]:
    """What people call a kind of thing; the first is the commonest."""
    return _NOUNS.get(kind, (kind.replace("_", " "),))


@functools.cache
def namesakes(kind: str, other: str) -> bool:
    """Whether two kinds of things share a noun."""
    return not set(nouns(kind)).isdisjoint(nouns(other))


def room_names(kind: str) -> tuple[str, ...]:
    """What people call a kind of room."""
    return _ROOMS.get(kind, (kind.replace("_", " "),))


def countable(noun: str) -> bool:
    """Whether a noun takes "a", a number and a plural."""
    return noun not in MANY and noun not in MASS


def plural(noun: str) -> str:
    """Plural of a noun.

    Example:
        >>> plural("bookshelf"), plural("chest of drawers"), plural("bench"), plural("cactus")
        ('bookshelves', 'chests of drawers', 'benches', 'cactuses')
    """
    if not countable(noun):
        return noun
    head, of, rest = noun.partition(" of ")
    if of:
        return plural(head) + of + rest
    if noun.endswith("shelf"):
        return noun.removesuffix("f") + "ves"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return noun.removesuffix("y") + "ies"
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    return noun + "s"


def article(noun: str) -> str:
    """ "a" or "an" before a word, "" before one that takes neither."""
    if not countable(noun):
        return ""
    return "an" if noun[0] in "aeiou" else "a"
