"""The viewer's interface: right answers, clear refusals, and nothing else."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cv2
import numpy as np
import pytest

pytest.importorskip("fastapi", reason="the viewer's server needs ghosts[web]")
pytest.importorskip("uvicorn", reason="the viewer's server needs ghosts[web]")
pytest.importorskip("httpx2", reason="the tests' client needs httpx2 (ghosts[dev])")

from fastapi.testclient import TestClient

from ghosts.view import connections, server
from ghosts.view.film import film_pictures
from ghosts.view.guard import MOST_BYTES, Guard
from ghosts.view.images import Served
from ghosts.view.library import Library
from ghosts.view.packed_arrays import unpack
from ghosts.view.record_json import from_json
from ghosts.view.server import make_app
from ghosts_sim.errors import DataError
from landmark_world import small_experiment
from view_fixtures import save_untrained

LOCAL = "http://127.0.0.1:8471"


@pytest.fixture(scope="module")
def client(combs: Path, photos: Path, run: Path, baseline: Path, pictured: Path) -> TestClient:
    app = make_app(Library([combs, photos], [run, baseline, pictured], baseline=True))
    return TestClient(app, base_url=LOCAL, raise_server_exceptions=False)


def pick(client: TestClient, model: str = "small", fixed: bool = True) -> dict[str, Any]:
    body = {"world": "combs", "model": model, "split": "dev_unseen", "instr_id": "300_0", "fixed": fixed}
    answer = client.post("/api/pick", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def query(header: dict[str, Any], **changes: Any) -> dict[str, Any]:
    fields = {
        name: header[name] for name in ("world", "model", "scan", "text", "walk", "path", "instr_id", "walked_by")
    }
    return {**fields, "heading_rad": header["start_heading_rad"], **changes}


def test_library_names_what_goes_together(client: TestClient) -> None:
    worlds = {world["id"]: world for world in client.get("/api/library").json()["worlds"]}
    assert {model["id"]: (model["filter"], model["acts"]) for model in worlds["combs"]["models"]} == {
        "small": (True, "planner"),
        "plain": (False, "mass"),
        "hand-coded": (False, "mass"),
    }
    assert [model["id"] for model in worlds["photos"]["models"]] == ["pictured", "hand-coded"]
    assert worlds["combs"]["splits"][0] == "dev_unseen"
    assert worlds["photos"]["scans"] == ["houseA", "houseB"]


def test_pages_are_served(client: TestClient) -> None:
    page = client.get("/")
    assert "<title>Ghosts</title>" in page.text
    kinds = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
    files = [path for path in (Path(server.__file__).parent / "static").iterdir() if path.suffix in kinds]
    assert len(files) > 15
    for path in files:
        answer = client.get(f"/static/{path.name}")
        assert answer.status_code == (404 if path.name == "report.js" else 200)  # the report's alone
        assert path.name == "report.js" or answer.headers["content-type"] == f"{kinds[path.suffix]}; charset=utf-8"
    for rule in ("default-src 'self'", "base-uri 'none'", "form-action 'none'"):
        assert rule in page.headers["content-security-policy"]


def test_episodes_are_found_by_words(client: TestClient) -> None:
    where = {"world": "combs", "model": "small", "split": "dev_unseen"}
    every = client.get("/api/episodes", params=where).json()
    assert every["total"] == 24
    wait = client.get("/api/episodes", params={**where, "find": "WAIT", "limit": 3}).json()
    assert wait["total"] == 8
    assert len(wait["episodes"]) == 3
    assert all("wait" in item["text"] for item in wait["episodes"])


def test_an_episode_and_its_frames(client: TestClient) -> None:
    header = pick(client, fixed=True)
    assert (len(header["walk"]), header["walked_by"]) == (8, "fixed walk")
    frames = []
    for step in (0, 3):
        answer = client.post("/api/frame", json=query(header, step=step))
        assert answer.status_code == 200, answer.text
        frames.append(answer.json())
    assert frames[0]["seen_m2"] < frames[1]["seen_m2"]
    two = {name: header[name][:2] for name in ("walk", "walk_heading_rad", "labels", "sights")}
    record = from_json({**header, **two, "motion": None, "frames": frames})
    np.testing.assert_allclose(record.frames[1].beliefs.sum((1, 2, 3)), 1.0, atol=0.02)


def test_a_picked_episode_is_walked_by_the_model_and_so_is_a_typed_one(client: TestClient) -> None:
    header = pick(client, fixed=False)
    assert header["walked_by"] == "small"
    last = len(header["walk"]) - 1
    choices = [client.post("/api/frame", json=query(header, step=k)).json()["choice"] for k in range(last + 1)]
    assert [choice["moves"][-1] for choice in choices[:-1]] == header["walk"][1:]
    assert [choice["stops"] for choice in choices] == [False] * last + [True]
    body = query(header, walk=header["walk"][:1], path=[], instr_id="", walked_by="visitor")
    walked = client.post("/api/walk", json=body).json()
    assert (walked["walk"], walked["walked_by"]) == (header["walk"], "small")


def test_episodes_are_sorted(client: TestClient) -> None:
    where = {"world": "combs", "model": "small", "split": "dev_unseen", "limit": 200}
    lengths = {
        sort: [
            len(item["text"].split())
            for item in client.get("/api/episodes", params={**where, "sort": sort}).json()["episodes"]
        ]
        for sort in ("listed", "shortest", "longest")
    }
    assert lengths["shortest"] == sorted(lengths["listed"]) != lengths["listed"]
    assert lengths["longest"] == sorted(lengths["listed"], reverse=True)
    assert client.get("/api/episodes", params={**where, "sort": "fairest"}).status_code == 422


def test_how_walks_end(client: TestClient) -> None:
    """A sample of the split, walked as pages walk it; the list can be asked by its outcome."""
    where = {"world": "combs", "model": "small", "split": "dev_unseen"}
    every = client.get("/api/episodes", params={**where, "sort": "worst"}).json()["episodes"]
    left = [item["left_m"] for item in every]
    assert left == sorted(left, reverse=True)
    header = client.post("/api/pick", json={**where, "instr_id": every[0]["instr_id"]}).json()
    line = client.post("/api/line", json=query(header)).json()
    assert line[-1]["left_m"] == pytest.approx(left[0])
    assert len(line) == len(header["walk"])
    told = client.get("/api/ends", params={**where, "wait": True}).json()
    arrived = [item["instr_id"] for item in every if item["left_m"] < 3.0]
    assert (told["walked"], told["total"], told["arrived"]) == (len(every), len(every), len(arrived))
    assert {item["instr_id"] for item in told["examples"]} <= set(arrived)
    assert told["first"] in {"", *arrived}
    kept = {kind: client.get("/api/episodes", params={**where, "ended": kind}).json() for kind in ("arrived", "missed")}
    assert [kept["arrived"]["total"], kept["missed"]["total"]] == [len(arrived), len(every) - len(arrived)]


def test_a_walk_in_words(combs: Path, photos: Path, run: Path, pictured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library, told = Library([combs, photos], [run, pictured]), list[Any]()
    monkeypatch.setattr(library, "_speakers", lambda world: (world, world))  # the shipped one takes seconds
    monkeypatch.setattr("ghosts.view.library.describe", lambda *given: told.append(given[2:]) or "Go on.")
    client = TestClient(make_app(library), base_url=LOCAL)
    worlds = {item["id"]: item["describes"] for item in client.get("/api/library").json()["worlds"]}
    assert worlds == {"combs": True, "photos": False}
    header = pick(client)
    body = query(header, walk=header["walk"][:2])
    assert client.post("/api/describe", json=body).json() == {"text": "Go on."}
    assert told == [(header["scan"], header["walk"][:2], header["start_heading_rad"])]


def test_what_is_read_of_an_instruction(client: TestClient) -> None:
    told = client.post("/api/read", json={"world": "combs", "model": "small", "text": "walk to the helicopter"}).json()
    assert told == {"notes": ["2 of 4 words unknown: to, helicopter"], "doubts": []}


def test_a_whole_record(client: TestClient) -> None:
    header = pick(client)
    answer = client.post("/api/record", json=query(header, walk=header["walk"][:2]))
    assert answer.status_code == 200, answer.text
    record = from_json(answer.json())
    assert record.scene == client.get("/api/scene", params={"world": "combs", "scan": record.scan}).json()
    assert (len(record.frames), record.text) == (2, header["text"])
    assert record.motion is not None


def test_a_typed_instruction_anywhere(client: TestClient) -> None:
    header = pick(client)
    body = query(header, text="Turn left and stop at the zebra.", walk=header["walk"][-1:], path=[], instr_id="")
    told = client.post("/api/ask", json=body).json()
    assert told["words"][-2] == "zebra"
    assert told["unknown"][-2]
    frame = client.post("/api/frame", json={**body, "step": 0}).json()
    assert frame["error_m"] is None
    assert 0.0 < frame["confidence"] <= 1.0


def test_a_cell(client: TestClient) -> None:
    header = pick(client)
    x, y = header["origin_xy_m"]
    told = client.post("/api/cell", json=query(header, step=0, filter_step=1, x_m=x + 0.1, y_m=y + 0.1)).json()
    kernel = unpack(told["kernel"], "kernel")
    assert kernel.shape == (4, 5, 5)
    np.testing.assert_allclose(kernel.sum((1, 2)), 1.0, atol=0.02)
    frame = client.post("/api/frame", json=query(header, step=0)).json()
    posterior = unpack(frame["beliefs"], "beliefs")[1][:, told["row"], told["col"]]
    np.testing.assert_allclose(told["posterior"], posterior, atol=0.004 * max(frame["beliefs"]["scale"]))


def test_scene_panorama_and_painting(client: TestClient) -> None:
    scene = client.get("/api/scene", params={"world": "photos", "scan": "houseB"}).json()
    assert scene["images"]
    assert scene["edges"] == [[0, 1], [1, 2], [2, 3]]
    where = {"world": "photos", "scan": "houseB", "viewpoint": scene["viewpoints"][1]["id"]}
    picture = client.get("/api/panorama", params=where)
    assert picture.headers["content-type"] == "image/jpeg"
    assert cv2.imdecode(np.frombuffer(picture.content, np.uint8), 1).shape == (768, 1536, 3)
    painting = client.get("/api/painting", params={"world": "photos", "scan": "houseB"}).json()
    left, right, bottom, top = painting["extent_m"]
    assert left < 0.5 < right
    assert bottom < 0.0
    assert top > 6.0


def _asked_meanwhile(ask: Callable[[], None], *given: Any, report: Callable[[int, int], None], **more: Any) -> Any:
    def told(done: int, total: int) -> None:
        report(done, total)
        ask()

    return film_pictures(*given, report=told, **more)


@pytest.mark.parametrize("kind", ["mp4", "gif"])
def test_films(client: TestClient, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind == "mp4":
        pytest.importorskip("imageio_ffmpeg", reason="an MP4 needs ghosts[viz]")
    header = pick(client)
    asked = query(header, walk=header["walk"][:1], kind=kind, beside="plain" if kind == "gif" else "")
    told: list[dict[str, int]] = []
    ask = partial(_asked_meanwhile, lambda: told.append(client.get("/api/film/mine").json()))
    monkeypatch.setattr(server, "film_pictures", ask)
    answer = client.post("/api/film", json=asked | {"job": "mine"})
    assert answer.status_code == 200, answer.text
    # How far it is can be asked for while it is drawn, and not afterwards.
    assert told[-1] == {"done": 1, "total": 1}
    assert client.get("/api/film/mine").json() == {"done": 0, "total": 0}
    assert answer.content[4:8] == b"ftyp" if kind == "mp4" else answer.content[:6] == b"GIF89a"


def test_one_film_at_a_time(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others of the same visitor are refused, and whoever draws none does not wait."""
    header = pick(client)
    asked = query(header, walk=header["walk"][:1], kind="gif")
    begun, go_on = threading.Event(), threading.Event()

    def waits(*given: Any, **more: Any) -> Any:
        begun.set()
        assert go_on.wait(60)
        return film_pictures(*given, **more)

    monkeypatch.setattr(server, "film_pictures", waits)
    with client, ThreadPoolExecutor(1) as pool:  # one loop for all requests, as a server has
        first = pool.submit(client.post, "/api/film", json=asked)
        assert begun.wait(60)
        second = client.post("/api/film", json=asked)
        assert (second.status_code, "drawn for you" in second.json()["error"]) == (429, True)
        assert client.get("/api/library").status_code == 200
        go_on.set()
        assert first.result().status_code == 200
    assert client.post("/api/film", json=asked).status_code == 200


