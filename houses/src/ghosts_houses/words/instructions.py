"""Three instructions per path, each with the facts it states."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from ghosts_houses.graph.paths import HousePath
from ghosts_houses.graph.viewpoints import HouseGraph
from ghosts_houses.house import House
from ghosts_houses.words.author import STYLES, Author, Style
from ghosts_houses.words.doors import doors, passed_doors
from ghosts_houses.words.facts import Fact, Setting
from ghosts_houses.words.goals import Goals
from ghosts_houses.words.grammar import write
from ghosts_houses.words.route import make_route
from ghosts_houses.words.sights import sights
from ghosts_houses.words.stops import stops
from ghosts_houses.words.stretches import climbs, turns, walks
from ghosts_houses.words.traits import Appearance

INSTRUCTIONS = 3
_DRAFTS = 9


@dataclass(frozen=True)
class WrittenInstruction:
    """A text, the style it is written in, and the facts it states."""

    text: str
    style: str
    facts: tuple[Fact, ...]
    others: int = 0
    """How many other goals, more than 3 m from the true one, the text fits too (`goals.Goals.others`)."""


class InstructionWriter:
    """Describes paths of one house, so that every text is true and tells its goal from the others of the house."""

    def __init__(self, house: House, graph: HouseGraph, seen: Bool[np.ndarray, "n things"]) -> None:
        self.house, self.graph, self.seen = house, graph, seen
        self.appearance, self.goals = Appearance.of(house), Goals(house, graph, seen)

    def write(
        self, path: HousePath, rng: np.random.Generator, count: int = INSTRUCTIONS
    ) -> tuple[WrittenInstruction, ...]:
        """Describe a path several times, each time as a different author."""
        facts = self.facts(path)
        order = [STYLES[k] for k in rng.permutation(len(STYLES))]
        return tuple(self._best(path, facts, order[k % len(order)], rng) for k in range(count))

    def facts(self, path: HousePath) -> list[Fact]:
        """Everything true that can be said along a path, in order; the ways to say where it ends come last."""
        route = make_route(self.house, self.graph, path)
        setting = Setting.of(self.house, self.graph, route, self.appearance, self.seen)
        facts = turns(setting) + walks(setting) + climbs(setting)
        facts += doors(setting) + passed_doors(setting) + sights(setting) + stops(setting)
        return sorted(facts, key=lambda fact: (fact.at_m, fact.kind == "stop"))

    def draft(
        self, path: HousePath, facts: list[Fact], style: Style, rng: np.random.Generator, detail: float = 0.0
    ) -> WrittenInstruction:
        """One first draft, not checked."""
        start = next((fact.other_room for fact in facts if fact.kind == "door"), -1)
        start = start if self.graph.viewpoints[path.steps[0]].room == start else -1
        author = Author(self.house, self.appearance, style, rng, float(rng.uniform(detail, 1.0)), start)
        text, stated = write(author, facts)
        return WrittenInstruction(text, style.name, stated)

    def _best(self, path: HousePath, facts: list[Fact], style: Style, rng: np.random.Generator) -> WrittenInstruction:
        """The first of a few drafts that is true and leads to one goal only, else the one that leads to fewest."""
        best, fewest = None, len(self.graph.viewpoints)
        for attempt in range(_DRAFTS):
            # A draft that fits several goals is followed by one with more detail.
            draft = self.draft(path, facts, style, rng, detail=min(1.0, 0.25 * attempt))
            claims = self.goals.read(draft.text)
            others = len(self.goals.others(path, claims, most=fewest)) if self.goals.true(path, claims) else fewest
            if best is None or others < fewest:
                best, fewest = replace(draft, others=others), others
            if fewest == 0:
                break
        assert best is not None
        return best
