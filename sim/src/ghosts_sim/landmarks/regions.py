"""Rooms: which region of its building a viewpoint lies in, and what its letter means."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ghosts_sim.errors import DataError
from ghosts_sim.files import read_text
from ghosts_sim.limits import JSON_VALUES

_AGAIN = "take it again from house_segmentations of the release"
_NOWHERE = "-1"
ROOM_NAMES = {
    "a": "bathroom", "b": "bedroom", "c": "closet", "d": "dining room", "e": "entryway foyer lobby",
    "f": "family room lounge", "g": "garage", "h": "hallway", "i": "library", "j": "laundry room mudroom",
    "k": "kitchen", "l": "living room", "m": "meeting room conference room", "n": "lounge", "o": "office",
    "p": "porch terrace deck", "r": "rec game", "s": "stairs", "t": "toilet", "u": "utility room tool room",
    "v": "tv", "w": "workout gym exercise", "x": "outdoor", "y": "balcony", "z": "other room", "B": "bar",
    "C": "classroom", "D": "dining booth", "S": "spa sauna", "Z": "junk", "-": "no label",
}  # fmt: skip
"""Matterport3D's legend of region letters."""


@dataclass(frozen=True)
class Region:
    """Where a viewpoint stands."""

    region: str
    """Identifier of the region within its building: two viewpoints with the same one are in the same room."""
    room: str
    """Letter of `ROOM_NAMES`."""


def read_regions(path: Path) -> dict[str, Region]:
    """Read a `<scan>.panorama_to_region.txt`: lines of `index viewpoint region_index region_letter`.

    Returns:
        The region of every viewpoint listed.

    Raises:
        DataError: naming file, line, field and value.
    """
    hint = "Matterport3D keeps it as house_segmentations/panorama_to_region.txt of each scan; copy it to this name"
    text = read_text(path, hint=hint, memory=JSON_VALUES)
    regions: dict[str, Region] = {}
    letters: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split()
        if not words:
            continue
        wrong = partial(DataError, file=path, record=f"line {number}")
        if len(words) != 4:
            raise wrong("expected four words: index viewpoint region_index region_letter", value=line)
        index, viewpoint, region, room = words
        if index != str(len(regions)):
            # Released files count their lines: what is lost, doubled or exchanged shows here.
            raise wrong(f"expected {len(regions)}", field="index", value=index, hint=_AGAIN)
        if not re.fullmatch("-?[0-9]{1,9}", region):
            raise wrong("expected a whole number", field="region_index", value=region)
        if room not in ROOM_NAMES:
            expected = f"expected one of the room letters {' '.join(ROOM_NAMES)}"
            raise wrong(expected, field="region_letter", value=room)
        if region != _NOWHERE and letters.setdefault(region, room) != room:
            problem = f"region {region} had the letter {letters[region]} before"
            raise wrong(problem, field="region_letter", value=room, hint=_AGAIN)
        if viewpoint in regions:
            raise wrong("viewpoint listed twice", field="viewpoint", value=viewpoint)
        regions[viewpoint] = Region(region, room)
    if not regions:
        raise DataError("the file is empty", file=path, hint=_AGAIN)
    return regions
