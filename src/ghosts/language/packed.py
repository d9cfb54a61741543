"""Data about words that comes with the package: a safetensors file with a checksum of its tensors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from ghosts.errors import DataError
from ghosts.files import atomic_path


def read_packed(
    path: Path, form: str, names: Sequence[str], what: str
) -> tuple[tuple[str, ...], dict[str, np.ndarray]]:
    """Words and tensors of a file.

    Args:
        path: of the file.
        form: its format and version.
        names: of its tensors; `words` holds one word per line.
        what: it is, for the message.

    Raises:
        DataError: it is missing, damaged, or of another format.
    """
    try:
        content = path.read_bytes()
        parts = load(content)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
        if header["format"] != form or header["sha256"] != _digest(parts, names):
            raise ValueError
        return tuple(bytes(parts["words"]).decode().split("\n")), parts
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        raise DataError(f"not {what}, or a damaged one", file=path, hint="install the package again") from None


def write_packed(path: Path, form: str, words: Sequence[str], parts: Mapping[str, np.ndarray]) -> None:
    """Write such a file, whole or not at all."""
    packed = {**parts, "words": np.frombuffer("\n".join(words).encode(), np.uint8)}
    with atomic_path(path) as temporary:
        temporary.write_bytes(save(packed, {"format": form, "sha256": _digest(packed, [*packed])}))


def _digest(parts: Mapping[str, np.ndarray], names: Sequence[str]) -> str:
    return sha256(b"".join(parts[name].tobytes() for name in names)).hexdigest()
