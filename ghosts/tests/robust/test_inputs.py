"""Every input format, spoilt in seeded ways, through the commands that read it (see `fuzz`)."""

from __future__ import annotations

import runpy
import sys
from functools import partial
from pathlib import Path

import pytest

from forked import Forked


def test_spoilt_files_and_extreme_options_end_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of its own, without the tests' shape checks, as a user's command would be."""
    fuzzer = str(Path(__file__).with_name("fuzz.py"))
    monkeypatch.setattr(sys, "argv", [fuzzer, "--files=60", "--each=2", "--options=20", "--seed=18", "--quick"])
    process = Forked(partial(runpy.run_path, fuzzer, run_name="__main__"))
    status = process.end(limit_s=400.0)
    told = process.output()[-3000:] + process.errors()[-2000:]
    assert status == 0, told
    print(told)
    assert " tries of seed 18: {'" in told
    assert int(told.split(" tries of seed 18")[0].split()[-1]) >= 80
