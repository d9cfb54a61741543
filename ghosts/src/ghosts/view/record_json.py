"""Episode records as JSON documents, which the static report and the viewer's pages read too.

Their arrays are small: eight bits per value on a square-root scale, cropped, deflated, in base64.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from ghosts.view.motion_weights import motion_from_json, motion_to_json
from ghosts.view.packed_arrays import EXPORT, LARGEST, pack, unpack
from ghosts.view.record import Choice, ChosenBy, EpisodeRecord, Frame
from ghosts_houses.draw.floor_plan import floor_plan_from_json
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.files import is_finite, read_json
from ghosts_sim.types import Grid

FORMAT, VERSION = "ghosts-episode", 3
_TEXTS = ("model", "world", "scan", "instr_id", "text", "walked_by")
_LISTS = ("words", "unknown", "notes", "walk", "walk_heading_rad", "labels", "sights", "path")


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
        if not all((np.abs(item) <= 1.0).all() for item in attention.values()):
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
        return (
            replace(record, scene=floor_plan_from_json(value["scene"], record.viewpoints))
            if "scene" in value
            else record
        )
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
    read = value.get("read")
    names["read"] = None if read is None else _number(read, "choice.read")
    return Choice(value["by"], candidates, chosen=str(value["chosen"]), stops=bool(value["stops"]), **names)
