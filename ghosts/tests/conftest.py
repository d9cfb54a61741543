"""A small world that is shared."""

from landmark_world import combs  # noqa: F401 (a fixture)