def test_fifty_requests_at_once(client: TestClient) -> None:
    header = pick(client)
    texts = [f"turn {'left' if k % 2 else 'right'} {'and walk ' * (k % 5)}" for k in range(50)]
    with ThreadPoolExecutor(50) as pool:
        answers = list(
            pool.map(lambda k: client.post("/api/frame", json=query(header, text=texts[k], step=k % 8)), range(50))
        )
    assert [answer.status_code for answer in answers] == [200] * 50
    again = client.post("/api/frame", json=query(header, text=texts[7], step=7)).json()
    assert again == answers[7].json()


BAD = [
    ({"world": "nowhere"}, 404, "unknown world 'nowhere'"),
    ({"model": "nobody"}, 404, "unknown model"),
    ({"scan": "../../etc"}, 404, "unknown building"),
    ({"walk": ["../../etc/passwd"]}, 404, "unknown viewpoint"),
    ({"walk": []}, 422, "walk"),
    ({"walk": ["x"] * 41}, 422, "walk"),
    ({"text": ""}, 422, "text"),
    ({"text": "   "}, 400, "no words"),
    ({"text": "go " * 400}, 422, "at most 1000"),
    ({"text": 7}, 422, "text"),
    ({"heading_rad": "north"}, 422, "heading_rad"),
    ({"heading_rad": 1e9}, 422, "heading_rad"),
    ({"step": 99}, 422, "step"),
    ({"step": -1}, 422, "step"),
    ({"step": 8}, 400, "agent step must lie in 0..7"),
    ({"shell": "rm"}, 422, "shell"),
    ({"walk": ["9" * 80]}, 404, "unknown viewpoint"),
    ({"path": ["x"] * 41}, 422, "path"),
    ({"instr_id": "x" * 81}, 422, "instr_id"),
]


