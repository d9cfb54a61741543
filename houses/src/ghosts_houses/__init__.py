"""Procedural houses: plans, furniture, light, graphs and sentences; motion without a graph; exports."""

__version__ = "0.2.0"
"""Also written into each world, since another version may make other houses from the same seed."""
