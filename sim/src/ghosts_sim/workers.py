"""Processes that share work: spawned, of one thread each, gone with the process that started them."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import Any

from ghosts_sim.values import require

_MOST = 1024


@contextmanager
def pool_of(count: int, start: Callable[[], None] | None = None) -> Iterator[ProcessPoolExecutor]:
    """A pool of worker processes.

    The parent answers Ctrl-C: workers finish their present job, and waiting jobs are dropped. Spawned, not forked:
    OpenCV's and zip files' state does not survive a fork.

    Args:
        count: processes, at most 1024.
        start: called in each before its first job.
    """
    require(1 <= count <= _MOST, f"--workers must lie in 1..{_MOST}", count)
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    pool = _Pool(count, _DeafContext(), _begin, (start,))
    try:
        yield pool
    finally:
        # Python 3.8 cannot drop waiting jobs.
        pool.shutdown(wait=True, **({"cancel_futures": True} if sys.version_info >= (3, 9) else {}))
        if before is None:
            del os.environ["OMP_NUM_THREADS"]
        else:
            os.environ["OMP_NUM_THREADS"] = before


class _Pool(ProcessPoolExecutor):
    """Starts its processes as jobs come in, and is not interrupted while it does.

    A process that it has started and not yet noted would take from another the word to end, and that one would wait
    for work for ever.
    """

    def submit(self, *args: Any, **options: Any) -> Any:
        """Ctrl-C comes when the job is noted."""
        if threading.current_thread() is not threading.main_thread():  # the others get no signals
            return super().submit(*args, **options)
        came: list[Any] = []
        before = signal.signal(signal.SIGINT, lambda *signalled: came.append(signalled))
        try:
            return super().submit(*args, **options)
        finally:
            signal.signal(signal.SIGINT, before)
            if came and callable(before):
                before(*came[0])


class _DeafProcess(SpawnProcess):
    """A process that ignores Ctrl-C from the start: it inherits the signals that its parent's thread blocks."""

    def start(self) -> None:
        resource_tracker.ensure_running()  # started later, it would end the holding back
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _DeafContext(SpawnContext):
    # The pool starts its processes one by one, as jobs come in.
    Process = _DeafProcess


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
