"""Refusing wrong values by name."""

from __future__ import annotations

from ghosts_sim.errors import ConfigError, quoted


def require(condition: bool, what: str, value: object) -> None:
    """Raise `ConfigError` quoting the bad value unless the condition holds."""
    if not condition:
        raise ConfigError(f"{what}, got {quoted(value)}")