@pytest.mark.parametrize(("changes", "status", "told"), BAD)
def test_bad_questions_get_a_clear_answer(client: TestClient, changes: Any, status: int, told: str) -> None:
    answer = client.post("/api/frame", json=query(pick(client), **{"step": 0, **changes}))
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert told in answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2f..%2ferrors.py",
        "/static/%2e%2e/%2e%2e/errors.py",
        "/static//etc/passwd",
        "/etc/passwd",
        "/api/panorama?world=photos&scan=houseB&viewpoint=../../../r2r/R2R_train.json",
        "/api/panorama?world=photos&scan=../houseB&viewpoint=x",
        "/api/panorama?world=combs&scan=comb0&viewpoint=x",
        "/api/scene?world=combs&scan=..%2Fcomb0",
        "/api/painting?world=photos&scan=houseB&storey=7",
        "/api/painting?world=photos&scan=houseB&storey=x",
        "/api/episodes?world=combs&model=small&split=../train",
        "/api/episodes?world=combs&model=small&split=train&limit=100000",
        "/openapi.json",
        "/docs",
    ],
)
def test_nothing_else_can_be_read(client: TestClient, combs: Path, path: str) -> None:
    answer = client.get(path)
    assert 400 <= answer.status_code < 500
    assert set(answer.json()) == {"error"}
    assert str(combs.parent) not in answer.text


