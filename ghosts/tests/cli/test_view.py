"""`ghosts view`: what it refuses before it serves, and that it serves on this machine alone."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

uvicorn = pytest.importorskip("uvicorn", reason="the viewer needs ghosts[web]")
pytest.importorskip("fastapi", reason="the viewer needs ghosts[web]")

pytest.importorskip("httpx2", reason="the tests' client needs httpx2 (ghosts[dev])")

from fastapi.testclient import TestClient  # noqa: E402

from ghosts.cli.view import Options  # noqa: E402
from ghosts_sim.cli import main  # noqa: E402


@pytest.fixture
def port() -> int:
    """A port that nothing holds."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])


def test_it_binds_to_localhost(
    combs: Path, run: Path, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: dict[str, Any] = {}

    def serve(server: Any, sockets: list[socket.socket]) -> None:
        called.update(app=server.config.app, at=[door.getsockname() for door in sockets])
        raise KeyboardInterrupt  # as uvicorn passes Ctrl-C on

    monkeypatch.setattr(uvicorn.Server, "run", serve)
    main(["view", "--data", str(combs), "--run", str(run), "--no-token", "--port", str(port)])
    assert called["at"] == [("127.0.0.1", port)]
    assert f"open http://127.0.0.1:{port}/ in a browser" in capsys.readouterr().out
    assert models(called["app"]) == ["small", "hand-coded"]
    main(["view", "--data", str(combs), "--run", str(run), "--no-baseline", "--no-token", "--port", str(port)])
    assert models(called["app"]) == ["small"]
    assert (Options().host, Options().port) == ("127.0.0.1", 8471)
    capsys.readouterr()
    words = ["--host", "0.0.0.0", "--allow-host", "Lab.example", "--allow-host", "lab"]
    main(["view", "--data", str(combs), "--run", str(run), "--no-baseline", "--port", str(port), *words])
    told = capsys.readouterr().out
    assert f"open http://127.0.0.1:{port}/?token=" in told
    token = told.split("?token=")[1].split()[0]
    for name in ("lab.example", "LAB", "127.0.0.1"):
        browser = TestClient(called["app"], base_url=f"http://{name}:{port}")
        assert [browser.get(path).status_code for path in ("/", f"/?token={token}")] == [401, 200]
    assert TestClient(called["app"], base_url=f"http://other.example:{port}").get("/").status_code == 421


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("127.0.0.1", "Address already in use"),
        ("203.0.113.1", "Cannot assign requested address"),  # of no machine (RFC 5737)
        pytest.param("ü" * 64, "", id="no name of a host"),
    ],
)
def test_an_address_that_cannot_be_used_is_said_before_anything_else(
    combs: Path, run: Path, host: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        with pytest.raises(SystemExit) as caught:
            main(["view", "--data", str(combs), "--run", str(run), "--host", host, "--port", str(port)])
    assert caught.value.code == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(f"ghosts view: port {port} of {host} cannot be used (")
    assert why in err
    assert err.endswith("); choose another with --port or --host, or stop what holds it\n")
    assert err.count("\n") == 1


def models(app: Any) -> list[str]:
    """What can be chosen."""
    told = TestClient(app, base_url="http://127.0.0.1:8471").get("/api/library").json()
    return [model["id"] for model in told["worlds"][0]["models"]]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "make that one with: ghosts demo; or name --data ROOT"),
        (["--data", "{combs}"], "no model to show; name --run RUN"),
        (["--data", "{combs}", "--run", "{combs}/none"], "no such run"),
        (["--data", "{photos}", "--run", "{run}"], "preset tiny needs landmarks/; this data root has images"),
        (["--port", "0"], "--port must lie in 1..65535"),
    ],
)
def test_wrong_words_are_named(
    combs: Path, photos: Path, run: Path, port: int, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["view", "--port", str(port), *(word.format(combs=combs, photos=photos, run=run) for word in arguments)])
    assert stop.value.code in (1, 2)
    assert told in capsys.readouterr().err


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_the_token_is_needed(
    host: str, combs: Path, run: Path, port: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    called: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn.Server, "run", lambda server, sockets: called.update(app=server.config.app))
    words = ["view", "--data", str(combs), "--run", str(run), "--no-baseline", "--port", str(port)]
    main([*words, "--host", host])
    address = capsys.readouterr().out.split("open ")[1].split()[0]
    token = address.split("?token=")[1]
    assert len(token) == 32
    client = TestClient(called["app"], base_url=f"http://127.0.0.1:{port}")
    assert client.get("/api/library").status_code == 401
    assert client.get("/api/library?token=other").status_code == 401
    assert "token in the address" in client.get("/").json()["error"]
    page = client.get(f"/?token={token}")
    assert page.status_code == 200
    # A viewer at another port has another cookie.
    assert page.headers["set-cookie"] == f"ghosts_token_{port}={token}; Path=/; HttpOnly; SameSite=Strict"
    assert client.get("/api/library").status_code == 200  # by the cookie
    main([*words, "--host", host, "--no-token"])
    assert "?token=" not in capsys.readouterr().out
    assert TestClient(called["app"], base_url=f"http://127.0.0.1:{port}").get("/api/library").status_code == 200


@pytest.mark.parametrize(
    ("count", "good"), [(4, [True, True, False, False]), (1, [True]), (30, [True] * 18 + [False] * 12)]
)
def test_the_demo_shows_a_fair_sample(count: int, good: list[bool]) -> None:
    """Of 30 walks 18 arrive; as large a share of those that are shown does, and these come first."""
    from ghosts.cli.demo import fair_sample

    arrived = [number % 5 < 3 for number in range(30)]
    chosen: list[Any] = fair_sample(list(range(30)), arrived, count)  # type: ignore[arg-type]
    assert [arrived[number] for number in chosen] == good
    assert len(set(chosen)) == count
