"""What each kind of room is furnished with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ghosts_houses.house import Thing


@dataclass(frozen=True)
class Wish:
    """One wish: an object, how likely, and beside, before, around, on or above which other object."""

    kind: str
    chance: float = 1.0
    host: str = ""
    most: int = 1
    where: str = ""
    """Replaces the kind's usual place."""
    instead: str = ""
    """Another kind that does as well; which is tried first is drawn."""


@dataclass(frozen=True)
class Need:
    """What a room must have to be called by its name: at least so many of some kinds together."""

    kinds: tuple[str, ...]
    least: int = 1

    def __str__(self) -> str:
        kinds = " or ".join(self.kinds)
        return f"{self.least} × {kinds}" if self.least > 1 else kinds


ESSENTIALS: dict[str, tuple[Need, ...]] = {
    "bedroom": (Need(("bed", "single bed")),),
    "living room": (Need(("sofa",)),),
    "kitchen": (Need(("fridge",)), Need(("stove",)), Need(("kitchen sink",)), Need(("kitchen counter",))),
    "dining room": (Need(("dining table",)), Need(("chair",), 2)),
    "bathroom": (Need(("toilet",)), Need(("sink",)), Need(("bathtub", "shower"))),
    "office": (Need(("desk",)), Need(("office chair",))),
    "laundry room": (Need(("washing machine",)),),
    "closet": (Need(("clothes rail", "wardrobe")),),
    "library": (Need(("bookshelf",), 2), Need(("armchair", "sofa", "desk"))),
    "gym": (Need(("treadmill", "exercise bike", "weight bench", "dumbbell rack", "punching bag"), 2),),
    "nursery": (Need(("crib", "single bed")),),
    "music room": (Need(("piano", "drum set", "guitar"), 2),),
    "pantry": (Need(("pantry shelf",)),),
    "entryway": (Need(("coat rack", "shoe rack", "console table", "bench", "umbrella stand")),),
}
"""The contract of each kind of room; hallways have none."""


def lacking(room_kind: str, things: Sequence[Thing]) -> list[Need]:
    """What a room of a kind must have and these things do not give it."""
    have = Counter(thing.kind for thing in things)
    return [need for need in ESSENTIALS.get(room_kind, ()) if sum(have[kind] for kind in need.kinds) < need.least]