def test_what_a_world_does_not_have(client: TestClient) -> None:
    header = pick(client)
    place = f"world=combs&scan={header['scan']}"
    wrong = {"world": "combs", "model": "small", "split": "trian", "instr_id": "300_0"}
    answers = [
        client.get(f"/api/painting?{place}&storey=0"),
        client.get(f"/api/panorama?{place}&viewpoint={header['walk'][0]}"),
        client.post("/api/pick", json=wrong),
    ]
    told = ["there are no images in this world", "there are no images in this world", "did you mean 'train'?"]
    for answer, words in zip(answers, told):
        assert answer.status_code in (400, 404)
        assert words in answer.json()["error"]


def test_malformed_bodies(client: TestClient) -> None:
    headers = {"content-type": "application/json"}
    for body in (b"", b"{", b"[1, 2]", b"\xff\xfe", b"null", b'{"a": NaN}'):
        answer = client.post("/api/frame", content=body, headers=headers)
        assert answer.status_code == 422, body
        assert set(answer.json()) == {"error"}
    huge = client.post("/api/frame", content=b" " * (MOST_BYTES + 1), headers=headers)
    assert (huge.status_code, set(huge.json())) == (413, {"error"})
    chunks = client.post("/api/frame", content=(b" " * 4096 for _ in range(40)), headers=headers)
    assert chunks.status_code == 413
    lone = json.dumps(query(pick(client), step=0, text="go \ud800 left")).encode()
    answer = client.post("/api/frame", content=lone, headers=headers)
    assert (answer.status_code, set(answer.json())) == (422, {"error"})
    deep = client.post("/api/frame", content=b"[" * 30000, headers=headers)
    assert 400 <= deep.status_code < 500
    assert client.get("/api/frame").status_code == 405


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8471", "127.0.0.1.evil.example", "", "[", "localhost@evil"]
)
def test_foreign_hosts_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/api/library", headers={"host": host})
    assert answer.status_code == 421
    assert "localhost" in answer.json()["error"]


