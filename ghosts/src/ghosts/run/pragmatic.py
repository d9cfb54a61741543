"""Pragmatic choice (Fried et al. 2018): a speaker helps to choose where to stop.

An agent that is about to stop could stop at any place it has visited. For each of them, the speaker says how likely the
instruction is for the way there. It sees only what the agent has seen. Nothing else about the agent changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from scipy.sparse.csgraph import dijkstra

from ghosts.agent.known import KnownGraph
from ghosts.agent.loop import Choose, choose_best
from ghosts.data.dataset import Dataset
from ghosts.data.examples import Example, make_example
from ghosts.methods.speaker.paths import load_batch, make_batch
from ghosts.run.load import Run
from ghosts.run.rollout import Episodes
from ghosts.run.speak import speaker_of
from ghosts_sim.values import require

TOGETHER = 512
"""Ways scored at a time."""


class Pragmatist:
    """Chooses where to stop by agent and speaker.

    Args:
        run: a speaker.
        data: what it reads, of the buildings that are walked in.
        weight: of its log-likelihood beside the agent's own log-probability; 0 is the agent alone.
        device: where it thinks.
    """

    def __init__(self, run: Run, data: Dataset, weight: float = 1.0, device: torch.device | None = None) -> None:
        require(weight >= 0.0, "--pragmatic-weight must not be negative", weight)
        self.device = device or torch.device("cpu")
        self.speaker, self.data, self.weight = speaker_of(run).to(self.device).eval(), data.to(self.device), weight

    def choosing(self, episodes: Episodes) -> Choose[KnownGraph]:
        """How the walkers of some episodes choose."""
        return partial(self._choose, episodes)

    def _choose(
        self,
        episodes: Episodes,
        known: KnownGraph,
        table: Float[np.ndarray, "b slots"],
        active: Bool[np.ndarray, " b"],
    ) -> Int[np.ndarray, " b"]:
        best = choose_best(known, table, active)
        stopping = active & known.visited[np.arange(len(best)), best]
        ways = [
            (walker, slot, rows)
            for walker in np.flatnonzero(stopping & (known.visited.sum(1) > 1))
            for slot, rows in visited_ways(known, int(walker)).items()
        ]
        if not ways or self.weight == 0.0:
            return best
        said = self.likelihoods(
            [self._way(episodes, int(walker), rows - episodes.first[walker]) for walker, _, rows in ways]
        )
        rescored = np.full(table.shape, -np.inf)
        for (walker, slot, _), value in zip(ways, said.tolist()):
            rescored[walker, slot] = table[walker, slot] + self.weight * value
        return np.where(np.isfinite(rescored).any(1), rescored.argmax(1), best)

    def _way(self, episodes: Episodes, walker: int, rows: np.ndarray) -> Example:
        """A way with the instruction of the walker."""
        example, graph = episodes.examples[walker], self.data.root.graph(episodes.examples[walker].scan)
        path = tuple(rows.tolist())
        return make_example(graph, "", example.text, example.start_heading_rad, path, self.data.reading.steps)

    @torch.no_grad()
    def likelihoods(self, examples: Sequence[Example]) -> Float[np.ndarray, " n"]:
        """Log-probability of each example's instruction for its path."""
        found = []
        # In single precision: differences of sums over a whole instruction count.
        with torch.autocast(self.device.type, enabled=False):
            for at in range(0, len(examples), TOGETHER):
                batch = load_batch(self.data, make_batch(self.data, examples[at : at + TOGETHER]), self.device)
                found.append(self.speaker.log_likelihood(batch.paths, batch.tokens).double().cpu().numpy())
        return np.concatenate(found)


def visited_ways(known: KnownGraph, walker: int) -> dict[int, Int[np.ndarray, " _"]]:
    """Numbers of the viewpoints on the shortest way from the start to every visited slot of a walker. The way leads
    only through visited viewpoints, since what the others show is not known."""
    slots = np.flatnonzero(known.visited[walker])
    edges = known.edge_m[walker][np.ix_(slots, slots)]
    before = dijkstra(np.where(np.isfinite(edges), edges, 0.0), directed=False, indices=0, return_predecessors=True)[1]
    ways = {}
    for end in range(len(slots)):
        way = [end]
        while way[-1] != 0 and before[way[-1]] >= 0:
            way.append(int(before[way[-1]]))
        if way[-1] == 0:
            ways[int(slots[end])] = known.viewpoint[walker, slots[way[::-1]]]
    return ways
