"""What the agent would do next, given all it has seen on a walk: its policy's choice, or the planner's.

The same functions as in `act.agent` choose here, on the graph that the walk has made known, so that the viewer's next
step is the one that `ghosts eval vln` would take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ghosts import geometry
from ghosts.act.agent import STEP_LIMIT, act
from ghosts.act.known import KnownGraph, candidates_of, look_around, on_slots, start_graph
from ghosts.act.planner import Planner
from ghosts.act.policy import Policy
from ghosts.belief.filter import FilterTrace
from ghosts.config import PlannerConfig
from ghosts.errors import ConfigError
from ghosts.learn.tasks import Prediction
from ghosts.presets import GoalExperiment, VlnExperiment
from ghosts.types import Grid
from ghosts.view.record import Choice, ChosenBy
from ghosts.world.graph import NavGraph

_ONE = np.ones(1, bool)


@dataclass(frozen=True, eq=False)
class Chooser:
    """Who chooses for a model: the policy of a run that was trained to act, the planner for all others.

    Args:
        experiment: the run's.
    """

    experiment: GoalExperiment

    @property
    def by(self) -> ChosenBy:
        """Its name. A policy that was trained on true beliefs has never seen a filter's, so the planner stands in."""
        found = self.experiment
        return "policy" if isinstance(found, VlnExperiment) and not found.navigation.true_beliefs else "planner"

    @property
    def step_limit(self) -> int:
        """Viewpoints it may look from."""
        found = self.experiment
        return found.navigation.step_limit if isinstance(found, VlnExperiment) else STEP_LIMIT

    def choose(
        self,
        graph: NavGraph,
        walk: Sequence[int],
        policy: Policy,
        trace: FilterTrace,
        start_xy_m: Float[Tensor, "1 2"],
        grid: Grid,
    ) -> Choice:
        """What it does after a walk.

        Args:
            graph: the building's.
            walk: rows of the graph, the start first.
            policy: the model's.
            trace: of the filter on the map of this walk.
            start_xy_m: metres from the map's origin.
            grid: the belief's.
        """
        known = known_after(graph, walk)
        candidates = candidates_of(known, _ONE, start_xy_m.device)
        if self.by == "policy":
            scores = shown = policy(candidates, trace.beliefs[:, 0], start_xy_m, grid).exp()
        else:
            found = self.experiment
            settings = found.navigation.planner if isinstance(found, VlnExperiment) else PlannerConfig()
            asked = candidates, trace.smoothed()[:, 0], start_xy_m, grid
            # A planner that is sure lifts all visited viewpoints by 1; what is shown is their worth.
            scores, shown = Planner(settings)(*asked), Planner(replace(settings, sure=1.0))(*asked)
        return best_choice(graph, known, self.by, scores, shown, may_look=len(set(walk)) < self.step_limit)


def known_after(graph: NavGraph, walk: Sequence[int]) -> KnownGraph:
    """What a walk has made known: the viewpoints it stopped at, and their neighbours.

    Raises:
        ConfigError: a stop was never seen from an earlier one.
    """
    known = start_graph(np.array([walk[0]]))
    for row in walk:
        slot = np.flatnonzero(known.viewpoint[0] == row)
        if not len(slot):
            raise ConfigError(f"a walk goes from neighbour to neighbour; {graph.ids[row]} was not seen on the way")
        near = np.array(graph.neighbours(row), np.int64)
        seen = np.zeros(len(near), np.int64), near, graph.position_m[near] - graph.position_m[walk[0]]
        known = look_around(replace(known, here=slot), _ONE, *seen)
    return known


def best_choice(
    graph: NavGraph,
    known: KnownGraph,
    by: ChosenBy,
    values: Float[Tensor, " k"],
    shown: Float[Tensor, " k"],
    *,
    may_look: bool = True,
) -> Choice:
    """The candidate with the highest value, and the way there.

    Args:
        graph: the building's.
        known: what is known of it.
        by: who gave the values.
        values: of all known viewpoints; the highest is chosen.
        shown: what the record says of each.
        may_look: whether unvisited ones may still be chosen (`GhostAgent`'s step limit).
    """
    table, worth = on_slots(known, _ONE, values), on_slots(known, _ONE, shown)
    allowed = table if may_look else np.where(known.visited, table, -np.inf)
    chosen = allowed.argmax(1)
    _, action = act(known, chosen, ~_ONE)
    slots = np.flatnonzero(known.known[0])
    return Choice(
        by=by,
        candidates={graph.ids[known.viewpoint[0, slot]]: float(worth[0, slot]) for slot in slots},
        visited=tuple(graph.ids[known.viewpoint[0, slot]] for slot in slots if known.visited[0, slot]),
        chosen=graph.ids[known.viewpoint[0, chosen[0]]],
        moves=tuple(graph.ids[row] for row in action.moves[0] if row >= 0),
        stops=bool(action.stopped[0]),
    )


def choose_by_mass(graph: NavGraph, walk: Sequence[int], prediction: Prediction, origin: np.ndarray) -> Choice:
    """The choice of a model without a filter: the viewpoint nearest to which most of the goal's mass lies."""
    known = known_after(graph, walk)
    rows = known.viewpoint[0][known.known[0]]
    mass = _nearest_mass(prediction, origin, graph.position_m[rows, :2])
    return best_choice(graph, known, "mass", torch.from_numpy(mass), torch.from_numpy(mass))


def _nearest_mass(prediction: Prediction, origin: np.ndarray, xy_m: np.ndarray) -> np.ndarray:
    """Goal mass of the cells that lie nearest to each of some places."""
    grid = prediction.grid
    rows, cols = np.mgrid[: grid.rows, : grid.cols]
    centres = geometry.from_cells(np.stack([cols, rows], -1).astype(float), grid) + origin
    owner = np.linalg.norm(centres[:, :, None] - xy_m, axis=-1).argmin(-1)
    return np.bincount(owner.ravel(), prediction.goal[0, 0].double().numpy().ravel(), len(xy_m))
