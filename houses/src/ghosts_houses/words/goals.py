"""Which walks of the house, from the start of an instruction, its words fit, and so how many goals it could mean."""

from __future__ import annotations

import itertools
from collections.abc import Hashable

import numpy as np
from jaxtyping import Bool

from ghosts_houses.graph.paths import HousePath
from ghosts_houses.graph.viewpoints import HouseGraph, distances_m
from ghosts_houses.house import House
from ghosts_houses.words.reader import Claim, read
from ghosts_houses.words.truth import contradicted, fits
from ghosts_houses.words.walk import Walk, sighted
from ghosts_sim.types import SUCCESS_M


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
