"""Ghosts: instruction following as Bayesian state tracking."""

__version__ = "0.1.0"
