"""Captions of photographs, `<root>/captions/<scan>.json`: what a captioner and a detector say about each view.

Made by `ghosts landmarks --captions FOLDER`, from the two formats of `landmarks.captioners`. Directions are
angles, so that a reader need not know the camera. The format is described in docs/landmark-files.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite, read_object, write_json

FORMAT, VERSION = "ghosts-captions", 1
FOLDER = "captions"
_TOP = {"format", "version", "scan", "source", "texts", "labels", "viewpoints"}
_AGAIN = "make it again with: ghosts landmarks --captions FOLDER"


@dataclass(frozen=True)
class Box:
    """Something that a detector found. Angles are in degrees: headings clockwise from north, elevations from level."""

    label: str
    """Class, in lower-case words."""
    heading_deg: float
    """Of its middle."""
    bottom_deg: float
    """Elevation of its lower edge."""
    confidence: float
    text: str
    """Its caption; may be empty."""
    away_m: float | None = None
    """How far away it is on the level, where depth says so. Files do not hold it."""


@dataclass(frozen=True)
class View:
    """What was said about one photograph."""

    heading_deg: float
    elevation_deg: float
    text: str
    """Caption of the whole; may be empty."""
    boxes: tuple[Box, ...] = ()


@dataclass(frozen=True)
class SceneCaptions:
    """Captions of one building."""

    scan: str
    source: str
    """Who made it, from what."""
    viewpoints: dict[str, tuple[View, ...]]


def captions_file(root: Path, scan: str) -> Path:
    """Where a data root keeps the captions of a building."""
    return root / FOLDER / f"{scan}.json"


def write_captions(path: Path, scene: SceneCaptions) -> None:
    """Write a building's captions, whole or not at all. Texts are listed once; a tenth of a degree suffices."""
    views = [view for views in scene.viewpoints.values() for view in views]
    texts = _numbers([text for view in views for text in (view.text, *(box.text for box in view.boxes))])
    labels = _numbers([box.label for view in views for box in view.boxes])

    def short(view: View) -> list[Any]:
        boxes = [(*_tenths(box.heading_deg, box.bottom_deg), box.confidence, box.label, box.text) for box in view.boxes]
        numbered = [[*way, round(sure, 2), labels[label], texts[text]] for *way, sure, label, text in boxes]
        return [*_tenths(view.heading_deg, view.elevation_deg), texts[view.text], numbered]

    value = {
        "format": FORMAT,
        "version": VERSION,
        "scan": scene.scan,
        "source": scene.source,
        "texts": list(texts),
        "labels": list(labels),
        "viewpoints": {name: [short(view) for view in views] for name, views in scene.viewpoints.items()},
    }
    write_json(path, value)


def _tenths(heading_deg: float, elevation_deg: float) -> tuple[float, float]:
    return round(heading_deg, 1), round(elevation_deg, 1)


def _numbers(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}


def read_captions(path: Path) -> SceneCaptions:
    """Read a building's captions, checking every field.

    Raises:
        DataError: naming file, viewpoint, field and value.
    """
    wrong = partial(DataError, file=path, hint=_AGAIN)
    value = read_object(path, hint=_AGAIN)
    for field, expected in (("format", FORMAT), ("version", VERSION), ("scan", path.stem)):
        if value.get(field) != expected:
            raise wrong(f"expected {expected!r}", field=field, value=value.get(field))
    for field in sorted(_TOP - value.keys()):
        raise wrong("missing", field=field)
    for field in sorted(value.keys() - _TOP):
        raise wrong("unknown field", field=field)
    for field in ("texts", "labels"):
        if not isinstance(value[field], list) or not all(isinstance(text, str) for text in value[field]):
            raise wrong("expected a list of texts", field=field)
    if not isinstance(value["source"], str) or not isinstance(value["viewpoints"], dict):
        raise wrong("expected a text as source, and an object of viewpoints")
    texts, labels, viewpoints = value["texts"], value["labels"], {}
    for name, views in value["viewpoints"].items():
        try:
            viewpoints[name] = tuple(_view(view, texts, labels) for view in views)
        except (TypeError, ValueError, IndexError):
            problem = "expected views as [heading, elevation, text, boxes]"
            raise wrong(problem, record=f"viewpoint {name}", value=views) from None
    return SceneCaptions(value["scan"], value["source"], viewpoints)


def load_captions(root: DataRoot, scan: str) -> SceneCaptions | None:
    """Read one building's captions and check that they fit its navigation graph; None where the root has none.

    Raises:
        DataError: the file is malformed, or names a viewpoint that the building does not have.
    """
    path = captions_file(root.path, scan)
    if not path.is_file():
        return None
    captions, known = read_captions(path), set(root.graph(scan).ids)
    for name in captions.viewpoints:
        if name not in known:
            raise DataError("viewpoint not in the navigation graph", file=path, value=name, hint=_AGAIN)
    return captions


def _view(told: Any, texts: list[str], labels: list[str]) -> View:
    heading, elevation, text, boxes = told
    found = tuple(
        Box(_of(labels, label), *_angles(side, bottom), _share(sure), _of(texts, said))
        for side, bottom, sure, label, said in boxes
    )
    return View(*_angles(heading, elevation), _of(texts, text), found)


def _of(names: list[str], number: Any) -> str:
    if type(number) is not int or number < 0:
        raise ValueError
    return names[number]


def _angles(heading: Any, elevation: Any) -> tuple[float, float]:
    if not (is_finite(heading) and is_finite(elevation) and abs(elevation) <= 90):
        raise ValueError
    return float(heading), float(elevation)


def _share(value: Any) -> float:
    if not (is_finite(value) and 0 <= value <= 1):
        raise ValueError
    return float(value)
