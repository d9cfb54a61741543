"""The agent: look, think, move. `step(carry, percept) -> carry, action, thought`, for a batch of walkers.

Nothing is hidden in the agent: all that an episode knows is in its carry, and the thought holds all that a picture of
the step needs. Choosing an unvisited viewpoint means walking there, pausing at the first unvisited one on the way to
look around; choosing a visited one means walking there and stopping (paper, section 4.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.agent.candidates import Candidates
from ghosts.agent.known import KnownGraph, Neighbours, candidates_of, on_slots, start_graph, visit, walk_to
from ghosts.agent.model import Briefing, EncodedInstruction, GoalModel
from ghosts.agent.planner import Planner
from ghosts.belief.filter import FilterTrace
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import MapState
from ghosts_sim.types import Grid
from ghosts_sim.values import require

STEP_LIMIT = 12
"""Panoramas an agent may look at: the longest demonstration of R2R has 7."""
TOGETHER = 16
"""Walkers that have stopped do not think; those that think are filled up to a multiple of this, since a GPU's library
plans every convolution anew for each size of a batch."""


@dataclass(frozen=True)
class Percept:
    """What b walkers perceive where they stand; walkers that have stopped perceive nothing."""

    cells: MapCells
    """Observed map cells, one step."""
    neighbours: Neighbours


@dataclass(frozen=True)
class Carry:
    """All that is known in b episodes."""

    heard: EncodedInstruction
    map: MapState
    known: KnownGraph
    stopped: Bool[np.ndarray, " b"]
    beliefs: Float[Tensor, "b t1 c y x"] | None = None
    """The demonstrator's true trajectory instead of the filter's: an upper bound for the policy."""


@dataclass(frozen=True)
class Action:
    """What each walker does; walkers that had stopped do nothing."""

    chosen: Int[np.ndarray, " b"]
    """Slot of the chosen viewpoint in the known graph; −1 for walkers that had stopped."""
    moves: Int[np.ndarray, "b h"]
    """Numbers of the viewpoints walked through, the present one excluded; −1 after the last."""
    stopped: Bool[np.ndarray, " b"]
    """Whether the episode is over."""


@dataclass(frozen=True)
class Thought:
    """Everything an agent thought at one step."""

    active: Bool[np.ndarray, " b"]
    """Walkers that had not stopped."""
    walkers: Int[np.ndarray, " w"]
    """Numbers of the walkers that thought: all active ones, and perhaps some that had stopped (`TOGETHER`)."""
    known: KnownGraph
    """Of all b walkers."""
    filter: FilterTrace | None
    """Of those that thought: kernels, predictions, likelihoods and posteriors (s = 1); None where true beliefs were
    given."""
    beliefs: Float[Tensor, "w t1 c y x"]
    """What the choice is made on: filtered beliefs for the policy, smoothed ones for the planner."""
    grid: Grid
    """The belief's grid."""
    candidates: Candidates
    """Of active walkers; `episode` is a row of `beliefs`."""
    features: Float[Tensor, "k f"] | None
    """What the policy read of each candidate; None for the planner."""
    scores: Float[Tensor, " k"]
    """Log-probability (policy) or worth (planner) of each candidate."""
    table: Float[np.ndarray, "b slots"]
    """The scores on the known graph's slots; −∞ where nothing can be chosen."""

    @property
    def probabilities(self) -> Float[np.ndarray, "b slots"]:
        """Probability of choosing each slot; the planner is sure of its best one. Zero where nothing can be chosen."""
        if self.features is not None:
            odds = np.exp(self.table)
            # At the step limit a part of the policy's distribution cannot be chosen any more.
            return odds / np.where(self.active, odds.sum(1), 1.0)[:, None]
        best = np.arange(self.table.shape[1]) == self.table.argmax(1)[:, None]
        return (best & self.active[:, None]).astype(float)


Choose = Callable[[KnownGraph, Float[np.ndarray, "b slots"], Bool[np.ndarray, " b"]], Int[np.ndarray, " b"]]
"""Known graph, scores on its slots, active walkers → the slot each walker chooses."""


def choose_best(
    known: KnownGraph, table: Float[np.ndarray, "b slots"], active: Bool[np.ndarray, " b"]
) -> Int[np.ndarray, " b"]:
    """The slot with the highest score, the first seen of equals."""
    return np.where(active, table.argmax(1), known.here)


