"""Navigation graphs: where a walker can stand and which places it can reach in a straight line.

Reads the released `connectivity/<scan>_connectivity.json` files as they are. Shortest distances and next hops between
all pairs are computed once per building and cached on disk under the hash of the file: a changed file is a new entry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts_sim import geometry
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.files import atomic_path, cache_dir, is_finite, is_name, parse_json, read_bytes
from ghosts_sim.limits import JSON_VALUES, check_bytes, open_file

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Float32, Int16

CACHE_VERSION = 1
_AGAIN = "take the file again from where it came from"
FARTHEST_M = 1e6  # no building is there; a damaged number is, and its square overflows
HIGHEST_M = 100.0  # the released graphs have at most 8 m, on a gallery
ROTATION_TOLERANCE = 1e-2  # released poses are orthonormal to 1e-5; a swapped or scaled matrix is off by far more


@dataclass(frozen=True, eq=False)
class Ways:
    """What leads away from a viewpoint, in the original simulator's single precision."""

    seen: list[tuple[int, float, float, float]]
    """Of each viewpoint reachable in one move, in file order: row, heading and angle above the horizon in radians,
    distance in metres. The heading is not a number where it is straight above or below."""
    east_north: Float32[np.ndarray, "2 n"]
    """Level displacement in metres."""
    direction: Float32[np.ndarray, "2 n"]
    """The same as unit vectors."""


@dataclass(frozen=True, eq=False)
class NavGraph:
    """The navigation graph of one building. Rows are viewpoints in file order, excluded ones kept so indices agree."""

    scan: str
    ids: tuple[str, ...]
    position_m: Float[np.ndarray, "n 3"]
    """Camera centres in the world."""
    rotation: Float[np.ndarray, "n 3 3"]
    """The 3 × 3 part of each pose: how the skybox is turned against the world."""
    height_m: Float[np.ndarray, " n"]
    """Camera height above the floor."""
    included: Bool[np.ndarray, " n"]
    visible: Bool[np.ndarray, "n n"]
    adjacent: Bool[np.ndarray, "n n"]
    """`unobstructed` between two different included viewpoints."""
    distance_m: Float[np.ndarray, "n n"]
    """Shortest walk along edges; infinite where there is none."""
    next_hop: Int16[np.ndarray, "n n"]
    """First viewpoint after row on the shortest walk to column; −1 where there is none or they are the same."""

    @cached_property
    def feet_m(self) -> Float[np.ndarray, "n 3"]:
        """The floor under the cameras."""
        return self.position_m - self.height_m[:, None] * (0.0, 0.0, 1.0)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {viewpoint: row for row, viewpoint in enumerate(self.ids)}

    def index(self, viewpoint: str) -> int:
        """Row of a viewpoint.

        Raises:
            UnknownNameError: no such viewpoint in this building.
        """
        try:
            return self._index[viewpoint]
        except KeyError:
            raise UnknownNameError("viewpoint", viewpoint, self.ids, f"scan {self.scan}") from None

    @cached_property
    def _neighbours(self) -> list[list[int]]:
        return [np.flatnonzero(row).tolist() for row in self.adjacent]

    def neighbours(self, row: int) -> list[int]:
        """Rows reachable in one move, in file order."""
        return list(self._neighbours[row])

    @cached_property
    def _ways(self) -> dict[int, Ways]:
        return {}

    def ways(self, row: int) -> Ways:
        """What leads away from a viewpoint; computed once."""
        found = self._ways.get(row)
        if found is None:
            found = self._ways[row] = _ways(self.position_m.astype(np.float32), row, self._neighbours[row])
        return found

    def path(self, start: int, goal: int) -> list[int]:
        """Rows of the shortest walk, both ends included.

        Raises:
            DataError: the goal cannot be reached from the start.
        """
        if not np.isfinite(self.distance_m[start, goal]):
            raise DataError(f"scan {self.scan}: no walk from viewpoint {self.ids[start]} to {self.ids[goal]}")
        rows = [start]
        while rows[-1] != goal:
            rows.append(int(self.next_hop[rows[-1], goal]))
        return rows


def load_graph(path: Path, cache: Path | None = None) -> NavGraph:
    """Read one `<scan>_connectivity.json`, with its shortest walks from the cache (by default the user's) where they
    were computed before.

    Raises:
        DataError: naming file, record, field and value.
    """
    from hashlib import sha256  # here, as zipfile below: importing the simulator shall be quick

    content = read_bytes(path, hint="a data root holds connectivity/<scan>_connectivity.json for every scan")
    scan = path.name.rsplit("_connectivity.json", 1)[0]
    stored = (cache or cache_dir()) / "graphs" / f"{scan}-{sha256(content).hexdigest()[:32]}-v{CACHE_VERSION}.npz"
    graph = _from_cache(scan, stored)
    if graph is None:
        check_bytes(len(content) * JSON_VALUES, path)
        graph = parse_graph(scan, parse_json(content, path), path)
        _to_cache(graph, stored)
    return graph


