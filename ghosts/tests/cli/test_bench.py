from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import ghosts_benchmarks.growth
import ghosts_benchmarks.mattersim
import ghosts_benchmarks.model
import ghosts_benchmarks.renderer
from ghosts.config import Experiment
from ghosts_benchmarks import command as bench
from ghosts_benchmarks.growth import TINY_RANGES, Point, Ranges
from ghosts_sim.errors import ConfigError


@pytest.mark.parametrize("what", ["model", "simulator", "growth"])
def test_a_missing_gpu_is_named(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match="torch finds no CUDA device here; use --device cpu"):
        bench.main([what, "--device", "cuda"])


def test_simulator_prints_both_and_their_ratio(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked: list[object] = []

    def fake(*options: object) -> list[ghosts_benchmarks.mattersim.Row]:
        asked.append(options)
        rows = [("free", "free headings", "frames/s", 312.4, 156.2, 2.0), ("start", "started", "s", 0.25, None, None)]
        return [ghosts_benchmarks.mattersim.Row(*row) for row in rows]

    sweeps = [ghosts_benchmarks.renderer.Row("sweeps", "cpu", 1234.0)]
    monkeypatch.setattr(ghosts_benchmarks.mattersim, "measure_mattersim", fake)
    monkeypatch.setattr(ghosts_benchmarks.renderer, "measure_renderer", lambda device, seconds: sweeps)
    out = tmp_path / "bench.json"
    bench.main(["simulator", "--against", str(tmp_path), "--seconds", "2", "--out", str(out)])
    assert asked == [(2.0, tmp_path, ())]
    printed = capsys.readouterr().out
    for text in ("free headings [free]", "312", "156", " 2 ", "0.25", "1,234", "both took turns", "drawn by"):
        assert text in printed
    assert [row["what"] for row in json.loads(out.read_text())["rows"]] == ["free headings", "started", "sweeps"]
    bench.main(["simulator", "--only", "free", "--only", "start"])
    assert asked[1] == (3.0, None, ("free", "start"))
    assert "1,234" not in capsys.readouterr().out
    with pytest.raises(ConfigError, match="--against measures on --device cpu, got 'cuda'"):
        bench.main(["simulator", "--against", str(tmp_path), "--device", "cuda"])


def test_growth_prints_writes_and_draws(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = {}

    def fake(experiment: Experiment, ranges: Ranges, fabric: object, **options: object) -> list[Point]:
        asked.update(options, preset=experiment.name, ranges=ranges)
        return [
            Point("batch", 8, True, 20.0, 400.0, 0.125),
            Point("batch", 512, False, None, None, None, "out of memory"),
        ]

    monkeypatch.setattr(ghosts_benchmarks.growth, "measure_growth", fake)
    out = tmp_path / "growth.json"
    bench.main(["growth", "--batch", "8", "--batch", "512", "--out", str(out)])
    ranges = replace(TINY_RANGES, batch=(8, 512))
    assert asked == {"preset": "tiny", "ranges": ranges, "data": None, "iterations": 10, "threads": 2}
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert printed[1] == ["batch", "8", "20.0", "400.0", "12.5%"]
    assert printed[2] == ["batch", "512", "out", "of", "memory"]
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert rows[0]["episodes_per_s"] == 400.0
    assert rows[1]["problem"] == "out of memory"
    assert (tmp_path / "growth.svg").is_file()
    assert (tmp_path / "growth.png").is_file()
