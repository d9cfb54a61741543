"""A small world of houses."""

from residing import _opened_once, world  # noqa: F401 (fixtures)
