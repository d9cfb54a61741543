"""A process of its own for a test. It is forked: a new interpreter would import torch and all else for seconds."""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import IO

_FORK = multiprocessing.get_context("fork")


class Forked:
    """Runs a function as a user's process would: without shape checks, and alone with its files and its signals.

    Args:
        do: what it runs, which may end in `SystemExit` as a command does.
        session: whether it leads a session, as a command in a terminal does; a signal may be sent to all of it.
        environment: what is different in its environment.
    """

    def __init__(self, do: Callable[[], object], *, session: bool = False, **environment: str) -> None:
        self._printed = [self._file(), self._file()]
        self._process = _FORK.Process(target=self._run, args=(do, session, environment))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def _run(self, do: Callable[[], object], session: bool, environment: dict[str, str]) -> None:
        if session:
            os.setsid()
        sys.stdout, sys.stderr = self._printed
        for number, file in enumerate(self._printed, 1):
            os.dup2(file.fileno(), number)  # of what does not print through Python
        os.environ.update(environment)
        if "jaxtyping" in sys.modules:  # the simulator's tests run without it
            sys.modules["jaxtyping"].config.update("jaxtyping_disable", True)
        do()

    @staticmethod
    def _file() -> IO[str]:
        return tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.is_alive()

    def kill(self) -> None:
        """As `kill -9` does."""
        self._process.kill()
        self._process.join()

    def wait_until(self, done: Callable[[], bool], limit_s: float = 120.0) -> None:
        """Until something is true, of the files that it writes for example; an error if it ends before."""
        deadline = time.monotonic() + limit_s
        while not done():
            if not self.running or time.monotonic() > deadline:
                self.kill()
                raise AssertionError(self.errors()[-2000:])
            time.sleep(0.0005)

    def end(self, limit_s: float = 120.0) -> int:
        """Wait for its end; its status, negative where a signal ended it."""
        self._process.join(limit_s)
        if self._process.exitcode is None:
            self.kill()
            raise AssertionError(f"still running after {limit_s} s: {self.errors()[-2000:]}")
        return self._process.exitcode

    def errors(self) -> str:
        """What it has printed on stderr; once it has ended."""
        self._printed[1].seek(0)
        return self._printed[1].read()

    def output(self) -> str:
        """What it has printed on stdout; once it has ended."""
        self._printed[0].seek(0)
        return self._printed[0].read()
