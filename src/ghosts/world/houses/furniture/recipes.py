"""What each kind of room is furnished with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """One wish: an object, how likely, and beside, before, around, on or above which other object."""

    kind: str
    chance: float = 1.0
    host: str = ""
    most: int = 1
    where: str = ""
    """Replaces the kind's usual place."""


# fmt: off
RECIPES: dict[str, tuple[Step, ...]] = {
    "bedroom": (
        Step("bed"), Step("nightstand", 0.95, "bed"), Step("nightstand", 0.75, "bed"),
        Step("table lamp", 0.85, "nightstand"), Step("wardrobe", 0.8), Step("dresser", 0.6), Step("desk", 0.3),
        Step("office chair", 1.0, "desk"), Step("armchair", 0.3), Step("television", 0.4, "dresser"),
        Step("painting", 0.7, "bed"), Step("mirror", 0.5), Step("plant", 0.5), Step("guitar", 0.15),
        Step("suitcase", 0.15), Step("floor lamp", 0.25), Step("ottoman", 0.2), Step("rug", 0.6),
        Step("painting", 0.6), Step("cactus", 0.2),
    ),
    "living room": (
        Step("sofa"), Step("tv stand", 0.75), Step("television", 1.0, "tv stand"),
        Step("coffee table", 0.85, "sofa"), Step("fireplace", 0.5), Step("bookshelf", 0.5), Step("piano", 0.2),
        Step("armchair", 0.8), Step("armchair", 0.4), Step("side table", 0.5, "sofa"),
        Step("table lamp", 0.9, "side table"), Step("floor lamp", 0.6), Step("plant", 0.8), Step("aquarium", 0.2),
        Step("grandfather clock", 0.15), Step("painting", 0.85, "sofa"), Step("painting", 0.7), Step("clock", 0.3),
        Step("rug", 0.85), Step("plant", 0.3), Step("ottoman", 0.2), Step("sideboard", 0.25),
        Step("vase", 0.8, "sideboard"), Step("cactus", 0.2), Step("guitar", 0.12),
    ),
    "kitchen": (
        Step("fridge"), Step("stove"), Step("range hood", 0.9, "stove"), Step("kitchen counter", 1.0, "stove"),
        Step("kitchen sink", 1.0, "kitchen counter", where="beside"),
        Step("kitchen counter", 0.9, "kitchen sink"), Step("kitchen counter", 0.5, "fridge"),
        Step("wall cabinet", 1.0, "kitchen counter"), Step("wall cabinet", 0.6),
        Step("microwave", 0.5, "kitchen counter"), Step("kitchen island", 0.7),
        Step("bar stool", 0.9, "kitchen island", 3), Step("dining table", 0.3),
        Step("chair", 1.0, "dining table", 4), Step("trash can", 0.6), Step("clock", 0.5), Step("plant", 0.3),
        Step("painting", 0.3),
    ),
    "dining room": (
        Step("dining table"), Step("chair", 1.0, "dining table", 8), Step("vase", 0.7, "dining table"),
        Step("sideboard", 0.6), Step("china cabinet", 0.5), Step("vase", 0.4, "sideboard"), Step("fireplace", 0.12),
        Step("plant", 0.6), Step("painting", 0.8), Step("painting", 0.5), Step("aquarium", 0.08), Step("rug", 0.5),
    ),
    "bathroom": (
        Step("toilet"), Step("sink"), Step("mirror", 0.95, "sink"), Step("bathtub", 0.6), Step("shower", 0.6),
        Step("towel rack", 0.8), Step("bath mat", 0.7), Step("laundry basket", 0.4), Step("washing machine", 0.12),
        Step("plant", 0.25),
    ),
    "office": (
        Step("desk"), Step("office chair", 1.0, "desk"), Step("bookshelf", 0.8), Step("filing cabinet", 0.6),
        Step("printer", 0.5), Step("whiteboard", 0.5), Step("armchair", 0.3), Step("globe", 0.3), Step("plant", 0.6),
        Step("floor lamp", 0.4), Step("painting", 0.6), Step("clock", 0.4), Step("trash can", 0.3), Step("rug", 0.4),
        Step("cactus", 0.2), Step("aquarium", 0.1),
    ),
    "laundry room": (
        Step("washing machine"), Step("dryer", 0.8, "washing machine", where="beside"),
        Step("ironing board", 0.7), Step("laundry basket", 0.9),
        Step("laundry basket", 0.9),
        Step("wall cabinet", 0.6, "washing machine"), Step("wall cabinet", 0.4),
        Step("trash can", 0.2), Step("clock", 0.2),
    ),
    "closet": (
        Step("clothes rail"), Step("shoe rack", 0.7), Step("dresser", 0.3), Step("suitcase", 0.7),
        Step("clothes rail", 0.3), Step("laundry basket", 0.3),
    ),
    "library": (
        Step("bookshelf"), Step("bookshelf"), Step("bookshelf", 0.9), Step("bookshelf", 0.7), Step("armchair", 0.9),
        Step("sofa", 0.3), Step("desk", 0.4), Step("office chair", 1.0, "desk"), Step("globe", 0.7),
        Step("fireplace", 0.3), Step("floor lamp", 0.8), Step("grandfather clock", 0.3), Step("plant", 0.4),
        Step("painting", 0.6), Step("rug", 0.5), Step("round rug", 0.4), Step("side table", 0.5, "armchair"),
    ),
    "gym": (
        Step("treadmill"), Step("dumbbell rack"), Step("weight bench", 0.7), Step("exercise bike", 0.7),
        Step("punching bag", 0.6), Step("exercise ball", 0.8), Step("yoga mat", 0.8), Step("bench", 0.3),
        Step("mirror", 0.6), Step("clock", 0.5), Step("plant", 0.2),
    ),
    "entryway": (
        Step("coat rack", 0.8), Step("shoe rack", 0.6), Step("console table", 0.5),
        Step("vase", 0.7, "console table"), Step("bench", 0.5), Step("mirror", 0.6), Step("umbrella stand", 0.6),
        Step("plant", 0.4), Step("painting", 0.5),
    ),
    "nursery": (
        Step("crib", 0.8), Step("single bed", 0.5), Step("dresser", 0.7), Step("toy box", 0.9),
        Step("teddy bear", 0.8), Step("wardrobe", 0.4), Step("armchair", 0.4), Step("round rug", 0.8),
        Step("painting", 0.8),
    ),
    "music room": (
        Step("piano"), Step("drum set", 0.6), Step("guitar", 0.9), Step("guitar", 0.4), Step("music stand", 0.7),
        Step("sofa", 0.4), Step("bookshelf", 0.4), Step("plant", 0.5), Step("painting", 0.8), Step("painting", 0.4),
        Step("round rug", 0.5),
    ),
    "pantry": (
        Step("pantry shelf"), Step("pantry shelf", 0.8), Step("pantry shelf", 0.5), Step("trash can", 0.3),
    ),
    "hallway": (
        Step("console table", 0.5), Step("table lamp", 0.5, "console table"), Step("bench", 0.3),
        Step("bookshelf", 0.15), Step("plant", 0.6), Step("painting", 0.8), Step("painting", 0.6),
        Step("mirror", 0.3), Step("clock", 0.2), Step("runner", 0.5), Step("coat rack", 0.15),
        Step("grandfather clock", 0.2),
    ),
    "stair hall": (
        Step("console table", 0.4), Step("vase", 0.8, "console table"), Step("plant", 0.6), Step("painting", 0.8),
        Step("painting", 0.6), Step("bench", 0.3), Step("grandfather clock", 0.25), Step("coat rack", 0.2),
    ),
}
# fmt: on
"""Objects of each kind of room, most important first."""