OTHERS = [(site, 403) for site in ("http://127.0.0.1:9999", "http://127.0.0.1", "ftp://127.0.0.1:8471")]
"""Other servers of this machine, whose pages are other sites."""


def test_own_hosts_and_origins(client: TestClient, library: Library) -> None:
    for host in ("localhost:8471", "LOCALHOST", "[::1]:8471", "127.0.0.1"):
        assert client.get("/static/core.js", headers={"host": host}).status_code == 200
    body = json.dumps({})
    for origin, status in (("http://127.0.0.1:8471", 422), ("https://evil.example", 403), ("null", 403), *OTHERS):
        headers = {"origin": origin, "content-type": "application/json"}
        assert client.post("/api/frame", content=body, headers=headers).status_code == status
    other = TestClient(make_app(library, frozenset({"lab.example"})), base_url="http://lab.example")
    assert other.get("/static/core.js").status_code == 200


def test_the_address_at_which_it_is_reached_is_its_own(library: Library) -> None:
    """As with --host 0.0.0.0, which names no address."""
    reached = TestClient(make_app(library, frozenset({"0.0.0.0"})), base_url="http://192.0.2.7:8471")
    headers = {"origin": "http://192.0.2.7:8471", "content-type": "application/json"}
    assert reached.get("/static/core.js").status_code == 200
    assert reached.post("/api/frame", content="{}", headers=headers).status_code == 422
    told = reached.get("/static/core.js", headers={"host": "lab.example:8471"})
    assert told.status_code == 421
    assert told.json()["error"].endswith("start it with: ghosts view --allow-host lab.example")
    assert reached.get("/static/core.js", headers={"host": "192.0.2.8:8471"}).status_code == 421


def test_a_run_is_watched_while_it_trains(combs: Path, run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    with pytest.raises(DataError, match=r"no checkpoint in this folder yet; wait for its first checkpoint"):
        Library([combs], [], watch=[folder])
    folder.mkdir()
    shutil.copyfile(run, folder / "last.safetensors")
    watching = TestClient(make_app(Library([combs], [], watch=[folder])), base_url=LOCAL)
    told = watching.get("/api/training").json()["mine"]
    assert (told["iteration"], told["rows"], told["checkpoint"].split()[0]) == (0, [], "last.safetensors")
    body = {"world": "combs", "model": "mine", "split": "dev_unseen", "instr_id": "300_0", "fixed": True}
    header = watching.post("/api/pick", json=body).json()
    before = watching.post("/api/frame", json=query(header, step=0)).json()
    rows = [{"iteration": 10, "loss": 2.5, "why": "x"}, {"iteration": 10, "success": 0.5}]
    (folder / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows) + '{"iteration": 2')
    save_untrained(folder / "best.safetensors", combs, small_experiment(), seed=9)
    told = watching.get("/api/training").json()["mine"]
    assert told["rows"] == [{"iteration": 10.0, "loss": 2.5}, {"iteration": 10.0, "success": 0.5}]
    assert told["checkpoint"].startswith("best.safetensors ")
    after = watching.post("/api/frame", json=query(header, step=0)).json()
    assert after["goal_xy_m"] != before["goal_xy_m"]
    assert watching.get("/api/training").json()["mine"] == told


