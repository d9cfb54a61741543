"""One simulator for programs of both times: the first call that only one interface has, or can mean, decides which.

Programs since 2019 call `initialize()` and give lists; those of 2018 to 2020 call `init()` and give plain values.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from ghosts_sim.mattersim import batch, v1
from ghosts_sim.mattersim.batch import cbf
from ghosts_sim.mattersim.building import Location as ViewPoint
from ghosts_sim.mattersim.building import State as SimState

__all__ = ["SimState", "Simulator", "ViewPoint", "cbf", "find_modules", "warn_of_others"]


def _setting(name: str) -> Callable[..., Any]:
    """A method that both interfaces have, and that does not tell which is meant."""

    @functools.wraps(getattr(batch.Simulator, name))
    def call(self: Any, *values: Any, **named: Any) -> Any:
        answers = [getattr(sim, name)(*values, **named) for sim in dict.fromkeys(self._both)]
        return answers[0]

    return call


def _only(kind: type, name: str) -> Callable[..., Any]:
    """A method that one interface has: who calls it means that one."""

    @functools.wraps(getattr(kind, name))
    def call(self: Any, *values: Any, **named: Any) -> Any:
        return getattr(self._become(kind), name)(*values, **named)

    return call


class Simulator:
    """A simulator of the newer interface (`batch`) or of the older one (`v1`). Settings go to both until it is one."""

    def __init__(self) -> None:
        self._both = (batch.Simulator(), v1.Simulator())
        self._sim: Any = None

    setDatasetPath = _setting("setDatasetPath")
    setNavGraphPath = _setting("setNavGraphPath")
    setRenderingEnabled = _setting("setRenderingEnabled")
    setCameraResolution = _setting("setCameraResolution")
    setCameraVFOV = _setting("setCameraVFOV")
    setElevationLimits = _setting("setElevationLimits")
    setDiscretizedViewingAngles = _setting("setDiscretizedViewingAngles")
    setSeed = _setting("setSeed")
    setRestrictedNavigation = _only(batch.Simulator, "setRestrictedNavigation")
    setPreloadingEnabled = _only(batch.Simulator, "setPreloadingEnabled")
    setDepthEnabled = _only(batch.Simulator, "setDepthEnabled")
    setBatchSize = _only(batch.Simulator, "setBatchSize")
    setCacheSize = _only(batch.Simulator, "setCacheSize")
    initialize = _only(batch.Simulator, "initialize")
    newRandomEpisode = _only(batch.Simulator, "newRandomEpisode")
    resetTimers = _only(batch.Simulator, "resetTimers")
    timingInfo = _only(batch.Simulator, "timingInfo")
    init = _only(v1.Simulator, "init")

    def newEpisode(self, scanId: Any, viewpointId: Any, heading: Any, elevation: Any) -> None:
        """Start an episode; lists for the newer interface, plain values for the older one."""
        (self._sim or self._meant_by(scanId)).newEpisode(scanId, viewpointId, heading, elevation)

    def makeAction(self, index: Any, heading: Any, elevation: Any) -> None:
        """Move to a navigable location, then turn the camera; lists or plain values, as in `newEpisode`."""
        (self._sim or self._meant_by(index)).makeAction(index, heading, elevation)

    def getState(self) -> Any:
        """The state of every environment (newer), or a copy of the state (older)."""
        return (self._sim or self._both[0]).getState()

    def close(self) -> None:
        """Let go of buildings and panoramas; settings may be changed again afterwards."""
        if self._sim is not None:
            self._sim.close()

    def _meant_by(self, value: object) -> Any:
        plain = isinstance(value, (str, bytes)) or not hasattr(value, "__len__")
        return self._become(v1.Simulator if plain else batch.Simulator)

    def _become(self, kind: type) -> Any:
        if self._sim is None:
            self._sim = next(sim for sim in self._both if isinstance(sim, kind))
            self._both = (self._sim, self._sim)
        return self._sim


def find_modules() -> list[Path]:
    """Every module `MatterSim` on Python's import path, in the order in which they are found."""
    specs = (PathFinder.find_spec("MatterSim", [folder]) for folder in sys.path)
    # A folder of this name without an `__init__.py` is none, as long as there is a real one.
    return [Path(file) for file in dict.fromkeys(spec.origin for spec in specs if spec is not None and spec.origin)]


def warn_of_others(ours: str) -> None:
    """Say once that other modules `MatterSim` are there, which this one hides."""
    others = [str(file) for file in find_modules() if file != Path(ours)]
    if others:
        told = (
            f"imported from ghosts-sim ({ours}); not used: {', '.join(others)} (to use it, put it first on PYTHONPATH)"
        )
        warnings.warn(f"MatterSim: {told}", stacklevel=3)
