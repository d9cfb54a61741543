"""The streaming interface for robots: an instruction and RGB-D images in, where the instruction leads out.

No navigation graph is needed, only the robot's own pose. Nothing is hidden in the tracker: `start` and `observe` return
a state, `goal` reads one, and an old state can be used again (to ask "what if").

    tracker = GoalTracker(model, vocabulary, backbone)
    state = tracker.start("walk past the sofa and stop at the door", pose)
    state = tracker.observe(state, rgb, depth_m, pose, intrinsics)
    estimate = tracker.goal(state)

What the model does not understand is never silent: `state.read` tells of the words, `state.unknown` of the labels, and
an estimate carries both in its `notes` and in its `confidence`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.agent.estimate import GoalEstimate
from ghosts.agent.model import Briefing, EncodedInstruction, GoalModel
from ghosts.belief.histogram import NOT_FINITE, arg_max_m, best_guess_m, cell_centres_m, entropy, marginal, mass_within
from ghosts.devices import to_device
from ghosts.mapping.label_tiles import cells_from_labels
from ghosts.mapping.labels import STRUCTURE, UNKNOWN_OBJECT, LabelSet
from ghosts.mapping.landmark_views import LandmarkView
from ghosts.mapping.mapper import MapState
from ghosts.mapping.points import points_from_rgbd
from ghosts.mapping.tiles import place_tiles, tiles_from_points
from ghosts.mapping.window import growth_window, reframe
from ghosts.words.tokens import TextRead, Vocabulary
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.geometry import camera_to_world, snap_origin, to_cells
from ghosts_sim.landmarks.format import normalise_label
from ghosts_sim.landmarks.regions import ROOM_NAMES
from ghosts_sim.tokens import tokenise
from ghosts_sim.types import SUCCESS_M, Grid, Intrinsics, Pose

ROOM = "room:"
_LETTERS = {name: letter for letter, name in ROOM_NAMES.items()}


@dataclass(frozen=True)
class Detection:
    """A labelled thing the robot has detected."""

    label: str
    xyz_m: tuple[float, float, float]
    """In the camera's frame: x right, y down, z forward."""

    def __post_init__(self) -> None:
        if not isinstance(self.label, str) or not self.label.strip():
            raise ConfigError(f"a detection's label must be a name, such as 'chair', got {self.label!r}")
        try:
            good = len(self.xyz_m) == 3 and all(math.isfinite(value) for value in self.xyz_m)
        except TypeError:  # no numbers, or not several of them
            good = False
        if not good:
            raise ConfigError(
                f"xyz_m of detection {self.label!r} must be three finite numbers (x right, y down, z forward, in "
                f"metres), got {self.xyz_m!r}"
            )


class NamedLabels:
    """Numbers of names as a detector gives them.

    An object goes by its label ("chair", "dining table"), structure by `floor`, `viewpoint`, `up` and `down`, a room by
    "room: " and its name or letter, because `toilet` and `bar` are objects as well.

    Args:
        labels: of the model.
        open: whether an object that training never met is read by the meaning of its words; otherwise it counts as what
            its name ends in ("office chair" is a chair), else as `unknown object`.
    """

    def __init__(self, labels: LabelSet, *, open: bool) -> None:
        self.labels, self._open = labels, open

    @property
    def vectors(self) -> Float[Tensor, "labels d"] | None:
        """A vector per number, where labels are read by the meaning of their words."""
        return torch.from_numpy(self.labels.vectors) if self._open else None

    def id(self, name: str) -> int:
        """The number of a name; an object that is met for the first time gets a new one.

        Raises:
            UnknownNameError: there is no such room.
        """
        if name.startswith(ROOM):
            room = name.removeprefix(ROOM).strip()
            letter = room if room in ROOM_NAMES else _LETTERS.get(room.lower())
            if letter is None:
                raise UnknownNameError("room", room, [*_LETTERS, *ROOM_NAMES])
            return self.labels.room_id(letter)
        name = normalise_label(name)
        if name in STRUCTURE and name in self.labels.structure:
            return self.labels.structure_id(name)
        if self._open:
            self.labels = self.labels.with_new([name])
        return self.labels.object_id(name)

    def known(self, name: str) -> bool:
        """Whether a name means anything to the model."""
        return self.id(name) != self.labels.structure_id(UNKNOWN_OBJECT)


