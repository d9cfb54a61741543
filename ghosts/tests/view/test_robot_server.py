"""A tracker over HTTP says what it says here, and refuses what it should."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest
import torch

pytest.importorskip("fastapi", reason="the server needs ghosts[web]")
pytest.importorskip("uvicorn", reason="the server needs ghosts[web]")

import uvicorn

from agent.makers import CAMERA, small_model
from ghosts.agent.tracker import GoalTracker
from ghosts.mapping.backbone import SmallBackbone
from ghosts.view.connections import Visitor
from ghosts.view.robot_server import MOST_EPISODES, make_robot_app
from ghosts.words.tokens import Vocabulary
from ghosts_sim.errors import ConfigError, GhostsError
from ghosts_sim.remote import Tracker
from ghosts_sim.types import Intrinsics, Pose

POSES = [Pose(10.2, -4.1, 1.5, 0.4, -0.5), Pose(10.6, -3.0, 1.5, 0.9, -0.5, 0.1)]


@pytest.fixture(scope="module")
def here() -> GoalTracker:
    torch.manual_seed(1)
    return GoalTracker(small_model(), Vocabulary(("<pad>", "<unk>", "go", "ahead")), SmallBackbone(8), margin_m=3.0)


@pytest.fixture(scope="module")
def address(here: GoalTracker) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    app = make_robot_app(here, token="secret")
    config = uvicorn.Config(app, host="127.0.0.1", port=port, http=Visitor, loop="asyncio", log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def image(seed: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    shape = (CAMERA.height, CAMERA.width)
    return random.integers(0, 256, (*shape, 3), np.uint8), random.uniform(0.5, 3.0, shape).astype(np.float32)


def test_the_server_says_what_the_tracker_says(here: GoalTracker, address: str) -> None:
    there = Tracker(address, "secret")
    episode, state = there.start("go ahead", POSES[0]), here.start("go ahead", POSES[0])
    camera = Intrinsics.from_focal(40, 32, 30.0, 31.0, 19.0, 15.0, (0.01, 0.02))
    for number, pose in enumerate(POSES):
        rgb, depth_m = image(number)
        depth_m[0] = np.nan
        there.observe(episode, rgb, depth_m, pose, camera, time_s=float(number))
        state = here.observe(state, rgb, depth_m, pose, camera, time_s=float(number))
    told, known = there.goal(episode), here.goal(state)
    np.testing.assert_allclose(told.mass, known.mass, atol=1e-6)
    np.testing.assert_allclose(told.x_m, known.x_m)
    np.testing.assert_allclose(told.y_m, known.y_m)
    assert told.position_m == pytest.approx(known.position_m)
    assert (told.sure, told.notes) == (known.sure, known.notes)
    there.end(episode)
    with pytest.raises(GhostsError, match=r"answered 404: unknown episode"):
        there.goal(episode)


def test_what_the_server_refuses(address: str) -> None:
    with pytest.raises(GhostsError, match="answered 401: this server asks for the token"):
        Tracker(address, "guess").start("go ahead", POSES[0])
    there = Tracker(address, "secret")
    with pytest.raises(GhostsError, match="answered 400: the instruction has no words"):
        there.start("  ", POSES[0])
    episode, (rgb, depth_m) = there.start("go ahead", POSES[0]), image(0)
    with pytest.raises(ConfigError, match="divide mm by 1000"):
        there.observe(episode, rgb, depth_m.astype(np.uint16), POSES[0], CAMERA)
    with pytest.raises(GhostsError, match=r"answered 400: .*metres"):
        there.observe(episode, rgb, depth_m * 1000, POSES[0], CAMERA)
    for sent, said in (
        (b'{"episode": 1}\n', "camera: Field required"),
        (b"\x80\x04cos\nsystem\n", "Invalid JSON"),
        (b"", "Invalid JSON"),
        (b'{"episode": 1, "pose": [[1]], "camera": {}}\n', "camera.width"),
    ):
        with pytest.raises(GhostsError, match=f"answered 400: .*{said}"):
            there._send("observe", sent)
    matrix = POSES[0].matrix.tolist()
    camera = '{"width": 4, "height": 2, "fx": 3, "fy": 3, "cx": 2, "cy": 1}'
    line = f'{{"episode": {episode}, "pose": {matrix}, "camera": {camera}}}\n'.encode()
    with pytest.raises(GhostsError, match=r"2 × 4 pixels .* are 56 bytes, got 55"):
        there._send("observe", line + bytes(55))
    with pytest.raises(GhostsError, match=r"answered 413|no tracker answers"):
        there._send("observe", bytes(31 << 20))
    first = there.start("go ahead", POSES[0])
    for _ in range(MOST_EPISODES):
        there.start("go ahead", POSES[0])
    with pytest.raises(GhostsError, match="answered 404"):
        there.goal(first)
    with pytest.raises(GhostsError, match="start one: ghosts serve"):
        Tracker("http://127.0.0.1:9").goal(1)
