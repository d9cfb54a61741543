"""A tracker on another machine, or under another Python, over HTTP: what `ghosts serve` offers. Needs NumPy alone."""

from __future__ import annotations

import base64
import json
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Sequence, Tuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote
from urllib.request import ProxyHandler, Request, build_opener

import numpy as np

from ghosts_sim.errors import ConfigError, GhostsError
from ghosts_sim.types import Intrinsics, Pose

if TYPE_CHECKING:
    from jaxtyping import Float

Box = Tuple[str, Tuple[float, float, float, float], float]
"""A detector's class; left, top, right and bottom in pixels; how sure it is."""
ADDRESS = "http://127.0.0.1:8472"
_MOST_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class RemoteGoal:
    """Where the instruction leads; the fields are those of `ghosts.agent.estimate.GoalEstimate`."""

    mass: Float[np.ndarray, "y x"]
    """Probability that the goal lies in each cell."""
    x_m: Float[np.ndarray, " x"]
    y_m: Float[np.ndarray, " y"]
    position_m: tuple[float, float]
    confidence: float
    sure: bool
    notes: tuple[str, ...]


class Tracker:
    """Talks to a server.

    Args:
        address: of the server.
        token: that it printed; by default the variable GHOSTS_TOKEN.
        timeout_s: for one answer.

    Example:
        tracker = Tracker("http://127.0.0.1:8472", token)
        episode = tracker.start("Walk past the sofa and stop at the door.", pose)
        tracker.observe(episode, rgb, depth_m, pose, camera)
        goal = tracker.goal(episode)
    """

    def __init__(
        self, address: str = "http://127.0.0.1:8472", token: str | None = None, timeout_s: float = 30.0
    ) -> None:
        if not address.startswith(("http://", "https://")):
            raise ConfigError(f"a tracker's address begins with http://, got {address!r}")
        self.address, self.timeout_s = address.rstrip("/"), timeout_s
        self.token = os.environ.get("GHOSTS_TOKEN", "") if token is None else token
        # Without the system's proxies: a robot's own server is near.
        self._opener = build_opener(ProxyHandler({}))

    def start(self, instruction: str, pose: Pose) -> int:
        """Begin an episode: an instruction, given where the camera is.

        Returns:
            Its number.
        """
        return int(self._ask("start", {"instruction": instruction, "pose": pose.matrix.tolist()})["episode"])

    def observe(
        self,
        episode: int,
        rgb: np.ndarray,
        depth_m: np.ndarray,
        pose: Pose,
        camera: Intrinsics,
        boxes: Sequence[Box] = (),
        caption: str = "",
        time_s: float | None = None,
    ) -> tuple[str, ...]:
        """Show one image with depth.

        Args:
            episode: its number.
            rgb: height × width × 3, bytes.
            depth_m: height × width, along the optical axis, registered to the colours; 0 = no reading.
            pose: of the camera.
            camera: its calibration.
            boxes: what a detector found.
            caption: what a captioner says.
            time_s: when the image was taken.

        Returns:
            What is odd about it, in words.
        """
        size = (camera.height, camera.width)
        rgb, depth = np.asarray(rgb), np.asarray(depth_m)
        if rgb.shape != (*size, 3) or rgb.dtype != np.uint8 or depth.shape != size:
            raise ConfigError(
                f"a camera of {size[0]} × {size[1]} needs rgb (uint8) and depth_m of that size, got {rgb.shape} "
                f"({rgb.dtype}) and {depth.shape}"
            )
        if depth.dtype.kind != "f":
            raise ConfigError(f"depth_m holds metres as floating-point numbers, got {depth.dtype}; divide mm by 1000")
        fx, fy, cx, cy = camera.k_px
        told = {"width": size[1], "height": size[0], "fx": fx, "fy": fy, "cx": cx, "cy": cy}
        head = {
            "episode": episode,
            "camera": {**told, "distortion": list(getattr(camera, "distortion", ()))},
            "pose": pose.matrix.tolist(),
            "time_s": time_s,
            "caption": caption,
            "boxes": [{"label": label, "edges_px": list(edges), "confidence": sure} for label, edges, sure in boxes],
        }
        depth = np.where(np.isfinite(depth), depth, 0.0).astype("<f4")
        data = json.dumps(head).encode() + b"\n" + rgb.tobytes() + depth.tobytes()
        return tuple(self._send("observe", data)["notes"])

    def goal(self, episode: int) -> RemoteGoal:
        """Where the instruction leads, on what has been seen so far."""
        told = self._ask("goal", {"episode": episode})
        rows, cols = (int(size) for size in told["shape"])
        if not 0 < rows * cols <= _MOST_CELLS:
            raise GhostsError(f"the server at {self.address} gave a belief of {rows} × {cols} cells")
        mass = np.frombuffer(base64.b64decode(told["mass"], validate=True), "<f4").reshape(rows, cols)
        (x, y), cell = told["first_m"], float(told["cell_m"])
        place = float(told["position_m"][0]), float(told["position_m"][1])
        if not all(map(math.isfinite, place)):
            raise GhostsError(f"the server at {self.address} gave a goal at {place}")
        x_m, y_m = (first + cell * np.arange(count) for first, count in ((x, cols), (y, rows)))
        return RemoteGoal(mass, x_m, y_m, place, float(told["confidence"]), bool(told["sure"]), tuple(told["notes"]))

    def end(self, episode: int) -> None:
        """Forget an episode."""
        self._ask("end", {"episode": episode})

    def _ask(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._send(what, json.dumps(body).encode(), "application/json")

    def _send(self, what: str, data: bytes, kind: str = "application/octet-stream") -> dict[str, Any]:
        address = f"{self.address}/api/{what}" + (f"?token={quote(self.token)}" if self.token else "")
        try:
            with self._opener.open(Request(address, data, {"Content-Type": kind}), timeout=self.timeout_s) as answer:
                return dict(json.loads(answer.read()))
        except HTTPError as error:
            try:
                why = json.loads(error.read())["error"]
            except (ValueError, LookupError, TypeError):
                why = str(error)
            raise GhostsError(f"the tracker at {self.address} answered {error.code}: {why}") from None
        except (URLError, OSError) as error:
            why = getattr(error, "reason", error)
            raise GhostsError(f"no tracker answers at {self.address} ({why}); start one: ghosts serve") from None
