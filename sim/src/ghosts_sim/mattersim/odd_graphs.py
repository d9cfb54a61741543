"""Connectivity files that `graph.load_graph` refuses and the original simulator reads, such as those of HM3D.

Their poses are no rotations, heights or `visible` are missing, edges lead one way, 0 and 1 stand for false and true,
identifiers repeat, JSON has comments. Read here as the original's C++ reads them: a missing field is 0, false or empty.
"""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import Any, Callable

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite, is_name, read_bytes
from ghosts_sim.graph import NavGraph
from ghosts_sim.limits import JSON_VALUES

_NOT_JSON = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*[\]}])', re.DOTALL)
"""Texts, which stay; comments, and commas before a closing bracket, which go."""


def read_odd_graph(path: Path) -> NavGraph:
    """Read a connectivity file as the original does. There are no shortest walks: its simulator has no use for them.

    Raises:
        DataError: where the original stops, or goes on with what was in memory by chance.
    """
    records = _parse(path)
    records = list(records.values()) if isinstance(records, dict) else records
    if not isinstance(records, list) or not records:
        raise DataError("expected a non-empty list of viewpoints", file=path, value=records)
    count = len(records)
    ids, poses, heights = [], np.tile(np.eye(4), (count, 1, 1)), np.zeros(count)
    included, visible, unobstructed = np.zeros(count, bool), np.zeros((count, count), bool), np.eye(count, dtype=bool)
    for row, record in enumerate(records):
        wrong = partial(DataError, file=path, record=row)
        if not isinstance(record, dict):
            raise wrong("expected an object", value=record)
        name = record.get("image_id", "")
        ids.append(str(name))
        if not is_name(ids[-1]) or isinstance(name, (list, dict)):
            raise wrong("cannot be part of a file's name", field="image_id", value=name)
        included[row] = _flag(record.get("included"), partial(wrong, field="included"))
        pose = _listed(record, "pose", 12, wrong)[:12]  # the last row of a pose counts nowhere
        if not all(value is None or isinstance(value, bool) or is_finite(value) for value in pose):
            raise wrong("expected finite numbers", field="pose", value=pose)
        poses[row, :3] = np.array([value or 0.0 for value in pose], float).reshape(3, 4)
        heights[row] = record["height"] if is_finite(record.get("height")) else 0.0
        flags = _listed(record, "unobstructed", count, wrong)[:count]
        unobstructed[row] = [_flag(value, partial(wrong, field="unobstructed")) for value in flags]
        seen = record.get("visible")
        if isinstance(seen, list) and len(seen) == count:
            visible[row] = [value == 1 for value in seen]
    adjacent = unobstructed & included[:, None] & included & ~np.eye(count, dtype=bool)
    rotation = np.stack([_turned(pose[:3, :3]) for pose in poses])
    no_walks = np.full((count, count), np.inf), np.full((count, count), -1, np.int16)
    scan = path.name.rsplit("_connectivity.json", 1)[0]
    return NavGraph(scan, tuple(ids), poses[:, :3, 3], rotation, heights, included, visible, adjacent, *no_walks)


def _parse(path: Path) -> Any:
    """JSON with comments and commas too many; what follows its value is not read."""
    try:
        text = read_bytes(path, memory=JSON_VALUES).decode("utf-8-sig")
        return json.JSONDecoder().raw_decode(_NOT_JSON.sub(lambda found: found[1] or " ", text).lstrip())[0]
    except (ValueError, RecursionError) as error:
        raise DataError(f"not valid JSON: {error}", file=path) from None


def _listed(record: dict[str, Any], field: str, least: int, wrong: Callable[..., DataError]) -> list[Any]:
    """A list of so many values at least; of a shorter one the original reads what is behind it in memory."""
    values = record.get(field)
    if not isinstance(values, list) or len(values) < least:
        found = len(values) if isinstance(values, list) else "none"
        raise wrong(f"expected {least} values, found {found}", field=field)
    return values


def _flag(value: Any, wrong: Callable[..., DataError]) -> bool:
    if value is None or isinstance(value, (bool, int, float)):
        return bool(value)
    raise wrong("expected true or false", value=value)


def _turned(matrix: np.ndarray) -> np.ndarray:
    """The matrix whose transpose leads from the world to the cube, as the inverse of a pose does; zeros where there is
    none."""
    scale = float(np.abs(matrix).max())
    volume = abs(float(np.linalg.det(matrix / scale))) if scale else 0.0
    if volume < 1e-12:
        return np.zeros((3, 3))
    inverse: np.ndarray = np.linalg.inv(matrix / scale).T * volume ** (1.0 / 3.0)
    return inverse
