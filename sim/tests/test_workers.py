"""A pool of workers ends with the command that started it."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from forked import Forked
from ghosts_sim import workers


def interrupted_at_its_start(number: int) -> None:
    """Ctrl-C when so many processes are started, of which the pool has not noted the last."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" starts programs deaf to it
    start, started = workers._DeafProcess.start, []

    def interrupted(process: workers._DeafProcess) -> None:
        start(process)
        started.append(process)
        if len(started) == number:
            os.kill(os.getpid(), signal.SIGINT)

    workers._DeafProcess.start = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt), workers.pool_of(2) as pool:
        _ = [pool.submit(abs, job) for job in range(2)]
    assert len(started) == number


@pytest.mark.skipif(sys.version_info < (3, 9), reason="Python 3.8 starts all processes with the first job")
@pytest.mark.parametrize("number", [1, 2])
def test_ctrl_c_while_a_pool_starts(number: int) -> None:
    process = Forked(lambda: interrupted_at_its_start(number))
    assert process.end(limit_s=40) == 0, process.errors()[-2000:]