@pytest.fixture(scope="module")
def served(library: Library) -> Iterator[Served]:
    """The server on a real socket: nothing between a request and it tidies up."""
    with Served(library) as found:
        yield found


def ask(served: Served, method: str, path: str, body: Any = None, host: str = "localhost") -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    data = b"" if body is None else json.dumps(body).encode()
    for name, value in {"Host": host, "Content-Type": "application/json", "Content-Length": str(len(data))}.items():
        connection.putheader(name, value)
    connection.endheaders(data)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text)


def test_fifty_connections_at_once(served: Served, client: TestClient) -> None:
    """Asking, bad asking and looking, mixed: every one gets its answer."""
    header = pick(client)
    asked = [query(header, text=f"walk {'left ' * (k % 7)}", step=k % 8) for k in range(50)]
    for k in range(0, 50, 5):
        asked[k]["text"] = ""
    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda body: ask(served, "POST", "/api/frame", body), asked))
    assert [status for status, _ in answers] == [422 if k % 5 == 0 else 200 for k in range(50)]
    assert all("beliefs" in body for k, (_, body) in enumerate(answers) if k % 5)


@pytest.mark.parametrize("sent", [b"\0\r\n\r\n", b"GET / HTTP/1.1\r\nno header\r\n\r\n", b"GET " + b"x" * 99_999])
def test_what_is_no_http_is_refused_as_all_is(served: Served, sent: bytes) -> None:
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as visitor:
        visitor.sendall(sent)
        head, _, body = visitor.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-security-policy: default-src 'self'" in head
    assert b"\r\nx-content-type-options: nosniff" in head
    assert set(json.loads(body)) == {"error"}


@pytest.mark.parametrize(
    "path",
    [
        "/static/../guard.py",
        "/static/../../../../../../etc/passwd",
        "/static/..\\..\\guard.py",
        "/static/%00",
        "//etc/passwd",
        "/static/core.js/..",
        "/api/scene?world=combs&scan=%2e%2e%2f%2e%2e",
        "/api/scene?world=combs&scan=" + "x" * 5000,
    ],
)
def test_raw_paths_lead_nowhere(served: Served, path: str) -> None:
    status, body = ask(served, "GET", path)
    assert 400 <= status < 500
    assert set(body) == {"error"}


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1@evil.example", "0.0.0.0"])
def test_raw_foreign_hosts(served: Served, host: str) -> None:
    assert ask(served, "GET", "/api/library", host=host)[0] == 421
    assert ask(served, "GET", "/api/library")[0] == 200


def test_an_origin_that_is_none(client: TestClient) -> None:
    for origin in ("http://[", "http://[::1", "null", "//"):
        assert client.get("/api/library", headers={"origin": origin}).status_code == 403


def test_half_a_body_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghosts.view.guard.ASK_S", 0.05)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if sent:
            return {"type": "http.disconnect"}
        await asyncio.sleep(30.0)
        raise AssertionError("waited for")

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "headers": [(b"host", b"localhost"), (b"content-length", b"9")]}
    asyncio.run(Guard(None)(scope, receive, send))
    assert sent[0]["status"] == 408


