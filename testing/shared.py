"""What is slow to make and never changed, made once for all workers of a run of the tests."""

from __future__ import annotations

import fcntl
import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

SHARED = "GHOSTS_TESTS_SHARED"
"""Names a folder of this run alone."""
T = TypeVar("T")


@pytest.fixture(autouse=True, scope="session")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> None:
    """One folder for all workers of this run."""
    base = tmp_path_factory.getbasetemp()
    os.environ[SHARED] = str((base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared")


def shared_folder(name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` fills; nobody changes it."""
    with _first(name) as (folder, done):
        if not done:
            make(folder)
        return folder


def shared_object(name: str, make: Callable[[], T]) -> T:
    """What `make` returns; a worker that comes later gets an equal one."""
    with _first(name) as (folder, done):
        file = folder / "object"
        if done:
            return pickle.loads(file.read_bytes())  # type: ignore[no-any-return] # of this run's own making
        found = make()
        file.write_bytes(pickle.dumps(found))
        return found


@contextmanager
def _first(name: str) -> Iterator[tuple[Path, bool]]:
    """A folder, and whether somebody has made what belongs there; others wait until it is made, or has failed."""
    folder = Path(os.environ[SHARED]) / name
    folder.mkdir(parents=True, exist_ok=True)
    made = folder.with_suffix(".made")
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder, made.exists()
        made.touch()
