"""A small world of houses, and a body with a small camera."""

from residing import _opened_once, world  # noqa: F401 (fixtures)
