"""The notebook of the documentation runs as it stands, and is kept without outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks import unchecked

pytest.importorskip("matplotlib", reason="the notebook draws (ghosts[viz])")

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebooks" / "first-hour.ipynb"


def test_the_first_hour_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    cells = [cell for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)
    with unchecked():
        for cell in cells:
            exec(compile("".join(cell["source"]), NOTEBOOK.name, "exec"), names)
    goal = names["goal"]
    assert goal.mass.sum() == pytest.approx(1.0, abs=1e-4)  # type: ignore[attr-defined]
    assert 0.0 <= goal.confidence <= 1.0  # type: ignore[attr-defined]
    assert int(names["state"].map.observed.sum()) > 20  # type: ignore[attr-defined]
    assert (tmp_path / "first-hour" / "connectivity").is_dir()
