"""A run while it trains: its log so far, and whether there is a newer checkpoint than the one that is shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghosts.weights.checkpoint import BEST, LAST, LOG
from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite
from ghosts_sim.limits import read_file

MOST_ROWS = 400
"""Rows of a log that a page gets; of longer ones some are left out, evenly."""


@dataclass(frozen=True)
class Watched:
    """A run's folder that training still writes to."""

    folder: Path

    @property
    def checkpoint(self) -> Path:
        """The newest weights, whether they are the best so far or not.

        Raises:
            DataError: there are none yet.
        """
        there = [self.folder / name for name in (BEST, LAST) if (self.folder / name).is_file()]
        if there:
            return max(there, key=lambda file: file.stat().st_mtime_ns)
        hint = "wait for its first checkpoint, or name another with --watch"
        raise DataError("no checkpoint in this folder yet", file=self.folder, hint=hint)

    @property
    def stamp(self) -> str:
        """Differs from checkpoint to checkpoint."""
        found = self.checkpoint.stat()
        return f"{self.checkpoint.name} {found.st_mtime_ns} {found.st_size}"

    def rows(self) -> list[dict[str, float]]:
        """The log's rows: iteration and whatever else is a number; a half-written line is left out.

        Raises:
            DataError: the log is no regular file, or too large to believe.
        """
        try:
            # A line as a row takes three times its memory.
            lines = read_file(self.folder / LOG, memory=4).decode("utf-8", "replace").splitlines()
        except OSError:
            return []
        rows = [row for line in lines if (row := _row(line))]
        scored = [row for row in rows if "loss" not in row]
        losses = [row for row in rows if "loss" in row]
        every = -(-len(losses) // MOST_ROWS) or 1
        return losses[::-every][::-1] + scored


def _row(line: str) -> dict[str, float]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(value, dict) or not is_finite(value.get("iteration")):
        return {}
    return {str(name): float(number) for name, number in value.items() if is_finite(number)}
