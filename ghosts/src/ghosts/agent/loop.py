"""The agent's loop: start, look, think, act, for b walkers at once. `step(agent, carry, observation)` runs it once.

Nothing is hidden in an agent: all that it knows of an episode is in its carry. What it walks in is somebody else's
business: an observation is map cells and places that can be chosen, an action is one of these places. Walks on graphs
(`run.rollout`), a Gymnasium environment (`run.env_agent`), drives (`driving.agent`) and the viewer (`view.inspector`)
make observations and carry out actions. A robot's tracker (`agent.tracker`) starts, looks and thinks, but does not act.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.agent.candidates import Candidates, on_slots
from ghosts.agent.interface import Briefing, EncodedInstruction, FilterModel
from ghosts.agent.reader import Scene, words_of
from ghosts.belief.filter import FilterTrace
from ghosts.config import STEP_LIMIT
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import MapState
from ghosts_sim.types import Grid
from ghosts_sim.values import require

TOGETHER = 16
"""Beliefs of walkers that have stopped are not computed. The others are filled up to a multiple of this, since a GPU's
library plans every convolution anew for each size of a batch."""


@runtime_checkable
class Places(Protocol):
    """Places that b walkers may choose, on slots. `known.KnownGraph` is one."""

    @property
    def filled(self) -> Bool[np.ndarray, "b slots"]:
        """Slots that hold a place."""
        ...

    @property
    def visited(self) -> Bool[np.ndarray, "b slots"]:
        """Places where the walker has looked already. To choose one means to stop there."""
        ...

    def candidates(
        self, active: Bool[np.ndarray, " b"], device: torch.device, numbers: Int[np.ndarray, " b"] | None = None
    ) -> Candidates:
        """The places of active walkers, walker by walker, in the order of their slots.

        Args:
            active: walkers that may choose.
            device: where to.
            numbers: the `episode` of each walker's candidates; its place in the batch by default.
        """
        ...


P = TypeVar("P", bound=Places)
C = TypeVar("C", bound="Walking")
T = TypeVar("T")

Choose = Callable[[P, Float[np.ndarray, "b slots"], Bool[np.ndarray, " b"]], Int[np.ndarray, " b"]]
"""Places, scores on their slots, active walkers → the slot each walker chooses."""


Score = Callable[[Candidates, Tensor, Tensor, Grid], Tensor]
"""Candidates, beliefs, starts and the beliefs' grid to what each candidate is worth; `planner.Planner` is one."""


def choose_best(
    places: Places, table: Float[np.ndarray, "b slots"], active: Bool[np.ndarray, " b"]
) -> Int[np.ndarray, " b"]:
    """The slot with the highest score, the first of equals."""
    return table.argmax(1)


@dataclass(frozen=True)
class Observation(Generic[P]):
    """What b walkers observe where they stand; those that have stopped observe nothing."""

    cells: MapCells
    """Observed map cells, one step."""
    places: P | None = None
    """All places that can be chosen, also those seen before; None where nobody chooses."""


@runtime_checkable
class Walking(Protocol):
    """What every carry tells."""

    @property
    def stopped(self) -> Bool[np.ndarray, " b"]:
        """Walkers whose episode is over."""
        ...


@dataclass(frozen=True)
class Carry(Generic[P]):
    """All that an agent with a filter knows in b episodes."""

    instruction: EncodedInstruction
    map: MapState
    stopped: Bool[np.ndarray, " b"]
    places: P | None = None
    """Of the last observation."""
    beliefs: Float[Tensor, "b t1 c y x"] | None = None
    """The demonstrator's true trajectory instead of the filter's: an upper bound for the policy."""


@dataclass(frozen=True)
class Belief:
    """Where the demonstrator is believed to be, by the maps of w walkers."""

    walkers: Int[np.ndarray, " w"]
    """Their numbers: all active walkers, and perhaps some that had stopped (`TOGETHER`)."""
    trace: FilterTrace | None
    """Kernels, predictions, likelihoods and posteriors (s = 1); None where true beliefs were given."""
    mass: Float[Tensor, "w t1 c y x"]
    """What the choice is made on: filtered beliefs for the policy, smoothed ones for the planner."""
    grid: Grid
    """Of the mass."""


