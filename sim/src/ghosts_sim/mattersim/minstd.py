"""The originals' random numbers: the C++ library's default engine and distributions, as GCC has them."""

from __future__ import annotations

from ghosts_sim import geometry

_MODULUS, _MULTIPLIER = 2**31 - 1, 16807
_RANGE = _MODULUS - 2  # of the engine's values above its least, which is 1


class Minstd:
    """`std::default_random_engine`.

    Example:
        >>> Minstd(123456).below(100)
        96
    """

    def __init__(self, seed: int) -> None:
        self._state = seed % 2**64 % _MODULUS or 1  # a negative seed becomes an unsigned one

    def _next(self) -> int:
        self._state = self._state * _MULTIPLIER % _MODULUS
        return self._state - 1

    def below(self, count: int) -> int:
        """A whole number from 0 to `count` − 1: `std::uniform_int_distribution`."""
        scale = _RANGE // count
        while True:
            value = self._next()
            if value < count * scale:
                return value // scale

    def heading_rad(self) -> float:
        """A heading in [0, 2π): `std::uniform_real_distribution`."""
        span = float(_RANGE + 1)
        return (self._next() + self._next() * span) / (span * span) * geometry.TAU


def random_row(random: Minstd, scan: str, included: list[bool]) -> int:
    """Row of a random viewpoint; from an excluded one the next included is taken.

    Raises:
        RuntimeError: all viewpoints are excluded.
    """
    start = random.below(len(included))
    for row in (*range(start, len(included)), *range(start)):
        if included[row]:
            return row
    raise RuntimeError(f"MatterSim: ScanId: {scan} has no included viewpoints!")
