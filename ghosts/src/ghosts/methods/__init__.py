"""The methods that are installed, found by entry points of the group `ghosts.methods`: each is a `method.Method`.

A method and its presets are known as soon as their package is installed; nothing here has to be changed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points

from ghosts.config import Experiment, Purpose
from ghosts.methods.method import Method
from ghosts_sim.errors import UnknownNameError, did_you_mean

GROUP = "ghosts.methods"
PURPOSES: dict[Purpose, str] = {"goal": "goal prediction", "vln": "navigation", "speaker": "speaking"}
"""What models are for, in words."""
Preset = Callable[[], Experiment]


@cache
def methods() -> dict[str, Method]:
    """All methods by name, our own first."""
    found = [item.load() for item in sorted(entry_points(group=GROUP), key=lambda item: item.name)]
    return {item.name: item for item in sorted(found, key=lambda item: not type(item).__module__.startswith("ghosts."))}


def method(name: str) -> Method:
    """A method by name.

    Raises:
        UnknownNameError: none of that name is installed.
    """
    if name not in methods():
        raise UnknownNameError("method", name, methods(), "the methods that are installed here")
    return methods()[name]


def method_of(experiment: Experiment) -> Method:
    """The method of an experiment."""
    return method(experiment.method)


def presets(purpose: Purpose) -> dict[str, Preset]:
    """Experiments of one purpose, by name."""
    found = {name: make for item in methods().values() for name, make in item.presets.items()}
    return {name: make for name, make in found.items() if make().purpose == purpose}


def preset(name: str, purpose: Purpose = "goal") -> Experiment:
    """An experiment by name.

    Raises:
        UnknownNameError: no such preset; suggests the nearest.
    """
    known = presets(purpose)
    if name in known:
        return known[name]()
    other = next((other for other in PURPOSES if name in presets(other)), None)
    if other is None:
        raise UnknownNameError("preset", name, known)
    near = did_you_mean(name, known).removeprefix("; ")
    raise UnknownNameError(f"{name!r} is a preset of ghosts train {other}; for {PURPOSES[purpose]}, {near}")