# fmt: off
RECIPES: dict[str, tuple[Wish, ...]] = {
    "bedroom": (
        Wish("bed"), Wish("nightstand", 0.95, "bed"), Wish("nightstand", 0.75, "bed"),
        Wish("table lamp", 0.85, "nightstand"), Wish("wardrobe", 0.8), Wish("dresser", 0.6), Wish("desk", 0.3),
        Wish("office chair", 1.0, "desk"), Wish("armchair", 0.3), Wish("television", 0.4, "dresser"),
        Wish("painting", 0.7, "bed"), Wish("mirror", 0.5), Wish("plant", 0.5), Wish("guitar", 0.15),
        Wish("suitcase", 0.15), Wish("floor lamp", 0.25), Wish("ottoman", 0.2), Wish("rug", 0.6),
        Wish("painting", 0.6), Wish("cactus", 0.2),
    ),
    "living room": (
        Wish("sofa"), Wish("tv stand", 0.75), Wish("television", 1.0, "tv stand"),
        Wish("coffee table", 0.85, "sofa"), Wish("fireplace", 0.5), Wish("bookshelf", 0.5), Wish("piano", 0.2),
        Wish("armchair", 0.8), Wish("armchair", 0.4), Wish("side table", 0.5, "sofa"),
        Wish("table lamp", 0.9, "side table"), Wish("floor lamp", 0.6), Wish("plant", 0.8), Wish("aquarium", 0.2),
        Wish("grandfather clock", 0.15), Wish("painting", 0.85, "sofa"), Wish("painting", 0.7), Wish("clock", 0.3),
        Wish("rug", 0.85), Wish("plant", 0.3), Wish("ottoman", 0.2), Wish("sideboard", 0.25),
        Wish("vase", 0.8, "sideboard"), Wish("cactus", 0.2), Wish("guitar", 0.12),
    ),
    "kitchen": (
        Wish("range hood", 0.9, "stove"), Wish("wall cabinet", 0.9, "kitchen counter"),
        Wish("microwave", 0.5, "kitchen counter"), Wish("kitchen island", 0.7),
        Wish("bar stool", 0.9, "kitchen island", 3), Wish("dining table", 0.3),
        Wish("chair", 1.0, "dining table", 4), Wish("trash can", 0.6), Wish("clock", 0.5), Wish("plant", 0.3),
        Wish("painting", 0.3),
    ),
    "dining room": (
        Wish("dining table"), Wish("chair", 1.0, "dining table", 8), Wish("vase", 0.7, "dining table"),
        Wish("sideboard", 0.6), Wish("china cabinet", 0.5), Wish("vase", 0.4, "sideboard"), Wish("fireplace", 0.12),
        Wish("plant", 0.6), Wish("painting", 0.8), Wish("painting", 0.5), Wish("aquarium", 0.08), Wish("rug", 0.5),
    ),
    "bathroom": (
        Wish("bathtub", instead="shower"), Wish("toilet"), Wish("sink"), Wish("mirror", 0.95, "sink"),
        Wish("shower", 0.3),
        Wish("towel rack", 0.8), Wish("bath mat", 0.7), Wish("laundry basket", 0.4), Wish("washing machine", 0.12),
        Wish("plant", 0.25),
    ),
    "office": (
        Wish("desk"), Wish("office chair", 1.0, "desk"), Wish("bookshelf", 0.8), Wish("filing cabinet", 0.6),
        Wish("printer", 0.5), Wish("whiteboard", 0.5), Wish("armchair", 0.3), Wish("globe", 0.3), Wish("plant", 0.6),
        Wish("floor lamp", 0.4), Wish("painting", 0.6), Wish("clock", 0.4), Wish("trash can", 0.3), Wish("rug", 0.4),
        Wish("cactus", 0.2), Wish("aquarium", 0.1),
    ),
    "laundry room": (
        Wish("washing machine"), Wish("dryer", 0.8, "washing machine", where="beside"),
        Wish("ironing board", 0.7), Wish("laundry basket", 0.9),
        Wish("laundry basket", 0.9),
        Wish("wall cabinet", 0.6, "washing machine"), Wish("wall cabinet", 0.4),
        Wish("trash can", 0.2), Wish("clock", 0.2),
    ),
    "closet": (
        Wish("clothes rail"), Wish("shoe rack", 0.7), Wish("dresser", 0.3), Wish("suitcase", 0.7),
        Wish("clothes rail", 0.3), Wish("laundry basket", 0.3),
    ),
    "library": (
        Wish("bookshelf"), Wish("bookshelf"), Wish("armchair", instead="sofa"), Wish("bookshelf", 0.9),
        Wish("bookshelf", 0.7), Wish("sofa", 0.2), Wish("desk", 0.4), Wish("office chair", 1.0, "desk"),
        Wish("globe", 0.7),
        Wish("fireplace", 0.3), Wish("floor lamp", 0.8), Wish("grandfather clock", 0.3), Wish("plant", 0.4),
        Wish("painting", 0.6), Wish("rug", 0.5), Wish("round rug", 0.4), Wish("side table", 0.5, "armchair"),
    ),
    "gym": (
        Wish("treadmill"), Wish("dumbbell rack"), Wish("weight bench", 0.7), Wish("exercise bike", 0.7),
        Wish("punching bag", 0.6), Wish("exercise ball", 0.8), Wish("yoga mat", 0.8), Wish("bench", 0.3),
        Wish("mirror", 0.6), Wish("clock", 0.5), Wish("plant", 0.2),
    ),
    "entryway": (
        Wish("coat rack", instead="shoe rack"), Wish("shoe rack", 0.4), Wish("console table", 0.5),
        Wish("vase", 0.7, "console table"), Wish("bench", 0.5), Wish("mirror", 0.6), Wish("umbrella stand", 0.6),
        Wish("plant", 0.4), Wish("painting", 0.5),
    ),
    "nursery": (
        Wish("crib", instead="single bed"), Wish("single bed", 0.2), Wish("dresser", 0.7), Wish("toy box", 0.9),
        Wish("teddy bear", 0.8), Wish("wardrobe", 0.4), Wish("armchair", 0.4), Wish("round rug", 0.8),
        Wish("painting", 0.8),
    ),
    "music room": (
        Wish("piano", instead="drum set"), Wish("guitar"), Wish("drum set", 0.4), Wish("guitar", 0.4),
        Wish("music stand", 0.7),
        Wish("sofa", 0.4), Wish("bookshelf", 0.4), Wish("plant", 0.5), Wish("painting", 0.8), Wish("painting", 0.4),
        Wish("round rug", 0.5),
    ),
    "pantry": (
        Wish("pantry shelf"), Wish("pantry shelf", 0.8), Wish("pantry shelf", 0.5), Wish("trash can", 0.3),
    ),
    "hallway": (
        Wish("console table", 0.5), Wish("table lamp", 0.5, "console table"), Wish("bench", 0.3),
        Wish("bookshelf", 0.15), Wish("plant", 0.6), Wish("painting", 0.8), Wish("painting", 0.6),
        Wish("mirror", 0.3), Wish("clock", 0.2), Wish("runner", 0.5), Wish("coat rack", 0.15),
        Wish("grandfather clock", 0.2),
    ),
    "stair hall": (
        Wish("console table", 0.4), Wish("vase", 0.8, "console table"), Wish("plant", 0.6), Wish("painting", 0.8),
        Wish("painting", 0.6), Wish("bench", 0.3), Wish("grandfather clock", 0.25), Wish("coat rack", 0.2),
    ),
}
# fmt: on
"""Objects of each kind of room, most important first."""
