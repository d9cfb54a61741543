"""Files written whole or not at all, and readers whose errors name the file (how large one may be: `limits`)."""

from __future__ import annotations

import errno
import json
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghosts_sim.errors import DataError
from ghosts_sim.limits import JSON_VALUES, open_file, read_file
from ghosts_sim.locks import try_lock

if TYPE_CHECKING:
    from typing import TypeGuard

_AGAIN = "mend the file, or copy, download or make it again"
_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""Halves of characters in JSON: as escapes, mostly in pairs, or as themselves."""
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}(\.[^.]+)?")
_tidied: set[tuple[int, Path]] = set()
"""Folders that a process has written to; a forked one has not."""
_MOST_DIGITS = 21
_LONGEST_NAME = 200


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it onto `path` when the block succeeds, remove it when it fails.

    The temporary name keeps the suffix (image writers choose their format by it) and starts with a dot: files whose
    names do are no data anywhere (`listed`). Those of killed processes are removed by the next one that writes there.
    Two processes writing the same path do not disturb each other: the last whole file wins. After a power cut the old
    or the new file is there: the content is on disk before the name, and the name before this ends.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if (os.getpid(), path.parent) not in _tidied:
            _tidied.add((os.getpid(), path.parent))
            remove_leftovers(path.parent)
        handle, temporary = _locked_temporary(path)
    except OSError as error:
        raise unwritable(path, error) from None
    try:
        yield temporary
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        # Of what the system refuses, a full or read-only disk is what a user can change; a network's error is not ours.
        if error.errno not in _OF_DISKS:
            raise
        raise unwritable(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


def _locked_temporary(path: Path) -> tuple[int, Path]:
    """A temporary file that is locked while its writer lives, so that nobody takes it for a leftover."""
    while True:
        temporary = path.with_name(f".{path.stem}.{os.urandom(4).hex()}{path.suffix}")
        # With the permissions of an ordinary open(). (tempfile's would be private; to change that one would have to
        # read the umask, which cannot be done without setting it for all threads.)
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        # Between the two lines it could have been taken for one.
        if try_lock(handle) and temporary.exists():
            return handle, temporary
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Put a renamed file's new name on disk; file systems that cannot do that to folders refuse."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def listed(folder: Path, pattern: str) -> list[Path]:
    """What a folder holds by names of a pattern, in alphabetical order; nothing whose name starts with a dot, such as
    what a killed process left of a file, or a Mac's notes."""
    return sorted(file for file in folder.glob(pattern) if not file.name.startswith("."))


def remove_leftovers(folder: Path) -> None:
    """Remove what processes that were killed while they wrote left in a folder. Living ones keep theirs."""
    for leftover in (file for file in folder.glob(".*") if _TEMPORARY.fullmatch(file.name)):
        with suppress(OSError):  # another process may be faster
            descriptor = os.open(leftover, os.O_RDWR)
            try:
                if try_lock(descriptor):
                    leftover.unlink(missing_ok=True)
            finally:
                os.close(descriptor)


_OF_DISKS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG),
)


