"""The episode record: everything a picture, film, report or viewer shows of one episode, as arrays and plain values.

It says who walked: the model itself, another model, the evaluation's fixed walk, or a visitor's clicks. It is written
as one JSON document whose arrays are small: eight bits per value on a square-root scale, cropped, deflated, in base64
(`to_json`, `from_json`). The static report and the viewer's pages read the same document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int

from ghosts.errors import ConfigError, DataError
from ghosts.files import is_finite, read_json
from ghosts.types import Grid
from ghosts.view.motion import EXPORT, MotionWeights, motion_from_json, motion_to_json
from ghosts.view.packed import LARGEST, pack, unpack
from ghosts.view.scene import scene_from_json

FORMAT, VERSION = "ghosts-episode", 3
ChosenBy = Literal["policy", "planner", "mass"]
_TEXTS = ("model", "world", "scan", "instr_id", "text", "walked_by")
_LISTS = ("words", "unknown", "notes", "walk", "walk_heading_rad", "labels", "sights", "path")


@dataclass(frozen=True)
class Choice:
    """What the agent does after an agent step."""

    by: ChosenBy
    """Whose values: the policy's probabilities, the planner's worth (probability of success less the cost of walking),
    or, for models without a filter, the goal's mass nearest to each viewpoint."""
    candidates: Mapping[str, float]
    """Value of every viewpoint known so far."""
    visited: tuple[str, ...]
    """Candidates that were visited; choosing one means going there and stopping."""
    chosen: str
    moves: tuple[str, ...]
    """Viewpoints walked through, up to the first that was never visited; empty where it stays."""
    stops: bool


@dataclass(frozen=True, eq=False)
class Frame:
    """What the filter thought on the map of one agent step. A model without a filter has t = 0 and its goal alone."""

    beliefs: Float[np.ndarray, "t1 c y x"]
    """At the start and after each filter step; the last one is the goal's."""
    predictions: Float[np.ndarray, "t c y x"]
    likelihoods: Float[np.ndarray, "t c y x"]
    smoothed: Float[np.ndarray, "t1 c y x"]
    """Given the whole instruction."""
    observed: Bool[np.ndarray, "rows cols"]
    """Map cells seen so far."""
    kernels: Float[np.ndarray, "t c k k"]
    """Motion kernel of each filter step and source heading at `kernel_cells`: probability of every displacement."""
    kernel_cells: Int[np.ndarray, "t 2"]
    """(row, column) of the most likely cell before each filter step."""
    goal_xy_m: tuple[float, float]
    """Most likely goal, in the world."""
    confidence: float
    """Mass within 3 m of it, less where words are unknown (`language.tokens.TextRead.trust`)."""
    entropy_nats: float
    seen_m2: float
    choice: Choice
    error_m: float | None = None
    """Distance to the true goal, where it is known, as for the next two."""
    nll: float | None = None
    goal_seen: bool | None = None
    left_m: float | None = None
    """Shortest walk to the goal from where the agent stops; None while it goes on."""


@dataclass(frozen=True, eq=False)
class EpisodeRecord:
    """One episode of one model."""

    model: str
    world: str
    scan: str
    instr_id: str
    """Empty for an instruction that somebody typed."""
    text: str
    words: tuple[str, ...]
    """Tokens, as the model reads them."""
    unknown: tuple[bool, ...]
    """Which of them the model has never seen."""
    notes: tuple[str, ...]
    """What the model did not understand, in words."""
    start_heading_rad: float
    walk: tuple[str, ...]
    """Viewpoints the agent stands at, one per frame; the first is the start."""
    walk_heading_rad: tuple[float, ...]
    labels: tuple[tuple[str, ...], ...]
    """Of landmark worlds, what is seen at each viewpoint of the walk; empty ones with images."""
    sights: tuple[tuple[int, ...], ...]
    """The same as numbers of the scene's marks, where objects have a place."""
    walked_by: str
    """Who chose the walk: a model by name, `question.FIXED_WALK`, or a visitor."""
    path: tuple[str, ...]
    """The demonstrator's viewpoints; empty where nobody demonstrated."""
    grid: Grid
    """Of beliefs."""
    map_grid: Grid
    """Of what was observed: the same extent, finer cells."""
    origin_xy_m: tuple[float, float]
    """World position of both grids' centre."""
    observation_attention: Float[np.ndarray, "t l"]
    action_attention: Float[np.ndarray, "t l"]
    frames: tuple[Frame, ...]
    motion: MotionWeights | None = None
    """Motion kernels of all cells, where the model's kernel has parts that can be kept."""
    scene: dict[str, Any] | None = None
    """The building's plan (`view.scene`), in a record that is drawn where its data root is not."""

    @property
    def own_walk(self) -> bool:
        """Whether the model itself chose the walk."""
        return self.walked_by == self.model

    @property
    def left_m(self) -> float | None:
        """How far from the goal the model's own walk ended; None where it is not its own or nobody knows the goal."""
        return self.frames[-1].left_m if self.own_walk and self.frames else None

    @property
    def viewpoints(self) -> tuple[str, ...]:
        """All that it names."""
        choices = [frame.choice for frame in self.frames]
        known = (name for choice in choices for name in (*choice.candidates, choice.chosen, *choice.moves))
        return tuple(dict.fromkeys((*self.walk, *self.path, *known)))

    @property
    def filter_steps(self) -> int:
        """T; 0 for a model without a filter."""
        return len(self.observation_attention)


