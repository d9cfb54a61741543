"""An agent that follows instructions without a graph: look around, track the goal, choose where to look next, drive.

What it may choose are places of its own map: the frontiers of what is known, and open places between them. The belief
of `GoalTracker` is read by the policy that was trained on viewpoints (or by the planner), because both need nothing but
places and distances. Choosing a place where it has looked around already means to stop: where most of the belief lies
within 3 m, of all places it can reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.agent.candidates import Candidates
from ghosts.agent.tracker import GoalEstimate, GoalTracker, TrackerState
from ghosts.driving.occupancy import Reachable, Space, bump, reach, see
from ghosts.run.load import load_run
from ghosts.run.tracker import load_tracker
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import TAU
from ghosts_sim.motion import STOP, TURN_RIGHT, Embodiment, drive
from ghosts_sim.types import Grid, Pose
from ghosts_sim.values import require

_STEEP_M = 0.5
"""What lies higher than it is far, by more than this, is on another storey."""
_METRE = 0.005
"""The belief that a metre of way to the last place has to gain."""
_ACTIONS_A_METRE = 7
"""At least so many of VLN-CE's actions are left for that way: 4 steps, and turns."""
_LAST_ACTIONS = 110
"""With fewer of VLN-CE's actions left the agent stops: driving on and looking around takes as many."""
_DETOUR = 1.5
"""Places to choose from may be so much farther to walk than straight on; metres near obstacles count twice."""
Score = Callable[[Candidates, Tensor, Tensor, Grid], Tensor]
"""Candidates, beliefs, starts and the beliefs' grid to what each candidate is worth; `act.planner.Planner` is one."""
FromStart = Callable[[tuple[float, float, float], float], float]
"""A place, and the length of the way to it from the last look (0 where it is not known), to the walk from the start."""


@dataclass(frozen=True)
class Habits:
    """How the agent explores."""

    looks: int = 12
    """Most places to look around at; after the last one it stops."""
    view_rad: float = math.radians(30.0)
    """Turn from view to view, a multiple of the body's turns; 12 views as in training."""
    spacing_m: float = 1.6
    """Least distance between places to choose from."""
    range_m: float = 3.5
    """Largest distance to them from where it has looked around: the policy was trained on graphs with such edges."""
    berth_m: float = 0.15
    """Distance kept between the body's middle and obstacles; larger than its radius."""

    def __post_init__(self) -> None:
        require(self.looks >= 1, "looks must be at least 1", self.looks)
        require(0.0 < self.view_rad <= math.pi, "view_rad must lie in (0, π]", self.view_rad)
        require(self.spacing_m > 0.0, "spacing_m must be positive", self.spacing_m)
        require(self.range_m > 0.0, "range_m must be positive", self.range_m)


