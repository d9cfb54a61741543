"""A model opened up: any instruction, any walk, and what the filter computes at every step of it.

The map depends on the walk alone and the latent actions and observations on the words alone, so both are kept: a
changed word costs one run of the filter, a further step one update of the map.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ghosts.agent.interface import Prediction, mean_prediction
from ghosts.agent.known import KnownGraph, start_graph
from ghosts.agent.loop import Carry, GhostAgent
from ghosts.belief.filter import FilterTrace
from ghosts.belief.histogram import entropy, marginal
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.data.examples import Example, headings_along, make_example
from ghosts.data.walks import walk_seed
from ghosts.evaluate.goal import TIME_STEPS, WALK_SEED, confidence_of, score_goal
from ghosts.mapping.mapper import MapState
from ghosts.run.load import Run
from ghosts.run.rollout import Episodes, GraphWalks
from ghosts.view.cell import CellView, kernel_of
from ghosts.view.choice import choice_of, choose_by_mass
from ghosts.view.motion_weights import motion_weights
from ghosts.view.query import FIXED_WALK, EpisodeQuery
from ghosts.view.record import Choice, ChosenBy, EpisodeRecord, Frame
from ghosts.view.seen_labels import labels_at, marks_at
from ghosts_sim import geometry
from ghosts_sim.errors import ConfigError, UnknownNameError
from ghosts_sim.graph import NavGraph
from ghosts_sim.store import ByteCache
from ghosts_sim.types import Grid

_CACHE_BYTES = 96 << 20
_CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class _Computed:
    frame: Frame
    trace: FilterTrace | None

    @property
    def nbytes(self) -> int:
        """Bytes in memory: of the arrays shown, of the filter's own, and of the motion kernels behind them."""
        held = [*vars(self.frame).values()]
        if self.trace is not None:
            behind = getattr(inspect.unwrap(self.trace.kernel_at), "__closure__", None) or ()
            held += [*vars(self.trace).values(), *(cell.cell_contents for cell in behind)]
        return sum(value.nbytes for value in held if isinstance(value, np.ndarray | Tensor))


@dataclass(frozen=True, eq=False)
class _Explored:
    """What is known after a walk, whatever the words."""

    map: MapState | None
    """None for a model without a filter, which makes its map of a whole walk at once."""
    known: KnownGraph

    @property
    def nbytes(self) -> int:
        """Bytes in memory, those of the map; graphs are small."""
        return self.map.map.nbytes + self.map.observed.nbytes if self.map is not None else 0