def corner_m(grid: Grid, origin_xy_m: tuple[float, float]) -> tuple[float, float]:
    """World position of the lower left corner of a grid."""
    return origin_xy_m[0] - grid.cols * grid.cell_m / 2.0, origin_xy_m[1] - grid.rows * grid.cell_m / 2.0


def crop(record: EpisodeRecord, margin_cells: int = 3, least: float = 1e-4) -> EpisodeRecord:
    """The record on the smallest window that holds what was seen and where mass is, so that it takes little room.

    Args:
        record: whole.
        margin_cells: belief cells kept around.
        least: mass below this share of a belief's largest value does not count.
    """
    pool = round(record.grid.cell_m / record.map_grid.cell_m)
    busy = np.zeros((record.grid.rows, record.grid.cols), bool)
    for frame in record.frames:
        mass = frame.beliefs.sum(1)
        busy |= (mass > least * mass.max((1, 2), keepdims=True)).any(0)
        busy |= frame.observed.reshape(record.grid.rows, pool, record.grid.cols, pool).any((1, 3))
    if not busy.any():
        return record
    rows, cols = (_span(np.asarray(busy.any(axis)), margin_cells) for axis in (1, 0))
    left, bottom = corner_m(record.grid, record.origin_xy_m)
    cell = record.grid.cell_m
    grid = Grid(rows.stop - rows.start, cols.stop - cols.start, cell)
    origin = (left + (cols.start + grid.cols / 2.0) * cell, bottom + (rows.start + grid.rows / 2.0) * cell)
    fine = tuple(slice(part.start * pool, part.stop * pool) for part in (rows, cols))
    shift = np.array([rows.start, cols.start])
    frames = tuple(
        replace(
            frame,
            **{
                name: getattr(frame, name)[..., rows, cols]
                for name in ("beliefs", "predictions", "likelihoods", "smoothed")
            },
            observed=frame.observed[fine],
            kernel_cells=frame.kernel_cells - shift,
        )
        for frame in record.frames
    )
    map_grid = Grid(grid.rows * pool, grid.cols * pool, record.map_grid.cell_m)
    motion = record.motion.crop(rows, cols) if record.motion is not None else None
    return replace(record, grid=grid, map_grid=map_grid, origin_xy_m=origin, frames=frames, motion=motion)


def _span(busy: np.ndarray, margin: int) -> slice:
    where = np.flatnonzero(busy)
    return slice(max(0, int(where[0]) - margin), min(len(busy), int(where[-1]) + 1 + margin))


def frame_to_json(frame: Frame) -> dict[str, Any]:
    """A frame as plain JSON values."""
    return {
        **{name: pack(getattr(frame, name)) for name in ("beliefs", "predictions", "likelihoods", "smoothed")},
        "observed": pack(frame.observed[None].astype(float)),
        "kernels": pack(frame.kernels),
        "kernel_cells": frame.kernel_cells.tolist(),
        "goal_xy_m": [round(value, 3) for value in frame.goal_xy_m],
        "confidence": round(frame.confidence, 4),
        "entropy_nats": round(frame.entropy_nats, 4),
        "seen_m2": round(frame.seen_m2, 2),
        "error_m": None if frame.error_m is None else round(frame.error_m, 6),
        "nll": None if frame.nll is None else round(frame.nll, 4),
        "goal_seen": frame.goal_seen,
        "left_m": None if frame.left_m is None else round(frame.left_m, 6),
        "choice": {
            **vars(frame.choice),
            "candidates": {name: round(value, 4) for name, value in frame.choice.candidates.items()},
        },
    }


