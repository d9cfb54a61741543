"""The episode record: everything a picture, film, report or viewer shows of one episode, as arrays and plain values.

It says who walked: the model itself, another model, the evaluation's fixed walk, or a visitor's clicks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from ghosts.view.motion_weights import MotionWeights
from ghosts_sim.types import Grid

ChosenBy = Literal["policy", "planner", "mass"]


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
    read: float | None = None
    """Share of what a policy that reads saw and read in these values; the rest is the belief's."""


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
    """Predicted goal, in the world."""
    confidence: float
    """Mass within 3 m of it, less where words are unknown (`words.tokens.TextRead.trust`)."""
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
    """Who chose the walk: a model by name, `query.FIXED_WALK`, or a visitor."""
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


def extent_m(grid: Grid, origin_xy_m: tuple[float, float]) -> tuple[float, float, float, float]:
    """Left, right, bottom and top of a grid in the world."""
    left, bottom = corner_m(grid, origin_xy_m)
    return left, left + grid.cols * grid.cell_m, bottom, bottom + grid.rows * grid.cell_m


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