def unwritable(path: Path, error: OSError) -> DataError:
    """What to say where the system does not let a file be written."""
    space = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    hint = ("free some space, or " if space else "") + "choose another place (--out; GHOSTS_CACHE for the cache)"
    return DataError(f"cannot be written ({error.strerror})", file=path, hint=hint)


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically."""
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        bad = text[error.start : error.end]
        raise DataError(
            "a character that no file can hold", file=path, value=bad, hint="remove it from the text"
        ) from None
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)


def write_json(path: Path, value: Any, *, indent: int | None = None) -> None:
    """Write JSON atomically, keys in the order given, so that equal values give equal bytes."""
    write_text(path, json.dumps(value, indent=indent, ensure_ascii=False) + "\n")


def read_bytes(path: Path, *, hint: str | None = None, memory: int = 1) -> bytes:
    """Read a file.

    Args:
        path: the file.
        hint: what to do when it is missing, added to the error.
        memory: bytes of memory that each byte of the file will take.

    Raises:
        DataError: the file is missing, unreadable, no regular file, or too large to believe.
    """
    try:
        return read_file(path, memory)
    except FileNotFoundError:
        raise DataError("no such file", file=path, hint=hint) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", file=path) from None


def read_text(path: Path, *, hint: str | None = None, memory: int = 1) -> str:
    """As `read_bytes`, of a file that holds UTF-8."""
    try:
        return read_bytes(path, hint=hint, memory=memory).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text (byte {error.start})", file=path, hint=_AGAIN) from None


def read_json(path: Path, *, hint: str | None = None) -> Any:
    """Read a JSON file; see `read_bytes`.

    Raises:
        DataError: the file is missing, unreadable, empty, not UTF-8, or not JSON; the message names the file and, for
            JSON, line and column.
    """
    text = read_text(path, hint=hint, memory=JSON_VALUES)
    if not text.strip():
        raise DataError("the file is empty", file=path, hint=hint or "copy, download or make it again")
    return parse_json(text, path)


def read_object(path: Path, *, hint: str | None = None) -> dict[str, Any]:
    """As `read_json`, of a file that holds an object."""
    value = read_json(path, hint=hint)
    if not isinstance(value, dict):
        raise DataError("expected an object", file=path, value=value, hint=hint)
    return value


def parse_json(text: str | bytes, source: Path | str) -> Any:
    """Parse JSON that was read from `source`.

    Raises:
        DataError: it is not JSON; names line and column. Also where an object has a field twice, of which other readers
            take the first or the last, or where a number has more digits than 64 bits hold.
    """
    try:
        # Decoded here: of bytes, Python's reader would guess the encoding.
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        value = json.loads(text, object_pairs_hook=_once, parse_int=_whole)
        # The pattern is slow, and most files have nothing of the kind.
        if ("\\u" in text or not text.isascii()) and _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        return value
    except UnicodeEncodeError:
        raise DataError("half a character (a lone surrogate)", file=source, hint=_AGAIN) from None
    except _Twice as error:
        raise DataError("a field that an object has twice", file=source, field=str(error), hint=_AGAIN) from None
    except json.JSONDecodeError as error:
        where = f"{error.msg} at line {error.lineno} column {error.colno}"
        raise DataError(f"not valid JSON: {where}", file=source, hint=_AGAIN) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text (byte {error.start})", file=source, hint=_AGAIN) from None
    except ValueError:
        raise DataError("not valid JSON: a number of too many digits", file=source, hint=_AGAIN) from None
    except RecursionError:
        raise DataError("not valid JSON: nested too deeply", file=source, hint=_AGAIN) from None


class _Twice(Exception):
    """The name of a field."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of its fields."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


def _whole(digits: str) -> int:
    """A whole number; none that is written in our files needs more than 20 digits."""
    if len(digits) > _MOST_DIGITS:
        raise ValueError
    return int(digits)


def read_words(path: Path) -> list[str]:
    """Words of a text file that names other files, such as `scans.txt`.

    Raises:
        DataError: the file cannot be read, or a word cannot be part of a file's name.
    """
    words = read_text(path).split()
    seen: set[str] = set()
    for word in words:
        if not is_name(word):
            raise DataError(
                "a word that cannot be a file's name", file=path, value=word, hint="list names alone, one per line"
            )
        if word in seen:
            raise DataError("listed twice", file=path, value=word, hint="remove one of the two lines")
        seen.add(word)
    return words


def is_name(value: Any) -> TypeGuard[str]:
    """Whether a value that names files (of a scan, of a viewpoint) can be part of a file's name, and of no other path.

    Example:
        >>> is_name("17DRP5sb8fy"), is_name("/etc/passwd"), is_name("a\\0b"), is_name("")
        (True, False, False, False)
    """
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or value.startswith("."):
        return False
    return value.isprintable() and "/" not in value and "\\" not in value


def is_finite(value: Any) -> TypeGuard[int | float]:
    """Whether a JSON value is a number that a float can hold (JSON's whole numbers have no limit)."""
    try:
        return not isinstance(value, bool) and isinstance(value, (int, float)) and math.isfinite(value)
    except OverflowError:
        return False


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal."""
    from hashlib import sha256

    with open_file(path) as handle:
        digest = sha256()
        for part in iter(lambda: handle.read(1 << 20), b""):
            digest.update(part)
        return digest.hexdigest()


def cache_dir() -> Path:
    """Folder for things that can be made again: `$GHOSTS_CACHE`, else `ghosts` in the user's cache folder."""
    chosen = os.environ.get("GHOSTS_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ghosts"
