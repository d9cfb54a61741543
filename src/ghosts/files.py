"""Files written whole or not at all, and readers whose errors name the file."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

from ghosts.errors import DataError

_AGAIN = "mend the file, or copy, download or make it again"


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; rename it onto `path` when the block succeeds, remove it when it fails.

    The temporary name keeps the suffix (image writers choose their format by it) and starts with a dot.
    Two processes writing the same path do not disturb each other: the last whole file wins.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.stem}.", suffix=path.suffix, dir=path.parent)
    except OSError as error:
        raise _unwritable(path, error) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes files private; give the result the permissions an ordinary open() would.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    except OSError as error:
        # Of what the system refuses, a full or read-only disk is what a user can change; a network's error is not ours.
        if error.errno not in _OF_DISKS:
            raise
        raise _unwritable(path, error) from None
    finally:
        temporary.unlink(missing_ok=True)


def remove_leftovers(path: Path) -> None:
    """Remove what a process that was killed while writing `path` left beside it. Nobody may be writing it now."""
    for leftover in path.parent.glob(f".{path.stem}.*{path.suffix}"):
        leftover.unlink(missing_ok=True)


_OF_DISKS = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG),
)


def _unwritable(path: Path, error: OSError) -> DataError:
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


def read_json(path: Path, *, hint: str | None = None) -> Any:
    """Read a JSON file.

    Args:
        path: the file.
        hint: what to do when it is missing, added to the error.

    Raises:
        DataError: the file is missing, unreadable, empty, not UTF-8, or not JSON; the message names the file and, for
            JSON, line and column.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError("no such file", file=path, hint=hint) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text (byte {error.start})", file=path, hint=_AGAIN) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", file=path) from None
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
        DataError: it is not JSON; names line and column.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        where = f"{error.msg} at line {error.lineno} column {error.colno}"
        raise DataError(f"not valid JSON: {where}", file=source, hint=_AGAIN) from None
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text (byte {error.start})", file=source, hint=_AGAIN) from None
    except ValueError:
        raise DataError("not valid JSON: a number of too many digits", file=source, hint=_AGAIN) from None
    except RecursionError:
        raise DataError("not valid JSON: nested too deeply", file=source, hint=_AGAIN) from None


def read_words(path: Path) -> list[str]:
    """Words of a text file that names other files, such as `scans.txt`.

    Raises:
        DataError: the file cannot be read, or a word cannot be part of a file's name.
    """
    try:
        words = path.read_text(encoding="utf-8").split()
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 text (byte {error.start})", file=path, hint=_AGAIN) from None
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", file=path) from None
    for word in words:
        if not word.isprintable() or "/" in word or len(word) > 200:
            raise DataError(
                "a word that cannot be a file's name", file=path, value=word, hint="list names alone, one per line"
            )
    return words


def is_finite(value: Any) -> TypeGuard[int | float]:
    """Whether a JSON value is a number that a float can hold (JSON's whole numbers have no limit)."""
    try:
        return not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, as hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def sha256_bytes(content: bytes) -> str:
    """Return the SHA-256 of bytes, as hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def cache_dir() -> Path:
    """Folder for things that can be made again: `$GHOSTS_CACHE`, else `ghosts` in the user's cache folder."""
    chosen = os.environ.get("GHOSTS_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ghosts"
