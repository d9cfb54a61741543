"""Plurals and articles."""

from __future__ import annotations

from ghosts_houses.words.tables import names

MANY = frozenset(
    names("""
        bath towels, curtains, drapes, drawers, drums, dumbbells, file drawers, free weights, hanging clothes,
        shoes, towels, umbrellas, weights, window curtains, window drapes
    """)
)
"""Nouns that are plural already."""
MASS = frozenset({"wall art", "luggage", "greenery", "shelving", "drapery", "art", "baggage"})
"""Nouns without a plural."""
NUMBERS = names("""
    , one, two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen,
    seventeen, eighteen, nineteen, twenty
""")
ORDINALS = ("", "first", "second", "third", "fourth", "fifth")


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
