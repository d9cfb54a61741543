"""The landmark file of a building, `<root>/landmarks/<scan>.json`: what is where, and which viewpoints see it.

The format is described in docs/landmark-files.md, so that anyone can write it from a detector. Reading is strict: an
error names file, record, field and value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite, read_json, write_json
from ghosts_sim.landmarks.regions import ROOM_NAMES, Region

_AGAIN = "make it again with: ghosts landmarks"

_NOISE = re.compile(r"[^a-z0-9'&/ -]+")

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
    wrong = partial(DataError, file=path)
    value = read_json(path, hint="make it with: ghosts landmarks --out ROOT (see docs/landmarks.md)")
    if not isinstance(value, dict):
        raise wrong("expected an object", value=value, hint=_AGAIN)
    for field, expected in (("format", FORMAT), ("version", VERSION)):
        if value.get(field) != expected:
            raise wrong(f"expected {expected!r}", field=field, value=value.get(field), hint=_AGAIN)
    record = _Record(value, wrong)
    record.only(_TOP)
    scan = record.text("scan")
    record.expect("scan", f"{scan}.json" == path.name, f"{path.stem!r}, as the file is named")
    record.expect("viewpoints", isinstance(value["viewpoints"], dict), "an object")
    record.expect("objects", isinstance(value["objects"], list), "a list")
    viewpoints = {
        name: _region(region, partial(wrong, record=f"viewpoint {name}"))
        for name, region in value["viewpoints"].items()
    }
    objects = tuple(_object(item, row, viewpoints, wrong) for row, item in enumerate(value["objects"]))
    seen: set[str] = set()
    for item in objects:
        if item.id in seen:
            raise wrong("object listed twice", field="id", value=item.id)
        seen.add(item.id)
    return SceneLandmarks(scan, record.text("source"), viewpoints, objects)


@dataclass(frozen=True)
class _Record:
    """An object of the file, which refuses what should not be there."""

    values: dict[str, Any]
    wrong: Callable[..., DataError]

    def only(self, fields: set[str]) -> None:
        for field in sorted(fields - self.values.keys()):
            raise self.wrong("missing", field=field)
        for field in sorted(self.values.keys() - fields):
            raise self.wrong(f"unknown field; the fields are {', '.join(sorted(fields))}", field=field)

    def expect(self, field: str, holds: bool, expected: str) -> None:
        if not holds:
            raise self.wrong(f"expected {expected}", field=field, value=self.values[field])

    def text(self, field: str) -> str:
        value = self.values[field]
        self.expect(field, isinstance(value, str) and bool(value.strip()), "a text")
        return value


def _region(value: Any, wrong: Callable[..., DataError]) -> Region | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise wrong("expected an object or null", value=value)
    record = _Record(value, wrong)
    record.only({"region", "room"})
    region = Region(record.text("region"), record.text("room"))
    record.expect("room", region.room in ROOM_NAMES, f"one of {' '.join(ROOM_NAMES)}")
    return region


def _object(value: Any, row: int, viewpoints: dict[str, Region | None], wrong: Callable[..., DataError]) -> Landmark:
    if not isinstance(value, dict):
        raise wrong("expected an object", record=f"object {row}", value=value)
    record = _Record(value, partial(wrong, record=f"object {value.get('id', row)}"))
    record.only(_OBJECT)
    label = record.text("label")
    record.expect("label", label == " ".join(label.lower().split()), "lower-case words with single spaces")
    position, size, residual, seen_from = (value[name] for name in ("position_m", "size_m", "residual_m", "seen_from"))
    record.expect("position_m", _are_numbers(position, 3), "three finite numbers")
    sigma = value["uncertainty_m"]
    record.expect("uncertainty_m", _are_numbers([sigma], 1) and sigma >= 0, "a number of at least 0")
    record.expect("size_m", size is None or (_are_numbers(size, 2) and min(size) >= 0), "null or [width, height]")
    record.expect("method", value["method"] in METHODS, f"one of {', '.join(METHODS)}")
    measured = residual is None or (_are_numbers([residual], 1) and residual >= 0)
    record.expect("residual_m", measured, "null or a number of at least 0")
    listed = isinstance(seen_from, list) and bool(seen_from) and all(isinstance(name, str) for name in seen_from)
    record.expect("seen_from", listed, "a non-empty list of viewpoints")
    record.expect("seen_from", len(set(seen_from)) == len(seen_from), "every viewpoint once")
    for name in seen_from:
        if name not in viewpoints:
            raise record.wrong("not among this file's viewpoints", field="seen_from", value=name)
    return Landmark(
        record.text("id"),
        label,
        (float(position[0]), float(position[1]), float(position[2])),
        float(sigma),
        None if size is None else (float(size[0]), float(size[1])),
        value["method"],
        None if residual is None else float(residual),
        tuple(seen_from),
    )


def _are_numbers(values: Any, count: int) -> bool:
    return isinstance(values, list) and len(values) == count and all(is_finite(value) for value in values)


def load_scene(root: DataRoot, scan: str) -> SceneLandmarks:
    """Read one building's landmarks and check that they fit its navigation graph.

    Raises:
        UnknownNameError: no such scan.
        DataError: the file is missing or malformed, or lacks a viewpoint of the graph, or names one it does not have.
    """
    graph = root.graph(scan)
    path: Path = root.path / "landmarks" / f"{scan}.json"
    scene = read_landmarks(path)
    wrong = partial(DataError, file=path, field="viewpoints", hint=_AGAIN)
    known = set(graph.ids)
    for name in scene.viewpoints:
        if name not in known:
            raise wrong("viewpoint not in the navigation graph", value=name)
    for row, name in enumerate(graph.ids):
        if graph.included[row] and name not in scene.viewpoints:
            raise wrong("viewpoint of the navigation graph is missing", value=name)
    return scene


def normalise_label(name: str) -> str:
    """An annotator's name as a label: lower case, `#` and odd marks as spaces, single spaces.

    Example:
        >>> normalise_label("Sofa#chair?")
        'sofa chair'
    """
    return " ".join(_NOISE.sub(" ", name.lower()).split()) or "unknown"
