"""What captioners and detectors wrote about photographs, in two formats, one file per building.

`<scan>.json.xz` or `<scan>.json` is LangNav's (Pan et al. 2023): by viewpoint and view number a `global_cap`, and
`dense_cap` with boxes in 640 × 480 pixels. `<scan>.jsonl` is for captions of one's own: one view per line.
"""

from __future__ import annotations

import hashlib
import lzma
import math
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite, parse_json, read_bytes
from ghosts_sim.geometry import camera_to_world, heading_of, rays_through
from ghosts_sim.graph import NavGraph
from ghosts_sim.landmarks.captions import Box, SceneCaptions, View, read_captions, write_captions
from ghosts_sim.landmarks.format import normalise_label
from ghosts_sim.landmarks.reverie import HEIGHT, VIEWS, WIDTH
from ghosts_sim.limits import check_bytes
from ghosts_sim.types import Intrinsics

if TYPE_CHECKING:
    from jaxtyping import Float

    Wrong = Callable[..., DataError]

BUILDER = 1  # counts changes of the method, so that files of an older one are made again
ENDINGS = (".json.xz", ".json", ".jsonl")
STEP_DEG, FOV_DEG = 30.0, 60.0
_LINE = {"viewpoint", "heading", "elevation", "text", "boxes", "width", "height", "fov"}
_BOX = {"label", "box", "confidence", "text"}


def find_captions(folder: Path, scan: str) -> Path:
    """The file of a building.

    Raises:
        DataError: there is none.
    """
    for ending in ENDINGS:
        if (folder / f"{scan}{ending}").is_file():
            return folder / f"{scan}{ending}"
    names = ", ".join(f"{scan}{ending}" for ending in ENDINGS)
    raise DataError(f"no captions of building {scan}", file=folder, hint=f"expected one of {names}")


def build_captions(folder: Path, graph: NavGraph, target: Path) -> bool:
    """Make one building's captions, unless those of the same file are there. Returns whether they were made.

    Raises:
        DataError: the file is missing or malformed, or of another building.
    """
    file = find_captions(folder, graph.scan)
    content = read_bytes(file)
    source = f"ghosts landmarks --captions {BUILDER}, sha256:{hashlib.sha256(content).hexdigest()}"
    try:
        if target.is_file() and read_captions(target).source == source:
            return False
    except DataError:
        pass  # damaged or of another version: it is made again
    views = read_lines(content, file) if file.suffix == ".jsonl" else read_langnav(_unpacked(content, file), file)
    known = set(graph.ids)
    for name in views:
        if name not in known:
            problem = f"viewpoint is not in the graph of building {graph.scan}"
            raise DataError(problem, file=file, value=name, hint="are these captions of another building?")
    write_captions(target, SceneCaptions(graph.scan, source, views))
    return True


def _unpacked(content: bytes, file: Path) -> bytes:
    """What an xz file holds, never more of it than is believed; another file as it is."""
    if not content.startswith(b"\xfd7zXZ\0"):
        return content
    parts, total = [], 0
    try:
        with lzma.open(BytesIO(content)) as packed:
            while part := packed.read(1 << 20):
                total += len(part)
                check_bytes(total, file, "what it holds")
                parts.append(part)
    except (lzma.LZMAError, EOFError):
        raise DataError("not a whole xz file", file=file, hint="copy or download it again") from None
    return b"".join(parts)


def read_langnav(content: bytes, file: Path) -> dict[str, tuple[View, ...]]:
    """Views by viewpoint, of a file of LangNav's format.

    Raises:
        DataError: naming viewpoint, view, field and value.
    """
    wrong = partial(DataError, file=file)
    value = parse_json(content, file)
    if not isinstance(value, dict) or not all(isinstance(views, dict) for views in value.values()):
        raise wrong("expected an object of viewpoints, each with its views")
    return {
        name: tuple(
            _numbered(number, told, partial(wrong, record=f"viewpoint {name}")) for number, told in views.items()
        )
        for name, views in value.items()
    }


