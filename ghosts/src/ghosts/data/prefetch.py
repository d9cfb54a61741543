"""Batches made ahead, in threads."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

SWITCH_S = 2e-4
T = TypeVar("T")


def prefetch(
    make: Callable[[int], T], numbers: Sequence[int], threads: int, ahead: int = 4
) -> Generator[T, None, None]:
    """Make batches in threads, handed out in order; an error in a thread is raised where its batch is due.

    Args:
        make: batch of a number; called from several threads.
        numbers: in the order wanted.
        threads: 0 makes each batch when it is asked for.
        ahead: batches kept ready.
    """
    if threads == 0:
        for number in numbers:
            yield make(number)
        return
    waiting = iter(numbers)
    pool = ThreadPoolExecutor(threads)
    # A thread keeps the interpreter for 5 ms at a time by default, while the GPU waits to be told what to do.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        ready = deque(pool.submit(make, number) for number in islice(waiting, ahead + threads))
        while ready:
            batch = ready.popleft().result()
            ready.extend(pool.submit(make, number) for number in islice(waiting, 1))
            yield batch
    finally:
        # Waited for: a thread that is still in torch when the interpreter ends crashes the process.
        pool.shutdown(cancel_futures=True)
        sys.setswitchinterval(interval)
