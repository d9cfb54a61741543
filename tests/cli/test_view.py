"""`ghosts view`: what it refuses before it serves, and that it serves on this machine alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn", reason="the viewer needs ghosts[web]")
pytest.importorskip("fastapi", reason="the viewer needs ghosts[web]")

pytest.importorskip("httpx", reason="the tests' client needs httpx (ghosts[dev])")

from fastapi.testclient import TestClient  # noqa: E402

from ghosts.cli import main  # noqa: E402


def test_it_binds_to_localhost(
    combs: Path, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda app, **options: called.update(options, app=app))
    main(["view", "--data", str(combs), "--run", str(run)])
    assert (called["host"], called["port"]) == ("127.0.0.1", 8471)
    assert "http://127.0.0.1:8471/" in capsys.readouterr().out
    assert models(called["app"]) == ["small", "hand-coded"]
    main(["view", "--data", str(combs), "--run", str(run), "--no-baseline"])
    assert models(called["app"]) == ["small"]


def test_a_port_in_use_is_said(
    combs: Path, run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(app: Any, **options: Any) -> None:
        raise SystemExit(3)  # as uvicorn does where it cannot listen

    monkeypatch.setattr(uvicorn, "run", refuse)
    with pytest.raises(SystemExit) as caught:
        main(["view", "--data", str(combs), "--run", str(run), "--no-baseline", "--port", "8123"])
    assert caught.value.code == 1
    assert "port 8123 of 127.0.0.1 cannot be used; choose another with --port" in capsys.readouterr().err


def models(app: Any) -> list[str]:
    """What can be chosen."""
    told = TestClient(app, base_url="http://127.0.0.1:8471").get("/api/library").json()
    return [model["id"] for model in told["worlds"][0]["models"]]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "no data root to show; name --data ROOT"),
        (["--data", "{combs}"], "no model to show; name --run RUN"),
        (["--data", "{combs}", "--run", "{combs}/none"], "no such run"),
        (["--data", "{photos}", "--run", "{run}"], "model small reads landmarks, but photos has images"),
        (["--port", "0"], "--port must lie in 1..65535"),
    ],
)
def test_wrong_words_are_named(
    combs: Path, photos: Path, run: Path, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["view", *(word.format(combs=combs, photos=photos, run=run) for word in arguments)])
    assert stop.value.code in (1, 2)
    assert told in capsys.readouterr().err
