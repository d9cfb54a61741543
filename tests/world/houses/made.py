"""Houses by seed, made once a process."""

from __future__ import annotations

import functools
from contextlib import nullcontext

from checks import unchecked
from ghosts.world.houses.house import House
from ghosts.world.houses.make import make_house

CHECKED = 4
"""Seeds below this are made with shape checks."""


@functools.cache
def house(seed: int) -> House:
    """The house of a seed; nobody changes it."""
    with nullcontext() if seed < CHECKED else unchecked():
        return make_house(seed)
