"""Batches made ahead: in order, errors where they are due, no thread left behind."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from ghosts.data.prefetch import prefetch


def dummy(number: int) -> Any:
    time.sleep(0.002 * ((7 * number) % 5))
    return number


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_prefetch_keeps_the_order(threads: int) -> None:
    assert list(prefetch(dummy, range(5, 40), threads)) == list(range(5, 40))
    assert list(prefetch(dummy, [], threads)) == []


@pytest.mark.parametrize("threads", [0, 2])
def test_prefetch_raises_where_the_batch_is_due(threads: int) -> None:
    def make(number: int) -> Any:
        if number == 3:
            raise ValueError("bad batch 3")
        return number

    batches = prefetch(make, range(10), threads)
    assert [next(batches) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="bad batch 3"):
        next(batches)


def test_prefetch_stops_early_and_leaves_no_thread() -> None:
    before = threading.active_count()
    made = []

    def make(number: int) -> Any:
        made.append(number)
        return number

    batches = prefetch(make, range(10_000), 3, ahead=4)
    assert [next(batches), next(batches)] == [0, 1]
    batches.close()
    assert threading.active_count() == before
    assert len(made) <= 2 + 4 + 3 + 3
