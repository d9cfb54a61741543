"""What a clone must hold: everything tests read, and not much of it."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent


def test_the_recordings_are_small() -> None:
    sizes = {file: file.stat().st_size for file in (TESTS / "golden").rglob("*") if file.is_file()}
    assert len(list((TESTS / "golden" / "simulator").glob("case*.npz"))) == 14
    assert len(list((TESTS / "golden" / "model").glob("*.npz"))) == 7
    assert sum(sizes.values()) < 3_000_000
