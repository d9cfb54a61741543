"""An agent that follows instructions without a graph: look around, track the goal, choose where to look next, drive.

It runs the agents' loop (`agent.loop`) on places of its own map (`driving.places`). The policy that was trained on
viewpoints scores them (or the planner), because both need nothing but places and distances. Choosing a place where it
has looked around already means to stop: where most of the belief lies within 3 m, of all places it can reach.

It knows a body with a camera (`ghosts_sim.motion.Embodiment`), and nothing of what that body moves in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from jaxtyping import Float

from ghosts.agent.estimate import GoalEstimate
from ghosts.agent.loop import GhostAgent, Score
from ghosts.agent.sensors import Views, matrices
from ghosts.agent.tracker import GoalTracker
from ghosts.driving.occupancy import CELL_M, Reachable, Space, bump, reach, see
from ghosts.driving.places import Exploration, OwnPlaces, Place, find_places
from ghosts_sim.geometry import TAU
from ghosts_sim.motion import STOP, TURN_RIGHT, Embodiment, drive
from ghosts_sim.types import Pose

_METRE = 0.005
"""The belief that a metre of way to the last place has to gain."""
_ACTIONS_A_METRE = 7
"""At least so many of VLN-CE's actions are left for that way: 4 steps, and turns."""
_LAST_ACTIONS = 110
"""With fewer of VLN-CE's actions left the agent stops: driving on and looking around takes as many."""
_SOME_WAY_M = 0.5
"""After a drive that got stuck farther away than this, the agent looks around from there."""


@dataclass(frozen=True)
class Look:
    """One look around, for pictures."""

    pose: Pose
    estimate: GoalEstimate
    places: tuple[Place, ...]
    scores: tuple[float, ...]
    chosen: int


@dataclass
class ContinuousAgent:
    """Follows instructions with a tracker.

    Args:
        tracker: from weights (`run.tracker.load_tracker`).
        planner: chooses instead of the model's policy.
        exploration: how it explores.
        watch: called after every choice.
    """

    tracker: GoalTracker
    planner: Score | None = None
    exploration: Exploration = field(default_factory=Exploration)
    watch: Callable[[Look], None] = lambda look: None

    def follow(self, text: str, robot: Embodiment) -> Iterator[int]:
        """Actions, one by one."""
        body, settings = robot.body, self.exploration
        agent = GhostAgent(self.tracker.model, self.planner, settings.looks)
        start = robot.pose
        state, space = self.tracker.start(text, start), Space.around(start, body.camera_m)
        looked: list[tuple[float, float, float]] = []
        while True:
            views = yield from self._look_around(robot)
            state, space = self.tracker.look(state, views), see(space, views)
            looked.append(_feet_m(robot))
            with torch.no_grad():
                belief = agent.think(state.carry)
            estimate = self.tracker.estimate(state, belief)
            arrived = False
            while not arrived:
                here = _feet_m(robot)
                known = reach(space, *here, body.radius_m + settings.berth_m, body.height_m)
                onwards = len(looked) < settings.looks and robot.actions_left >= body.actions(_LAST_ACTIONS)
                places = OwnPlaces(find_places(known, looked, settings, onwards=onwards), (start.x_m, start.y_m))
                with torch.no_grad():
                    _, action = agent.act(replace(state.carry, places=places), belief)
                assert action.scores is not None, "it chooses on a belief"
                chosen, scores = int(action.chosen[0]), tuple(action.scores.values.tolist())
                self.watch(Look(robot.pose, estimate, places.listed, scores, chosen))
                if action.stopped[0]:
                    most_m = robot.actions_left / body.actions(_ACTIONS_A_METRE)
                    yield from drive(_last_way_m(known, estimate, most_m), robot)
                    yield STOP
                    return
                arrived = yield from drive(known.way_m(places.listed[chosen].cell), robot)
                if not arrived:
                    x_m, y_m, heading, ahead_m = *_feet_m(robot)[:2], robot.pose.heading_rad, body.radius_m + CELL_M
                    space = bump(space, x_m + ahead_m * math.sin(heading), y_m + ahead_m * math.cos(heading))
                    arrived = math.hypot(x_m - here[0], y_m - here[1]) > _SOME_WAY_M

    def _look_around(self, robot: Embodiment) -> Generator[int, None, Views]:
        """Turn once round. All views are added to the map at once, as in training."""
        frames = [robot.look()]
        turns = max(1, round(self.exploration.view_rad / robot.body.turn_rad))
        for _ in range(round(TAU / (turns * robot.body.turn_rad)) - 1):
            for _ in range(turns):
                yield TURN_RIGHT
            frames.append(robot.look())
        rgb, depth_m = np.stack([frame.rgb for frame in frames]), np.stack([frame.depth_m for frame in frames])
        return Views(rgb, depth_m, matrices([frame.pose for frame in frames]), robot.camera)


def _feet_m(robot: Embodiment) -> tuple[float, float, float]:
    """Where the body stands on the ground."""
    pose = robot.pose
    return pose.x_m, pose.y_m, pose.z_m - robot.body.camera_m


def _last_way_m(known: Reachable, estimate: GoalEstimate, most_m: float) -> Float[np.ndarray, "n 3"]:
    """The way to where the agent stops: the place with the most belief within 3 m, not farther than that."""
    cells = np.nonzero(known.distance_m <= most_m)
    worth = estimate.mass_near(known.places_m(*cells)[:, :2]) - _METRE * known.distance_m[cells]
    layer, row, col = (int(part[worth.argmax()]) for part in cells)
    return known.way_m((layer, row, col))