class GhostAgent:
    """Follows instructions by tracking the demonstrator.

    Args:
        model: mapper, language, filter and policy; its mode (training or evaluation) is left as it is.
        planner: chooses instead of the model's policy.
        step_limit: panoramas that an episode may look at; at the last one it walks to the best visited
            viewpoint and stops.
    """

    def __init__(self, model: GoalModel, planner: Planner | None = None, step_limit: int = STEP_LIMIT) -> None:
        require(step_limit >= 1, "step_limit must be at least 1", step_limit)
        self.model, self.planner, self.step_limit = model, planner, step_limit

    def start(
        self,
        briefing: Briefing,
        viewpoint: Int[np.ndarray, " b"],
        beliefs: Float[Tensor, "b t1 c y x"] | None = None,
    ) -> Carry:
        """Read the instructions; nothing is seen yet.

        Args:
            briefing: what the walkers are told.
            viewpoint: number of the viewpoint each stands at; any numbering in which a building's viewpoints differ.
            beliefs: the demonstrator's true trajectory, for the upper bound.
        """
        grid, batch = self.model.config.mapper.grid, len(viewpoint)
        empty = self.model.mapper.empty(batch, grid.rows, grid.cols)
        return Carry(self.model.read(briefing), empty, start_graph(viewpoint), np.zeros(batch, bool), beliefs)

    def step(self, carry: Carry, percept: Percept, choose: Choose = choose_best) -> tuple[Carry, Action, Thought]:
        """Look, think, move.

        Args:
            carry: so far.
            percept: from where the walkers stand.
            choose: how a slot is chosen from the scores.
        """
        carry = self.look(carry, percept)
        thought = self.think(carry)
        moved, action = act(carry.known, choose(carry.known, thought.table, thought.active), carry.stopped)
        return replace(carry, known=moved, stopped=action.stopped), action, thought

    def look(self, carry: Carry, percept: Percept) -> Carry:
        """Add what is perceived to map and graph; the instruction plays no part."""
        known = visit(carry.known, ~carry.stopped, percept.neighbours)
        # Where the true trajectory is given nobody reads the map.
        state = carry.map if carry.beliefs is not None else self.model.observe(carry.map, percept.cells)
        return replace(carry, map=state, known=known)

    def think(self, carry: Carry) -> Thought:
        """Track the demonstrator on the present map, and value every viewpoint that could be chosen."""
        known, active = carry.known, ~carry.stopped
        walkers = thinkers(active)
        index = torch.from_numpy(walkers).to(carry.map.map.device)
        heard = carry.heard if len(walkers) == len(active) else carry.heard.pick(index)
        trace, beliefs = self._track(carry, heard, index)
        grid = Grid(beliefs.shape[-2], beliefs.shape[-1], self.model.config.belief_grid.cell_m)
        candidates = candidates_of(known, active, beliefs.device, np.searchsorted(walkers, np.arange(len(active))))
        features, scores = self._score(candidates, beliefs, heard.start_xy_m, grid)
        table = on_slots(known.filled & active[:, None], scores)
        may_go_on = known.visited.sum(1, keepdims=True) < self.step_limit
        table = np.where(may_go_on | known.visited, table, -np.inf)
        return Thought(active, walkers, known, trace, beliefs, grid, candidates, features, scores, table)

    def beliefs(self, carry: Carry) -> Float[Tensor, "b t1 c y x"]:
        """What the choices of all walkers would be made on."""
        return self._track(carry, carry.heard, torch.arange(len(carry.stopped), device=carry.map.map.device))[1]

    def _track(
        self, carry: Carry, heard: EncodedInstruction, walkers: Int[Tensor, " w"]
    ) -> tuple[FilterTrace | None, Float[Tensor, "w t1 c y x"]]:
        """The filter on the present maps of some walkers, and the beliefs to choose by."""
        if carry.beliefs is not None:
            return None, carry.beliefs.index_select(0, walkers)
        maps = carry.map.pooled(self.model.config.filter.pool)
        if len(walkers) < len(maps):
            # Maps are channels-last in memory, and stay so.
            maps = maps.permute(0, 1, 3, 4, 2).index_select(0, walkers).permute(0, 1, 4, 2, 3)
        trace = self.model.track(heard, maps)
        with torch.autocast(maps.device.type, enabled=False):
            return trace, (trace.smoothed() if self.planner else trace.beliefs)[:, 0]

    def _score(
        self,
        candidates: Candidates,
        beliefs: Float[Tensor, "w t1 c y x"],
        start_xy_m: Float[Tensor, "w 2"],
        grid: Grid,
    ) -> tuple[Float[Tensor, "k f"] | None, Float[Tensor, " k"]]:
        # Sums of small masses: half precision would blur them.
        with torch.autocast(beliefs.device.type, enabled=False):
            if self.planner is not None:
                return None, self.planner(candidates, beliefs, start_xy_m, grid)
            features = self.model.policy.features(candidates, beliefs, start_xy_m, grid)
            return features, self.model.policy.choose(features, candidates.episode, len(beliefs))


def thinkers(active: Bool[np.ndarray, " b"]) -> Int[np.ndarray, " w"]:
    """Numbers of the walkers to think for, ascending; see `TOGETHER`."""
    count = -(-int(active.sum()) // TOGETHER) * TOGETHER
    if count >= len(active) or count == 0:
        return np.arange(len(active))
    return np.sort(np.argsort(~active, kind="stable")[:count])


def act(known: KnownGraph, chosen: Int[np.ndarray, " b"], stopped: Bool[np.ndarray, " b"]) -> tuple[KnownGraph, Action]:
    """Walk to the chosen slots; a visited one ends the episode.

    Args:
        known: where walkers stand and what they know.
        chosen: a slot of each walker.
        stopped: walkers that do nothing any more.
    """
    walkers = np.arange(len(chosen))
    chosen = np.where(stopped, known.here, chosen)
    moved, slots = walk_to(known, chosen)
    moves = np.where(slots >= 0, known.viewpoint[walkers[:, None], slots], -1)
    over = stopped | known.visited[walkers, chosen]
    return moved, Action(np.where(stopped, -1, chosen), moves, over)
