from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import ghosts.bench.model
from ghosts.bench.measure import Measurement
from ghosts.bench.model import Row
from ghosts.cli import bench
from ghosts.errors import ConfigError


def test_model_prints_a_table_and_writes_what_it_depends_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked = {}

    def fake(device: torch.device, **options: object) -> list[Row]:
        asked.update(options, device=device.type)
        return [Row("map update", Measurement(0.1, 0.05, 3 * 2**20, 1), 4.4)]

    monkeypatch.setattr(ghosts.bench.model, "measure_model", fake)
    out = tmp_path / "bench.json"
    bench.main(["model", "--quick", "--seed", "7", "--out", str(out)])
    assert asked == {"device": "cpu", "batch": 5, "repeats": 1, "seed": 7}
    printed = capsys.readouterr().out
    for text in ("map update", "100.0", "50.0", "4,400", "44.0"):
        assert text in printed
    written = json.loads(out.read_text(encoding="utf-8"))
    assert written["command"] == f"ghosts bench model --quick --seed 7 --out {out}"
    assert written["torch"] == torch.__version__
    assert written["rows"] == [
        {
            "what": "map update",
            "seconds": 0.1,
            "fastest_s": 0.05,
            "peak_bytes": 3 * 2**20,
            "repeats": 1,
            "authors_s": 4.4,
        }
    ]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
@pytest.mark.parametrize("what", ["model", "simulator"])
def test_a_missing_gpu_is_named(what: str) -> None:
    with pytest.raises(ConfigError, match="torch sees no CUDA device; use --device cpu"):
        bench.main([what, "--device", "cuda"])
