"""A model opened up: any instruction, any walk, and what the filter thinks at every step of it.

The map depends on the walk alone and the latent actions and observations on the words alone, so both are kept: a
changed word costs one run of the filter, a further step one update of the map.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ghosts import geometry
from ghosts.act.model import GoalModel
from ghosts.belief.filter import FilterTrace
from ghosts.belief.histogram import arg_max_m, entropy, marginal
from ghosts.errors import ConfigError, UnknownNameError
from ghosts.evaluate.goal import TIME_STEPS, WALK_SEED, score_goal
from ghosts.language.decoder import Latents
from ghosts.language.tokens import MAX_TOKENS, tokenise
from ghosts.learn.data import GoalData
from ghosts.learn.examples import Example
from ghosts.learn.load import LoadedTask
from ghosts.learn.tasks import Prediction
from ghosts.learn.trajectories import sample_walk, walk_seed
from ghosts.mapping.mapper import MapState
from ghosts.types import Grid
from ghosts.view.choice import Chooser, choose_by_mass
from ghosts.view.motion import motion_weights
from ghosts.view.question import CellView, Question
from ghosts.view.record import ChosenBy, EpisodeRecord, Frame
from ghosts.world.store import ByteCache

_CACHE_BYTES = 256 << 20


@dataclass(frozen=True, eq=False)
class _Thought:
    frame: Frame
    trace: FilterTrace | None
    nbytes: int


class Mind:
    """One model on one data root. Calls may come from several threads; they take turns.

    Args:
        name: shown to people.
        loaded: the model.
        data: what it reads; see `library.open_mind`.
    """

    def __init__(self, name: str, loaded: LoadedTask, data: GoalData) -> None:
        self.name, self.task, self.data, self.root = name, loaded.task.eval(), data, data.root
        self.mapper_grid, self.chooser = loaded.experiment.model.mapper.grid, Chooser(loaded.experiment)
        self._lock = threading.RLock()
        self._maps: ByteCache[MapState] = ByteCache(_CACHE_BYTES, lambda item: item.map.nbytes + item.observed.nbytes)
        self._thoughts: ByteCache[_Thought] = ByteCache(_CACHE_BYTES, lambda item: item.nbytes)
        self._latents = lru_cache(maxsize=256)(self._read)
        self._scans = {scan for scan, _ in data.builder.bank.numbers}

    @property
    def has_filter(self) -> bool:
        """Whether there is a filter to look into (baselines have none)."""
        return self.task.kind == "filter"

    @property
    def acts(self) -> ChosenBy:
        """What chooses the next viewpoint."""
        return self.chooser.by if self.has_filter else "mass"

    @property
    def grid(self) -> Grid:
        """The belief's grid."""
        return self.task.config.belief_grid if self.has_filter else self.mapper_grid

    @property
    def scans(self) -> list[str]:
        """Buildings it can be asked about."""
        return sorted(self._scans)

    def origin(self, question: Question) -> tuple[float, float]:
        """World position of the maps' centre."""
        start = self.root.graph(question.scan).position_m[question.walk[0], :2]
        x_m, y_m = geometry.snap_origin(start, self.mapper_grid).tolist()
        return float(x_m), float(y_m)

    def question(self, example: Example, path: tuple[int, ...], steps: int = TIME_STEPS) -> Question:
        """An example with the evaluation's own walk."""
        graph = self.root.graph(example.scan)
        walk = sample_walk(graph, example.start, example.goal, steps, walk_seed(WALK_SEED, example.instr_id))
        return Question(example.scan, example.text, example.start_heading_rad, tuple(walk), path, example.instr_id)

    def words(self, text: str) -> tuple[tuple[str, ...], tuple[bool, ...]]:
        """Tokens as the model reads them, and which of them it does not know."""
        words = tuple(tokenise(text)[:MAX_TOKENS])
        return words, tuple(self.data.builder.vocabulary.id(word) == 1 for word in words)

    def frame(self, question: Question, step: int) -> Frame:
        """What the filter thinks on the map of one agent step."""
        return self._thought(question, step).frame

    def header(self, question: Question) -> EpisodeRecord:
        """The record without frames: words, attention, walk, grids."""
        words, unknown = self.words(question.text)
        graph = self.root.graph(question.scan)
        none = np.zeros((0, len(words)))
        with self._lock:
            latents = self._latents(question.text) if self.has_filter else None
        return EpisodeRecord(
            model=self.name,
            world=self.root.path.name,
            scan=question.scan,
            instr_id=question.instr_id,
            text=question.text,
            words=words,
            unknown=unknown,
            start_heading_rad=question.heading_rad,
            walk=tuple(graph.ids[row] for row in question.walk),
            walk_heading_rad=self._headings(question),
            path=tuple(graph.ids[row] for row in question.path),
            grid=self.grid,
            map_grid=self.mapper_grid,
            origin_xy_m=self.origin(question),
            observation_attention=latents.observation_attention[0].double().numpy() if latents else none,
            action_attention=latents.action_attention[0].double().numpy() if latents else none,
            frames=(),
        )

    def record(self, question: Question) -> EpisodeRecord:
        """The whole record: a frame for every agent step."""
        thoughts = [self._thought(question, step) for step in range(len(question.walk))]
        frames = tuple(thought.frame for thought in thoughts)
        motion = motion_weights([thought.trace for thought in thoughts if thought.trace is not None])
        return replace(self.header(question), frames=frames, motion=motion)

    @torch.inference_mode()
    def cell(self, question: Question, step: int, filter_step: int, xy_m: tuple[float, float]) -> CellView:
        """What the filter thinks about the cell under a point.

        Args:
            question: the episode so far.
            step: agent step.
            filter_step: 1 to T.
            xy_m: in the world.

        Raises:
            ConfigError: the point lies off the map, or there is no such filter step.
        """
        trace = self._thought(question, step).trace
        steps = trace.posteriors.shape[2] if trace is not None else 0
        if trace is None or not 1 <= filter_step <= steps:
            raise ConfigError(f"filter step must lie in 1..{steps} for model {self.name}, got {filter_step}")
        origin = self.origin(question)
        col, row = np.floor(geometry.to_cells(np.array(xy_m) - origin, self.grid) + 0.5).astype(int).tolist()
        if not (0 <= row < self.grid.rows and 0 <= col < self.grid.cols):
            raise ConfigError(
                f"({xy_m[0]:.1f}, {xy_m[1]:.1f}) m lies off the map of this episode; choose a point on it"
            )
        with self._lock:
            kernel = self._kernel(trace, filter_step - 1, row, col)
        x_m, y_m = (geometry.from_cells(np.array([col, row], float), self.grid) + origin).tolist()

        def there(values: Tensor) -> np.ndarray:
            return values[0, 0, filter_step - 1, :, row, col].double().numpy()

        return CellView(
            row=row,
            col=col,
            xy_m=(x_m, y_m),
            kernel=kernel,
            before=trace.beliefs[0, 0, filter_step - 1, :, row, col].double().numpy(),
            prediction=there(trace.predictions),
            likelihood=there(trace.likelihoods),
            posterior=there(trace.posteriors),
        )

    def _kernel(self, trace: FilterTrace, index: int, row: int, col: int) -> Float[np.ndarray, "c k k"]:
        """Where a unit of mass at one cell goes, for each source heading: works for every kind of kernel."""
        size, headings = self.task.config.filter.motion.kernel, self.task.config.filter.headings
        half, kernel = size // 2, trace.kernel_at(index)
        moved = np.zeros((headings, self.grid.rows + 2 * half, self.grid.cols + 2 * half))
        for heading in range(headings):
            unit = torch.zeros(1, headings, self.grid.rows, self.grid.cols)
            unit[0, heading, row, col] = 1.0
            moved[heading, half:-half, half:-half] = marginal(kernel.propagate(unit))[0].double().numpy()
        return moved[:, row : row + size, col : col + size].copy()

    def _headings(self, question: Question) -> tuple[float, ...]:
        xy, headings = self.root.graph(question.scan).position_m[list(question.walk), :2], [question.heading_rad]
        for move in np.diff(xy, axis=0):
            headings.append(float(geometry.heading_of(move)) if move.any() else headings[-1])
        return tuple(headings)

    @torch.inference_mode()
    def _read(self, text: str) -> Latents:
        tokens = torch.from_numpy(self.data.builder.vocabulary.encode([text]))
        model = self.task.model
        assert isinstance(model, GoalModel), "only a filter reads step by step"
        return model.read(tokens, (tokens > 0).sum(1))

    def _example(self, question: Question) -> Example:
        """What the batch builder wants; without a demonstration the goal stands in for the start."""
        xy = self.root.graph(question.scan).position_m[:, :2]
        goal = question.path[-1] if question.path else question.walk[0]
        return Example(
            instr_id=question.instr_id,
            scan=question.scan,
            text=question.text,
            start=question.walk[0],
            goal=goal,
            start_heading_rad=question.heading_rad,
            start_xy_m=xy[question.walk[0]],
            path_xy_m=xy[[goal]],
            path_heading_rad=np.zeros(1),
        )

    def _map(self, question: Question, step: int) -> MapState:
        """The map after an agent step: from the one before, and the new viewpoint's cells."""
        walk = question.walk[: step + 1]

        def make() -> MapState:
            before = self._map(question, step - 1) if step else None
            batch = self.data.builder.build([self._example(question)], [walk[-1:]])
            cells = self.task.features(batch, self.data.stored)
            if not len(cells.item) and before is not None:
                return before
            maps, observed = self.task.model.mapper.unroll_cells(cells, None, before)
            return MapState(maps[:, 0], observed[:, 0])

        return self._maps.get((question.scan, walk), make)

    def _thought(self, question: Question, step: int) -> _Thought:
        if question.scan not in self._scans:
            raise UnknownNameError("building", question.scan, self._scans)
        if not 0 <= step < len(question.walk):
            raise ConfigError(f"agent step must lie in 0..{len(question.walk) - 1}, got {step}")
        key = (question.scan, question.text, question.heading_rad, question.walk[: step + 1], question.path)
        with self._lock, torch.inference_mode():
            return self._thoughts.get(key, lambda: self._think(question, step))

    def _think(self, question: Question, step: int) -> _Thought:
        origin, graph = np.array(self.origin(question)), self.root.graph(question.scan)
        walk, model = question.walk[: step + 1], getattr(self.task, "model", None)
        if not isinstance(model, GoalModel):
            return self._baseline(question, step)
        state, latents = self._map(question, step), self._latents(question.text)
        start = torch.from_numpy(self._example(question).start_xy_m - origin).float()[None]
        trace = model.track(
            state.map[:, None], latents, start, torch.tensor([question.heading_rad], dtype=torch.float32)
        )
        goal = trace.goal
        prediction = Prediction(arg_max_m(goal, self.grid, radius=1), marginal(goal), self.grid)
        beliefs = trace.beliefs[0, 0].double().numpy()
        cells = np.array([np.unravel_index(belief.sum(0).argmax(), belief.shape[1:]) for belief in beliefs[:-1]])
        frame = Frame(
            beliefs=beliefs,
            predictions=trace.predictions[0, 0].double().numpy(),
            likelihoods=trace.likelihoods[0, 0].double().numpy(),
            smoothed=trace.smoothed()[0, 0].double().numpy(),
            observed=state.observed[0, 0].numpy(),
            kernels=np.stack([self._kernel(trace, t, *cell) for t, cell in enumerate(cells.tolist())]),
            kernel_cells=cells.astype(np.int64),
            choice=self.chooser.choose(graph, walk, model.policy, trace, start, self.grid),
            **self._scores(question, step, prediction, state.observed[0, 0].numpy(), float(entropy(goal))),
        )
        return _Thought(frame, trace, 4 * frame.beliefs.nbytes + 8 * state.map[0, 0].nbytes)

    def _baseline(self, question: Question, step: int) -> _Thought:
        batch = self.data.builder.build([self._example(question)], [question.walk[: step + 1]])
        prediction = self.task.predict(batch, self.data.stored)
        mass = prediction.goal[:, -1:]
        last = Prediction(prediction.goal_xy_m[:, -1:], mass, prediction.grid)
        graph = self.root.graph(question.scan)
        beliefs = mass[0].double().numpy()[None]
        observed = np.zeros((self.mapper_grid.rows, self.mapper_grid.cols), bool)
        observed[batch.cells.row.numpy(), batch.cells.col.numpy()] = True
        none = np.zeros((0, *beliefs.shape[1:]))
        frame = Frame(
            beliefs=beliefs,
            predictions=none,
            likelihoods=none,
            smoothed=beliefs,
            observed=observed,
            kernels=np.zeros((0, 1, 1, 1)),
            kernel_cells=np.zeros((0, 2), np.int64),
            choice=choose_by_mass(graph, question.walk[: step + 1], last, np.array(self.origin(question))),
            **self._scores(question, step, last, observed, float(entropy(mass))),
        )
        return _Thought(frame, None, 4 * beliefs.nbytes)

    def _scores(
        self, question: Question, step: int, prediction: Prediction, observed: np.ndarray, nats: float
    ) -> dict[str, Any]:
        graph, origin = self.root.graph(question.scan), np.array(self.origin(question))
        goal = graph.position_m[question.path[-1] if question.path else question.walk[0], :2] - origin
        error, nll, confidence = score_goal(prediction, torch.from_numpy(goal).float()[None])
        at = prediction.goal_xy_m[0, 0].double().numpy() + origin
        place = np.floor(geometry.to_cells(goal.copy(), self.mapper_grid) + 0.5).astype(int)
        inside = 0 <= place[1] < self.mapper_grid.rows and 0 <= place[0] < self.mapper_grid.cols
        return {
            "goal_xy_m": (float(at[0]), float(at[1])),
            "confidence": float(confidence[0, 0]),
            "entropy_nats": nats,
            "seen_m2": float(observed.sum() * self.mapper_grid.cell_m**2),
            "error_m": float(error[0, 0]) if question.path else None,
            "nll": float(nll[0, 0]) if question.path else None,
            "goal_seen": bool(inside and observed[place[1], place[0]]) if question.path else None,
        }
