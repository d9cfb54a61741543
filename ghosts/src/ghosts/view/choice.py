"""What the agent would do next, for pictures: the same action as in `ghosts eval vln`, put into words and numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.agent.candidates import on_slots
from ghosts.agent.interface import Prediction
from ghosts.agent.known import KnownGraph, walk_to
from ghosts.agent.loop import Action, Belief, GhostAgent, choose_best, decide
from ghosts.agent.planner import Planner
from ghosts.view.record import Choice, ChosenBy
from ghosts_sim import geometry
from ghosts_sim.graph import NavGraph


def choice_of(
    agent: GhostAgent,
    action: Action[KnownGraph],
    belief: Belief,
    start_xy_m: Float[Tensor, "1 2"],
    graph: NavGraph,
    first: int,
) -> Choice:
    """The agent's choice; `first` is the number of the building's first viewpoint."""
    scores = action.scores
    assert scores is not None, "it chooses on a belief"
    if isinstance(agent.planner, Planner):
        # A planner that is sure lifts all visited viewpoints by 1; what is shown is their worth.
        worth = replace(agent.planner, config=replace(agent.planner.config, sure=1.0))
        return _choice(graph, first, action, "planner", worth(scores.candidates, belief.mass, start_xy_m, belief.grid))
    choice = _choice(graph, first, action, "policy", scores.values.exp())
    return choice if scores.read is None else replace(choice, read=float(scores.read[0]))


def choose_by_mass(
    graph: NavGraph,
    first: int,
    known: KnownGraph,
    prediction: Prediction,
    origin: Float[np.ndarray, " 2"],
    step_limit: int,
) -> Choice:
    """The choice of a model without a filter: the viewpoint with the most goal mass around it.

    After `step_limit` panoramas it stops at the best visited viewpoint, as agents do.
    """
    rows = known.viewpoint[0][known.filled[0]] - first
    mass = torch.from_numpy(_nearest_mass(prediction, origin, graph.position_m[rows, :2]))
    table = on_slots(known.filled, mass)
    if known.visited.sum() >= step_limit:
        table = np.where(known.visited, table, -np.inf)
    return _choice(graph, first, decide(known, np.zeros(1, bool), table, choose_best), "mass", mass)


def _choice(
    graph: NavGraph, first: int, action: Action[KnownGraph], by: ChosenBy, shown: Float[Tensor, " k"]
) -> Choice:
    """An action and the way there; `shown` is what the record says of each candidate."""
    known, worth = action.places, on_slots(action.places.filled, shown)
    slots = np.flatnonzero(known.filled[0])
    names = {slot: graph.ids[known.viewpoint[0, slot] - first] for slot in slots.tolist()}
    return Choice(
        by=by,
        candidates={name: float(worth[0, slot]) for slot, name in names.items()},
        visited=tuple(name for slot, name in names.items() if known.visited[0, slot]),
        chosen=names[int(action.chosen[0])],
        moves=tuple(graph.ids[number - first] for number in walk_to(known, action.chosen)[1][0] if number >= 0),
        stops=bool(action.stopped[0]),
    )


def _nearest_mass(prediction: Prediction, origin: np.ndarray, xy_m: np.ndarray) -> np.ndarray:
    """Goal mass of the cells that lie nearest to each of some places."""
    grid = prediction.grid
    rows, cols = np.mgrid[: grid.rows, : grid.cols]
    centres = geometry.from_cells(np.stack([cols, rows], -1).astype(float), grid) + origin
    owner = np.linalg.norm(centres[:, :, None] - xy_m, axis=-1).argmin(-1)
    return np.bincount(owner.ravel(), prediction.goal[0, 0].double().numpy().ravel(), len(xy_m))
