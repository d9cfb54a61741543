"""What a clone must hold: everything tests read, and not much of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

TESTS = Path(__file__).resolve().parent


def test_the_recordings_are_small() -> None:
    sizes = {file: file.stat().st_size for file in (TESTS.parent / "testing" / "golden").rglob("*") if file.is_file()}
    assert len(list((TESTS.parent / "testing" / "golden" / "simulator").glob("case*.npz"))) == 14
    assert len(list((TESTS.parent / "testing" / "golden" / "model").glob("*.npz"))) == 7
    assert sum(sizes.values()) < 3_000_000


def test_cleaning_leaves_trained_models_alone(tmp_path: Path) -> None:
    kept = tmp_path / "runs" / "mine" / "best.safetensors"
    for file in (kept, tmp_path / "build" / "site.html"):
        file.parent.mkdir(parents=True)
        file.write_text("x")
    subprocess.run(["make", "-f", str(TESTS.parent / "Makefile"), "clean"], cwd=tmp_path, check=True)
    assert kept.is_file()
    assert not (tmp_path / "build").exists()
