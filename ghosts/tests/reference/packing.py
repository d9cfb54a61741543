"""Writing the files that `ghosts.words.packed` reads: how the package's data about words was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from ghosts.words.packed import PER_NAT, digest
from ghosts_sim.files import atomic_path


def write_packed(path: Path, form: str, words: Sequence[str], parts: Mapping[str, np.ndarray]) -> None:
    """Write such a file, whole or not at all."""
    packed = {**parts, "words": np.frombuffer("\n".join(words).encode(), np.uint8)}
    with atomic_path(path) as temporary:
        temporary.write_bytes(save(packed, {"format": form, "sha256": digest(packed, [*packed])}))


def write_table(path: Path, form: str, table: Mapping[str, Mapping[str, float]]) -> None:
    """Write a table, whole or not at all; its numbers are natural logarithms."""
    words = sorted({*table, *(name for others in table.values() for name in others)})
    assert len(words) < 1 << 16, "rows are kept in 16 bits"
    rows = {word: row for row, word in enumerate(words)}
    pairs = [(rows[name], value) for word in words for name, value in table.get(word, {}).items()]
    counts = [len(table.get(word, {})) for word in words]
    parts = {
        "count": np.array(counts, np.uint8 if max(counts, default=0) < 1 << 8 else np.uint16),
        "kin": np.array([row for row, _ in pairs], np.uint16),
        "far": np.array([min(255, round(-value * PER_NAT)) for _, value in pairs], np.uint8),
    }
    write_packed(path, form, words, parts)
