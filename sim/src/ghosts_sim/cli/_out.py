"""What `--out` names is checked before the work begins: the answer to a wrong word should not wait for hours."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ghosts_sim.errors import DataError


def check_out_folder(path: Path, option: str = "--out") -> None:
    """Refuse a folder that cannot be written to, there already or not.

    Raises:
        DataError: a file is in its place or in that of a folder above it, or nothing may be written there.
    """
    there = next((part for part in (path, *path.absolute().parents) if part.exists() or part.is_symlink()), path)
    if not there.is_dir():
        raise DataError("a file is where a folder is to be written", file=there, hint=f"choose another {option}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise DataError("the folder cannot be written to", file=there, hint=f"choose another {option}")


def check_folder(path: Path, option: str) -> None:
    """Refuse a folder that is to be read.

    Raises:
        DataError: there is no such folder.
    """
    if not path.is_dir():
        raise DataError("no such folder", file=path, hint=f"choose another {option}")


def check_out_file(path: Path, what: str = "", kinds: Sequence[str] = ()) -> None:
    """Refuse a file that cannot be written.

    Args:
        path: file to write, there already or not.
        what: the thing that is written, such as "a film".
        kinds: suffixes it can have, the usual one first; any when empty.

    Raises:
        DataError: another suffix, a folder in its place, or a folder for it that cannot be written to.
    """
    if kinds and path.suffix.lower() not in kinds:
        raise DataError(f"{what} is written as {' or '.join(kinds)}", file=path, hint=f"end --out in {kinds[0]}")
    if path.is_dir():
        hint = f"name a file in it, such as --out {path / ('NAME' + (kinds[0] if kinds else ''))}"
        raise DataError("a folder is where a file is to be written", file=path, hint=hint)
    check_out_folder(path.parent)
