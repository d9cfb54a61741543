"""How much a file may ask for. Sizes are checked before anything is read, unpacked or allocated.

A few hundred bytes can claim to hold gigabytes, and a pipe has no end. So one file may take `GHOSTS_MAX_BYTES` of
memory, 1 GiB by default, and only regular files are opened. Raise the bound for files that really are larger.
"""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING

from ghosts_sim.errors import ConfigError, DataError

if TYPE_CHECKING:
    import zipfile

OPTION = "GHOSTS_MAX_BYTES"
USUAL = 1 << 30
JSON_VALUES = 20
"""Bytes of memory that a byte of JSON can become: `[],` is 3 bytes of text and 64 of memory."""
PIXEL = 16
"""Bytes of memory per pixel while a picture is read: decoded, converted, and kept with four channels."""


def most_bytes() -> int:
    """Bytes of memory that one file may take.

    Raises:
        ConfigError: the environment variable is no number of bytes.
    """
    chosen = os.environ.get(OPTION, "").strip()
    if not chosen:
        return USUAL
    # isascii: isdigit also holds for digits that int() refuses.
    if not (chosen.isascii() and chosen.isdigit() and 0 < len(chosen) < 20 and int(chosen) > 0):
        raise ConfigError(f"{OPTION} must be a number of bytes, such as {4 << 30}, got {chosen!r}")
    return int(chosen)


def check_bytes(needed: int, file: Path | str, what: str = "it", record: object = None) -> None:
    """Refuse a file, or a part of it, that would take more memory than is believed.

    Args:
        needed: bytes of memory, at most.
        file: the file at fault.
        what: the part of it, for the message.
        record: where in the file.

    Raises:
        DataError: it is too large.
    """
    most = most_bytes()
    if needed > most:
        hint = f"if it is sound, allow it with the environment variable {OPTION}={_round_up(needed)}"
        problem = f"{what} would take {_size(needed)} of memory, more than the {_size(most)} allowed"
        raise DataError(problem, file=file, record=record, hint=hint)


def open_file(path: Path) -> BufferedReader:
    """Open a regular file for reading.

    Raises:
        OSError: as `open` does.
        DataError: a pipe, a device or a socket, which might never end.
    """
    # Not blocking: opening a pipe would otherwise wait for its other end, before its kind could be told.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        os.close(descriptor)
        raise DataError("not a regular file (a pipe, a device or a socket)", file=path, hint="name a plain file")
    return open(descriptor, "rb")  # of a folder, this is the usual error


def read_file(path: Path, memory: int = 1) -> bytes:
    """All bytes of a regular file.

    Args:
        path: the file.
        memory: bytes of memory that each byte of the file will take.

    Raises:
        OSError: as `open` does.
        DataError: it is no regular file, or larger than is believed.
    """
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        check_bytes(size * memory, path)
        return file.read(size)


def read_member(archive: zipfile.ZipFile, name: str, file: Path, memory: int = 1) -> bytes:
    """A file inside a zip file, never more of it than its directory says, its checksum compared.

    Args:
        archive: the zip file.
        name: inside it.
        file: the zip file's name, for messages.
        memory: bytes of memory that each byte will take.

    Raises:
        DataError: it is larger than is believed.
    """
    size = archive.getinfo(name).file_size
    check_bytes(size * memory, file, record=name)
    with archive.open(name) as member:
        # Not read(): that unpacks all there is before it compares it with the size in the directory.
        return member.read(max(size, 1))


def _size(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{max(count / 1e6, 0.1):.1f} MB"


def _round_up(count: int) -> int:
    """To a power of two: easier to type, and room for the file to grow."""
    return 1 << (count - 1).bit_length()
