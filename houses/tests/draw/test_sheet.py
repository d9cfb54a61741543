"""A contact sheet: which views show a room, and the picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ghosts_houses.draw import sheet
from ghosts_houses.graph.sight import things_seen
from ghosts_houses.graph.viewpoints import make_graph
from ghosts_sim.cli import main
from made import house


def test_views_show_most_things_of_the_room() -> None:
    plan = house(1)
    graph = make_graph(plan)
    seen = things_seen(plan, graph.positions_m)
    for room in plan.rooms:
        views = sheet.choose_views(plan, graph, seen, room.index)
        assert len(views) == sheet.VIEWS
        for viewpoint, heading in views:
            assert graph.viewpoints[viewpoint].room == room.index
            assert 0.0 <= heading < 2 * np.pi
        # The second picture shows something else wherever the first does not show everything.
        assert len(set(views)) == sheet.VIEWS or not any(thing.room == room.index for thing in plan.things)


def test_command_draws_every_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Pictures of 16 pixels: two per room, each with a caption of its kind and size."""
    drawn: list[str] = []
    monkeypatch.setattr(sheet, "_pictures", lambda plan, graph, device: _grey(plan, drawn))
    target = tmp_path / "rooms.png"
    main(["world", "--show", "--sheet", "--seed", "1", "--out", str(target)])
    assert target.stat().st_size > 1000
    assert f"{target}: house {house(1).name}, seed 1: {len(house(1).rooms)} rooms" in capsys.readouterr().out
    assert len(drawn) == sheet.VIEWS * len(house(1).rooms)
    room = house(1).rooms[0]
    assert sheet.caption(room).startswith(f"0 {room.kind}, storey 0: {room.area_m2:.1f} m²")


def _grey(plan, drawn):  # type: ignore[no-untyped-def]
    for room in plan.rooms:
        for _ in range(sheet.VIEWS):
            drawn.append(room.kind)
            yield room, np.full((16, 16, 3), 128, np.uint8)
