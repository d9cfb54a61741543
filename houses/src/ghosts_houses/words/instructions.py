"""Three instructions per path, each with the facts it states, and how many goals of the house each could mean."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool

from ghosts_houses.graph.paths import HousePath
from ghosts_houses.graph.viewpoints import HouseGraph, distances_m
from ghosts_houses.house import House
from ghosts_houses.words.author import STYLES, Author, Style
from ghosts_houses.words.doors import doors, passed_doors
from ghosts_houses.words.facts import Fact, Setting
from ghosts_houses.words.grammar import write
from ghosts_houses.words.reader import Claim, read
from ghosts_houses.words.route import make_route
from ghosts_houses.words.sights import sights
from ghosts_houses.words.stops import stops
from ghosts_houses.words.stretches import climbs, turns, walks
from ghosts_houses.words.traits import Appearance
from ghosts_houses.words.truth import contradicted, fits
from ghosts_houses.words.walk import Walk, sighted
from ghosts_sim.types import SUCCESS_M

INSTRUCTIONS = 3
_DRAFTS = 9


@dataclass(frozen=True)
class WrittenInstruction:
    """A text, the style it is written in, and the facts it states."""

    text: str
    style: str
    facts: tuple[Fact, ...]
    others: int = 0
    """How many other goals, more than 3 m from the true one, the text fits too (`Goals.others`)."""


class Goals:
    """Shortest walks from every start of a house, and which of them a text fits."""

    def __init__(self, house: House, graph: HouseGraph, seen: Bool[np.ndarray, "n things"]) -> None:
        self.house, self.seen = house, seen
        self.ground_m = graph.positions_m.copy()
        self.ground_m[:, 2] -= [point.height_m for point in graph.viewpoints]
        self.distance_m, self.before = distances_m(graph)
        self.kinds = {thing.kind for thing in house.things}
        self.colors = {thing.color_word for thing in house.things}
        self._sighted = sighted(house, self.ground_m, seen)
        self._described: dict[Hashable, list[int]] = {}
        self._walks: dict[tuple[int, int], Walk] = {}

    def read(self, text: str) -> list[Claim]:
        """The claims of a text."""
        return read(text, self.kinds, self.colors)

    def true(self, path: HousePath, claims: list[Claim]) -> bool:
        """Whether nothing of what is claimed contradicts a path."""
        key = path.steps[0], path.steps[-1]
        if key not in self._walks:
            self._walks[key] = self._along(list(path.steps))
        walk = self._walks[key]
        return not contradicted(self.house, walk, path.heading_rad, claims)

    def others(self, path: HousePath, claims: list[Claim], most: int | None = None) -> list[int]:
        """Viewpoints more than 3 m from the goal that the claims fit too; at most `most` of them."""
        start, goal = path.steps[0], path.steps[-1]
        far = np.linalg.norm(self.ground_m - self.ground_m[goal], axis=1) > SUCCESS_M
        within = np.isfinite(self.distance_m[start]) & (self.distance_m[start] > 0)
        every = (k for k in np.flatnonzero(far & within).tolist() if self._leads(path, k, claims))
        return list(itertools.islice(every, most))

    def _leads(self, path: HousePath, goal: int, claims: list[Claim]) -> bool:
        """Whether claims lead from the start of a path to a viewpoint."""
        return fits(self.house, self.walk(path.steps[0], goal), path.heading_rad, claims)

    def walk(self, start: int, goal: int) -> Walk:
        """The shortest walk between two viewpoints."""
        if (start, goal) not in self._walks:
            steps = [goal]
            while steps[-1] != start:
                steps.append(int(self.before[start, steps[-1]]))
            self._walks[start, goal] = self._along(steps[::-1])
        return self._walks[start, goal]

    def _along(self, rows: list[int]) -> Walk:
        return Walk(self.house, self.ground_m[rows], self.seen[rows], self._sighted[rows], self._described)


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
