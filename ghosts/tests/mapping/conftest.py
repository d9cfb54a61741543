"""A small building made of raw files (those of the simulator's tests)."""

from landmarks.conftest import built_root, raw_world  # noqa: F401 (fixtures)
