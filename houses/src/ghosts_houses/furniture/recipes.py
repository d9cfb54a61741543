"""What each kind of room is furnished with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ghosts_houses.house import Thing
from ghosts_houses.tables import entries, lines, names, sections


@dataclass(frozen=True)
class Wish:
    """One wish: an object, how likely, and beside, before, around, on or above which other object."""

    kind: str
    chance: float = 1.0
    host: str = ""
    most: int = 1
    where: str = ""
    """Replaces the kind's usual place."""
    instead: str = ""
    """Another kind that does as well; which is tried first is drawn."""


@dataclass(frozen=True)
class Need:
    """What a room must have to be called by its name: at least so many of some kinds together."""

    kinds: tuple[str, ...]
    least: int = 1

    def __str__(self) -> str:
        kinds = " or ".join(self.kinds)
        return f"{self.least} × {kinds}" if self.least > 1 else kinds


def _need(text: str) -> Need:
    """Such as "sofa", or "2 × bookshelf or desk"."""
    least, times, kinds = text.rpartition(" × ")
    return Need(tuple(kinds.split(" or ")), int(least) if times else 1)


def _wish(line: str) -> Wish:
    """Such as "chair, 0.9, at dining table, up to 4"."""
    kind, *details = names(line)
    found: dict[str, Any] = {}
    for detail in details:
        first, _, rest = detail.partition(" ")
        if first == "at":
            found["host"] = rest
        elif first == "up":
            found["most"] = int(rest.removeprefix("to "))
        elif first == "or":
            found["instead"] = rest
        elif first == "beside":
            found["where"] = first
        else:
            found["chance"] = float(first)
    return Wish(kind, **found)


_TEXTS = sections("furniture/recipes.txt")
ESSENTIALS = {room: tuple(map(_need, needs)) for room, needs in entries(_TEXTS.pop("needs")).items()}
"""The contract of each kind of room; hallways have none."""
RECIPES = {room: tuple(map(_wish, lines(text))) for room, text in _TEXTS.items()}
"""Objects of each kind of room, most important first."""


def lacking(room_kind: str, things: Sequence[Thing]) -> list[Need]:
    """What a room of a kind must have and these things do not give it."""
    have = Counter(thing.kind for thing in things)
    return [need for need in ESSENTIALS.get(room_kind, ()) if sum(have[kind] for kind in need.kinds) < need.least]