def header_to_json(record: EpisodeRecord) -> dict[str, Any]:
    """All of a record but its frames, as plain JSON values."""
    return {
        "format": FORMAT,
        "version": VERSION,
        **{name: getattr(record, name) for name in _TEXTS},
        **{name: list(getattr(record, name)) for name in _LISTS},
        "start_heading_rad": record.start_heading_rad,
        "grid": [record.grid.rows, record.grid.cols, record.grid.cell_m],
        "map_grid": [record.map_grid.rows, record.map_grid.cols, record.map_grid.cell_m],
        "origin_xy_m": list(record.origin_xy_m),
        "observation_attention": np.round(record.observation_attention, 4).tolist(),
        "action_attention": np.round(record.action_attention, 4).tolist(),
    }


def to_json(record: EpisodeRecord) -> dict[str, Any]:
    """A record as plain JSON values."""
    frames = [frame_to_json(frame) for frame in record.frames]
    plan = {} if record.scene is None else {"scene": record.scene}
    return {**header_to_json(record), **plan, "motion": motion_to_json(record.motion), "frames": frames}


def from_json(value: Any) -> EpisodeRecord:
    """A record from plain JSON values.

    Raises:
        DataError: it is no episode record, or of another version.
    """
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, dict) else value
        raise DataError(f"expected {FORMAT!r}", field="format", value=found, hint=EXPORT)
    if value.get("version") != VERSION:
        raise DataError(f"expected {VERSION}", field="version", value=value.get("version"), hint=EXPORT)
    try:
        words = len(value["words"])
        attention: dict[str, Any] = {
            name: np.array(value[name], float).reshape(-1, words)
            for name in ("observation_attention", "action_attention")
        }
        texts: dict[str, Any] = {name: value[name] for name in _TEXTS}
        lists: dict[str, Any] = {
            **{name: tuple(value[name]) for name in _LISTS if name not in ("walk_heading_rad", "labels", "sights")},
            "sights": tuple(tuple(map(_mark, marks)) for marks in value.get("sights", [()] * len(value["walk"]))),
            "labels": tuple(tuple(str(name) for name in names) for names in value["labels"]),
            "walk_heading_rad": tuple(_number(heading, "walk_heading_rad") for heading in value["walk_heading_rad"]),
        }
        said = (item for name in ("words", "notes", "walk", "path") for item in lists[name])
        if not all(isinstance(item, str) for item in (*texts.values(), *said)):
            raise ValueError
        if not all(isinstance(item, bool) for item in lists["unknown"]):
            raise ValueError
        if not all(np.isfinite(item).all() for item in attention.values()):
            raise ValueError
        if len({item.shape for item in attention.values()}) > 1:
            raise ValueError
        record = EpisodeRecord(
            **texts,
            **lists,
            start_heading_rad=_number(value["start_heading_rad"], "start_heading_rad"),
            grid=_grid(value["grid"]),
            map_grid=_grid(value["map_grid"]),
            origin_xy_m=_pair(value["origin_xy_m"], "origin_xy_m"),
            **attention,
            frames=tuple(_frame(frame) for frame in value["frames"]),
            motion=motion_from_json(value["motion"]),
        )
        _check_sizes(record)
        return replace(record, scene=scene_from_json(value["scene"], record.viewpoints)) if "scene" in value else record
    except KeyError as error:
        raise DataError("missing in the episode record", field=str(error.args[0]), hint=EXPORT) from None
    except ConfigError as error:
        raise DataError(f"a field of the episode record is malformed: {error}", hint=EXPORT) from None
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        raise DataError("a field of the episode record is malformed", hint=EXPORT) from None


