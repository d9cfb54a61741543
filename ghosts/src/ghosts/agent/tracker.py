"""The streaming interface for robots: an instruction and RGB-D images in, where the instruction leads out.

No navigation graph is needed, only the robot's own pose. A tracker starts, looks and thinks as every agent does
(`agent.loop`); the robot acts. Nothing is hidden in the tracker: `start` and `observe` return a state, `goal` reads
one, and an old state can be used again (to ask "what if"). Threads may share a tracker.

    tracker = GoalTracker(model, vocabulary, backbone)
    state = tracker.start("walk past the sofa and stop at the door", pose)
    state = tracker.observe(state, rgb, depth_m, pose, intrinsics)
    estimate = tracker.goal(state)

What the model does not understand is never silent: `state.read` lists unknown words, `state.unknown` unknown labels,
and an estimate carries both in its `notes` and in its `confidence`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from ghosts.agent.estimate import GoalEstimate, Occupancy, SeenMap
from ghosts.agent.evidence import SeenLabels, fit, labels_by_walker, names_in, presence
from ghosts.agent.frames import Describe, Description, map_notes, motion_notes, to_views
from ghosts.agent.interface import FilterModel
from ghosts.agent.loop import Belief, Carry, GhostAgent, Observation, Places
from ghosts.agent.sensors import (
    FARTHEST_M,
    Detection,
    NamedLabels,
    Views,
    brief,
    cells_from_detections,
    cells_from_views,
)
from ghosts.belief.histogram import (
    NOT_FINITE,
    arg_max_m,
    best_guess_m,
    cell_centres_m,
    entropy,
    marginal,
    mass_near,
)
from ghosts.devices import to_device
from ghosts.mapping.cells import MapCells
from ghosts.mapping.label_tiles import cells_from_labels
from ghosts.mapping.landmark_views import LandmarkView
from ghosts.mapping.mapper import MapState
from ghosts.mapping.window import growth_window, reframe
from ghosts.words.tokens import TextRead, Vocabulary
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.geometry import from_cells, to_cells
from ghosts_sim.tokens import tokenise
from ghosts_sim.types import SUCCESS_M, Grid, Intrinsics, Pose

_NUMBERS = count(1)


@runtime_checkable
class Seen(Protocol):
    """What was seen around a robot; `driving.surroundings.Surroundings` is one. Methods that add return a new one."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd about the last images."""
        ...

    @property
    def places_m(self) -> tuple[tuple[float, float, float], ...]:
        """On the floor, where observations began; the last one goes on."""
        ...

    def undescribed(self, views: Views) -> list[int]:
        """Views in whose direction nothing was said yet at this place."""
        ...

    def see(self, views: Views, descriptions: Mapping[int, Description]) -> Seen:
        """Add images taken together, and what was said about some of them."""
        ...

    def points(self) -> tuple[LandmarkView, Tensor | None]:
        """Labelled points of the present place, and a vector per label where labels are read by their meaning."""
        ...

    def standable(self, xy_m: Float[np.ndarray, "n 2"]) -> Bool[np.ndarray, " n"]:
        """False for places in the world where nobody can stand; True where this is not known."""
        ...

    def occupancy(self) -> Occupancy | None:
        """What is free and what is not; None before a floor was seen."""
        ...


