"""Every input format, spoilt in seeded ways: the result is success or a `GhostsError`, and no file is half-written.

The tries run in a process of their own without the tests' shape checks, as a user's command would (see `formats`). So
does a bounded part of the fuzzer (see `fuzz`); by hand it runs for an hour.
"""

from __future__ import annotations

import json
import runpy
from functools import partial
from pathlib import Path
from typing import Any

from forked import Forked

LEAST_TRIES, LEAST_FORMATS, LEAST_PAIRS = 1700, 30, 30


def try_all() -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Formats with what was tried on them and what came of it; the same of pairs of file and command."""
    process = Forked(partial(runpy.run_path, str(Path(__file__).with_name("tries.py")), run_name="__main__"))
    assert process.end(limit_s=400.0) == 0, process.output()[-2000:] + process.errors()[-2000:]
    functions, commands = (json.loads(line) for line in process.output().splitlines()[-2:])
    return functions, commands


def test_spoilt_files_are_refused_or_read() -> None:
    """One test: two could meet in two processes, and 20 s of tries would be made twice."""
    results, rows = try_all()
    wrong = [f"{item['name']}: {problem}" for item in results for problem in item["wrong"]]
    assert not wrong, f"{len(wrong)} tries went wrong:\n" + "\n".join(wrong[:20])
    tried, refused = (sum(item[name] for item in results) for name in ("tried", "refused"))
    print(f"{len(results)} formats, {tried} spoilt files, {refused} refused, the rest read")
    assert len(results) >= LEAST_FORMATS
    assert tried >= LEAST_TRIES
    # A reader that refuses nothing would pass as well; caches and summaries are the ones that heal themselves.
    healing = {"graph cache (.npz)", "prepare.json"}
    assert {item["name"] for item in results if item["refused"] == 0} == healing

    assert len(rows) >= LEAST_PAIRS
    counts = {kind: sum(row.get(kind, 0) for row in rows.values()) for kind in ("refused", "mended", "same", "other")}
    print(f"mutated files through the command line: {counts}")
    assert sum(counts.values()) == len(rows)
    assert counts["refused"] >= 20
