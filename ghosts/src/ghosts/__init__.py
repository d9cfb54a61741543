"""Ghosts: instruction following as Bayesian state tracking."""

from importlib import import_module as _import_module
from typing import Any as _Any

from ghosts import processor as _processor  # noqa: F401 (first of all: it settles what torch may use)

__version__ = "0.3.0"

_SHORT = {
    "load_tracker": "ghosts.run.tracker",
    "Detection": "ghosts.agent.sensors",
    "Pose": "ghosts_sim.types",
    "Intrinsics": "ghosts_sim.types",
}
"""What a robot's program needs, by the shortest name: `from ghosts import load_tracker`."""


def __getattr__(name: str) -> _Any:
    # When it is asked for: torch takes seconds, and most commands' help does without.
    if name not in _SHORT:
        raise AttributeError(f"module 'ghosts' has no attribute {name!r}")
    return getattr(_import_module(_SHORT[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_SHORT})
