"""The measurement of the renderers of houses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ghosts_benchmarks.houses import measure_houses
from ghosts_houses.render.panorama import Pictures
from ghosts_sim.types import Intrinsics, Pose
from made import house


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
