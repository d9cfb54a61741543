"""The agent: look, update the map, track the demonstrator, choose a viewpoint, walk there.

`step(carry, observation) -> carry, action, trace`, for a batch of walkers. Nothing is hidden in the agent: all that an
episode knows is in its carry, and the trace holds all that a picture of the step needs. Choosing an unvisited viewpoint
means walking there, pausing at the first unvisited one on the way to look around; choosing a visited one means walking
there and stopping (paper, section 4.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.act.candidates import Candidates
from ghosts.act.known import KnownGraph, candidates_of, look_around, on_slots, start_graph, walk_to
from ghosts.act.model import GoalModel
from ghosts.act.planner import Planner
from ghosts.belief.filter import FilterTrace
from ghosts.config import require
from ghosts.language.decoder import Latents
from ghosts.mapping.cells import MapCells
from ghosts.mapping.mapper import MapState
from ghosts.types import Grid

STEP_LIMIT = 12
"""Panoramas an agent may look at: the longest demonstration of R2R has 7."""
TOGETHER = 16
"""Walkers that have stopped do not think; those that think are filled up to a multiple of this, since a GPU's library
plans every convolution anew for each size of a batch."""


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
    walkers: Int[np.ndarray, " w"]
    """Numbers of the walkers that thought: all active ones, and perhaps some that had stopped (`TOGETHER`)."""
    map: MapState
    """Of all b walkers."""
    latents: Latents
    """Of all b walkers."""
    filter: FilterTrace | None
    """Of those that thought: kernels, predictions, likelihoods and posteriors (s = 1); None where true beliefs were
    given."""
    beliefs: Float[Tensor, "w t1 c y x"]
    """What the choice was made on: filtered beliefs for the policy, smoothed ones for the planner."""
    grid: Grid
    """The belief's grid."""
    known: KnownGraph
    """Of all b walkers, before the move."""
    candidates: Candidates
    """Of active walkers; `episode` is a row of `beliefs`."""
    features: Float[Tensor, "k f"] | None
    """What the policy read of each candidate; None for the planner."""
    scores: Float[Tensor, " k"]
    """Log-probability (policy) or worth (planner) of each candidate."""
    table: Float[np.ndarray, "b slots"]
    """The scores on the known graph's slots; −∞ where nothing can be chosen."""
    action: Action

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
        latents = self.model.read(briefing.tokens, briefing.lengths)
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
        walkers = thinkers(active)
        trace, beliefs, start_xy_m = self._track(carry, state, walkers)
        grid = self.model.belief_grid(self.grid.rows, self.grid.cols)
        candidates = candidates_of(known, active, beliefs.device, np.searchsorted(walkers, np.arange(len(active))))
        features, scores = self._score(candidates, beliefs, start_xy_m, grid)
        table = on_slots(known, active, scores)
        if carry.steps + 1 >= self.step_limit:
            table = np.where(known.visited, table, -np.inf)
        moved, action = act(known, choose(known, table, active), carry.stopped)
        thought = AgentTrace(
            active,
            walkers,
            state,
            carry.latents,
            trace,
            beliefs,
            grid,
            known,
            candidates,
            features,
            scores,
            table,
            action,
        )
        after = replace(carry, map=state, known=moved, stopped=action.stopped, steps=carry.steps + 1)
        return after, action, thought

    def _look(self, carry: Carry, cells: MapCells) -> MapState:
        # Where the true trajectory is given nobody reads the map.
        if not len(cells.item) or carry.briefing.beliefs is not None:
            return carry.map
        maps, observed = self.model.mapper.unroll_cells(cells, None, carry.map)
        return MapState(maps[:, 0], observed[:, 0])

    def _track(
        self, carry: Carry, state: MapState, walkers: Int[np.ndarray, " w"]
    ) -> tuple[FilterTrace | None, Float[Tensor, "w t1 c y x"], Float[Tensor, "w 2"]]:
        """The filter on the present maps of some walkers, the beliefs to choose by, and where they started."""
        briefing, latents, maps = carry.briefing, carry.latents, state.map
        given, start = briefing.beliefs, (briefing.start_xy_m, briefing.start_heading_rad)
        if len(walkers) < len(carry.stopped):
            index = torch.from_numpy(walkers).to(maps.device)
            given = given.index_select(0, index) if given is not None else None
            start = start[0].index_select(0, index), start[1].index_select(0, index)
            latents = _pick(latents, index)
            # Maps are channels-last in memory, and stay so.
            maps = maps.permute(0, 2, 3, 1).index_select(0, index).permute(0, 3, 1, 2) if given is None else maps
        if given is not None:
            return None, given, start[0]
        trace = self.model.track(maps[:, None], latents, *start)
        with torch.autocast(maps.device.type, enabled=False):
            return trace, (trace.smoothed() if self.planner else trace.beliefs)[:, 0], start[0]

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


def _pick(latents: Latents, walkers: Int[Tensor, " w"]) -> Latents:
    return Latents(*(getattr(latents, item.name).index_select(0, walkers) for item in fields(latents)))


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
