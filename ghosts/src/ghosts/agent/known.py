"""What walkers know of their buildings' navigation graphs: viewpoints visited and seen, and the walks between them.

All of a batch at once, in padded arrays: an episode knows some dozens of viewpoints. Nothing is changed in place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts.agent.candidates import Candidates

LEAST_EDGE_M = 1e-3
"""Two viewpoints at one place count as a millimetre apart, so that every move of a shortest walk makes progress."""


@dataclass(frozen=True, eq=False)
class KnownGraph:
    """Known graphs of b walkers. Slots hold viewpoints in the order they were first seen; slot 0 is the start.

    An edge is known once one of its ends was visited: a walker sees the neighbours of where it stands.
    """

    viewpoint: Int[np.ndarray, "b k"]
    """Number of the viewpoint in each slot; −1 = empty."""
    xyz_m: Float[np.ndarray, "b k 3"]
    """Position relative to the episode's start."""
    visited: Bool[np.ndarray, "b k"]
    edge_m: Float[np.ndarray, "b k k"]
    """Length of known edges; infinite elsewhere."""
    distance_m: Float[np.ndarray, "b k k"]
    """Length of the shortest known walk."""
    here: Int[np.ndarray, " b"]
    """Slot each walker stands at."""

    @property
    def filled(self) -> Bool[np.ndarray, "b k"]:
        """Slots that hold a viewpoint."""
        return self.viewpoint >= 0

    @property
    def from_here_m(self) -> Float[np.ndarray, "b k"]:
        """Shortest known walk from where each walker stands."""
        return self.distance_m[np.arange(len(self.here)), self.here]

    @property
    def viewpoint_here(self) -> Int[np.ndarray, " b"]:
        """Number of the viewpoint each walker stands at."""
        return self.viewpoint[np.arange(len(self.here)), self.here]

    def candidates(
        self, active: Bool[np.ndarray, " b"], device: torch.device, numbers: Int[np.ndarray, " b"] | None = None
    ) -> Candidates:
        """All viewpoints that active walkers have seen; see `loop.Places`."""
        episode, slot = (self.filled & active[:, None]).nonzero()
        called = episode if numbers is None else numbers[episode]
        return Candidates(
            episode=torch.from_numpy(called).to(device),
            xyz_m=_floats(self.xyz_m[episode, slot], device),
            from_start_m=_floats(self.distance_m[episode, 0, slot], device),
            from_agent_m=_floats(self.from_here_m[episode, slot], device),
            visited=torch.from_numpy(self.visited[episode, slot]).to(device),
        )


def start_graph(viewpoint: Int[np.ndarray, " b"]) -> KnownGraph:
    """Walkers that know nothing but the number of the viewpoint they stand at."""
    batch = len(viewpoint)
    return KnownGraph(
        viewpoint=viewpoint[:, None].copy(),
        xyz_m=np.zeros((batch, 1, 3)),
        visited=np.zeros((batch, 1), bool),
        edge_m=np.full((batch, 1, 1), np.inf),
        distance_m=np.zeros((batch, 1, 1)),
        here=np.zeros(batch, np.int64),
    )


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Viewpoints that walkers can go to from where they stand, walker by walker."""

    episode: Int[np.ndarray, " m"]
    """Which walker sees each, in ascending order."""
    viewpoint: Int[np.ndarray, " m"]
    """Its number."""
    xyz_m: Float[np.ndarray, "m 3"]
    """Its position relative to the episode's start."""


def visit(known: KnownGraph, active: Bool[np.ndarray, " b"], near: Neighbours) -> KnownGraph:
    """Mark where walkers stand as visited and learn its neighbours.

    Args:
        known: before.
        active: walkers that see; the others learn nothing.
        near: what they see.
    """
    episode, viewpoint, xyz_m = near.episode, near.viewpoint, near.xyz_m
    same = known.viewpoint[episode] == viewpoint[:, None]
    old = same.any(1)
    count = known.filled.sum(1)
    new_before = np.cumsum(~old) - ~old
    first = np.zeros(len(count) + 1, np.int64)
    first[1:] = np.cumsum(np.bincount(episode[~old], minlength=len(count)))
    slot = np.where(old, same.argmax(1), count[episode] + new_before - first[episode])
    grown = _grow(known, int(max(known.viewpoint.shape[1], slot.max(initial=0) + 1)))
    grown.viewpoint[episode, slot] = viewpoint
    grown.xyz_m[episode, slot] = xyz_m
    walkers = np.arange(len(count))
    grown.visited[walkers, known.here] |= active
    here = known.here[episode]
    length = np.linalg.norm(xyz_m - grown.xyz_m[episode, here], axis=1).clip(LEAST_EDGE_M)
    grown.edge_m[episode, here, slot] = length
    grown.edge_m[episode, slot, here] = length
    # All new edges end where the walker stands, so a shortest walk uses that viewpoint at most once.
    from_here = (grown.edge_m[walkers, known.here][:, :, None] + grown.distance_m).min(1)
    from_here = np.minimum(from_here, grown.distance_m[walkers, known.here])
    shortest = np.minimum(grown.distance_m, from_here[:, :, None] + from_here[:, None, :])
    return replace(grown, distance_m=shortest)


def _grow(known: KnownGraph, slots: int) -> KnownGraph:
    """A copy with room for more viewpoints."""
    more = slots - known.viewpoint.shape[1]
    square, diagonal = ((0, 0), (0, more), (0, more)), np.arange(slots)
    distance = np.pad(known.distance_m, square, constant_values=np.inf)
    distance[:, diagonal, diagonal] = 0.0
    return KnownGraph(
        viewpoint=np.pad(known.viewpoint, ((0, 0), (0, more)), constant_values=-1),
        xyz_m=np.pad(known.xyz_m, ((0, 0), (0, more), (0, 0))),
        visited=np.pad(known.visited, ((0, 0), (0, more))),
        edge_m=np.pad(known.edge_m, square, constant_values=np.inf),
        distance_m=distance,
        here=known.here.copy(),
    )


def walk_to(known: KnownGraph, slot: Int[np.ndarray, " b"]) -> tuple[KnownGraph, Int[np.ndarray, "b h"]]:
    """Walk along shortest known walks, pausing at the first viewpoint that was never visited, to look around there.

    Args:
        known: before.
        slot: where each walker wants to go; its own place and −1 mean no move.

    Returns:
        The graph with walkers at their new places, and the numbers of the viewpoints each walked through, its first
        place excluded, −1 after the last.
    """
    walkers, here, moves = np.arange(len(slot)), known.here.copy(), []
    slot = np.where(slot < 0, here, slot)
    moving = here != slot
    while moving.any():
        ahead = known.edge_m[walkers, here] + known.distance_m[walkers, :, slot]
        here = np.where(moving, ahead.argmin(1), here)
        moves.append(np.where(moving, known.viewpoint[walkers, here], -1))
        moving = moving & (here != slot) & known.visited[walkers, here]
    walked = np.stack(moves, 1) if moves else np.zeros((len(slot), 0), np.int64)
    return replace(known, here=here), walked


def _floats(values: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values, np.float32)).to(device)
