"""Three instructions per path, each with the facts it states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from ghosts.world.houses.graph.paths import HousePath
from ghosts.world.houses.graph.viewpoints import HouseGraph
from ghosts.world.houses.house import House
from ghosts.world.houses.words.facts import Fact, gather
from ghosts.world.houses.words.grammar import STYLES, write
from ghosts.world.houses.words.route import make_route

INSTRUCTIONS = 3


@dataclass(frozen=True)
class WrittenInstruction:
    """A text, who would write so, and what it states."""

    text: str
    style: str
    facts: tuple[Fact, ...]


def write_instructions(
    house: House,
    graph: HouseGraph,
    path: HousePath,
    seen: Bool[np.ndarray, "n things"],
    rng: np.random.Generator,
    count: int = INSTRUCTIONS,
) -> tuple[WrittenInstruction, ...]:
    """Describe a path several times, each time as a different annotator.

    Args:
        house: the house.
        graph: its viewpoints.
        path: the path.
        seen: which thing is in sight of which viewpoint (`sight.things_seen`).
        rng: source of randomness.
        count: instructions wanted.
    """
    facts = gather(house, graph, make_route(house, graph, path), seen)
    order = [STYLES[k] for k in rng.permutation(len(STYLES))]
    written = []
    for k in range(count):
        style = order[k % len(order)]
        text, told = write(house, facts, style, rng)
        written.append(WrittenInstruction(text, style.name, told))
    return tuple(written)
