from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from checks import unchecked
from ghosts.agent.frames import Description
from ghosts_benchmarks import command


def test_every_tracker_is_measured_and_its_table_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def describe(rgb: np.ndarray) -> Description:
        asked.append(rgb.shape)
        return Description("a sofa")

    monkeypatch.setattr("ghosts.run.perception.load_perception", lambda: describe)
    out = tmp_path / "tracker.json"
    with unchecked():
        command.main(["tracker", "--perception", "--repeats", "1", "--out", str(out)])
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    names = ("houses-agent", "landmarks-agent", "landmarks-agent, BLIP and DETR")
    expected = [(name, what) for name in names for what in ("instruction", "observation", "belief")]
    assert [(row["tracker"], row["what"]) for row in rows] == expected
    assert all(row["seconds"] > 0.0 for row in rows)
    assert set(asked) == {(480, 640, 3)}
    told = capsys.readouterr().out
    assert "BLIP and DETR" in told
    assert "One thread, views of 640 × 480 pixels" in told
