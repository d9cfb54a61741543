"""Senses: the named parts of an observation, and which of them somebody has.

A world of landmarks shows several things at once. Some were labelled by people, others come from a machine's eyes. Any
of them may be missing: a data root may lack it, a model may not know it, an episode may hide it. Everybody speaks of
them by the names below.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ghosts_sim.errors import ConfigError, UnknownNameError

OBJECTS, ROOMS, DOORWAYS, WAYS, FLOOR = "objects", "rooms", "doorways", "ways", "floor"
CAPTIONS, DETECTIONS, IMAGES = "captions", "detections", "images"
SENSES = {
    OBJECTS: "objects that people labelled",
    ROOMS: "rooms that people labelled",
    DOORWAYS: "doorways between labelled rooms",
    WAYS: "the graph's viewpoints and stairs",
    FLOOR: "floor",
    CAPTIONS: "captions of photographs",
    DETECTIONS: "a detector's boxes in photographs",
    IMAGES: "image features",
}
"""What each sense is, in the order in which they are named."""
PEOPLE = (OBJECTS, ROOMS, DOORWAYS)
"""Senses that only people's annotations give."""
SUITES = {
    "everything": tuple(SENSES),
    "people": (OBJECTS, ROOMS, DOORWAYS, WAYS, FLOOR),
    "pictures": (WAYS, FLOOR, CAPTIONS, DETECTIONS),
    "robot": (FLOOR, CAPTIONS, DETECTIONS),
    "robot-objects": (OBJECTS, FLOOR),
    "robot-both": (OBJECTS, FLOOR, CAPTIONS, DETECTIONS),
}
"""Senses that go together: all of them; people's labels alone; what machines see in photographs, with the navigation
graph; a robot's view without a graph, with a captioner and a detector, with labelled objects, with both."""
SECTORS = 12
"""Directions, of 30 degrees each, that a field of view is made of."""
ALL_ROUND_DEG = 360


def ordered(names: Collection[str]) -> tuple[str, ...]:
    """Senses in the order of `SENSES`."""
    return tuple(name for name in SENSES if name in names)


@dataclass(frozen=True)
class Shown:
    """Which senses somebody has, and how wide their view is."""

    senses: tuple[str, ...] = tuple(SENSES)
    """Names of `SENSES`."""
    view_deg: int = ALL_ROUND_DEG
    """Width of the field of view, in the direction of travel; 360 is all round."""

    def __post_init__(self) -> None:
        for name in self.senses:
            if name not in SENSES:
                raise UnknownNameError("sense", name, SENSES)
        width = ALL_ROUND_DEG // SECTORS
        if not (width <= self.view_deg <= ALL_ROUND_DEG and self.view_deg % width == 0):
            raise ConfigError(
                f"a field of view must be a multiple of {width} degrees, at most {ALL_ROUND_DEG}, got {self.view_deg}"
            )
        object.__setattr__(self, "senses", ordered(self.senses))

    @property
    def sectors(self) -> int:
        """How many of the `SECTORS` are seen."""
        return self.view_deg * SECTORS // ALL_ROUND_DEG

    @property
    def everything(self) -> bool:
        """Whether nothing is hidden."""
        return self == Shown()

    def __str__(self) -> str:
        width = "" if self.view_deg == ALL_ROUND_DEG else f", {self.view_deg}° of view"
        return (", ".join(self.senses) or "nothing") + width


EVERYTHING = Shown()


def sense_summary(known: Collection[str], present: Collection[str]) -> str:
    """Which senses a model has before it, and which it misses.

    Args:
        known: senses that the model was trained with.
        present: senses that it is shown.

    Example:
        >>> sense_summary(["objects", "captions"], ["captions", "floor"])
        'shown: captions; missing: objects; not read: floor'
    """
    parts = {
        "shown": ordered([name for name in present if name in known]),
        "missing": ordered([name for name in known if name not in present]),
        "not read": ordered([name for name in present if name not in known]),
    }
    said = [f"{word}: {', '.join(names)}" for word, names in parts.items() if names]
    return "; ".join(said) or "shown: nothing"


def parse_senses(texts: Iterable[str]) -> tuple[str, ...]:
    """Senses as a command names them, by themselves or by the name of a suite: separated by commas, or one after the
    other.

    Raises:
        UnknownNameError: no such sense.

    Example:
        >>> parse_senses(["robot", "rooms"])
        ('rooms', 'floor', 'captions', 'detections')
    """
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    for name in names:
        if name not in SENSES and name not in SUITES:
            raise UnknownNameError("sense", name, [*SENSES, *SUITES])
    return ordered({sense for name in names for sense in SUITES.get(name, (name,))})
