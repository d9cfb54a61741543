"""Measurements: of time and memory, of a panorama, of the renderers of houses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import ghosts_benchmarks.prepare as bench
from ghosts_benchmarks.houses import measure_houses
from ghosts_benchmarks.measure import measure, peak_memory
from ghosts_houses.render.panorama import Pictures
from ghosts_sim.cli import main
from ghosts_sim.types import Intrinsics, Pose
from made import house

CPU = torch.device("cpu")


def test_peak_memory_counts_what_is_held_at_once() -> None:
    def twice() -> None:
        first = torch.zeros(256, 1024)  # 1 MiB
        second = first + 1.0  # held together: 2 MiB
        del first
        third = second * 2.0  # again 2 MiB, not 3
        del second, third

    assert 2 * 2**20 <= peak_memory(twice, CPU) < 2.5 * 2**20


def test_measure_runs_the_work_as_often_as_it_says() -> None:
    runs = []
    result = measure(lambda: runs.append(1), CPU, repeats=4, warm_up=2)
    assert len(runs) == 2 + 4 + 1  # one more for the memory
    assert result.repeats == 4
    assert 0.0 <= result.fastest_s <= result.seconds


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


def test_the_bench_measures_every_renderer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GHOSTS_CACHE", str(tmp_path))
    monkeypatch.setattr("ghosts_benchmarks.houses.make_renderer", lambda name, made, device: _Flat())
    monkeypatch.setattr("ghosts_benchmarks.houses.make_house", house)
    rows = list(measure_houses(0, frames=2, size_px=64))
    assert [row.renderer for row in rows] == ["exact", "baked", "fast"]
    assert {row.depth_share for row in rows} == {1.0}
    assert rows[1].psnr_db == math.inf


class _Flat:
    def render(self, poses: list[Pose], camera: Intrinsics) -> Any:
        shape = (len(poses), camera.height, camera.width)
        return Pictures(np.zeros((*shape, 3), np.uint8), np.ones(shape, np.float32), np.zeros(shape, np.uint8))
