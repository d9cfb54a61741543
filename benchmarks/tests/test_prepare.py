"""The cost of preparing a panorama."""

from __future__ import annotations

import pytest

import ghosts_benchmarks.prepare as bench
from ghosts_sim.cli import main


def test_bench_makes_a_sound_panorama(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in (("WIDTH", 160), ("HEIGHT", 128), ("FOCAL_PX", 134.0), ("SKYBOX_PX", 64)):
        monkeypatch.setattr(bench, name, value)
    row = bench.measure_prepare(1, 48, "undistorted")
    assert set(row["parts_s"]) == {
        "camera file",
        "read skybox",
        "read colour",
        "warp colour",
        "read depth",
        "warp depth",
        "fill",
        "write",
    }
    assert row["found"].agreement > 0.95
    main(["bench", "prepare", "--faces", "48"])
    assert "10 800 panoramas" in capsys.readouterr().out