@dataclass(frozen=True)
class Place:
    """Somewhere the agent may choose."""

    xyz_m: tuple[float, float, float]
    """On the ground."""
    from_start_m: float
    from_agent_m: float
    visited: bool
    cell: tuple[int, int, int]
    """Layer, row and column of what can be reached."""


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
        habits: how it explores.
        watch: told of every look around.
    """

    tracker: GoalTracker
    planner: Score | None = None
    habits: Habits = field(default_factory=Habits)
    watch: Callable[[Look], None] = lambda look: None

    def follow(self, text: str, robot: Embodiment) -> Iterator[int]:
        """Actions, one by one."""
        body, camera_m = robot.body, robot.body.camera_m
        start = robot.pose
        state = self.tracker.start(text, start)
        space, visited = Space.around(start, camera_m), []
        for number in range(self.habits.looks):
            state, space = yield from self._look_around(state, space, robot)
            visited.append(robot.pose)
            estimate = self.tracker.goal(state)
            while True:
                here = robot.pose
                known = reach(space, here.x_m, here.y_m, here.z_m - camera_m, self.habits.berth_m, body.height_m)
                last = number + 1 == self.habits.looks or robot.actions_left < body.actions(_LAST_ACTIONS)
                places = self._places(known, visited, camera_m, last)
                chosen = self._choose(state, estimate, start, places, here)
                if chosen.visited:
                    most_m = robot.actions_left / body.actions(_ACTIONS_A_METRE)
                    yield from drive(_last_way_m(known, estimate, most_m), robot)
                    yield STOP
                    return
                if (yield from drive(known.way_m(chosen.cell), robot)):
                    break
                ahead = 0.2
                x, y = robot.pose.x_m, robot.pose.y_m
                heading = robot.pose.heading_rad
                space = bump(space, x + ahead * math.sin(heading), y + ahead * math.cos(heading))
                if math.hypot(x - here.x_m, y - here.y_m) > 0.5:
                    break  # it came some way: look around from there

    def _look_around(
        self, state: TrackerState, space: Space, robot: Embodiment
    ) -> Generator[int, None, tuple[TrackerState, Space]]:
        """Turn once round, then add all views to the map at once, as in training."""
        sights = [robot.look()]
        turns = max(1, round(self.habits.view_rad / robot.body.turn_rad))
        for _ in range(round(TAU / (turns * robot.body.turn_rad)) - 1):
            for _ in range(turns):
                yield TURN_RIGHT
            sights.append(robot.look())
        rgb, depth = np.stack([s.rgb for s in sights]), np.stack([s.depth_m for s in sights])
        poses = [sight.pose for sight in sights]
        camera = robot.camera
        return self.tracker.observe(state, rgb, depth, poses, camera), see(space, depth, poses, camera)

    def _places(self, known: Reachable, visited: list[Pose], camera_m: float, last: bool) -> list[Place]:
        """Where the agent has looked around, and where it might."""
        spots = np.array([(pose.x_m, pose.y_m, pose.z_m - camera_m) for pose in visited])
        from_start = _distances(spots)
        places = []
        for x, y, z in spots.tolist():
            cell = known.nearest(x, y, z)
            places.append(Place((x, y, z), from_start((x, y, z), 0.0), known.length_m(cell), True, cell))
        places[-1] = replace(places[-1], from_agent_m=0.0)
        return places if last else places + self._ahead(known, spots, from_start)

    def _ahead(
        self,
        known: Reachable,
        spots: Float[np.ndarray, "n 3"],
        from_start: FromStart,
    ) -> list[Place]:
        """Frontiers first, then open places, none near another."""
        cells = np.nonzero(known.distance_m < 3 * self.habits.range_m)
        places = known.places_m(*cells)
        away = np.linalg.norm(places - spots[:, None], axis=2)
        free = away.min(0) > self.habits.spacing_m
        # Where it stands it knows the ways: what lies beyond a railing is near, but may be far to walk.
        away[-1] = np.maximum(away[-1], known.distance_m[cells] / _DETOUR)
        free &= away.min(0) < self.habits.range_m
        order = np.lexsort((-known.room[cells], ~known.frontier[cells]))
        order = order[free[order]]
        found: list[Place] = []
        while len(order):
            k = int(order[0])
            layer, row, col = (int(part[k]) for part in cells)
            x, y, z = places[k].tolist()
            far = known.length_m((layer, row, col))
            found.append(Place((x, y, z), from_start((x, y, z), far), far, False, (layer, row, col)))
            order = order[np.linalg.norm(places[order] - places[k], axis=1) > self.habits.spacing_m]
        return found

    @torch.no_grad()
    def _choose(
        self, state: TrackerState, estimate: GoalEstimate, start: Pose, places: list[Place], here: Pose
    ) -> Place:
        model, device = self.tracker.model, self.tracker.device
        trace = estimate.trace
        beliefs = (trace.smoothed() if self.planner else trace.beliefs)[:, 0]
        grid = Grid(beliefs.shape[-2], beliefs.shape[-1], model.config.belief_grid.cell_m)
        origin = np.array(state.origin_xy_m)
        begin = torch.tensor([[start.x_m - origin[0], start.y_m - origin[1]]], device=device, dtype=torch.float32)
        candidates = _candidates(places, start, device)
        scores: Tensor = (self.planner or model.policy)(candidates, beliefs, begin, grid)
        chosen = int(scores.argmax())
        self.watch(Look(here, estimate, tuple(places), tuple(scores.tolist()), chosen))
        return places[chosen]


def make_agent(run: Path, backbone: Path, *, planner: bool = False) -> ContinuousAgent:
    """The agent that drives on a run's belief, by its policy or by the planner, with the backbone it was trained on.

    Raises:
        ConfigError: the run was not trained to act, and no planner is asked for.
    """
    loaded = load_run(run)
    if not (loaded.experiment.acts or planner):
        raise ConfigError(f"{run} predicts goals and was not trained to act; add --planner")
    return ContinuousAgent(load_tracker(run, backbone), loaded.planner() if planner else None)


def _last_way_m(known: Reachable, estimate: GoalEstimate, most_m: float) -> Float[np.ndarray, "n 3"]:
    """The way to where the agent stops: the place with the most belief within 3 m, not farther than that."""
    cells = np.nonzero(known.distance_m <= most_m)
    worth = estimate.mass_near(known.places_m(*cells)[:, :2]) - _METRE * known.distance_m[cells]
    layer, row, col = (int(part[worth.argmax()]) for part in cells)
    return known.way_m((layer, row, col))


def _candidates(places: list[Place], start: Pose, device: torch.device) -> Candidates:
    origin = np.array([start.x_m, start.y_m, places[0].xyz_m[2]])
    return Candidates(
        torch.zeros(len(places), dtype=torch.int64, device=device),
        torch.tensor(np.array([place.xyz_m for place in places]) - origin, dtype=torch.float32, device=device),
        torch.tensor([place.from_start_m for place in places], device=device),
        torch.tensor([place.from_agent_m for place in places], device=device),
        torch.tensor([place.visited for place in places], device=device),
    )


def _distances(spots: Float[np.ndarray, "n 3"]) -> FromStart:
    """Walks from the start: through the looks so far, then straight on, but never through a ceiling.

    The walk to each look is what was walked or shorter; the last leg is taken straight, as edges of graphs are, but
    from the last look it is as long as its way.
    """
    legs = np.zeros(1)
    for k in range(1, len(spots)):
        legs = np.append(legs, np.min(legs + _straight_m(spots[:k], spots[k])))

    def measure(xyz: tuple[float, float, float], from_last_m: float) -> float:
        straight = _straight_m(spots, np.array(xyz))
        straight[-1] = max(straight[-1], from_last_m)
        return float(np.min(legs + straight))

    return measure


def _straight_m(spots: Float[np.ndarray, "n 3"], place: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " n"]:
    """Level distances to a place, infinite to what is steeper away than stairs; the last spot always leads there."""
    away = np.abs(spots - place)
    level_m = np.hypot(away[:, 0], away[:, 1])
    too_steep = away[:, 2] > level_m + _STEEP_M
    too_steep[-1] = False
    return np.where(too_steep, np.inf, level_m)
