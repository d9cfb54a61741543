"""The landmark file of a building, `<root>/landmarks/<scan>.json`: what is where, and which viewpoints see it.

The format is described in docs/landmarks.md, so that anyone can write it from a detector. Reading is strict: an error
names file, record, field and value.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ghosts.errors import DataError
from ghosts.files import is_finite, read_json, write_json
from ghosts.world.landmarks.regions import ROOM_NAMES, Region

_AGAIN = "make it again with: ghosts landmarks"

FORMAT, VERSION = "ghosts-landmarks", 1
UNPLACED = "near"
METHODS = ("triangulated", "ray", UNPLACED, "detected")
_TOP = {"format", "version", "scan", "source", "viewpoints", "objects"}
_OBJECT = {"id", "label", "position_m", "uncertainty_m", "size_m", "method", "residual_m", "seen_from"}


@dataclass(frozen=True)
class Landmark:
    """A labelled object."""

    id: str
    """Identifier within the building."""
    label: str
    """Lower-case words with single spaces."""
    position_m: tuple[float, float, float]
    """Its middle, in the world."""
    uncertainty_m: float
    """Standard deviation of the position along each horizontal axis."""
    size_m: tuple[float, float] | None
    """Apparent width and height; None where unknown."""
    method: str
    """How it was placed: one of `METHODS`."""
    residual_m: float | None
    """Root mean square distance of its rays from where they meet; None with fewer than two rays."""
    seen_from: tuple[str, ...]
    """Viewpoints that see it."""


@dataclass(frozen=True)
class SceneLandmarks:
    """The landmarks of one building."""

    scan: str
    source: str
    """Who made it, from what."""
    viewpoints: dict[str, Region | None]
    """Region of each viewpoint; None where it is not known."""
    objects: tuple[Landmark, ...]

    @cached_property
    def listed(self) -> dict[str, list[int]]:
        """Rows of `objects` that each viewpoint sees, ascending."""
        rows: dict[str, list[int]] = {viewpoint: [] for viewpoint in self.viewpoints}
        for row, item in enumerate(self.objects):
            for viewpoint in item.seen_from:
                rows[viewpoint].append(row)
        return rows

    @cached_property
    def position_m(self) -> Float[np.ndarray, "n 3"]:
        """Positions of all objects."""
        return np.array([item.position_m for item in self.objects], float).reshape(-1, 3)

    @cached_property
    def uncertainty_m(self) -> Float[np.ndarray, " n"]:
        """Uncertainties of all objects."""
        return np.array([item.uncertainty_m for item in self.objects], float)


def write_landmarks(path: Path, scene: SceneLandmarks) -> None:
    """Write a landmark file, whole or not at all; millimetres suffice."""

    def short(values: tuple[float, ...]) -> list[float]:
        return [round(float(value), 3) for value in values]

    value = {
        "format": FORMAT,
        "version": VERSION,
        "scan": scene.scan,
        "source": scene.source,
        "viewpoints": {
            name: None if region is None else {"region": region.region, "room": region.room}
            for name, region in scene.viewpoints.items()
        },
        "objects": [
            {
                "id": item.id,
                "label": item.label,
                "position_m": short(item.position_m),
                "uncertainty_m": round(item.uncertainty_m, 3),
                "size_m": None if item.size_m is None else short(item.size_m),
                "method": item.method,
                "residual_m": None if item.residual_m is None else round(item.residual_m, 4),
                "seen_from": list(item.seen_from),
            }
            for item in scene.objects
        ],
    }
    write_json(path, value, indent=1)


def read_landmarks(path: Path) -> SceneLandmarks:
    """Read a landmark file, checking every field.

    Raises:
        DataError: naming file, record (viewpoint or object), field and value.
    """
    value = read_json(path, hint="make it with: ghosts landmarks --out ROOT (see docs/landmarks.md)")
    if not isinstance(value, dict):
        raise DataError("expected an object", file=path, value=value, hint=_AGAIN)
    if value.get("format") != FORMAT:
        raise DataError(f"expected {FORMAT!r}", file=path, field="format", value=value.get("format"), hint=_AGAIN)
    if value.get("version") != VERSION:
        raise DataError(f"expected {VERSION}", file=path, field="version", value=value.get("version"), hint=_AGAIN)
    _only(value, _TOP, path, None)
    scan = _text(value, "scan", path, None)
    if f"{scan}.json" != path.name:
        raise DataError(f"expected {path.stem!r}, as the file is named", file=path, field="scan", value=scan)
    if not isinstance(value["viewpoints"], dict) or not isinstance(value["objects"], list):
        field = "objects" if isinstance(value["viewpoints"], dict) else "viewpoints"
        expected = "a list" if field == "objects" else "an object"
        raise DataError(f"expected {expected}", file=path, field=field, value=value[field])
    viewpoints = {name: _region(record, name, path) for name, record in value["viewpoints"].items()}
    objects = tuple(_object(record, row, viewpoints, path) for row, record in enumerate(value["objects"]))
    seen: set[str] = set()
    for item in objects:
        if item.id in seen:
            raise DataError("object listed twice", file=path, field="id", value=item.id)
        seen.add(item.id)
    return SceneLandmarks(scan, _text(value, "source", path, None), viewpoints, objects)


def _region(record: Any, name: str, path: Path) -> Region | None:
    if record is None:
        return None
    where = f"viewpoint {name}"
    if not isinstance(record, dict):
        raise DataError("expected an object or null", file=path, record=where, value=record)
    _only(record, {"region", "room"}, path, where)
    region = Region(_text(record, "region", path, where), _text(record, "room", path, where))
    if region.room not in ROOM_NAMES:
        raise DataError(
            f"expected one of {' '.join(ROOM_NAMES)}", file=path, record=where, field="room", value=region.room
        )
    return region


def _object(record: Any, row: int, viewpoints: dict[str, Region | None], path: Path) -> Landmark:
    if not isinstance(record, dict):
        raise DataError("expected an object", file=path, record=f"object {row}", value=record)
    where = f"object {record.get('id', row)}"
    _only(record, _OBJECT, path, where)
    label = _text(record, "label", path, where)
    if label != " ".join(label.lower().split()):
        raise _wrong(record, "label", "lower-case words with single spaces", path, where)
    position = record["position_m"]
    if not _are_numbers(position, 3):
        raise _wrong(record, "position_m", "three finite numbers", path, where)
    if not _are_numbers([record["uncertainty_m"]], 1) or record["uncertainty_m"] < 0:
        raise _wrong(record, "uncertainty_m", "a number of at least 0", path, where)
    size = record["size_m"]
    if size is not None and (not _are_numbers(size, 2) or min(size) < 0):
        raise _wrong(record, "size_m", "null or [width, height]", path, where)
    if record["method"] not in METHODS:
        raise _wrong(record, "method", f"one of {', '.join(METHODS)}", path, where)
    residual = record["residual_m"]
    if residual is not None and (not _are_numbers([residual], 1) or residual < 0):
        raise _wrong(record, "residual_m", "null or a number of at least 0", path, where)
    seen_from = record["seen_from"]
    if not isinstance(seen_from, list) or not seen_from or not all(isinstance(name, str) for name in seen_from):
        raise _wrong(record, "seen_from", "a non-empty list of viewpoints", path, where)
    if len(set(seen_from)) != len(seen_from):
        raise _wrong(record, "seen_from", "every viewpoint once", path, where)
    for name in seen_from:
        if name not in viewpoints:
            raise DataError("not among this file's viewpoints", file=path, record=where, field="seen_from", value=name)
    return Landmark(
        _text(record, "id", path, where),
        label,
        (float(position[0]), float(position[1]), float(position[2])),
        float(record["uncertainty_m"]),
        None if size is None else (float(size[0]), float(size[1])),
        record["method"],
        None if residual is None else float(residual),
        tuple(seen_from),
    )


def _wrong(record: dict[str, Any], field: str, expected: str, path: Path, where: str) -> DataError:
    return DataError(f"expected {expected}", file=path, record=where, field=field, value=record[field])


def _only(record: dict[str, Any], fields: set[str], path: Path, where: str | None) -> None:
    for field in sorted(fields - record.keys()):
        raise DataError("missing", file=path, record=where, field=field)
    for field in sorted(record.keys() - fields):
        expected = f"unknown field; the fields are {', '.join(sorted(fields))}"
        raise DataError(expected, file=path, record=where, field=field)


def _text(record: dict[str, Any], field: str, path: Path, where: str | None) -> str:
    value = record[field]
    if not isinstance(value, str) or not value.strip():
        raise DataError("expected a text", file=path, record=where, field=field, value=value)
    return value


def _are_numbers(values: Any, count: int) -> bool:
    return isinstance(values, list) and len(values) == count and all(is_finite(value) for value in values)