def parse_graph(scan: str, records: Any, source: Path) -> NavGraph:
    """Build a graph from the records of a connectivity file (`source`, for messages), checking every field."""
    wrong = partial(DataError, file=source)
    if not isinstance(records, list) or not records:
        raise wrong("expected a non-empty list of viewpoints", value=records)
    count = len(records)
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            raise wrong("expected an object", record=row, value=record)
    read = [_Record(record, partial(wrong, record=row)) for row, record in enumerate(records)]
    ids = tuple(record.field("image_id", str) for record in read)
    for row, name in enumerate(ids):
        if not is_name(name):
            raise wrong("cannot be part of a file's name", record=row, field="image_id", value=name)
    if len(set(ids)) != count:
        twice = next(name for name in ids if ids.count(name) > 1)
        raise wrong("viewpoint listed twice", field="image_id", value=twice)
    poses = np.array([record.numbers("pose", 16) for record in read]).reshape(-1, 4, 4)
    rotation = poses[:, :3, :3].clip(-2.0, 2.0)  # beyond 1 is none, and squares of huge numbers overflow
    skew = np.abs(rotation @ rotation.transpose(0, 2, 1) - np.eye(3)).max((1, 2))
    if not skew.max() <= ROTATION_TOLERANCE:  # written so that NaN fails as well
        row = int(skew.argmax())
        problem = f"the pose of viewpoint {ids[row]} is no rotation (its first 3 × 3 numbers)"
        raise wrong(problem, record=row, field="pose", hint=_AGAIN)
    odd = np.flatnonzero((poses[:, 3] != (0.0, 0.0, 0.0, 1.0)).any(1))
    if odd.size:
        problem = f"the pose of viewpoint {ids[odd[0]]} does not end with 0 0 0 1"
        raise wrong(problem, record=int(odd[0]), field="pose", hint=_AGAIN)
    height = np.array([record.number("height") for record in read])
    odd = np.flatnonzero((height < 0.0) | (height > HIGHEST_M))
    if odd.size:
        row = int(odd[0])
        place = "below its floor" if height[row] < 0.0 else f"over {HIGHEST_M:.0f} m above its floor"
        raise wrong(f"a camera {place}", record=row, field="height", value=float(height[row]), hint=_AGAIN)
    included = np.array([record.field("included", bool) for record in read])
    visible, unobstructed = (
        np.array([record.flags(name, count) for record in read]) for name in ("visible", "unobstructed")
    )
    adjacent = unobstructed & included[:, None] & included[None, :] & ~np.eye(count, dtype=bool)
    if (adjacent != adjacent.T).any():
        row, other = (int(k) for k in np.argwhere(adjacent & ~adjacent.T)[0])
        problem = f"asymmetrical graph: {ids[row]} reaches {ids[other]} but not the other way round"
        raise wrong(problem, record=other, field="unobstructed", hint=_AGAIN)
    position = poses[:, :3, 3]
    if np.abs(position).max() > FARTHEST_M:
        row = int(np.abs(position).max(1).argmax())
        problem = f"viewpoint {ids[row]} is farther than {FARTHEST_M:.0f} m from the origin"
        raise wrong(problem, record=row, field="pose", hint=_AGAIN)
    distance, next_hop = shortest_walks(position, adjacent)
    return NavGraph(scan, ids, position, rotation, height, included, visible, adjacent, distance, next_hop)


