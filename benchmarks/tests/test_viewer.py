"""The viewer's latency: what is asked, and what is refused. Times themselves are not asserted."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the viewer's server needs ghosts[web]")
pytest.importorskip("uvicorn", reason="the viewer's server needs ghosts[web]")

from ghosts.view.images import Served
from ghosts.view.library import Library
from ghosts_benchmarks import command as bench
from ghosts_benchmarks import viewer
from ghosts_benchmarks.viewer import Latency, measure_viewer
from ghosts_sim.errors import ConfigError, GhostsError
from landmark_world import combs
from view_fixtures import photos, run

__all__ = ["combs", "photos", "run"]


def test_every_question_is_new_and_asked_once(combs: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    post = viewer._post

    def note(port: int, path: str, body: dict[str, object]) -> None:
        asked.append((path, str(body["text"])))
        post(port, path, body)

    monkeypatch.setattr(viewer, "_post", note)
    rows = measure_viewer(Library([combs], [run]), questions=2)
    assert [(row.what, row.questions) for row in rows] == [
        ("first belief", 2),
        ("a further step", 2),
        ("a cell's kernel", 2),
    ]
    assert all(0.0 < row.median_s <= row.worst_s for row in rows)
    # One more to warm up; of each text a question, two steps and a cell.
    assert [path for path, _ in asked] == ["ask", "frame", "frame", "cell"] * 3
    assert len({text for _, text in asked}) == 3


def test_what_cannot_be_measured_is_said(combs: Path, photos: Path, run: Path) -> None:
    with pytest.raises(ConfigError, match=r"none of these models can read this world:\n  small on photos: "):
        measure_viewer(Library([photos], [run]))
    told = r"the viewer answered 422 to /api/ask: .*world"
    with Served(Library([combs], [run])) as served, pytest.raises(GhostsError, match=told):
        viewer._post(served.port, "ask", {})
    with pytest.raises(ConfigError, match="--questions must be at least 1, got 0"):
        bench.Viewer(combs, run, questions=0)


def test_the_command_prints_milliseconds(
    combs: Path, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(viewer, "measure_viewer", lambda library, questions: [Latency("x", 0.0125, 0.5, questions)])
    bench.main(["viewer", "--data", str(combs), "--run", str(run), "--questions", "7"])
    printed = capsys.readouterr().out.split()
    assert [word for word in printed if word in ("x", "12", "500", "7")] == ["x", "12", "500", "7"]
