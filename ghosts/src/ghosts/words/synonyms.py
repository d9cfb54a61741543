"""Synonyms that test how well a model reads words that training never met (`ghosts eval … --reword LIST`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ghosts_sim.errors import UnknownNameError
from ghosts_sim.files import read_json

FILE = Path(__file__).with_name("synonyms.json")
_WORD = re.compile(r"[a-z]+", re.IGNORECASE)


@lru_cache(maxsize=1)
def synonyms() -> dict[str, dict[str, str]]:
    """Lists by name: words that R2R's instructions use, each with another of about the same meaning.

    Fewer than five of R2R's training instructions use the other word, so no vocabulary of a model trained on them lists
    it. Each list has an author of its own, who knew neither how words are read nor the other lists.
    """
    found: dict[str, dict[str, str]] = read_json(FILE)
    return found


def synonyms_of(name: str) -> dict[str, str]:
    """The list of a name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in synonyms():
        raise UnknownNameError("list of synonyms", name, synonyms())
    return synonyms()[name]


def reword(text: str, pairs: Mapping[str, str]) -> str:
    """The text with words replaced by synonyms.

    Example:
        >>> reword("Walk past the couch.", synonyms_of("everyday-a"))
        'stroll past the divan.'
    """
    return _WORD.sub(lambda found: pairs.get(found[0].lower(), found[0]), text)