@dataclass(frozen=True)
class Scores:
    """How the places that can be chosen were valued."""

    candidates: Candidates
    """Places of active walkers; `episode` is a row of the belief's mass."""
    features: Float[Tensor, "k f"] | None
    """What the policy read of each; None for the planner."""
    values: Float[Tensor, " k"]
    """Log-probability (policy) or worth (planner) of each."""
    read: Float[Tensor, " w"] | None = None
    """Share of what was read in each walker's values, beside the belief; None for a policy that does not read."""


@dataclass(frozen=True)
class Action(Generic[P]):
    """What each walker does, and from what it chose. Walkers that had stopped do nothing."""

    active: Bool[np.ndarray, " b"]
    """Walkers that had not stopped."""
    places: P
    """What could be chosen."""
    table: Float[np.ndarray, "b slots"]
    """The scores on the slots of the places; −∞ where nothing can be chosen."""
    chosen: Int[np.ndarray, " b"]
    """A slot; −1 for walkers that had stopped."""
    stopped: Bool[np.ndarray, " b"]
    """Whether the episode is over, once the walker has gone there."""
    scores: Scores | None = None
    """None for an agent without a belief."""

    @property
    def probabilities(self) -> Float[np.ndarray, "b slots"]:
        """Probability of choosing each slot; the planner is sure of its best one. Zero where nothing can be chosen."""
        if self.scores is not None and self.scores.features is None:
            best = np.arange(self.table.shape[1]) == self.table.argmax(1)[:, None]
            return (best & self.active[:, None]).astype(float)
        odds = np.exp(self.table)
        # At the step limit a part of the policy's distribution cannot be chosen any more.
        return odds / np.where(self.active, odds.sum(1), 1.0)[:, None]


@runtime_checkable
class Agent(Protocol[C, T, P]):
    """Whoever follows instructions: `GhostAgent`, `ensemble.EnsembleAgent`, `seq2seq.Seq2SeqAgent`."""

    def start(self, briefing: Briefing, beliefs: Float[Tensor, "b t1 c y x"] | None = None) -> C:
        """Read the instructions; nothing is seen yet.

        Args:
            briefing: instructions, and where they were given.
            beliefs: the demonstrator's true trajectory, for the upper bound.
        """
        ...

    def look(self, carry: C, observation: Observation[P]) -> C:
        """Remember an observation."""
        ...

    def think(self, carry: C) -> T:
        """What follows from all that was seen."""
        ...

    def act(self, carry: C, thought: T, choose: Choose[P]) -> tuple[C, Action[P]]:
        """Choose a place for each walker."""
        ...


def step(
    agent: Agent[C, T, P], carry: C, observation: Observation[P], choose: Choose[P] = choose_best
) -> tuple[C, Action[P], T]:
    """Look, think, act.

    Args:
        agent: who walks.
        carry: so far.
        observation: from where the walkers stand.
        choose: how a slot is chosen from the scores.
    """
    carry = agent.look(carry, observation)
    thought = agent.think(carry)
    carry, action = agent.act(carry, thought, choose)
    return carry, action, thought


