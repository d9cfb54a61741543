"""Everything true that can be said along a path: the facts an instruction chooses from.

Only things in plain sight of the path's own viewpoints and near them are mentioned, and only where a reader can tell
which one is meant.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Bool

from ghosts_houses.graph.viewpoints import HouseGraph
from ghosts_houses.house import House, Thing
from ghosts_houses.plan.rooms import HALLS
from ghosts_houses.words.route import Route
from ghosts_houses.words.traits import Appearance
from ghosts_houses.words.vocabulary import UNSPOKEN, namesakes, nouns

FactKind = Literal[
    "turn", "door", "walk", "pass", "between", "passdoor", "toward", "away", "orient", "facing", "climb", "stop"
]
NEAR_M = 6.0
"""Farthest a thing that is mentioned may be from the viewpoint it is seen from."""
_HIGH_M = 2.0  # above this a thing hangs over the walker rather than beside him


@dataclass(frozen=True)
class Name:
    """How a thing must be named so that a reader can tell it from others in sight."""

    how: str = ""
    """"plain", "color", "trait", "place", "room", "plural"; "" where no name singles it out."""
    words: tuple[str, ...] = ()
    """Nouns that fit."""
    trait: str = ""
    """The trait or the place that tells it apart."""
    count: int = 0
    """How many, where several equal things are named together and all of them are in sight."""


@dataclass(frozen=True)
class Fact:
    """One true statement about a path."""

    kind: FactKind
    step: int
    """The viewpoint of the path at which, or after which, it holds."""
    at_m: float
    """Distance along the path."""
    side: str = ""
    """"left", "right", "ahead", "behind"; for a climb "up" or "down"; for a walk "along", "end" or "through"; for a
    turn at the end of a flight "top" or "bottom"; for a stop its manner (a "stop" of `phrases.txt`)."""
    turn_rad: float = 0.0
    """Positive = right; for a door on a side, the turn that leads into it."""
    room: int = -1
    """The room entered, walked through, passed or stopped in."""
    other_room: int = -1
    """The room left; for a stop outside a room or in its doorway, the other one."""
    thing: int = -1
    other_thing: int = -1
    """The second of two things."""
    opening: int = -1
    ordinal: int = 0
    """Which door on its side of the hallway, counted along the walk; 0 where counting says nothing. For a climb the
    floor it leads to, counted from 1."""
    length_m: float = 0.0
    """Length of a walk along a hallway; 0 where no length is known."""
    name: Name = Name()
    other_name: Name = Name()


@dataclass(frozen=True)
class Setting:
    """What facts are made from: a house, a path in it, and what is in sight on the way."""

    house: House
    graph: HouseGraph
    route: Route
    appearance: Appearance
    near: Bool[np.ndarray, "k things"]
    """Things in sight and near, for every viewpoint of the path."""
    _names: dict[tuple[int, int], Name] = field(default_factory=dict)
    """Names that were asked for, by thing and step."""

    @staticmethod
    def of(
        house: House, graph: HouseGraph, route: Route, appearance: Appearance, seen: Bool[np.ndarray, "n things"]
    ) -> Setting:
        """The setting of a route; `seen` tells which thing is in sight of which viewpoint (`sight.things_seen`)."""
        eyes = graph.positions_m[list(route.steps)]
        distance = np.linalg.norm(eyes[:, None] - house.centers_m, axis=-1)
        spoken = np.array([thing.kind not in UNSPOKEN for thing in house.things], bool)
        return Setting(house, graph, route, appearance, seen[list(route.steps)] & (distance <= NEAR_M) & spoken)

    def around(self, step: int) -> Bool[np.ndarray, " things"]:
        """Things near the viewpoints about a step."""
        return np.asarray(self.near[max(0, step - 1) : step + 2].any(0))

    def rivals(self, thing: int, step: int) -> list[int]:
        """Other things about a step that share a noun with a thing."""
        mine, things = self.house.things[thing].kind, self.house.things
        return [k for k in np.flatnonzero(self.around(step)).tolist() if k != thing and namesakes(mine, things[k].kind)]

    def name(self, thing: int, step: int) -> Name:
        """How to name a thing so that it is the only one meant among those in sight around a step."""
        if (thing, step) not in self._names:
            self._names[thing, step] = self._name(thing, step)
        return self._names[thing, step]

    def _name(self, thing: int, step: int) -> Name:
        things, mine = self.house.things, self.house.things[thing]
        rivals, words = self.rivals(thing, step), nouns(mine.kind)
        taken = {word for k in rivals for word in nouns(things[k].kind)}
        free = tuple(word for word in words if word not in taken)
        if free:
            return Name("plain", free)
        if mine.color_word and all(things[k].color_word != mine.color_word for k in rivals):
            return Name("color", words)
        for trait in self.appearance.traits[thing]:
            if all(trait not in self.appearance.traits[k] for k in rivals):
                return Name("trait", words, trait)
        for place in self.appearance.places[thing]:
            if place in ("corner", "window") and not any(place in self.appearance.places[k] for k in rivals):
                return Name("place", words, place)
        kind = self.house.rooms[mine.room].kind
        if kind not in HALLS and all(self.house.rooms[things[k].room].kind != kind for k in rivals):
            return Name("room", words)
        return Name()

    def together(self, members: list[int], step: int) -> Name:
        """The name of several equal things, when none of their name is elsewhere in sight."""
        kind, room = self.house.things[members[0]].kind, self.house.things[members[0]].room
        equals = {*self.rivals(members[0], step), members[0]}
        if len(members) < 2 or equals != set(members) or any(self.house.things[k].room != room for k in members):
            return Name()
        same = [k for k, t in enumerate(self.house.things) if t.room == room and namesakes(t.kind, kind)]
        # A number is only safe when no other one of the room can come into sight on the way.
        return Name("plural", nouns(kind), count=len(members) if len(same) == len(members) else 0)

    def beside_walker(self, thing: Thing, step: int) -> bool:
        """Whether a thing is at the height of a walker, on his floor."""
        return -0.3 < thing.center_m[2] - float(self.route.ground_m[step]) < _HIGH_M