def read_records(path: Path) -> tuple[EpisodeRecord, ...]:
    """The episodes of a file: one of one model, or a list of them (the viewer's export).

    Raises:
        DataError: naming the file and what is wrong in it.
    """
    value = read_json(path, hint=EXPORT)
    try:
        records = tuple(from_json(item) for item in (value if isinstance(value, list) else [value]))
    except DataError as error:
        raise error.in_file(path) from None
    if not records:
        raise DataError("holds no episode", file=path, hint=EXPORT)
    return records


def _mark(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def _grid(value: list[Any]) -> Grid:
    rows, cols, cell_m = value
    return Grid(int(rows), int(cols), float(cell_m))  # a browser writes 1.0 as 1


def _check_sizes(record: EpisodeRecord) -> None:
    """Raise `DataError` where lists do not fit the walk, or arrays the grids."""
    for name, fellow in (
        ("walk", "frames"),
        ("walk_heading_rad", "walk"),
        ("labels", "walk"),
        ("sights", "walk"),
        ("unknown", "words"),
    ):
        found, expected = len(getattr(record, name)), len(getattr(record, fellow))
        if found != expected:
            raise DataError(f"has {found} items, {fellow} has {expected}", field=name, hint=EXPORT)
    cells = record.grid.rows, record.grid.cols
    for number, frame in enumerate(record.frames):
        for name in ("beliefs", "predictions", "likelihoods", "smoothed"):
            if getattr(frame, name).ndim != 4 or getattr(frame, name).shape[2:] != cells:
                problem = f"frame {number} does not fit the grid of {cells[0]} × {cells[1]} cells"
                raise DataError(problem, field=name, hint=EXPORT)
        if frame.observed.shape != (record.map_grid.rows, record.map_grid.cols):
            raise DataError(f"frame {number} does not fit the map's grid", field="observed", hint=EXPORT)
    pool = round(record.grid.cell_m / record.map_grid.cell_m)
    if (cells[0] * pool, cells[1] * pool) != (record.map_grid.rows, record.map_grid.cols):
        raise DataError("does not cover what map_grid covers", field="grid", hint=EXPORT)
    if record.motion is not None and record.motion.map_levels.shape[2:] != cells:
        raise DataError("does not fit the grid", field="motion", hint=EXPORT)


def _frame(value: dict[str, Any]) -> Frame:
    numbers = ("confidence", "entropy_nats", "seen_m2")
    perhaps = ("error_m", "nll", "left_m")  # where the goal is known, or the agent stops
    packed = ("beliefs", "predictions", "likelihoods", "smoothed", "kernels")
    if not isinstance(value["goal_seen"], bool | None):
        raise ValueError
    fields: dict[str, Any] = {name: unpack(value[name], name) for name in packed} | {
        name: None if value[name] is None and name in perhaps else _number(value[name], name)
        for name in (*numbers, *perhaps)
    }
    return Frame(
        **fields,
        goal_seen=value["goal_seen"],
        observed=unpack(value["observed"], "observed")[0] > 0.5,
        kernel_cells=np.array(value["kernel_cells"], np.int64).reshape(-1, 2),
        goal_xy_m=_pair(value["goal_xy_m"], "goal_xy_m"),
        choice=_choice(value["choice"]),
    )


def _pair(value: list[Any], where: str) -> tuple[float, float]:
    return _number(value[0], where), _number(value[1], where)


def _number(value: Any, where: str) -> float:
    if not is_finite(value) or abs(value) > LARGEST:
        raise DataError("expected a finite number", field=where, value=value, hint=EXPORT)
    return float(value)


def _choice(value: dict[str, Any]) -> Choice:
    if value["by"] not in get_args(ChosenBy):
        known = ", ".join(get_args(ChosenBy))
        raise DataError(f"expected one of {known}", field="choice.by", value=value["by"], hint=EXPORT)
    for name in ("visited", "moves"):
        if isinstance(value[name], str) or not all(isinstance(item, str) for item in value[name]):
            raise DataError("expected viewpoints", field=f"choice.{name}", value=value[name], hint=EXPORT)
    names: dict[str, Any] = {name: tuple(value[name]) for name in ("visited", "moves")}
    candidates = {str(name): _number(worth, "choice.candidates") for name, worth in value["candidates"].items()}
    return Choice(value["by"], candidates, chosen=str(value["chosen"]), stops=bool(value["stops"]), **names)
