"""Locks between processes: the system lets go of them when a process ends, however it ends."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ghosts_sim.errors import DataError

_UNKNOWN = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a file system without locks answers; work goes on without them there."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file, unless somebody else holds it; it stays locked until it is closed.

    Returns:
        Whether it is ours now.
    """
    return _flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(folder: Path, command: str, *, part: str = "") -> Iterator[None]:
    """Lock a folder for writing, or say which process writes there.

    Args:
        folder: made where it is missing.
        command: what writes, such as "ghosts train", for the second comer.
        part: processes of one folder that are meant to work side by side have different parts.

    Raises:
        DataError: somebody else writes to it.
    """
    with _held(folder, f".lock{part}", fcntl.LOCK_EX | fcntl.LOCK_NB) as (descriptor, ours):
        if not ours:
            who = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip() or "another process"
            hint = "wait until it ends, or choose another --out"
            raise DataError(f"{command} is already at work here ({who})", file=folder, hint=hint)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}\n".encode(), 0)
        yield


@contextmanager
def in_turn(folder: Path, name: str = "turn") -> Iterator[None]:
    """Wait until no other process does the same in this folder, then keep the others waiting.

    Args:
        folder: made where it is missing.
        name: of what is done.
    """
    with _held(folder, f".lock-{name}", fcntl.LOCK_EX):
        yield


@contextmanager
def _held(folder: Path, name: str, operation: int) -> Iterator[tuple[int, bool]]:
    """A file that is locked in place of the folder, and whether this process holds it. It is removed at the end."""
    path = folder / name
    while True:
        descriptor = _open(path)
        try:
            ours = _flock(descriptor, operation)
            # Whoever held it before may have removed it, and somebody else have made and locked another one.
            if ours and not _is_at(descriptor, path):
                continue
            try:
                yield descriptor, ours
            finally:
                if ours:
                    path.unlink(missing_ok=True)
            return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False


def _flock(descriptor: int, operation: int) -> bool:
    try:
        fcntl.flock(descriptor, operation)
    except OSError as error:
        if error.errno in _UNKNOWN:
            return True
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        hint = "choose another --out"
        raise DataError(f"cannot be written ({error.strerror})", file=path.parent, hint=hint) from None
