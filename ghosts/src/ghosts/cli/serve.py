"""Offer a tracker to robots over HTTP: `ghosts serve` answers on this machine; the client needs NumPy alone.

The client is `ghosts_sim.remote.Tracker`; the ROS 2 node `ghosts_ros` uses it.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ghosts_sim.cli._options import parse
from ghosts_sim.errors import MissingExtraError
from ghosts_sim.values import require

TOKEN = "GHOSTS_TOKEN"


@dataclass(frozen=True)
class Options:
    run: Path = Path("landmarks-agent")
    """Folder of a run, a checkpoint, or shipped weights."""
    backbone: Path | None = None
    """Backbone of a run on images."""
    perception: bool = False
    """Let BLIP and DETR say what the images show (needs ghosts[perception]); else the robot's detections do."""
    host: str = "127.0.0.1"
    """Address to listen on. By default only this machine can connect."""
    port: int = 8472
    """Port to listen on."""
    token: bool = True
    """Ask for a token: that in the variable GHOSTS_TOKEN, or else a new one, which is printed."""
    allow_host: tuple[str, ...] = ()
    """Name by which the server may also be called; repeat for more."""

    def __post_init__(self) -> None:
        require(1 <= self.port <= 65535, "--port must lie in 1..65535", self.port)


def main(arguments: list[str]) -> None:
    """Run `ghosts serve`."""
    options = parse(Options, "serve", arguments, __doc__)
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "web", "ghosts serve") from None
    from ghosts.cli.view import listen

    with listen(options.host, options.port) as door:
        from ghosts.run.tracker import load_tracker
        from ghosts.view.connections import serve
        from ghosts.view.robot_server import make_robot_app

        perception = None
        if options.perception:
            from ghosts.run.perception import load_perception

            perception = load_perception()
        tracker = load_tracker(options.run, options.backbone, perception=perception)
        token = (os.environ.get(TOKEN) or secrets.token_urlsafe(24)) if options.token else ""
        shown = f", token {token}" if token and TOKEN not in os.environ else ""
        print(f"answering at http://{options.host}:{options.port}{shown} (stop with Ctrl-C)", flush=True)
        hosts = frozenset(name.lower() for name in (options.host, *options.allow_host))
        with suppress(KeyboardInterrupt):
            serve(make_robot_app(tracker, hosts, token), door, options.host, options.port)
