"""Every kind of object a house may hold."""

from __future__ import annotations

from ghosts.world.houses.furniture_bath import BATH_KINDS
from ghosts.world.houses.furniture_decor import DECOR_KINDS
from ghosts.world.houses.furniture_eat import EAT_KINDS
from ghosts.world.houses.furniture_rest import REST_KINDS
from ghosts.world.houses.furniture_work import WORK_KINDS
from ghosts.world.houses.kit import Kind

KINDS: dict[str, Kind] = {**REST_KINDS, **EAT_KINDS, **BATH_KINDS, **WORK_KINDS, **DECOR_KINDS}
"""Object kinds by name: how each is built, where it stands, what people call it."""


def phrase(kind: str) -> str:
    """How people point at an object of a kind, with article.

    Example:
        >>> phrase("television"), phrase("sofa")
        ('the TV', 'the sofa')
    """
    return KINDS[kind].phrase or f"the {kind}"