@dataclass(frozen=True)
class TrackerState:
    """All that is known in an episode."""

    heard: EncodedInstruction
    """The instruction as it was read: what to see and to do at each filter step."""
    read: TextRead
    """Which of its words the model knows."""
    start: Pose
    map: MapState
    grid: Grid
    """The map's grid; it grows when the robot comes near its edge."""
    origin_xy_m: tuple[float, float]
    """World position of the map's centre."""
    unknown: tuple[str, ...] = ()
    """Labels that were detected and mean nothing to the model."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was not understood, in words."""
        strange = [f"labels unknown: {', '.join(self.unknown)}"] if self.unknown else []
        return (*self.read.notes(), *strange)


class GoalTracker:
    """Follow an instruction's meaning while a robot explores.

    Args:
        model: trained; it is put in evaluation mode.
        vocabulary: the words it knows.
        backbone: images to features (`mapping.backbone.Backbone`), for `observe`.
        labels: what a detector may call things, for `observe_landmarks`.
        margin_m: the map grows when the robot comes nearer than this to its edge.
    """

    def __init__(
        self,
        model: GoalModel,
        vocabulary: Vocabulary,
        backbone: Callable[[Tensor], Tensor] | None = None,
        labels: NamedLabels | None = None,
        margin_m: float = 10.0,
    ) -> None:
        self.model, self.vocabulary = model.eval(), vocabulary
        self.backbone, self.labels, self.margin_m = backbone, labels, margin_m

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
        tokens = torch.from_numpy(self.vocabulary.encode([instruction])).to(self.device)
        grid = self.model.config.mapper.grid
        x_m, y_m = snap_origin([pose.x_m, pose.y_m], grid).tolist()
        start = torch.tensor([[pose.x_m - x_m, pose.y_m - y_m]], device=self.device)
        heading = torch.tensor([pose.heading_rad], device=self.device)
        heard = self.model.read(Briefing(tokens, (tokens > 0).sum(1), start, heading))
        empty = self.model.mapper.empty(1, grid.rows, grid.cols)
        return TrackerState(heard, self.vocabulary.read(instruction), pose, empty, grid, (x_m, y_m))

    @torch.no_grad()
    def observe(
        self,
        state: TrackerState,
        rgb: np.ndarray,
        depth_m: np.ndarray,
        pose: Pose | Sequence[Pose],
        intrinsics: Intrinsics,
    ) -> TrackerState:
        """Add one RGB-D image, or several taken together, to the map.

        Args:
            state: so far.
            rgb: height × width × 3 (or views × …), values 0 to 255.
            depth_m: height × width (or views × …), distance along the optical axis; 0, NaN or infinite = no reading.
            pose: of the camera, one per view.
            intrinsics: of the camera.
        """
        if self.backbone is None:
            raise ConfigError("this tracker has no backbone; give GoalTracker(…, backbone=…) or use observe_landmarks")
        poses = [pose] if isinstance(pose, Pose) else list(pose)
        shape = (len(poses), intrinsics.height, intrinsics.width)
        rgb = rgb[None] if rgb.ndim == 3 else rgb
        depth_m = depth_m[None] if depth_m.ndim == 2 else depth_m
        if rgb.shape != (*shape, 3) or depth_m.shape != shape:
            raise ConfigError(
                f"{shape[0]} poses and {shape[1]} × {shape[2]} intrinsics need rgb {(*shape, 3)} and depth_m {shape} "
                f"(views, rows, columns), got {rgb.shape} and {depth_m.shape}"
            )
        if np.issubdtype(rgb.dtype, np.floating) and 0.0 < rgb.max(initial=0.0) <= 1.0:
            raise ConfigError(f"rgb holds values 0 to 255, got {rgb.dtype} up to {rgb.max():.2f}; multiply it by 255")
        depth_m = np.where(np.isfinite(depth_m), depth_m, 0.0)
        features = self.backbone(torch.as_tensor(np.ascontiguousarray(rgb), device=self.device))
        depth = torch.as_tensor(np.ascontiguousarray(depth_m, dtype=np.float64), device=self.device)
        to_world = torch.from_numpy(_to_world(poses)).to(self.device)
        clip_m = self.model.config.mapper.height_clip_m
        points = points_from_rgbd(features[None], depth[None], to_world[None], intrinsics, clip_m)
        tiles = tiles_from_points(points, state.grid.cell_m)
        state = self._grow(state, poses)
        cells = place_tiles(tiles, 1, np.array([state.origin_xy_m]), state.grid)
        return replace(state, map=self.model.observe(state.map, cells))

    @torch.no_grad()
    def observe_landmarks(self, state: TrackerState, landmarks: Sequence[Detection], pose: Pose) -> TrackerState:
        """Add what a detector has found to the map. Warns once of each label that means nothing to the model.

        A label counts once per map cell, as in training: two chairs there are a cell with a chair, and points of floor
        may lie as densely as one likes.

        Args:
            state: so far.
            landmarks: labels and positions in the camera's frame.
            pose: of the camera.
        """
        if self.labels is None:
            raise ConfigError("this tracker knows no labels; make it with run.tracker.load_tracker, or use observe")
        state = self._grow(state, [pose])
        if not landmarks:
            return state
        to_world = _to_world([pose])[0]
        xyz_m = np.array([landmark.xyz_m for landmark in landmarks], float) @ to_world[:3, :3].T + to_world[:3, 3]
        ids = np.array([self.labels.id(landmark.label) for landmark in landmarks])
        view = LandmarkView(ids, xyz_m, np.ones(len(ids)))
        seen = cells_from_labels(view, state.origin_xy_m, state.grid, self.labels.vectors)
        return replace(self._note(state, landmarks), map=self.model.observe(state.map, to_device(seen, self.device)))

    @torch.no_grad()
    def goal(self, state: TrackerState) -> GoalEstimate:
        """Where the instruction leads, on what has been seen so far."""
        origin = np.array(state.origin_xy_m)
        start = torch.tensor([[state.start.x_m - origin[0], state.start.y_m - origin[1]]], device=self.device)
        pool = self.model.config.filter.pool
        trace = self.model.track(replace(state.heard, start_xy_m=start.float()), state.map.pooled(pool))
        grid = state.grid.coarser(pool)
        smoothed, goal = trace.smoothed()[0, 0], trace.goal[0, 0]
        if not (smoothed.isfinite().all() and goal.isfinite().all()):
            raise DataError("the belief is not finite", hint=NOT_FINITE)
        x_m, y_m = (axis.numpy() for axis in cell_centres_m(grid, dtype=torch.float64))
        mass = marginal(goal)
        at = best_guess_m(mass, grid, SUCCESS_M)
        position = at.double().cpu().numpy() + origin
        return GoalEstimate(
            mass=mass.cpu().numpy(),
            x_m=x_m + origin[0],
            y_m=y_m + origin[1],
            position_m=(float(position[0]), float(position[1])),
            confidence=float(mass_within(mass, grid, SUCCESS_M).amax()) * state.read.trust,
            trust=state.read.trust,
            notes=state.notes,
            entropy_nats=float(entropy(goal)),
            trajectory=smoothed.cpu().numpy(),
            trajectory_xy_m=arg_max_m(smoothed, grid, radius=1).double().cpu().numpy() + origin,
            trace=trace,
        )

    def _note(self, state: TrackerState, landmarks: Sequence[Detection]) -> TrackerState:
        """The state with labels that the model does not know; it warns of those that are new."""
        assert self.labels is not None, "only a tracker with labels is asked"
        named = dict.fromkeys(landmark.label for landmark in landmarks)
        new = tuple(name for name in named if name not in state.unknown and not self.labels.known(name))
        if new:
            text = f"the model does not know {', '.join(map(repr, new))} and takes them for unknown objects"
            warnings.warn(f"{text}; tracker.labels.known(NAME) tells which names it knows", stacklevel=4)
        return replace(state, unknown=(*state.unknown, *new))

    def _grow(self, state: TrackerState, poses: Sequence[Pose]) -> TrackerState:
        """The same map with room around the robot."""
        origin = np.array(state.origin_xy_m)
        positions = to_cells(np.array([[pose.x_m, pose.y_m] for pose in poses]) - origin, state.grid)
        multiple = math.lcm(8, self.model.config.filter.pool)
        window = growth_window([(col, row) for col, row in positions.tolist()], state.grid, self.margin_m, multiple)
        if window.rows == state.grid.rows and window.cols == state.grid.cols:
            return state
        x_m, y_m = window.origin(origin, state.grid).tolist()
        return replace(
            state,
            map=MapState(reframe(state.map.map, window), reframe(state.map.observed, window)),
            grid=window.grid(state.grid),
            origin_xy_m=(float(x_m), float(y_m)),
        )


def _to_world(poses: Sequence[Pose]) -> Float[np.ndarray, "v 4 4"]:
    return camera_to_world(
        [[pose.x_m, pose.y_m, pose.z_m] for pose in poses],
        [pose.heading_rad for pose in poses],
        [pose.elevation_rad for pose in poses],
    )
