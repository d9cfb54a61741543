"""What is kept of a house besides its seed: its graph, its paths in words and the facts they state."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool

from ghosts_houses.graph.paths import sample_paths
from ghosts_houses.graph.sight import things_seen
from ghosts_houses.graph.viewpoints import HouseGraph, make_graph
from ghosts_houses.house import House
from ghosts_houses.make import ANY_SIZE, make_house
from ghosts_houses.plan.slots import HouseSize
from ghosts_houses.summary import check_building
from ghosts_houses.words.instructions import InstructionWriter
from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite, read_object

_PATH = {"distance", "path_id", "path", "heading", "instructions"}
"""Fields of a path that its R2R record needs."""


@dataclass(frozen=True, eq=False)
class Described:
    """A house with its graph and its instructions."""

    house: House
    graph: HouseGraph
    seen: Bool[np.ndarray, "n things"]
    """Which things each viewpoint sees."""
    paths: list[dict[str, Any]]
    """With instructions and the facts they state (plain JSON values)."""


def describe(seed: int, count: int, size: HouseSize = ANY_SIZE) -> Described:
    """A house, its graph, and its paths with instructions."""
    house = make_house(seed, size)
    graph = make_graph(house)
    seen = things_seen(house, graph.positions_m)
    rng = np.random.default_rng([seed, 0x7061_7468])
    writer, paths = InstructionWriter(house, graph, seen), []
    for path in sample_paths(house, graph, count, rng):
        written = writer.write(path, rng)
        paths.append(
            {
                "distance": path.length_m,
                "path": [graph.viewpoints[step].name for step in path.steps],
                "heading": path.heading_rad,
                "instructions": [item.text for item in written],
                "styles": [item.style for item in written],
                "others": [item.others for item in written],
                "facts": [[_plain_fact(fact) for fact in item.facts] for item in written],
            }
        )
    return Described(house, graph, seen, paths)


def _plain_fact(fact: Any) -> dict[str, Any]:
    """A fact without the fields that say nothing, numbers rounded."""
    values = vars(fact) | {"name": fact.name.how, "other_name": fact.other_name.how}
    kept = {name: value for name, value in values.items() if value not in (-1, "", 0.0) or name in ("step", "at_m")}
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in kept.items()}


def read_record(path: Path, index: int) -> dict[str, Any]:
    """What an earlier, interrupted run knew of a house.

    Raises:
        DataError: the file is damaged.
    """
    record = read_object(path)
    wrong = partial(DataError, file=path, hint="remove the file; the same command makes it again")
    if record.get("index") != index or record.get("scan") != path.stem or not isinstance(record.get("seed"), int):
        raise wrong(f"not the record of house {index}")
    paths, viewpoints = record.get("paths"), record.get("viewpoints")
    if not isinstance(paths, list) or not all(isinstance(item, dict) and item.keys() >= _PATH for item in paths):
        raise wrong(f"expected paths with {', '.join(sorted(_PATH))}", field="paths")
    if not isinstance(viewpoints, list) or not all(
        isinstance(item, list) and len(item) == 4 and all(is_finite(value) for value in item[1:]) for item in viewpoints
    ):
        raise wrong("expected a name and three numbers each", field="viewpoints")
    if record.get("checksum", checksum(record)) != checksum(record):  # earlier versions wrote none
        raise wrong("a damaged record (its checksum differs)")
    for field in ("rooms", "storeys", "things", "building"):
        if field not in record:
            raise wrong("missing", field=field)
    check_building(record["building"], wrong)
    return record


def checksum(record: dict[str, Any]) -> int:
    """CRC-32 of what a house's record says."""
    said = {name: value for name, value in record.items() if name != "checksum"}
    return zlib.crc32(json.dumps(said).encode())
