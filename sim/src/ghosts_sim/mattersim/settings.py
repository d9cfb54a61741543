"""What both interfaces set: paths, camera, and how it turns."""

from __future__ import annotations

import math
import operator
from typing import SupportsFloat, SupportsIndex

from ghosts_sim.navigation import DEFAULT_ELEVATION_LIMITS_RAD, View, turn, view_towards
from ghosts_sim.types import Intrinsics


def real(value: SupportsFloat) -> float:
    """A number as the originals take it: anything that is one, but no text.

    Raises:
        TypeError: it is not a number.
    """
    return value if type(value) is float else math.fsum((value,))


def text(value: str | bytes) -> str:
    """An identifier as the originals take it.

    Raises:
        TypeError: it is no text.
    """
    if isinstance(value, bytes):
        return value.decode("utf-8")
    if not isinstance(value, str):
        raise TypeError(f"MatterSim: an identifier must be a text, got {value!r}")
    return str(value)


def whole(value: SupportsIndex, low: int = -(2**31), high: int = 2**31 - 1) -> int:
    """A whole number as the originals take it, by default one that fits C++'s `int`.

    Raises:
        TypeError: it is not whole, or out of range.
    """
    number = operator.index(value)
    if not low <= number <= high:
        raise TypeError(f"MatterSim: expected a whole number from {low} to {high}, got {number}")
    return number


def unsigned(value: SupportsIndex) -> int:
    """A whole number that is not negative; see `whole`."""
    return whole(value, 0, 2**32 - 1)


def flag(value: object) -> bool:
    """A truth value as the originals take it: also a number or None, but no text.

    Raises:
        TypeError: it is something else.
    """
    if value is not None and not hasattr(value, "__bool__"):
        raise TypeError(f"MatterSim: expected True or False, got {value!r}")
    return bool(value)


class Settings:
    """Settings of a simulator. Those that change what was built are ignored once it is initialised."""

    def __init__(self, dataset_path: str) -> None:
        self._dataset_path, self._graph_path = dataset_path, "./connectivity"
        self._width, self._height, self._vfov = 320, 240, 0.8
        self._elevation_limits = DEFAULT_ELEVATION_LIMITS_RAD
        self._rendering, self._discretised, self._initialised = True, False, False

    def _choose(self, **settings: object) -> None:
        """Keep settings, unless it is too late for them."""
        if not self._initialised:
            vars(self).update(settings)

    def setRenderingEnabled(self, value: bool) -> None:
        """Whether images are made; navigation works without."""
        self._choose(_rendering=flag(value))

    def setCameraResolution(self, width: int, height: int) -> None:
        """Image size in pixels."""
        self._width, self._height = whole(width), whole(height)

    def setCameraVFOV(self, vfov: SupportsFloat) -> None:
        """Vertical field of view in radians."""
        self._vfov = real(vfov)

    def setElevationLimits(self, min: float, max: float) -> bool:
        """Limit the camera's elevation; accepted only when −π/2 < min < 0 < max < π/2."""
        if -math.pi / 2 < min < 0.0 < max < math.pi / 2:
            self._elevation_limits = (float(min), float(max))
            return True
        return False

    def setDiscretizedViewingAngles(self, value: bool) -> None:
        """Restrict views to 12 headings × 3 elevations."""
        self._choose(_discretised=flag(value))

    def _camera(self) -> Intrinsics:
        return Intrinsics(self._width, self._height, self._vfov)

    def _hfov(self) -> float:
        """Angle within which a viewpoint is navigable, by the originals' formula."""
        return self._vfov * self._width / self._height

    def _view(self, heading: float, elevation: float) -> View:
        return view_towards(
            heading, elevation, discretised=self._discretised, elevation_limits_rad=self._elevation_limits
        )

    def _turn(self, view: View, heading: float, elevation: float) -> View:
        return turn(view, heading, elevation, self._discretised, self._elevation_limits)