def _numbered(number: str, told: Any, wrong: Wrong) -> View:
    if not (number.isascii() and number.isdigit() and int(number) < VIEWS):
        raise wrong(f"expected a view number from 0 to {VIEWS - 1}", field="view", value=number)
    if not isinstance(told, dict) or not isinstance(told.get("dense_cap", []), list):
        raise wrong("expected global_cap and a list dense_cap", field=number, value=told)
    heading, elevation = int(number) % 12 * STEP_DEG, (int(number) // 12 - 1) * STEP_DEG
    camera = Intrinsics(WIDTH, HEIGHT, math.radians(FOV_DEG))
    boxes = []
    for box in told.get("dense_cap", []):
        if not isinstance(box, dict):
            raise wrong("expected an object", field=f"{number} dense_cap", value=box)
        edges = box.get("coordinates")
        edges = edges.split() if isinstance(edges, str) else edges
        label, sure, said = box.get("obj_class"), box.get("confidence"), box.get("caption", "")
        boxes.append(_box(label, edges, sure, said, (heading, elevation), camera, wrong))
    return View(heading, elevation, _text(told.get("global_cap"), "global_cap", wrong), tuple(boxes))


def read_lines(content: bytes, file: Path) -> dict[str, tuple[View, ...]]:
    """Views by viewpoint, of a file with one view per line.

    Raises:
        DataError: naming line, field and value.
    """
    views: dict[str, list[View]] = {}
    for number, line in _lines(content):
        wrong = partial(DataError, file=file, record=f"line {number}")
        told = parse_json(line, f"{file}, line {number}")
        if not isinstance(told, dict) or not {"viewpoint", "heading", "text"} <= told.keys():
            raise wrong("expected an object with viewpoint, heading and text", value=told)
        for field in sorted(told.keys() - _LINE):
            raise wrong(f"unknown field; the fields are {', '.join(sorted(_LINE))}", field=field)
        if not isinstance(told["viewpoint"], str):
            raise wrong("expected a text", field="viewpoint", value=told["viewpoint"])
        heading = _number(told["heading"], "heading", wrong, 360.0)
        elevation = _number(told.get("elevation", 0.0), "elevation", wrong, 90.0)
        camera = Intrinsics(
            _pixels(told.get("width", WIDTH), "width", wrong),
            _pixels(told.get("height", HEIGHT), "height", wrong),
            math.radians(_number(told.get("fov", FOV_DEG), "fov", wrong, 175.0, least=1.0)),
        )
        boxes = told.get("boxes", [])
        if not isinstance(boxes, list):
            raise wrong("expected a list", field="boxes", value=boxes)
        found = tuple(_own_box(box, (heading, elevation), camera, wrong) for box in boxes)
        view = View(heading, elevation, _text(told["text"], "text", wrong), found)
        views.setdefault(told["viewpoint"], []).append(view)
    return {name: tuple(found) for name, found in views.items()}


def _lines(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Lines that hold anything, counted from 1."""
    return ((number, line) for number, line in enumerate(content.split(b"\n"), 1) if line.strip())


def _own_box(told: Any, view: tuple[float, float], camera: Intrinsics, wrong: Wrong) -> Box:
    if not isinstance(told, dict) or not {"label", "box"} <= told.keys() or told.keys() - _BOX:
        raise wrong(f"expected an object with {', '.join(sorted(_BOX))}", field="boxes", value=told)
    return _box(told["label"], told["box"], told.get("confidence", 1.0), told.get("text", ""), view, camera, wrong)


def _box(
    label: Any, edges: Any, sure: Any, said: Any, view: tuple[float, float], camera: Intrinsics, wrong: Wrong
) -> Box:
    """A box of pixels x0, y0, x1, y1 as directions; numbers may be texts, as LangNav has them."""
    try:
        if not isinstance(edges, list):
            raise TypeError
        left, top, right, bottom = (float(edge) for edge in edges)
        confidence = float(sure)
    except (TypeError, ValueError):
        raise wrong("expected a box as x0 y0 x1 y1, and a confidence", field="box", value=[edges, sure]) from None
    # Written so that NaN fails as well.
    if not (0 <= left <= right <= camera.width and 0 <= top <= bottom <= camera.height):
        raise wrong(f"not a box within {camera.width} × {camera.height} pixels", field="box", value=edges)
    if not 0.0 <= confidence <= 1.0:
        raise wrong("expected a number from 0 to 1", field="confidence", value=sure)
    if not isinstance(label, str) or not label.strip():
        raise wrong("expected a text", field="label", value=label)
    rotation = camera_to_world(np.zeros(3), math.radians(view[0]), math.radians(view[1]))[:3, :3]
    heading, lower = box_angles((left, top, right, bottom), camera, rotation)
    return Box(normalise_label(label), heading, lower, confidence, _text(said, "caption of a box", wrong))


def box_angles(
    edges_px: tuple[float, float, float, float], camera: Intrinsics, rotation: Float[np.ndarray, "3 3"]
) -> tuple[float, float]:
    """Heading of a box's middle and elevation of its lower edge, in degrees.

    Args:
        edges_px: left, top, right, bottom.
        camera: whose image it is.
        rotation: camera to world.
    """
    left, top, right, bottom = edges_px
    rays = rays_through(camera, np.full(2, (left + right) / 2.0), np.array([(top + bottom) / 2.0, bottom]))
    middle, lower = rays @ rotation.T
    return math.degrees(heading_of(middle)), math.degrees(math.atan2(lower[2], math.hypot(lower[0], lower[1])))


def _text(value: Any, field: str, wrong: Wrong) -> str:
    if not isinstance(value, str):
        raise wrong("expected a text", field=field, value=value)
    return " ".join(value.split())


def _number(value: Any, field: str, wrong: Wrong, most: float, least: float | None = None) -> float:
    least = -most if least is None else least
    if not (is_finite(value) and least <= value <= most):
        raise wrong(f"expected a number from {least:g} to {most:g}", field=field, value=value)
    return float(value)


def _pixels(value: Any, field: str, wrong: Wrong) -> int:
    if type(value) is not int or not 1 <= value <= 1 << 16:
        raise wrong("expected a number of pixels", field=field, value=value)
    return value