def test_connections_are_counted_and_time_out(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half requests are dropped, too many visitors as well; those who ask are answered all the while."""
    monkeypatch.setattr(connections, "ASK_S", 0.3)
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 5)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = connections.Server(
            connections.uvicorn.Config(
                make_app(library),
                http=connections.Visitor,
                loop="asyncio",
                log_level="critical",
                port=port,
                lifespan="on",
            )
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            while not server.started:
                time.sleep(0.02)
            idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(8)]
            for visitor in idle:
                visitor.sendall(b"GET / HTTP/1.1\r\nHost: localh") if visitor is idle[0] else None
                visitor.settimeout(20.0)
            # All are hung up on: three at once, five when their time is over.
            assert [_ended(visitor) for visitor in idle] == [True] * 8
            # A second request has no more time than a first one.
            again = [socket.create_connection(("127.0.0.1", port), timeout=20.0) for _ in range(5)]
            for visitor in again:
                visitor.sendall(b"GET /favicon.ico HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert visitor.recv(12) == b"HTTP/1.1 204"
                while b"\r\n\r\n" not in visitor.recv(1000):
                    pass
                visitor.sendall(b"GET / HTTP/1.1\r\nHost: localh")
            assert [_ended(visitor) for visitor in again] == [True] * 5
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/static/core.js")
            assert connection.getresponse().status == 200
            connection.close()
        finally:
            server.should_exit = True
            thread.join(30)
    assert not thread.is_alive()


def _ended(visitor: socket.socket) -> bool:
    """Whether the other side hangs up."""
    try:
        return visitor.recv(1) == b""
    except ConnectionResetError:
        return True
    finally:
        visitor.close()


@pytest.mark.parametrize("signals", [[signal.SIGTERM], [signal.SIGINT, signal.SIGINT]])
def test_the_server_leaves_whatever_its_threads_are_at(signals: list[signal.Signals]) -> None:
    """An answer that takes a minute, others that wait for it, and Ctrl-C: the process is gone, and prints nothing."""
    code = (
        "import socket, time\n"
        "from anyio import CapacityLimiter, to_thread\n"
        "from fastapi import FastAPI\n"
        "from ghosts.view import connections\n"
        f"connections.CLOSE_S = {1.2 if len(signals) == 1 else 60.0}\n"
        "app, one = FastAPI(), CapacityLimiter(1)\n"
        "def slow() -> str:\n"
        "    time.sleep(60)\n"
        "    return ''\n"
        "@app.get('/')\n"
        "async def answer() -> str:\n"
        "    print('asked', flush=True)\n"
        "    return await to_thread.run_sync(slow, limiter=one)\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "print(listening.getsockname()[1], flush=True)\n"
        "connections.serve(app, listening, '127.0.0.1', 1)\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        visitors = [socket.create_connection(("127.0.0.1", port)) for _ in range(3)]
        for visitor in visitors:
            visitor.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert process.stdout.readline() == "asked\n"
        for number in signals:
            process.send_signal(number)
            time.sleep(0.1)  # two signals at once are one
        assert (*process.communicate(timeout=30), process.returncode) == ("", "", 0)
        for visitor in visitors:
            visitor.close()


def test_freed_memory_goes_back(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the C library keeps of freed memory is asked back at the start and every second after."""
    trimmed: list[int] = []
    monkeypatch.setattr(connections.ctypes, "CDLL", lambda name: SimpleNamespace(malloc_trim=trimmed.append))
    monkeypatch.setattr(connections.Server, "run", lambda server, sockets: asyncio.run(server.on_tick(0)))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connections.serve(make_app(library), listening, "127.0.0.1", 1)
    assert trimmed == [0]
    monkeypatch.setattr(connections.ctypes, "CDLL", lambda name: SimpleNamespace())  # another C library
    asyncio.run(connections.give_back())


def test_caches_count_what_they_hold(library: Library) -> None:
    inspector = library.inspector("combs", "small")
    query = library.query(inspector, "dev_unseen", "300_0")
    inspector.frame(query, 0)
    computed = inspector._compute(query, 0)
    frame, trace = computed.frame, computed.trace
    assert trace is not None
    least = frame.beliefs.nbytes + frame.predictions.nbytes + frame.likelihoods.nbytes + frame.smoothed.nbytes
    kernel: Any = trace.kernel_at(0)
    assert computed.nbytes > least + 3 * trace.posteriors.nbytes + kernel.map_weights.nbytes
    assert inspector._computed.used_bytes >= computed.nbytes
