"""Houses by seed, made once for all tests, and what the small world is like that tests share."""

from __future__ import annotations

import functools
from contextlib import nullcontext

from checks import unchecked
from ghosts.world.houses.house import House
from ghosts.world.houses.make import make_house
from ghosts.world.houses.world import WorldConfig
from shared import shared_object

CHECKED = (11, 4)
"""Made with shape checks, which take ten times as long: a house of one storey and one of two."""
SMALL = WorldConfig(houses=2, seed=0, paths=12, faces=16, storeys=(1, 1), rooms=(5, 6))
"""A world whose houses take a fifth of the time of usual ones."""


@functools.cache
def house(seed: int) -> House:
    """The house of a seed; nobody changes it."""
    with nullcontext() if seed in CHECKED else unchecked():
        return shared_object(f"house {seed}", lambda: make_house(seed))
