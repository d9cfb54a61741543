"""Ghosts: instruction following as Bayesian state tracking."""

from ghosts import processor as _processor  # noqa: F401 (first of all: it settles what torch may use)

__version__ = "0.1.0"
