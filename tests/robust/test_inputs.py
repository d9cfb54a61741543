"""Every input format, spoilt in seeded ways: the result is success or a `GhostsError`, and no file is half-written.

The tries run in a process of their own without the tests' shape checks, as a user's command would (see `formats`).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
LEAST_TRIES, LEAST_FORMATS = 4000, 30


def try_all() -> list[dict[str, Any]]:
    """Formats with what was tried on them and what came of it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])}
    command = [sys.executable, str(Path(__file__).with_name("formats.py"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, errors="replace", timeout=400)
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_spoilt_files_are_refused_or_read() -> None:
    """One test: two could meet in two processes, and 20 s of tries would be made twice."""
    results = try_all()
    wrong = [f"{item['name']}: {problem}" for item in results for problem in item["wrong"]]
    assert not wrong, f"{len(wrong)} tries went wrong:\n" + "\n".join(wrong[:20])
    tried, refused = (sum(item[name] for item in results) for name in ("tried", "refused"))
    print(f"{len(results)} formats, {tried} spoilt files, {refused} refused, the rest read")
    assert len(results) >= LEAST_FORMATS
    assert tried >= LEAST_TRIES
    # A reader that refuses nothing would pass as well; caches and summaries are the ones that heal themselves.
    healing = {"graph cache (.npz)", "prepare.json"}
    assert {item["name"] for item in results if item["refused"] == 0} == healing
