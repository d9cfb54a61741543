"""Shape checks, left out where they would check the same calls thousands of times."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from jaxtyping import config


@contextmanager
def unchecked() -> Iterator[None]:
    """Without run-time checks of shapes, which take half of the time of small computations.

    For long work whose functions other tests call with checks: learning to the end, houses of many seeds.
    """
    before = config.jaxtyping_disable
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", before)
