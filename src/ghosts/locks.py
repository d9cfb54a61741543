"""Locks between processes: the system lets go of them when a process ends, however it ends."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from ghosts.errors import DataError

_UNKNOWN = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a file system without locks answers; work goes on without them there."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file, unless somebody else holds it; it stays locked until it is closed.

    Returns:
        Whether it is ours now.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _UNKNOWN:
            return True
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
            return False
        raise
    return True


@contextmanager
def locked(
    folder: Path, command: str, *, part: str = "", option: Literal["--out", "--data"] = "--out"
) -> Iterator[None]:
    """Be the only one who writes to a folder, or say who does.

    Args:
        folder: made where it is missing.
        command: what writes, such as "ghosts train", for the second comer.
        part: processes of one folder that are meant to work side by side have different parts.
        option: how the user names the folder.

    Raises:
        DataError: somebody else writes to it.
    """
    descriptor = _open(folder, f".lock{part}")
    try:
        if not try_lock(descriptor):
            who = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip() or "another process"
            hint = f"wait until it ends, or choose another {option}"
            raise DataError(f"{command} is already at work here ({who})", file=folder, hint=hint)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def in_turn(folder: Path, name: str = "turn") -> Iterator[None]:
    """Do something short that processes of one folder must not do at the same time: wait for the others.

    Args:
        folder: made where it is missing.
        name: of what is done.
    """
    descriptor = _open(folder, f".lock-{name}")
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in _UNKNOWN:
                raise
        yield
    finally:
        os.close(descriptor)


def _open(folder: Path, name: str) -> int:
    """A file that is locked instead of the folder. It stays: removing it would let two processes lock two files."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror})", file=folder, hint="choose another --out") from None
