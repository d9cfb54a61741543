"""A tracker as a small server, for robots whose Python has no torch: `ghosts serve`; `ghosts_sim.remote` talks to it.

| address | takes | gives |
| --- | --- | --- |
| `POST /api/start` | `Start` | the episode's number |
| `POST /api/observe` | `Observed` as one line of JSON, then red, green, blue (bytes), then depth (float32) | notes |
| `POST /api/goal` | `Episode` | the goal, and the belief |
| `POST /api/end` | `Episode` | |

The viewer's rules hold: hosts, token, bounded bodies, JSON for every error, nothing unpickled.
"""

from __future__ import annotations

import base64
from collections import OrderedDict
from itertools import count
from typing import Annotated, Any, Literal

import numpy as np
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI, Request
from pydantic import Field, ValidationError

from ghosts import __version__
from ghosts.agent.frames import BoundingBox, Description
from ghosts.agent.tracker import GoalTracker, TrackerState
from ghosts.view.guard import Guard
from ghosts.view.requests import MOST_TEXT, Strict
from ghosts.view.server import add_errors
from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.types import Intrinsics, Pose

MOST_EPISODES = 8
"""The one that was asked about longest ago is forgotten."""
MOST_PIXELS = 1 << 22
_BYTES_A_PIXEL = 3 + 4
_MOST_HEADER = 64 << 10
Matrix = Annotated[list[Annotated[list[float], Field(min_length=4, max_length=4)]], Field(min_length=4, max_length=4)]
"""Camera (x right, y down, z forward) to world."""


class Start(Strict):
    """A new episode."""

    instruction: Annotated[str, Field(min_length=1, max_length=MOST_TEXT)]
    pose: Matrix


class Episode(Strict):
    """One that was started."""

    episode: Annotated[int, Field(ge=1)]


class Camera(Strict):
    """See `ghosts_sim.types.Intrinsics.from_focal`."""

    width: Annotated[int, Field(ge=1, le=10_000)]
    height: Annotated[int, Field(ge=1, le=10_000)]
    fx: float
    fy: float
    cx: float
    cy: float
    distortion: Annotated[tuple[float, ...], Field(max_length=8)] = ()


class Box(Strict):
    """See `agent.frames.BoundingBox`."""

    label: Annotated[str, Field(min_length=1, max_length=200)]
    edges_px: Annotated[list[float], Field(min_length=4, max_length=4)]
    confidence: Annotated[float, Field(ge=0.0, le=1.0)] = 1.0


class Observed(Episode):
    """One image with depth, whose pixels follow."""

    camera: Camera
    pose: Matrix
    depth: Literal["float32"] = "float32"
    time_s: float | None = None
    caption: Annotated[str, Field(max_length=MOST_TEXT)] = ""
    boxes: Annotated[tuple[Box, ...], Field(max_length=500)] = ()


def make_robot_app(tracker: GoalTracker, hosts: frozenset[str] = frozenset(), token: str = "") -> FastAPI:
    """The application.

    Args:
        tracker: that answers.
        hosts: names besides localhost under which it may be called.
        token: what every request must show; nothing when empty.
    """
    app = FastAPI(title="ghosts serve", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    most = _MOST_HEADER + _BYTES_A_PIXEL * MOST_PIXELS
    app.add_middleware(Guard, hosts=hosts, token=token, most_bytes=most, command="ghosts serve")
    states: OrderedDict[int, TrackerState] = OrderedDict()
    numbers, alone = count(1), CapacityLimiter(1)  # a belief takes all cores; and states change one after the other

    def state_of(episode: int) -> TrackerState:
        if episode not in states:
            raise UnknownNameError("episode", str(episode), map(str, states), where="this server; start one")
        states.move_to_end(episode)
        return states[episode]

    def start(body: Start) -> dict[str, int]:
        number = next(numbers)
        states[number] = tracker.start(body.instruction, Pose.from_matrix(body.pose))
        while len(states) > MOST_EPISODES:
            states.popitem(last=False)
        return {"episode": number}

    def observe(data: bytes) -> dict[str, list[str]]:
        body, rgb, depth_m = _parts(data)
        camera = body.camera
        k = camera.fx, camera.fy, camera.cx, camera.cy
        intrinsics = Intrinsics.from_focal(camera.width, camera.height, *k, camera.distortion)
        boxes = tuple(BoundingBox(box.label, _four(box.edges_px), box.confidence) for box in body.boxes)
        said = Description(body.caption, boxes) if boxes or body.caption else None
        pose = Pose.from_matrix(body.pose)
        state = tracker.observe(state_of(body.episode), rgb, depth_m, pose, intrinsics, said, time_s=body.time_s)
        states[body.episode] = state
        return {"notes": list(state.notes)}

    def goal(body: Episode) -> dict[str, Any]:
        found = tracker.goal(state_of(body.episode))
        return {
            "position_m": list(found.position_m),
            "confidence": found.confidence,
            "sure": found.sure,
            "notes": list(found.notes),
            "first_m": [float(found.x_m[0]), float(found.y_m[0])],
            "cell_m": float(found.x_m[1] - found.x_m[0]),
            "shape": list(found.mass.shape),
            "mass": base64.b64encode(found.mass.astype("<f4").tobytes()).decode(),
        }

    @app.post("/api/start")
    async def started(body: Start) -> dict[str, int]:
        return await to_thread.run_sync(start, body, limiter=alone)

    @app.post("/api/observe")
    async def observed(request: Request) -> dict[str, list[str]]:
        return await to_thread.run_sync(observe, await request.body(), limiter=alone)

    @app.post("/api/goal")
    async def asked(body: Episode) -> dict[str, Any]:
        return await to_thread.run_sync(goal, body, limiter=alone)

    @app.post("/api/end")
    async def ended(body: Episode) -> dict[str, int]:
        states.pop(body.episode, None)
        return {"episodes": len(states)}

    add_errors(app)
    return app


def _parts(data: bytes) -> tuple[Observed, np.ndarray, np.ndarray]:
    """The line of JSON, colours and depth of a request."""
    line, _, pixels = data.partition(b"\n")
    if len(line) > _MOST_HEADER:
        raise ConfigError(f"the line of JSON before the pixels may hold {_MOST_HEADER} bytes")
    try:
        body = Observed.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"{where or 'the first line'}: {first['msg']}") from None
    height, width = body.camera.height, body.camera.width
    wanted = _BYTES_A_PIXEL * height * width
    if height * width > MOST_PIXELS or len(pixels) != wanted:
        raise ConfigError(
            f"{height} × {width} pixels in colour (bytes) and depth (float32) are {wanted} bytes, got {len(pixels)}; "
            f"at most {MOST_PIXELS} pixels"
        )
    split = 3 * height * width
    rgb = np.frombuffer(bytearray(pixels[:split]), np.uint8).reshape(height, width, 3)
    return body, rgb, np.frombuffer(pixels[split:], "<f4").reshape(height, width)


def _four(values: list[float]) -> tuple[float, float, float, float]:
    left, top, right, bottom = values
    return left, top, right, bottom
