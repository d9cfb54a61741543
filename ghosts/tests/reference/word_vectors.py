"""How the package's word vectors were made from GloVe's release."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from ghosts.words.vectors import FORMAT
from ghosts_sim.limits import check_bytes
from reference.packing import write_packed

_LONGEST_LINE = 1 << 20


def pack_vectors(source: Path, out: Path) -> int:
    """Make the package's file from GloVe's text format (perhaps with gzip): a word and its numbers per line.

    Returns:
        The number of words.
    """
    with (
        gzip.open(source, "rt", encoding="utf-8") if source.suffix == ".gz" else open(source, encoding="utf-8") as text
    ):
        rows, taken = [], 0
        while line := text.readline(_LONGEST_LINE):
            taken += len(line)
            check_bytes(taken, source)
            word, *numbers = line.rstrip().split(" ")
            rows.append((word, np.array(numbers, np.float32)))
    table = np.stack([numbers for _, numbers in rows])
    scale = (np.abs(table).max(1) / 127.0).astype(np.float16)
    vectors = np.round(table / scale.astype(np.float32)[:, None]).astype(np.int8)
    write_packed(out, FORMAT, [word for word, _ in rows], {"vectors": vectors, "scale": scale})
    return len(rows)