class GhostAgent:
    """Follows instructions by tracking the demonstrator.

    Args:
        model: mapper, language, filter and policy; its mode (training or evaluation) is left as it is.
        planner: chooses instead of the model's policy; called as `policy.Policy` is.
        step_limit: places that an episode may look from; after the last one it goes to the best of them and stops.
    """

    def __init__(self, model: FilterModel, planner: Score | None = None, step_limit: int = STEP_LIMIT) -> None:
        require(step_limit >= 1, "step_limit must be at least 1", step_limit)
        self.model, self.planner, self.step_limit = model, planner, step_limit

    def start(self, briefing: Briefing, beliefs: Float[Tensor, "b t1 c y x"] | None = None) -> Carry[P]:
        """Read the instructions; see `Agent.start`."""
        grid, batch = self.model.config.mapper.grid, len(briefing.lengths)
        empty = self.model.mapper.empty(batch, grid.rows, grid.cols)
        return Carry(self.model.read(briefing), empty, np.zeros(batch, bool), None, beliefs)

    def look(self, carry: Carry[P], observation: Observation[P]) -> Carry[P]:
        """Add what is observed to the map; the instruction plays no part."""
        # Where the true trajectory is given nobody reads the map.
        state = carry.map if carry.beliefs is not None else self.model.observe(carry.map, observation.cells)
        return replace(carry, map=state, places=observation.places)

    def think(self, carry: Carry[P]) -> Belief:
        """Track the demonstrator on the present map."""
        walkers = thinkers(~carry.stopped)
        index = torch.from_numpy(walkers).to(carry.map.map.device)
        cell_m = self.model.config.belief_grid.cell_m
        if carry.beliefs is not None:
            mass = carry.beliefs.index_select(0, index)
            return Belief(walkers, None, mass, Grid(mass.shape[-2], mass.shape[-1], cell_m))
        instruction, maps = carry.instruction, carry.map.pooled(self.model.config.filter.pool)
        if len(walkers) < len(maps):
            instruction = instruction.pick(index)
            # Maps are channels-last in memory, and stay so.
            maps = maps.permute(0, 1, 3, 4, 2).index_select(0, index).permute(0, 1, 4, 2, 3)
        trace = self.model.track(instruction, maps)
        with torch.autocast(maps.device.type, enabled=False):
            mass = (trace.smoothed() if self.planner else trace.beliefs)[:, 0]
        return Belief(walkers, trace, mass, Grid(mass.shape[-2], mass.shape[-1], cell_m))

    def act(self, carry: Carry[P], belief: Belief, choose: Choose[P] = choose_best) -> tuple[Carry[P], Action[P]]:
        """Value every place, and choose one for each walker. To choose one where it has looked already means to go
        there and stop (paper, section 4.3)."""
        scores, table = self.score(carry, belief)
        action = decide(looked_at(carry.places), carry.stopped, table, choose, scores)
        return replace(carry, stopped=action.stopped), action

    def score(self, carry: Carry[P], belief: Belief) -> tuple[Scores, Float[np.ndarray, "b slots"]]:
        """What each place is worth by a belief, flat and on slots."""
        places, active, mass = looked_at(carry.places), ~carry.stopped, belief.mass
        numbers = np.searchsorted(belief.walkers, np.arange(len(active)))
        candidates = places.candidates(active, mass.device, numbers)
        start_xy_m = carry.instruction.start_xy_m
        start_xy_m = start_xy_m.index_select(0, torch.from_numpy(belief.walkers).to(start_xy_m.device))
        # Sums of small masses: half precision would blur them.
        with torch.autocast(mass.device.type, enabled=False):
            features, read = None, None
            if self.planner is not None:
                values = self.planner(candidates, mass, start_xy_m, belief.grid)
            else:
                scene = self._scene(carry, belief)
                features = self.model.policy.features(candidates, mass, start_xy_m, belief.grid, scene)
                words = scene.words if scene is not None else None
                values, read = self.model.policy.choose(features, candidates.episode, len(mass), words)
        table = on_slots(places.filled & active[:, None], values)
        may_go_on = places.visited.sum(1, keepdims=True) < self.step_limit
        return Scores(candidates, features, values, read), np.where(may_go_on | places.visited, table, -np.inf)

    def _scene(self, carry: Carry[P], belief: Belief) -> Scene | None:
        """What a policy that reads looks at besides the belief."""
        if self.model.policy.reader is None:
            return None
        walkers = torch.from_numpy(belief.walkers).to(carry.map.map.device)
        maps = carry.map.pooled(self.model.config.filter.pool)[:, 0].index_select(0, walkers)
        return Scene(maps, words_of(carry.instruction.latents).index_select(0, walkers))


def looked_at(places: P | None) -> P:
    """The places of the last observation."""
    assert places is not None, "look comes before act"
    return places


def decide(
    places: P,
    stopped: Bool[np.ndarray, " b"],
    table: Float[np.ndarray, "b slots"],
    choose: Choose[P],
    scores: Scores | None = None,
) -> Action[P]:
    """The action that follows from scores on slots: a visited place ends the episode."""
    chosen = np.where(stopped, -1, choose(places, table, ~stopped))
    over = stopped | places.visited[np.arange(len(chosen)), chosen]
    return Action(~stopped, places, table, chosen, over, scores)


def thinkers(active: Bool[np.ndarray, " b"]) -> Int[np.ndarray, " w"]:
    """Numbers of the walkers to think for, ascending; see `TOGETHER`."""
    count = -(-int(active.sum()) // TOGETHER) * TOGETHER
    if count >= len(active) or count == 0:
        return np.arange(len(active))
    return np.sort(np.argsort(~active, kind="stable")[:count])
