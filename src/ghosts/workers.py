"""Processes that share work: spawned, of one thread each, gone with the process that started them."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context, parent_process


@contextmanager
def pool_of(count: int, start: Callable[[], None] | None = None) -> Iterator[ProcessPoolExecutor]:
    """A pool of worker processes.

    Ctrl-C is the parent's to answer: workers finish what they are at, and what waits is dropped. Spawned, not forked:
    OpenCV's and zip files' state does not survive a fork.

    Args:
        count: processes.
        start: called in each before its first job.
    """
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    pool = ProcessPoolExecutor(count, get_context("spawn"), _begin, (start,))
    try:
        with _deaf():
            pool.submit(int)  # starts all processes, which are born deaf to Ctrl-C
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


@contextmanager
def _deaf() -> Iterator[None]:
    """Ignore Ctrl-C for a moment; processes started meanwhile ignore it for good."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _begin(start: Callable[[], None] | None) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if start is not None:
        start()


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
