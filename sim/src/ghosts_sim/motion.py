"""Motion without a graph: what an agent that drives knows of the body that it drives, and driving along a way.

The actions, and a body's default size and steps, are VLN-CE's (Krantz et al. 2020). Whoever has a body with a camera,
in a simulator or in the world, offers it as an `Embodiment`; a `Driver` then says what to do, action by action.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, Iterator, Protocol, runtime_checkable

import numpy as np

from ghosts_sim.geometry import heading_of, turn_rad
from ghosts_sim.types import Intrinsics, Pose
from ghosts_sim.values import require

if TYPE_CHECKING:
    from jaxtyping import Float, Float32, UInt8

STOP, MOVE_FORWARD, TURN_LEFT, TURN_RIGHT = range(4)
ACTIONS = ("STOP", "MOVE_FORWARD", "TURN_LEFT", "TURN_RIGHT")
FORWARD_M, TURN_RAD = 0.25, math.radians(15.0)
"""What one of VLN-CE's actions does."""

_AHEAD_M, _CAREFUL_M = 0.3, 0.12
"""How far ahead on the way a body aims; after a collision it aims nearer."""
_WINDOW_M = 1.0
"""The nearest point of the way is looked for this far ahead of the last one."""
_ARRIVED_M, _LAST_M = 0.2, 0.6
"""The end is reached within the first distance of it, and within the second of the way's length."""
_PATIENCE = 30
"""After so many of VLN-CE's actions without progress a way is given up."""
_STUCK = 3
"""After this many steps in a row that move nothing a way is given up."""


@dataclass(frozen=True)
class Body:
    """An upright cylinder that carries a camera. The defaults are VLN-CE's."""

    radius_m: float = 0.1
    height_m: float = 1.5
    slide: bool = True
    """Whether it slides along what it bumps into."""
    forward_m: float = FORWARD_M
    """Length of a step."""
    turn_rad: float = TURN_RAD
    """Angle of a turn."""
    camera_m: float = 1.25
    """Height of the camera above the ground."""

    def __post_init__(self) -> None:
        require(0.02 <= self.radius_m <= 0.4, "radius_m must lie in 0.02..0.4", self.radius_m)
        require(0.5 <= self.height_m <= 1.9, "height_m must lie in 0.5..1.9", self.height_m)
        require(0.0 < self.forward_m <= 2.0, "forward_m must lie in (0, 2]", self.forward_m)
        require(0.0 < self.turn_rad <= math.pi, "turn_rad must lie in (0, π]", self.turn_rad)
        require(0.1 <= self.camera_m <= 2.0, "camera_m must lie in 0.1..2", self.camera_m)

    def actions(self, vlnce: int) -> float:
        """How many of its actions do what so many of VLN-CE's do, whether they are steps or turns.

        Example:
            >>> Body(turn_rad=TURN_RAD / 2).actions(10)
            20.0
        """
        return vlnce * max(FORWARD_M / self.forward_m, TURN_RAD / self.turn_rad)


@dataclass(frozen=True)
class RgbdFrame:
    """What the camera sees."""

    rgb: UInt8[np.ndarray, "h w 3"]
    """At the size of the depth image."""
    depth_m: Float32[np.ndarray, "h w"]
    """Along the optical axis; 0 where nothing is seen."""
    pose: Pose


@runtime_checkable
class Embodiment(Protocol):
    """A body with a camera, as its driver knows it."""

    @property
    def body(self) -> Body:
        """Its size and its steps."""
        ...

    @property
    def camera(self) -> Intrinsics:
        """The camera whose frames `look` returns."""
        ...

    @property
    def pose(self) -> Pose:
        """The camera's pose, by odometry."""
        ...

    @property
    def actions_left(self) -> int:
        """How many actions it may still take."""
        ...

    def look(self) -> RgbdFrame:
        """What the camera sees now."""
        ...


Driver = Callable[[str, Embodiment], Iterator[int]]
"""An instruction and a body to actions, one by one. The caller takes each action before it asks for the next."""


def drive(way_m: Float[np.ndarray, "n 3"], robot: Embodiment) -> Generator[int, None, bool]:
    """Actions that lead along a way.

    Args:
        way_m: points on the ground, some centimetres apart.
        robot: whoever goes there.

    Returns:
        Whether the end was reached; False where the body is stuck.
    """
    body = robot.body
    longer = max(1.0, body.forward_m / FORWARD_M)  # with longer steps one aims farther ahead and stops less exactly
    patience, most = body.actions(_PATIENCE), round(body.actions(40 + 8 * len(way_m)))
    at = stuck = careful = waited = 0
    spacing = _spacing(way_m)
    for _ in range(most):
        pose = robot.pose
        here = np.array([pose.x_m, pose.y_m])
        gaps = np.linalg.norm(way_m[at:, :2] - here, axis=1)
        # The nearest point of what lies ahead, and then a little farther on.
        gained = int(gaps[: max(1, round(longer * _WINDOW_M / spacing))].argmin())
        at, waited = at + gained, 0 if gained else waited + 1
        if waited > patience:
            return False
        left_m = float(np.linalg.norm(way_m[-1, :2] - here))
        if left_m < longer * _ARRIVED_M and at >= len(way_m) - 1 - round(longer * _LAST_M / spacing):
            return True
        ahead_m = longer * (_CAREFUL_M if careful > 0 else _AHEAD_M)
        target = way_m[min(len(way_m) - 1, at + max(1, round(ahead_m / spacing))), :2]
        off = float(turn_rad(pose.heading_rad, heading_of(target - here)))
        if abs(off) > 0.55 * body.turn_rad:
            yield TURN_RIGHT if off > 0.0 else TURN_LEFT
            continue
        yield MOVE_FORWARD
        after = robot.pose
        gone = math.hypot(after.x_m - pose.x_m, after.y_m - pose.y_m)
        careful = 8 if gone < 0.6 * body.forward_m else careful - 1
        stuck = stuck + 1 if gone < 0.1 * body.forward_m else 0
        if stuck >= _STUCK:
            return False
    return False


def along(way_m: Float[np.ndarray, "n 3"]) -> Driver:
    """A driver that follows a way on the ground, whatever the instruction, and stops at its end."""

    def follow(text: str, robot: Embodiment) -> Iterator[int]:
        yield from drive(way_m, robot)
        yield STOP

    return follow


def _spacing(way_m: np.ndarray) -> float:
    """Mean distance between points of a way."""
    if len(way_m) < 2:
        return 0.1
    return max(0.02, float(np.linalg.norm(np.diff(way_m[:, :2], axis=0), axis=1).mean()))
