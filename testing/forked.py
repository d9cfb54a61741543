"""A process of its own for a test. It is forked: a new interpreter would import torch and all else for seconds.

Beside a GPU autograd runs threads, and a fork of a process that has trained cannot train: there it is a new one after
all.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from multiprocessing.process import BaseProcess
from typing import IO

_FORK, _SPAWN = multiprocessing.get_context("fork"), multiprocessing.get_context("spawn")
AFRESH = "GHOSTS_TESTS_AFRESH" in os.environ
"""New interpreters also where there is no GPU, to try them."""


class Forked:
    """Runs a function as a user's process would: without shape checks, and alone with its files and its signals.

    Args:
        do: what it runs, which may end in `SystemExit` as a command does.
        session: whether it leads a session, as a command in a terminal does; a signal may be sent to all of it.
        trains: whether it trains. What a test has patched is lost then, beside a GPU.
        environment: what is different in its environment.
    """

    def __init__(
        self, do: Callable[[], object], *, session: bool = False, trains: bool = False, **environment: str
    ) -> None:
        self._printed = [self._file(), self._file()]
        names = [file.name for file in self._printed]
        if trains and (AFRESH or sys.modules["torch"].cuda.is_available()):
            self._process: BaseProcess = _anew(partial(_run, do, names, session, environment), do)
        else:
            self._process = _FORK.Process(target=_run, args=(do, names, session, environment))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @staticmethod
    def _file() -> IO[str]:
        return tempfile.NamedTemporaryFile("w+", encoding="utf-8", errors="replace")

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


def _run(do: Callable[[], object], names: list[str], session: bool, environment: dict[str, str]) -> None:
    if session:
        os.setsid()
    sys.stdout, sys.stderr = (open(name, "w", encoding="utf-8", errors="replace") for name in names)  # noqa: SIM115
    for number, file in enumerate((sys.stdout, sys.stderr), 1):
        os.dup2(file.fileno(), number)  # of what does not print through Python
    os.environ.update(environment)
    if "jaxtyping" in sys.modules:  # the simulator's tests run without it
        sys.modules["jaxtyping"].config.update("jaxtyping_disable", True)
    do()


def _anew(run: Callable[[], object], do: Callable[[], object]) -> BaseProcess:
    """A process that calls a function of a test's module, which another interpreter cannot import."""
    import cloudpickle

    module = sys.modules.get(getattr(do, "func", do).__module__)
    if module is not None and module.__name__.rpartition(".")[2].startswith("test_"):
        cloudpickle.register_pickle_by_value(module)
    return _SPAWN.Process(target=_called, args=(cloudpickle.dumps(run),))


def _called(run: bytes) -> None:
    import cloudpickle

    cloudpickle.loads(run)()
