"""R2R episodes: a path through a building and what people said about it. Reads the released files as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite, read_json


class Hidden(NamedTuple):
    """Two numbers that say which labels are hidden from an episode (`data.drops.absent_of`)."""

    share: float
    """Share of all labels."""
    seed: int
    """Seed that draws them."""


MOST_SEED = 2**32 - 1


@dataclass(frozen=True)
class Episode:
    """One path with its instructions. A path of the test split holds only its start."""

    path_id: int
    scan: str
    path: tuple[str, ...]
    """Viewpoints from start to goal."""
    heading_rad: float
    """The walker's heading at the start, clockwise from +y."""
    instructions: tuple[str, ...]
    distance_m: float | None
    """Length of the path as released; None in the test split."""
    hidden: Hidden | None = None
    """Labels that the path's speaker did not see; R2R's own files have none."""

    @property
    def has_goal(self) -> bool:
        """Whether the goal is known (false in the test split)."""
        return self.distance_m is not None


MOST_HEADING_RAD, MOST_DISTANCE_M = 1e3, 1e6
"""No real heading or path is larger. A larger number comes from a damaged file, and would overflow 32 bits."""


@dataclass(frozen=True)
class Instruction:
    """One instruction of an episode, with the identifier that R2R's evaluation uses."""

    episode: Episode
    number: int

    @property
    def instr_id(self) -> str:
        """`<path_id>_<number>`."""
        return f"{self.episode.path_id}_{self.number}"

    @property
    def text(self) -> str:
        """The words."""
        return self.episode.instructions[self.number]


def each_instruction(episodes: list[Episode]) -> Iterator[Instruction]:
    """All instructions, episode by episode."""
    for episode in episodes:
        for number in range(len(episode.instructions)):
            yield Instruction(episode, number)


def load_episodes(path: Path) -> list[Episode]:
    """Read an `R2R_<split>.json`.

    Raises:
        DataError: naming file, record (path_id where there is one), field and value.
    """
    return parse_episodes(read_json(path, hint="a data root holds r2r/R2R_<split>.json"), path)


def parse_episodes(records: Any, path: Path) -> list[Episode]:
    """Check the records of an R2R file and return them."""
    if not isinstance(records, list) or not records:
        raise DataError("expected a non-empty list of paths", file=path, value=records)
    episodes = [parse_episode(record, number, path) for number, record in enumerate(records)]
    seen: set[int] = set()
    for episode in episodes:
        if episode.path_id in seen:
            raise DataError("used by two paths", file=path, field="path_id", value=episode.path_id)
        seen.add(episode.path_id)
    without = [episode.path_id for episode in episodes if not episode.has_goal]
    if 0 < len(without) < len(episodes):
        raise DataError("missing, where other paths have it", file=path, record=without[0], field="distance")
    return episodes


def parse_episode(record: Any, number: int, source: Path) -> Episode:
    """Check one record of an R2R file and return it."""
    if not isinstance(record, dict):
        raise DataError("expected an object", file=source, record=number, value=record)
    name: object = record.get("path_id", number)
    path_id = record.get("path_id")
    if isinstance(path_id, bool) or not isinstance(path_id, int):
        raise _wrong(record, name, "path_id", "a whole number", source)
    if not isinstance(record.get("scan"), str) or not record["scan"]:
        raise _wrong(record, name, "scan", "a scan identifier", source)
    path = _texts(record, name, "path", source)
    if record.get("distance") == 0 and len(path) > 1:
        raise _wrong(record, name, "distance", "more than 0, for a path of several viewpoints", source)
    return Episode(
        path_id=path_id,
        scan=record["scan"],
        path=path,
        heading_rad=_within(
            record, name, "heading", source, (-MOST_HEADING_RAD, MOST_HEADING_RAD), "a finite number of radians"
        ),
        instructions=_texts(record, name, "instructions", source),
        distance_m=_within(record, name, "distance", source, (0.0, MOST_DISTANCE_M), "a finite number of metres")
        if "distance" in record
        else None,
        hidden=_hidden(record, name, source) if "hidden_labels" in record else None,
    )


def _hidden(record: dict[str, Any], name: object, source: Path) -> Hidden:
    value = record["hidden_labels"]
    if isinstance(value, dict) and value.keys() == {"share", "seed"}:
        share, seed = value["share"], value["seed"]
        whole = isinstance(seed, int) and not isinstance(seed, bool)
        if is_finite(share) and 0.0 < share < 1.0 and whole and 0 <= seed <= MOST_SEED:
            return Hidden(float(share), seed)
    expected = f"share (between 0 and 1) and seed (a whole number up to {MOST_SEED})"
    raise _wrong(record, name, "hidden_labels", expected, source)


def _texts(record: dict[str, Any], name: object, field: str, source: Path) -> tuple[str, ...]:
    value = record.get(field)
    if not isinstance(value, list) or not value or not all(isinstance(item, str) and item for item in value):
        raise _wrong(record, name, field, "a non-empty list of texts", source)
    return tuple(value)


def _within(
    record: dict[str, Any], name: object, field: str, source: Path, ends: tuple[float, float], what: str
) -> float:
    value = record.get(field)
    if not is_finite(value) or not ends[0] <= value <= ends[1]:
        raise _wrong(record, name, field, what, source)
    return float(value)


def _wrong(record: dict[str, Any], name: object, field: str, expected: str, source: Path) -> DataError:
    if field not in record:
        return DataError("missing", file=source, record=name, field=field)
    return DataError(f"expected {expected}", file=source, record=name, field=field, value=record[field])


def nearest_episodes(name: str, known: Iterable[str]) -> list[str]:
    """Instructions with a similar identifier: those of the same path, or else of the path with the nearest number.

    Example:
        >>> nearest_episodes("7_9", ["6_0", "7_0", "7_1"]), nearest_episodes("12", ["6_0", "9_1"])
        (['7_0', '7_1'], ['9_1'])
    """
    paths: dict[str, list[str]] = {}
    for item in known:
        paths.setdefault(item.rsplit("_", 1)[0], []).append(item)
    path = name.rsplit("_", 1)[0]
    if path not in paths and path.isdecimal():
        path = min(
            (item for item in paths if item.isdecimal()), key=lambda item: abs(int(item) - int(path)), default=""
        )
    return paths.get(path) or [item for items in paths.values() for item in items]