def shortest_walks(
    position_m: Float[np.ndarray, "n 3"], adjacent: Bool[np.ndarray, "n n"]
) -> tuple[Float[np.ndarray, "n n"], Int16[np.ndarray, "n n"]]:
    """All-pairs shortest distances along edges (3D lengths) and the first hop of each walk.

    Dijkstra's algorithm from every viewpoint at once: each round settles one more viewpoint of every start.
    """
    count, rows = len(position_m), np.arange(len(position_m))
    lengths = np.linalg.norm(position_m[:, None] - position_m[None], axis=-1)
    # Neighbours of each row in a table, filled up with the row itself, which nothing reaches by going on.
    degree = adjacent.sum(1)
    near = np.argsort(~adjacent, axis=1, kind="stable")[:, : max(int(degree.max(initial=0)), 1)]
    filled = np.arange(near.shape[1]) >= degree[:, None]
    near[filled] = rows[:, None].repeat(near.shape[1], 1)[filled]
    step = np.where(filled, np.inf, lengths[rows[:, None], near])

    distance = np.where(np.eye(count, dtype=bool), 0.0, np.inf)
    waiting, before = distance.copy(), np.full((count, count), -1, np.int16)
    for _ in rows:
        here = waiting.argmin(1)
        so_far = waiting[rows, here]
        if np.isinf(so_far).all():
            break
        waiting[rows, here] = np.inf
        ahead, reached = near[here], so_far[:, None] + step[here]
        start, which = np.nonzero(reached < distance[rows[:, None], ahead])
        to = ahead[start, which]
        distance[start, to] = waiting[start, to] = reached[start, which]
        before[start, to] = here[start]
    # Edges run both ways, so the first hop from a to b is the last stop before a on the walk from b.
    return distance, before.T.copy()


def _ways(position_m: Float32[np.ndarray, "n 3"], row: int, others: list[int]) -> Ways:
    east, north, up = (position_m[others] - position_m[row]).T
    flat = np.sqrt(east * east + north * north)
    distance = np.sqrt(east * east + north * north + up * up)
    with np.errstate(divide="ignore", invalid="ignore"):
        direction = np.stack([east, north]) * (np.float32(1.0) / flat)
    heading = np.where(flat > 0.0, geometry.heading_of(np.stack([east, north], -1)), np.nan)
    rise = map(math.atan2, up.tolist(), flat.tolist())
    seen = list(zip(others, heading.tolist(), rise, distance.tolist()))
    return Ways(seen, np.stack([east, north]), direction)


_SAID = {str: "a text", bool: "true or false", list: "a list"}


@dataclass(frozen=True)
class _Record:
    """What a connectivity file says of a viewpoint. Each method reads a field and refuses what should not be there."""

    values: dict[str, Any]
    wrong: Callable[..., DataError]

    def field(self, name: str, kind: type) -> Any:
        if name not in self.values:
            raise self.wrong("missing", field=name)
        if not isinstance(self.values[name], kind):
            raise self.wrong(f"expected {_SAID[kind]}", field=name, value=self.values[name])
        return self.values[name]

    def number(self, name: str) -> float:
        value = self.values.get(name)
        if not is_finite(value):
            raise self.wrong("expected a finite number", field=name, value=value)
        return float(value)

    def numbers(self, name: str, count: int) -> list[float]:
        values = self.field(name, list)
        if len(values) != count:
            raise self.wrong(f"expected {count} numbers, found {len(values)}", field=name)
        for value in values:
            if not is_finite(value):
                raise self.wrong("expected finite numbers", field=name, value=value)
        return [float(value) for value in values]

    def flags(self, name: str, count: int) -> list[bool]:
        values = self.field(name, list)
        if len(values) != count:
            problem = f"expected true or false for each of the {count} viewpoints, found {len(values)}"
            raise self.wrong(problem, field=name)
        if not {bool}.issuperset(map(type, values)):  # a large building has 100 000 of them
            value = next(value for value in values if not isinstance(value, bool))
            raise self.wrong("expected true or false", field=name, value=value)
        return values


def _from_cache(scan: str, stored: Path) -> NavGraph | None:
    from zipfile import BadZipFile

    try:
        with open_file(stored) as file, np.load(file, allow_pickle=False) as arrays:
            check_bytes(sum(member.file_size for member in arrays.zip.infolist()), stored)
            values = {name: arrays[name] for name in arrays.files}
        ids = tuple(str(name) for name in values.pop("ids"))
        graph = NavGraph(scan, ids, **values)
        n = len(ids)
        shapes = [(n, 3), (n, 3, 3), (n,), (n,), *[(n, n)] * 4]
        fit = [getattr(graph, item.name).shape for item in fields(graph)[2:]] == shapes
        return graph if fit else None
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        BadZipFile,
        EOFError,
        IndexError,
        RuntimeError,
        DataError,
    ):
        return None  # missing or damaged: it is computed again and replaced


def _to_cache(graph: NavGraph, stored: Path) -> None:
    arrays: dict[str, Any] = {item.name: getattr(graph, item.name) for item in fields(graph) if item.name != "scan"}
    arrays["ids"] = np.array(graph.ids)
    try:
        with atomic_path(stored) as temporary:
            np.savez(temporary, **arrays)
    except (OSError, DataError):
        return  # a read-only or full cache folder costs time, not correctness