@dataclass(frozen=True)
class TrackerState:
    """All that is known in an episode."""

    carry: Carry[Places]
    """The instruction as it was read, and the map."""
    text: str
    """The instruction as it was given."""
    read: TextRead
    """Which of the instruction's words the model knows."""
    start: Pose
    grid: Grid
    """The map's grid; it grows when the robot comes near its edge."""
    origin_xy_m: tuple[float, float]
    """World position of the map's centre."""
    unknown: tuple[str, ...] = ()
    """Labels that were detected and mean nothing to the model."""
    made_by: int = 0
    """Number of the tracker."""
    seen: Seen | None = None
    """What was seen around the robot, with what is not on the map yet: the present place's labels."""
    pose: Pose | None = None
    """Of the last observation."""
    time_s: float | None = None
    """Of the last observation, where it was told."""
    odd: tuple[str, ...] = ()
    """What was odd about the last observation."""
    labels: SeenLabels | None = None
    """All labels that are on the map."""

    @property
    def map(self) -> MapState:
        """What has been seen."""
        return self.carry.map

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not understood, in words."""
        strange = [f"labels unknown: {', '.join(self.unknown)}"] if self.unknown else []
        return (*self.read.notes(), *strange, *self.odd, *(self.seen.notes if self.seen is not None else ()))


class GoalTracker:
    """Follow an instruction's meaning while a robot explores.

    Args:
        model: trained; it is put in evaluation mode.
        vocabulary: the words it knows.
        backbone: images to features (`mapping.backbone.Backbone`), for `observe`.
        labels: what a detector may call things, for `observe_landmarks`.
        margin_m: the map grows when the robot comes nearer than this to its edge.
        surroundings: nothing seen yet; it makes floor, ways and obstacles of depth, and labels of words.
        describe: an image to words, asked once per direction and place.
        largest_m: no side of the map grows beyond this. A pose that asks for more is refused: it is wrong more often
            than a building is that long, and 1.4 km take 2 GB of memory.
    """

    def __init__(
        self,
        model: FilterModel,
        vocabulary: Vocabulary,
        backbone: Callable[[Tensor], Tensor] | None = None,
        labels: NamedLabels | None = None,
        margin_m: float = 10.0,
        largest_m: float = 250.0,
        surroundings: Seen | None = None,
        describe: Describe | None = None,
    ) -> None:
        self.model, self.vocabulary, self._agent = model.eval(), vocabulary, GhostAgent(model)
        self.backbone, self.labels, self.margin_m, self.largest_m = backbone, labels, margin_m, largest_m
        self.surroundings, self.describe, self._number = surroundings, describe, next(_NUMBERS)

    @property
    def device(self) -> torch.device:
        """Where the model lives."""
        return next(self.model.parameters()).device

    @torch.no_grad()
    def start(self, instruction: str, pose: Pose) -> TrackerState:
        """Read an instruction given at a pose; nothing is mapped yet.

        Raises:
            ConfigError: it is no text, or has no words.
        """
        if not isinstance(instruction, str) or not tokenise(instruction):
            raise ConfigError(
                f"the instruction has no words, got {instruction!r}; write a sentence, such as 'walk to the sofa'"
            )
        if not isinstance(pose, Pose):
            raise ConfigError(f"the pose must be a ghosts_sim.types.Pose(x_m, y_m, z_m, heading_rad), got {pose!r}")
        grid, here = self.model.config.mapper.grid, (pose.x_m, pose.y_m)
        briefing, origin = brief(self.vocabulary, instruction, here, pose.heading_rad, grid, self.device)
        return TrackerState(
            self._agent.start(briefing),
            instruction,
            self.vocabulary.read(instruction),
            pose,
            grid,
            origin,
            made_by=self._number,
            seen=self.surroundings,
        )

    def observe(
        self,
        state: TrackerState,
        rgb: Any,
        depth_m: Any,
        pose: Pose | Sequence[Pose],
        intrinsics: Intrinsics,
        description: Description | Sequence[Description] | None = None,
        *,
        time_s: float | None = None,
    ) -> TrackerState:
        """Add one RGB-D image, or several taken together, NumPy or torch.

        A model that reads images puts them on the map at once. For one that reads labels, depth gives floor, ways and
        stairs, and words give what is where: those given here, else those of the tracker's captioner and detector.

        Args:
            state: so far.
            rgb: height × width × 3 (or views × …), values 0 to 255; may be None for a model that reads labels.
            depth_m: height × width (or views × …), distance along the optical axis, registered to the colours; 0 or
                less, NaN, infinite or more than 100 m = no reading. None: no depth.
            pose: of the camera, one per view.
            intrinsics: of the camera.
            description: what a captioner and a detector say about each view.
            time_s: when it was taken, in seconds from any start; so the speed is known.

        Raises:
            ConfigError: sizes do not fit, units are certainly wrong, a pose is too far, or the state is another
                tracker's.
        """
        self._own(state)
        views, notes = to_views(rgb, depth_m, pose, intrinsics)
        last = pose if isinstance(pose, Pose) else pose[-1]
        if state.pose is not None:
            both = state.time_s is not None and time_s is not None
            notes += motion_notes(state.pose, last, time_s - state.time_s if both else None)  # type: ignore[operator]
        state = self._grow(state, views.camera_to_world[:, :2, 3])
        notes += map_notes(views, state.origin_xy_m, state.grid)
        state = replace(state, pose=last, time_s=time_s, odd=notes)
        if self.backbone is not None:
            return self._see(self.look(state, views), views, {})
        if state.seen is None:
            raise ConfigError("this tracker cannot read images; make it with load_tracker, or use observe_landmarks")
        given = [description] if isinstance(description, Description) else list(description or ())
        if given and len(given) != len(views.depth_m):
            raise ConfigError(f"{len(views.depth_m)} views need as many descriptions, got {len(given)}")
        told = dict(enumerate(given))
        if not given and self.describe is not None and views.rgb is not None:
            told = {k: self.describe(views.rgb[k]) for k in state.seen.undescribed(views)}
        return self._see(state, views, told)

    def _see(self, state: TrackerState, views: Views, told: Mapping[int, Description]) -> TrackerState:
        """The state with what is around the robot. A place that it has left goes on the map."""
        if state.seen is None:
            return state
        seen = state.seen.see(views, told)
        if self.labels is not None and state.seen.places_m and len(seen.places_m) > len(state.seen.places_m):
            state = self.settled(state)
        return replace(state, seen=seen)

    @torch.no_grad()
    def settled(self, state: TrackerState) -> TrackerState:
        """The state with the present place on the map, where it is to stay as it is now seen."""
        if self.labels is None or state.seen is None or not state.seen.places_m:
            return state
        points, vectors = state.seen.points()
        cells = cells_from_labels(points, state.origin_xy_m, state.grid, vectors)
        return self._labelled(state, cells)

    def _labelled(self, state: TrackerState, cells: MapCells) -> TrackerState:
        """The state with labelled cells on the map."""
        (new,) = labels_by_walker(cells) or (None,)
        labels = state.labels.joined(new) if state.labels is not None and new is not None else new
        carry = self._agent.look(state.carry, Observation(to_device(cells, self.device)))
        return replace(state, carry=carry, labels=labels)

    def map(self, state: TrackerState) -> SeenMap:
        """What has been seen so far, on the map's cells and as an occupancy grid."""
        self._own(state)
        seen = self.settled(state).map.observed[0].cpu()
        beside = (F.max_pool2d(seen.float(), 3, 1, 1) > 0) & ~seen
        x_m, y_m = (axis.numpy() for axis in cell_centres_m(state.grid, dtype=torch.float64))
        occupancy = state.seen.occupancy() if state.seen is not None else None
        x0, y0 = state.origin_xy_m
        return SeenMap(seen[0].numpy(), beside[0].numpy(), x_m + x0, y_m + y0, occupancy)

    def _own(self, state: TrackerState) -> None:
        if state.made_by != self._number:
            raise ConfigError(
                "this state was started by another tracker; start one here: tracker.start(instruction, pose)"
            )

    @torch.no_grad()
    def look(self, state: TrackerState, views: Views) -> TrackerState:
        """Add images whose depth is finite, with the matrices of their cameras."""
        if self.backbone is None:
            raise ConfigError("this tracker has no backbone; give GoalTracker(…, backbone=…) or use observe_landmarks")
        state = self._grow(state, views.camera_to_world[:, :2, 3])
        clip_m = self.model.config.mapper.height_clip_m
        cells = cells_from_views(views, self.backbone, state.origin_xy_m, state.grid, clip_m, self.device)
        return replace(state, carry=self._agent.look(state.carry, Observation(cells)))

    @torch.no_grad()
    def observe_landmarks(self, state: TrackerState, landmarks: Sequence[Detection], pose: Pose) -> TrackerState:
        """Add what a detector has found to the map. Warns once of each label that means nothing to the model.

        A label counts once per map cell, as in training: two chairs there are a cell with a chair, and points of floor
        may lie as densely as one likes.

        Args:
            state: so far.
            landmarks: labels and positions in the camera's frame; more than 100 m away = none.
            pose: of the camera.

        Raises:
            ConfigError: the tracker knows no labels, or the pose is too far away.
        """
        self._own(state)
        if self.labels is None:
            raise ConfigError("this tracker knows no labels; make it with run.tracker.load_tracker, or use observe")
        state = self._grow(state, np.array([[pose.x_m, pose.y_m]]))
        landmarks = [item for item in landmarks if max(map(abs, item.xyz_m)) <= FARTHEST_M]
        if not landmarks:
            return state
        cells = cells_from_detections(landmarks, self.labels, pose, state.origin_xy_m, state.grid)
        return self._labelled(self._note(state, landmarks, self.labels), cells)

    def goal(self, state: TrackerState) -> GoalEstimate:
        """Where the instruction leads, on what has been seen so far."""
        self._own(state)
        state = self.settled(state)
        return self.estimate(state, self.think(state))

    @torch.no_grad()
    def think(self, state: TrackerState) -> Belief:
        """The belief on what has been seen so far."""
        return self._agent.think(state.carry)

    @torch.no_grad()
    def estimate(self, state: TrackerState, belief: Belief) -> GoalEstimate:
        """What a belief says about the goal, in world metres."""
        grid, origin, trace = belief.grid, np.array(state.origin_xy_m), belief.trace
        assert trace is not None, "the filter's own belief"
        smoothed, goal = trace.smoothed()[0, 0], trace.goal[0, 0]
        if not (smoothed.isfinite().all() and goal.isfinite().all()):
            raise DataError("the belief is not finite", hint=NOT_FINITE)
        x_m, y_m = (axis.numpy() for axis in cell_centres_m(grid, dtype=torch.float64))
        mass = marginal(goal)
        at, near = self._best(state, mass, grid)
        # Words alone say which way and how far: a guess, whatever its mass.
        trust = state.read.trust if bool(state.map.observed.any()) else 0.0
        if state.labels is not None:
            attention = state.carry.instruction.latents.observation_attention[0, -1].double().cpu().numpy()
            trust *= float(presence(fit(names_in(state.text), attention, state.labels, (0,)))[0])
        position = at.double().cpu().numpy() + origin
        return GoalEstimate(
            mass=mass.cpu().numpy(),
            x_m=x_m + origin[0],
            y_m=y_m + origin[1],
            position_m=(float(position[0]), float(position[1])),
            confidence=near * trust,
            trust=trust,
            notes=state.notes,
            entropy_nats=float(entropy(goal)),
            trajectory=smoothed.cpu().numpy(),
            trajectory_xy_m=arg_max_m(smoothed, grid, radius=1).double().cpu().numpy() + origin,
            trace=trace,
        )

    def _best(self, state: TrackerState, mass: Tensor, grid: Grid) -> tuple[Tensor, float]:
        """The place with the most mass within 3 m, of those where one may be able to stand; and that mass."""
        standable = None
        if state.seen is not None:
            half = Grid(2 * grid.rows, 2 * grid.cols, grid.cell_m / 2)
            row, col = np.mgrid[: half.rows, : half.cols].reshape(2, -1)
            # The first place is the centre of the first cell.
            at = from_cells(np.stack([col, row], 1) / 2.0, grid) + np.array(state.origin_xy_m)
            standable = torch.from_numpy(state.seen.standable(at)).view(half.rows, half.cols).to(mass.device)
        best = best_guess_m(mass, grid, SUCCESS_M, standable)
        near = mass_near(mass[None], best[None, None] - from_cells(torch.zeros(2), grid).to(best), grid, SUCCESS_M)
        return best, float(near)

    def _note(self, state: TrackerState, landmarks: Sequence[Detection], labels: NamedLabels) -> TrackerState:
        """The state with labels that the model does not know; it warns of those that are new."""
        named = dict.fromkeys(landmark.label for landmark in landmarks)
        new = tuple(name for name in named if not labels.known(name) and name not in state.unknown)
        if new:
            text = f"the model does not know {', '.join(map(repr, new))} and takes them for unknown objects"
            warnings.warn(f"{text}; tracker.labels.known(NAME) says which names it knows", stacklevel=4)
        return replace(state, unknown=(*state.unknown, *new))

    def _grow(self, state: TrackerState, xy_m: np.ndarray) -> TrackerState:
        """The same map with room around the robot."""
        origin, carry = np.array(state.origin_xy_m), state.carry
        multiple = math.lcm(8, self.model.config.filter.pool)
        places = [(col, row) for col, row in to_cells(xy_m - origin, state.grid).tolist()]
        window = growth_window(places, state.grid, self.margin_m, multiple)
        side_m = max(window.rows, window.cols) * state.grid.cell_m
        if side_m > self.largest_m and max(window.rows, window.cols) > max(state.grid.rows, state.grid.cols):
            far = xy_m[np.argmax(np.abs(xy_m - origin).max(1))]
            raise ConfigError(
                f"a pose at x {far[0]:.1f} m, y {far[1]:.1f} m needs a map of {side_m:.0f} m, more than "
                f"{self.largest_m:.0f} m; check the pose, or give GoalTracker(…, largest_m={math.ceil(side_m)})"
            )
        if window.rows == state.grid.rows and window.cols == state.grid.cols:
            return state
        x_m, y_m = window.origin(origin, state.grid).tolist()
        start = torch.tensor([[state.start.x_m - x_m, state.start.y_m - y_m]], device=self.device)
        carry = replace(
            carry,
            instruction=replace(carry.instruction, start_xy_m=start),
            map=MapState(reframe(carry.map.map, window), reframe(carry.map.observed, window)),
        )
        return replace(state, carry=carry, grid=window.grid(state.grid), origin_xy_m=(float(x_m), float(y_m)))
