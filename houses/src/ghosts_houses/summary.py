"""What a world is like, in one file: its buildings, and its figures beside R2R's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ghosts_houses.audit import RULES, flaws
from ghosts_houses.house import House
from ghosts_houses.tables import entries, sections
from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite

R2R: dict[str, float] = {
    name: float(value) if "." in value else int(value)
    for name, (value,) in entries(sections("words/r2r.txt")["figures"]).items()
}
"""Figures of R2R's 61 training buildings, by the names of `statistics` (`ghosts world --stats ROOT`)."""


def building_facts(house: House) -> dict[str, Any]:
    """What the record of a house keeps of its building, as plain JSON values."""
    broken = Counter(flaw.rule for flaw in flaws(house))
    return {
        "rooms": [
            [room.kind, round(room.area_m2, 2), round(room.ceiling_z_m - room.floor_z_m, 2)] for room in house.rooms
        ],
        "things": dict(sorted(Counter(thing.kind for thing in house.things).items())),
        "flaws": {rule: broken[rule] for rule in RULES},
    }


def check_building(building: Any, wrong: Callable[..., DataError]) -> None:
    """Refuse what a record says of a building where `summarise` could not read.

    Raises:
        DataError: they are not those of `building_facts`; made by `wrong`, which knows the file.
    """
    if not isinstance(building, dict):
        raise wrong("expected an object", field="building", value=building)
    rooms, broken = building.get("rooms"), building.get("flaws")
    if not isinstance(rooms, list) or not rooms or not all(map(_is_room, rooms)):
        raise wrong("expected a kind and two numbers of every room", field="building.rooms", value=rooms)
    if not isinstance(broken, dict) or not all(isinstance(broken.get(rule), int) for rule in RULES):
        raise wrong(f"expected whole numbers for {', '.join(RULES)}", field="building.flaws", value=broken)


def _is_room(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and isinstance(value[0], str) and all(map(is_finite, value[1:]))


def summarise(records: list[dict[str, Any]], figures: dict[str, Any]) -> dict[str, Any]:
    """The content of `summary.json`.

    Args:
        records: one per house, with its `building_facts` as "building".
        figures: of the whole world, by `statistics`.

    Returns:
        Buildings: houses by storeys, floor per house, and for each kind of room how many there are, how large and how
        high; flaws by rule. Figures: each with R2R's, where that is known.
    """
    buildings = [record["building"] for record in records]
    rooms = [tuple(room) for building in buildings for room in building["rooms"]]
    kinds = {kind: [room for room in rooms if room[0] == kind] for kind in sorted({room[0] for room in rooms})}
    floor = [sum(room[1] for room in building["rooms"]) for building in buildings]
    return {
        "buildings": {
            "houses by storeys": dict(sorted(Counter(str(record["storeys"]) for record in records).items())),
            "floor per house (m²)": _spread(floor),
            "rooms per house": _spread([len(building["rooms"]) for building in buildings]),
            "rooms": {
                kind: {
                    "count": len(mine),
                    "floor (m²)": _spread([room[1] for room in mine]),
                    "height (m)": _spread([room[2] for room in mine]),
                }
                for kind, mine in kinds.items()
            },
            "flaws": {rule: sum(building["flaws"][rule] for building in buildings) for rule in RULES},
        },
        "figures": {name: {"houses": value, "R2R": R2R.get(name)} for name, value in figures.items()},
    }


def _spread(values: Sequence[float | int]) -> dict[str, float]:
    return {
        "least": round(float(min(values)), 2),
        "mean": round(float(np.mean(values)), 2),
        "most": round(float(max(values)), 2),
    }