class Inspector:
    """One model on one data root, on the CPU. Calls may come from several threads; they take turns.

    Its name is shown to people; the run's by default.
    """

    def __init__(self, run: Run, data: Dataset, name: str = "") -> None:
        predictor, self.filter = run.predictor, run.filter
        if predictor is None:
            raise ConfigError(f"{run.name} has no belief to look into; name a run of the filter")
        run.model.eval()
        self.name, self.run, self.predictor, self.data, self.root = name or run.name, run, predictor, data, data.root
        # A policy on true beliefs has never seen a filter's.
        by_planner = not run.experiment.acts or run.experiment.on_true_beliefs
        self.agent: GhostAgent | None = None
        if self.filter is not None:
            self.agent = GhostAgent(self.filter, run.planner() if by_planner else None, run.experiment.model.step_limit)
        self._graphs = GraphWalks(data, _CPU)
        self._lock = threading.RLock()
        self._explored: ByteCache[_Explored] = ByteCache(_CACHE_BYTES // 2, lambda item: item.nbytes)
        self._computed: ByteCache[_Computed] = ByteCache(_CACHE_BYTES, lambda item: item.nbytes)
        self._begun = lru_cache(maxsize=256)(self._begin)

    @property
    def has_filter(self) -> bool:
        """Whether there is a filter to look into (baselines have none)."""
        return self.agent is not None

    @property
    def acts(self) -> ChosenBy:
        """What chooses the next viewpoint."""
        if self.agent is None:
            return "mass"
        return "policy" if self.agent.planner is None else "planner"

    @property
    def map_grid(self) -> Grid:
        """The maps' grid."""
        return self.data.reading.grid

    @property
    def grid(self) -> Grid:
        """The belief's grid."""
        return self.filter.config.belief_grid if self.filter is not None else self.map_grid

    def origin(self, query: EpisodeQuery) -> tuple[float, float]:
        """World position of the maps' centre."""
        start = self.root.graph(query.scan).position_m[query.walk[0], :2]
        x_m, y_m = geometry.snap_origin(start, self.map_grid).tolist()
        return float(x_m), float(y_m)

    def query(self, example: Example, *, fixed: bool = False) -> EpisodeQuery:
        """An example with the walk that the model takes by itself, or with the evaluation's fixed one."""
        walk = self.data.walk(example, TIME_STEPS, walk_seed(WALK_SEED, example.instr_id)) if fixed else [example.start]
        asked = (example.scan, example.text, example.start_heading_rad, tuple(walk), example.path, example.instr_id)
        return EpisodeQuery(*asked, FIXED_WALK) if fixed else self.walked(EpisodeQuery(*asked))

    def walked(self, query: EpisodeQuery) -> EpisodeQuery:
        """The query with the walk that the model takes by itself, from the start until it stops."""
        graph = self.root.graph(query.scan)
        query = replace(query, walk=query.walk[:1], walked_by=self.name)
        while not (choice := self.frame(query, len(query.walk) - 1).choice).stops:
            # It looks around where it pauses, not at what it walks past.
            query = replace(query, walk=(*query.walk, graph.index(choice.moves[-1])))
        return query

    def frame(self, query: EpisodeQuery, step: int) -> Frame:
        """What the filter thinks on the map of one agent step."""
        return self._compute(query, step).frame

    def header(self, query: EpisodeQuery) -> EpisodeRecord:
        """The record without frames: words, attention, walk, grids."""
        read = self.data.vocabulary.read(query.text)
        graph = self.root.graph(query.scan)
        none = np.zeros((0, len(read.words)))
        with self._lock:
            carry = self._begun(query.start)[1]
        latents = carry.instruction.latents if carry is not None else None
        return EpisodeRecord(
            model=self.name,
            world=self.root.path.name,
            scan=query.scan,
            instr_id=query.instr_id,
            text=query.text,
            words=read.words,
            unknown=tuple(word in read.unknown for word in read.words),
            notes=tuple(read.notes()),
            start_heading_rad=query.heading_rad,
            walk=tuple(graph.ids[row] for row in query.walk),
            walk_heading_rad=headings_along(graph, query.walk, query.heading_rad),
            labels=tuple(labels_at(self.data, query.scan, row) for row in query.walk),
            sights=tuple(marks_at(self.data, query.scan, row) for row in query.walk),
            walked_by=query.walked_by,
            path=tuple(graph.ids[row] for row in query.path),
            grid=self.grid,
            map_grid=self.map_grid,
            origin_xy_m=self.origin(query),
            observation_attention=latents.observation_attention[0].double().numpy() if latents else none,
            action_attention=latents.action_attention[0].double().numpy() if latents else none,
            frames=(),
        )

    def record(
        self, query: EpisodeQuery, report: Callable[[int, int], None] = lambda done, total: None
    ) -> EpisodeRecord:
        """The whole record: a frame for every agent step; `report` is told how many are there."""
        computed = []
        for step in range(len(query.walk)):
            computed.append(self._compute(query, step))
            report(step + 1, len(query.walk))
        frames = tuple(item.frame for item in computed)
        motion = motion_weights([item.trace for item in computed if item.trace is not None])
        return replace(self.header(query), frames=frames, motion=motion)

    @torch.inference_mode()
    def cell(self, query: EpisodeQuery, step: int, filter_step: int, xy_m: tuple[float, float]) -> CellView:
        """What the filter thinks about the cell under a point of the world.

        Raises:
            ConfigError: the point lies off the map, or the filter step does not lie in 1 to T.
        """
        trace = self._compute(query, step).trace
        steps = trace.posteriors.shape[2] if trace is not None else 0
        if trace is None or self.filter is None or not 1 <= filter_step <= steps:
            raise ConfigError(f"filter step must lie in 1..{steps} for model {self.name}, got {filter_step}")
        origin = self.origin(query)
        place = geometry.map_cells(np.array(xy_m) - origin, self.grid)
        if not geometry.on_map(place, self.grid):
            raise ConfigError(
                f"({xy_m[0]:.1f}, {xy_m[1]:.1f}) m lies off the map of this episode; choose a point on it"
            )
        col, row = place.tolist()
        with self._lock:
            kernel = kernel_of(trace, filter_step, row, col, self.filter.config.filter.motion.kernel)
        x_m, y_m = (geometry.from_cells(np.array([col, row], float), self.grid) + origin).tolist()

        values = (trace.beliefs, trace.predictions, trace.likelihoods, trace.posteriors)
        there = (item[0, 0, filter_step - 1, :, row, col].double().numpy() for item in values)
        return CellView(row, col, (x_m, y_m), kernel, *there)

    @torch.inference_mode()
    def _begin(self, start: EpisodeQuery) -> tuple[Episodes, Carry[KnownGraph] | None]:
        """An episode at its start, and what an agent with a filter knows there: the words."""
        episodes = self._graphs.begin([self._example(start)])
        return episodes, self.agent.start(episodes.briefing) if self.agent is not None else None

    def _example(self, query: EpisodeQuery) -> Example:
        """What a batch is made of; without a demonstration the goal stands in for the start."""
        graph, path = self.root.graph(query.scan), query.path or query.walk[:1]
        example = make_example(graph, query.instr_id, query.text, query.heading_rad, path, steps=1)
        return replace(example, start_xy_m=graph.position_m[query.walk[0], :2])

    def _explore(self, query: EpisodeQuery, step: int) -> _Explored:
        """What is known after an agent step: what was known before, and what the new viewpoint shows."""
        walk = query.walk[: step + 1]

        def make() -> _Explored:
            before = self._explore(query, step - 1) if step else None
            episodes, carry = self._begun(query.start)
            number = episodes.first + walk[-1]
            known = start_graph(number)
            if before:
                here = np.flatnonzero(before.known.viewpoint[0] == number)
                if not len(here):
                    name = self.root.graph(query.scan).ids[walk[-1]]
                    raise ConfigError(f"a walk goes from neighbour to neighbour; {name} was not seen on the way")
                known = replace(before.known, here=here)
            observation = self._graphs.observe(episodes, known, np.ones(1, bool))
            assert observation.places is not None, "a graph has places"
            if self.agent is None or carry is None:
                return _Explored(None, observation.places)
            if before and before.map is not None:
                carry = replace(carry, map=before.map)
            return _Explored(self.agent.look(carry, observation).map, observation.places)

        return self._explored.get((query.scan, walk), make)

    def _compute(self, query: EpisodeQuery, step: int) -> _Computed:
        if query.scan not in self.data.scans:
            raise UnknownNameError("building", query.scan, self.data.scans)
        if not 0 <= step < len(query.walk):
            raise ConfigError(f"agent step must lie in 0..{len(query.walk) - 1}, got {step}")
        key = (query.scan, query.text, query.heading_rad, query.walk[: step + 1], query.path)
        with self._lock, torch.inference_mode():
            return self._computed.get(key, lambda: self._think(query, step))

    def _think(self, query: EpisodeQuery, step: int) -> _Computed:
        explored, (episodes, carry) = self._explore(query, step), self._begun(query.start)
        if self.agent is None or carry is None or explored.map is None:
            return self._baseline(query, step, explored.known)
        carry = replace(carry, map=explored.map, places=explored.known)
        belief = self.agent.think(carry)
        _, action = self.agent.act(carry, belief)
        trace = belief.trace
        assert trace is not None, "the filter's own beliefs"
        attention = carry.instruction.latents.observation_attention[:, -1]
        prediction = mean_prediction([marginal(trace.goal)], self.grid, attention)
        batch = self._seen(query, step) if self.data.labels is not None else None
        beliefs = trace.beliefs[0, 0].double().numpy()
        cells = np.array([np.unravel_index(mass.sum(0).argmax(), mass.shape[1:]) for mass in beliefs[:-1]])
        observed, size = explored.map.observed[0, 0].numpy(), self.agent.model.config.filter.motion.kernel
        graph, start_xy_m = self.root.graph(query.scan), carry.instruction.start_xy_m
        choice = choice_of(self.agent, action, belief, start_xy_m, graph, int(episodes.first[0]))
        frame = Frame(
            beliefs=beliefs,
            predictions=trace.predictions[0, 0].double().numpy(),
            likelihoods=trace.likelihoods[0, 0].double().numpy(),
            smoothed=trace.smoothed()[0, 0].double().numpy(),
            kernels=np.stack([kernel_of(trace, t + 1, row, col, size) for t, (row, col) in enumerate(cells.tolist())]),
            kernel_cells=cells.astype(np.int64),
            **self._scores(query, choice, prediction, observed, float(entropy(trace.goal)), batch),
        )
        return _Computed(frame, trace)

    def _baseline(self, query: EpisodeQuery, step: int, known: KnownGraph) -> _Computed:
        batch = self._seen(query, step)
        prediction = self.predictor.predict(batch.briefing, batch.seen)
        mass = prediction.goal[:, -1:]
        last = Prediction(prediction.goal_xy_m[:, -1:], prediction.peak_xy_m[:, -1:], mass, prediction.grid)
        beliefs = mass[0].double().numpy()[None]
        observed = np.zeros((self.map_grid.rows, self.map_grid.cols), bool)
        observed[batch.seen.cells.row.numpy(), batch.seen.cells.col.numpy()] = True
        none, origin = np.zeros((0, *beliefs.shape[1:])), np.array(self.origin(query))
        graph, first = self.root.graph(query.scan), self._graphs.first[query.scan]
        choice = choose_by_mass(graph, first, known, last, origin, self.run.experiment.model.step_limit)
        frame = Frame(
            beliefs=beliefs,
            predictions=none,
            likelihoods=none,
            smoothed=beliefs,
            kernels=np.zeros((0, 1, 1, 1)),
            kernel_cells=np.zeros((0, 2), np.int64),
            **self._scores(query, choice, last, observed, float(entropy(mass))),
        )
        return _Computed(frame, None)

    def _seen(self, query: EpisodeQuery, step: int) -> Batch:
        """All that is observed up to an agent step."""
        return self.data.load(self.data.batch([self._example(query)], [query.walk[: step + 1]]), _CPU)

    def _scores(
        self,
        query: EpisodeQuery,
        choice: Choice,
        prediction: Prediction,
        observed: np.ndarray,
        nats: float,
        batch: Batch | None = None,
    ) -> dict[str, Any]:
        """Fields of a frame that all models have."""
        graph, origin = self.root.graph(query.scan), np.array(self.origin(query))
        goal = graph.position_m[query.path[-1] if query.path else query.walk[0], :2] - origin
        error, nll, mass = score_goal(prediction, torch.from_numpy(goal).float()[None])
        sure = mass.numpy()
        if batch is not None:
            sure = confidence_of(prediction, sure, [query.text], batch.seen.cells)
        at = prediction.goal_xy_m[0, 0].double().numpy() + origin
        place = geometry.map_cells(goal, self.map_grid)
        inside = geometry.on_map(place, self.map_grid)
        return {
            "observed": observed,
            "choice": choice,
            "left_m": _left_m(graph, query, choice),
            "goal_xy_m": (float(at[0]), float(at[1])),
            "confidence": float(sure[0, 0]) * self.data.vocabulary.read(query.text).trust,
            "entropy_nats": nats,
            "seen_m2": float(observed.sum() * self.map_grid.cell_m**2),
            "error_m": float(error[0, 0]) if query.path else None,
            "nll": float(nll[0, 0]) if query.path else None,
            "goal_seen": bool(inside and observed[place[1], place[0]]) if query.path else None,
        }


def _left_m(graph: NavGraph, query: EpisodeQuery, choice: Choice) -> float | None:
    """The walk that is left to the goal where the agent stops; a goal that cannot be reached is very far."""
    if not (choice.stops and query.path):
        return None
    return min(float(graph.distance_m[graph.index(choice.chosen), query.path[-1]]), 9999.0)
