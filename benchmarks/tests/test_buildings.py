"""Success against training buildings: read of a table, drawn, and refused where it says nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ghosts_benchmarks.buildings import BuildingPoint, read_points
from ghosts_sim.cli import main
from ghosts_sim.errors import DataError, UnknownNameError


def table(folder: Path, buildings: tuple[int, ...] = (300, 56)) -> Path:
    """Models as `ghosts eval goal` writes them, their success rising with the number of buildings."""
    names = [f"landmarks-houses (n{count})" for count in buildings]
    scores = [
        {"runs": [{}, {}], "success": {"average": value, "interval": [value - 0.02, value + 0.03]}}
        for value in (0.61, 0.5)
    ]
    value = {
        "experiments": {name: {"train": {"buildings": count}} for name, count in zip(names, buildings)},
        "splits": {"val_unseen": {"models": dict(zip(names, scores))}},
    }
    path = folder / "goal.json"
    path.write_text(json.dumps(value))
    return path


def test_points_come_in_the_order_of_buildings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = table(tmp_path)
    few, many = read_points(path, "val_unseen")
    assert few == BuildingPoint("landmarks-houses (n56)", 56, 2, 0.5, 0.48, 0.53)
    assert (many.buildings, many.success) == (300, 0.61)
    out = tmp_path / "buildings.json"
    main(["bench", "buildings", "--table", str(path), "--out", str(out)])
    assert "61.0%" in capsys.readouterr().out
    assert [row["buildings"] for row in json.loads(out.read_text())["rows"]] == [56, 300]
    assert out.with_suffix(".png").read_bytes()[1:4] == b"PNG"
    assert out.with_suffix(".svg").is_file()


def test_what_is_no_such_table_is_said(tmp_path: Path) -> None:
    path = table(tmp_path, (300, 0))
    with pytest.raises(DataError, match=r"n0.*trained in all buildings.*--train.buildings N"):
        read_points(path, "val_unseen")
    with pytest.raises(UnknownNameError, match="val_unseen"):
        read_points(path, "val_onseen")
    path.write_text("{}")
    with pytest.raises(DataError, match="not a table of ghosts eval goal"):
        read_points(path, "val_unseen")
