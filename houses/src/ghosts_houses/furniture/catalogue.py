"""Every kind of object a house may hold: how each is built and where it stands."""

from ghosts_houses.furniture import bath, decor, eat, rest, work  # noqa: F401 (each adds its kinds)
from ghosts_houses.furniture.kit import KINDS as KINDS
