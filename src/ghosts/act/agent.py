"""The agent: look, update the map, track the demonstrator, choose a viewpoint, walk there.

`step(carry, observation) -> carry, action, trace`, for a batch of walkers. Nothing is hidden in the agent: all that an
episode knows is in its carry, and the trace holds all that a picture of the step needs. Choosing an unvisited viewpoint
means walking there, pausing at the first unvisited one on the way to look around; choosing a visited one means walking
there and stopping (paper, section 3.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.act.known import KnownGraph, candidates_of, look_around, on_slots, start_graph, walk_to
from ghosts.act.model import GoalModel
from ghosts.act.planner import Planner
from ghosts.act.policy import Candidates
from ghosts.belief.filter import FilterTrace
from ghosts.config import require
from ghosts.language.decoder import Latents
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import MapState
from ghosts.types import Grid

STEP_LIMIT = 12
"""Panoramas an agent may look at: the longest demonstration of R2R has 7."""


@dataclass(frozen=True)
class Briefing:
    """What b walkers are told before the first step."""

    tokens: Int[Tensor, "b l"]
    lengths: Int[Tensor, " b"]
    start_xy_m: Float[Tensor, "b 2"]
    """From the map's origin."""
    start_heading_rad: Float[Tensor, " b"]
    viewpoint: Int[np.ndarray, " b"]
    """Number of the viewpoint each stands at; any numbering in which a building's viewpoints differ."""
    beliefs: Float[Tensor, "b t1 c y x"] | None = None
    """The demonstrator's true trajectory instead of the filter's: an upper bound for the policy."""


@dataclass(frozen=True)
class Observation:
    """What b walkers perceive where they stand; walkers that have stopped perceive nothing."""

    cells: MapCells
    """Observed map cells, one step."""
    episode: Int[np.ndarray, " m"]
    """Which walker sees each neighbour, in ascending order."""
    viewpoint: Int[np.ndarray, " m"]
    """Number of each neighbour."""
    xyz_m: Float[np.ndarray, "m 3"]
    """Its position relative to the episode's start."""


@dataclass(frozen=True)
class Carry:
    """All that is known in b episodes."""

    briefing: Briefing
    latents: Latents
    map: MapState
    known: KnownGraph
    stopped: Bool[np.ndarray, " b"]
    steps: int
    """Panoramas looked at."""


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
class AgentTrace:
    """Everything an agent thought at one step."""

    active: Bool[np.ndarray, " b"]
    """Walkers that had not stopped."""
    map: MapState
    latents: Latents
    filter: FilterTrace | None
    """Kernels, predictions, likelihoods and posteriors (s = 1); None where true beliefs were given."""
    beliefs: Float[Tensor, "b t1 c y x"]
    """What the choice was made on: filtered beliefs for the policy, smoothed ones for the planner."""
    grid: Grid
    """The belief's grid."""
    known: KnownGraph
    """Before the move."""
    candidates: Candidates
    scores: Float[Tensor, " k"]
    """Log-probability (policy) or worth (planner) of each candidate."""
    table: Float[np.ndarray, "b slots"]
    """The scores on the known graph's slots; −∞ where nothing can be chosen."""
    action: Action


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
        grid: of the maps.
        planner: chooses instead of the model's policy.
        step_limit: panoramas an episode may look at; at the last one it walks to the best visited viewpoint and stops.
    """

    def __init__(
        self, model: GoalModel, grid: Grid, planner: Planner | None = None, step_limit: int = STEP_LIMIT
    ) -> None:
        require(step_limit >= 1, "step_limit must be at least 1", step_limit)
        self.model, self.grid, self.planner, self.step_limit = model, grid, planner, step_limit

    def start(self, briefing: Briefing) -> Carry:
        """Read the instructions; nothing is seen yet. Latents are decoded once an episode."""
        with torch.autocast(briefing.tokens.device.type, enabled=False):
            latents = self.model.language(briefing.tokens, briefing.lengths)
        batch = len(briefing.viewpoint)
        empty = self.model.mapper.empty(batch, self.grid.rows, self.grid.cols)
        return Carry(briefing, latents, empty, start_graph(briefing.viewpoint), np.zeros(batch, bool), 0)

    def step(
        self, carry: Carry, observation: Observation, choose: Choose = choose_best
    ) -> tuple[Carry, Action, AgentTrace]:
        """Look, think, move.

        Args:
            carry: so far.
            observation: from where the walkers stand.
            choose: how a slot is chosen from the scores.
        """
        active = ~carry.stopped
        seen = observation.episode, observation.viewpoint, observation.xyz_m
        known = look_around(carry.known, active, *seen)
        state = self._look(carry, observation.cells)
        trace, beliefs = self._track(carry, state)
        grid = self.model.belief_grid(self.grid.rows, self.grid.cols)
        candidates = candidates_of(known, active, beliefs.device)
        score = self.planner or self.model.policy
        # Sums of small masses: half precision would blur them.
        with torch.autocast(beliefs.device.type, enabled=False):
            scores = score(candidates, beliefs, carry.briefing.start_xy_m, grid)
        table = on_slots(known, active, scores)
        if carry.steps + 1 >= self.step_limit:
            table = np.where(known.visited, table, -np.inf)
        moved, action = act(known, choose(known, table, active), carry.stopped)
        thought = AgentTrace(
            active, state, carry.latents, trace, beliefs, grid, known, candidates, scores, table, action
        )
        after = replace(carry, map=state, known=moved, stopped=action.stopped, steps=carry.steps + 1)
        return after, action, thought

    def _look(self, carry: Carry, cells: MapCells) -> MapState:
        # Where the true trajectory is given nobody reads the map.
        if not len(cells.item) or carry.briefing.beliefs is not None:
            return carry.map
        maps, observed = self.model.mapper.unroll_cells(cells, None, carry.map)
        return MapState(maps[:, 0], observed[:, 0])

    def _track(self, carry: Carry, state: MapState) -> tuple[FilterTrace | None, Float[Tensor, "b t1 c y x"]]:
        """The filter on the present map, and the beliefs to choose by."""
        briefing = carry.briefing
        if briefing.beliefs is not None:
            return None, briefing.beliefs
        trace = self.model.track(state.map[:, None], carry.latents, briefing.start_xy_m, briefing.start_heading_rad)
        with torch.autocast(state.map.device.type, enabled=False):
            return trace, (trace.smoothed() if self.planner else trace.beliefs)[:, 0]


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
