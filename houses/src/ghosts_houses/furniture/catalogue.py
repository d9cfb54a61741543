"""Every kind of object a house may hold."""

from __future__ import annotations

from ghosts_houses.furniture.bath import BATH_KINDS
from ghosts_houses.furniture.decor import DECOR_KINDS
from ghosts_houses.furniture.eat import EAT_KINDS
from ghosts_houses.furniture.kit import Kind
from ghosts_houses.furniture.rest import REST_KINDS
from ghosts_houses.furniture.work import WORK_KINDS

KINDS: dict[str, Kind] = {**REST_KINDS, **EAT_KINDS, **BATH_KINDS, **WORK_KINDS, **DECOR_KINDS}
"""Object kinds by name: how each is built and where it stands."""
