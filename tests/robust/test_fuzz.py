"""A bounded part of the fuzzer (`fuzz`), in a process of its own; by hand it runs for an hour."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def test_mutated_files_through_the_command_line() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])}
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py")), "--files", "1", "--each", "1", "--seed", "18"]
    done = subprocess.run(
        [*command, "--quick", "--json"], env=environment, capture_output=True, text=True, errors="replace"
    )
    rows = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0, json.dumps(rows, indent=1)
    assert len(rows) >= 30
    counts = {kind: sum(row.get(kind, 0) for row in rows.values()) for kind in ("refused", "mended", "same", "other")}
    print(counts)
    assert sum(counts.values()) == len(rows)
    assert counts["refused"] >= 20
