"""Batches: index arithmetic on the CPU, ready for a device. Nothing here has parameters or touches a pixel."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from ghosts import geometry
from ghosts.language.tokens import Vocabulary
from ghosts.learn.bank import TileBank, entry_tensors
from ghosts.learn.examples import Example
from ghosts.mapping.cells import MapCells
from ghosts.mapping.stencil import Pooling, Stencil, pooling, stencil
from ghosts.types import Grid

SWITCH_S = 2e-4


@dataclass(frozen=True)
class Turn:
    """A symmetry of the world applied to an episode: mirrored (x → −x) first, then turned."""

    mirrored: bool = False
    quarters: int = 0
    """Quarter turns counter-clockwise."""
    variant: int = 0
    """The bank's variant, turned by its own angle before everything else."""

    def cells(self, cells: Int[np.ndarray, "n 2"]) -> Int[np.ndarray, "n 2"]:
        """Lattice cells (row, column) after mirror and quarter turns."""
        row, col = cells[:, 0], cells[:, 1]
        if self.mirrored:
            col = -1 - col
        for _ in range(self.quarters % 4):
            row, col = col, -1 - row
        return np.stack([row, col], 1)

    def points(self, xy_m: Float[np.ndarray, "*n 2"], angle_rad: float) -> Float[np.ndarray, "*n 2"]:
        """Positions after the variant's angle, mirror and quarter turns."""
        x, y = xy_m[..., 0], xy_m[..., 1]
        cos, sin = np.cos(angle_rad), np.sin(angle_rad)
        x, y = cos * x - sin * y, sin * x + cos * y
        if self.mirrored:
            x = -x
        for _ in range(self.quarters % 4):
            x, y = -y, x
        return np.stack([x, y], -1)

    def headings(self, heading_rad: Any, angle_rad: float) -> Any:
        """Headings after the variant's angle, mirror and quarter turns."""
        turned = heading_rad - angle_rad
        return (-turned if self.mirrored else turned) - self.quarters * np.pi / 2.0


@dataclass(frozen=True)
class Labels:
    """Labels of the batch's cells, where the bank has labels instead of features."""

    cell: Int[Tensor, " m"]
    label: Int[Tensor, " m"]
    weight: Float[Tensor, " m"]


@dataclass(frozen=True)
class Batch:
    """`b` episodes of `s` agent steps."""

    cells: MapCells
    """Observed cells; their features are empty until the task fills them in."""
    plan: Stencil
    coarse: Pooling
    """Of the plan, to the belief's cells."""
    rows: Int[Tensor, " n"]
    """Row of each cell in the bank."""
    labels: Labels | None
    tokens: Int[Tensor, "b l"]
    lengths: Int[Tensor, " b"]
    start_xy_m: Float[Tensor, "b 2"]
    """From the map's origin, as all positions here."""
    start_heading_rad: Float[Tensor, " b"]
    path_xy_m: Float[Tensor, "b t 2"]
    path_heading_rad: Float[Tensor, "b t"]
    goal_seen: Bool[Tensor, "b s"]
    """Whether the goal's cell has been observed by each agent step."""
    seen_m2: Float[Tensor, "b s"]
    """Area of the map observed by each agent step."""

    def to(self, device: torch.device | str) -> Batch:
        """Move everything to a device."""
        return to_device(self, torch.device(device))


def to_device(value: Any, device: torch.device) -> Any:
    """Move all tensors of nested dataclasses."""
    if isinstance(value, Tensor):
        return value.to(device, non_blocking=True)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{item.name: to_device(getattr(value, item.name), device) for item in fields(value)})
    return value


def pinned(value: Any) -> Any:
    """Nested dataclasses with their tensors in page-locked memory, from where a GPU fetches them on its own."""
    if isinstance(value, Tensor):
        return value.pin_memory()
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{item.name: pinned(getattr(value, item.name)) for item in fields(value)})
    return value


@dataclass(frozen=True)
class Builder:
    """What is common to all batches of a run."""

    bank: TileBank
    vocabulary: Vocabulary
    grid: Grid
    kernel: int
    """Side of the mapper's convolutions."""
    pool: int
    """Belief cells are this many map cells wide."""

    def build(
        self,
        examples: Sequence[Example],
        walks: Sequence[Sequence[int]],
        turns: Sequence[Turn] | None = None,
        unknown: Bool[np.ndarray, "b l"] | None = None,
    ) -> Batch:
        """Make a batch.

        Args:
            examples: episodes.
            walks: rows of the viewpoints the agent stands at, equally many an episode.
            turns: symmetry applied to each episode; none by default.
            unknown: words to be replaced by `<unk>` (word dropout), cut or padded to the tokens' width.
        """
        turns = turns or [Turn()] * len(examples)
        angles = [self.bank.angles_rad[turn.variant] for turn in turns]
        start, origin = self.starts(examples, turns)
        path = np.stack([t.points(e.path_xy_m, a) for t, e, a in zip(turns, examples, angles)])
        cells, rows = self.place(examples, walks, turns, origin)
        tokens, lengths = self._tokens(examples, turns, unknown)
        plan = stencil(cells, self.kernel)
        goal_seen, seen_m2 = self._coverage(plan, cells.steps, path[:, -1] - origin)
        entries = self.bank.entries
        return Batch(
            cells=cells,
            plan=plan,
            coarse=pooling(plan, cells, self.pool),
            rows=torch.from_numpy(rows),
            labels=Labels(*entry_tensors(entries, rows)) if entries is not None else None,
            tokens=tokens,
            lengths=lengths,
            start_xy_m=torch.from_numpy(start - origin).float(),
            start_heading_rad=_floats([t.headings(e.start_heading_rad, a) for t, e, a in zip(turns, examples, angles)]),
            path_xy_m=torch.from_numpy(path - origin[:, None]).float(),
            path_heading_rad=_floats([t.headings(e.path_heading_rad, a) for t, e, a in zip(turns, examples, angles)]),
            goal_seen=goal_seen,
            seen_m2=seen_m2,
        )

    def starts(
        self, examples: Sequence[Example], turns: Sequence[Turn]
    ) -> tuple[Float[np.ndarray, "b 2"], Float[np.ndarray, "b 2"]]:
        """Where episodes start, turned, and the origins of their maps."""
        angles = [self.bank.angles_rad[turn.variant] for turn in turns]
        start = np.stack([t.points(e.start_xy_m, a) for t, e, a in zip(turns, examples, angles)])
        return start, geometry.snap_origin(start, self.grid)

    def place(
        self,
        examples: Sequence[Example],
        walks: Sequence[Sequence[int]],
        turns: Sequence[Turn],
        origin: Float[np.ndarray, "b 2"],
    ) -> tuple[MapCells, Int[np.ndarray, " n"]]:
        """Observed cells of all steps, sorted by step, then episode; and their rows in the bank."""
        batch, steps = len(examples), len(walks[0])
        tiles = np.array(
            [
                self.bank.tile(e.scan, walk[s], t.variant)
                for s in range(steps)
                for e, walk, t in zip(examples, walks, turns)
            ]
        )
        owner, rows = self.bank.gather(tiles)
        step, item = owner // batch, owner % batch
        place = self.bank.cells[rows].astype(np.int64)
        for number, turn in enumerate(turns):
            if turn.mirrored or turn.quarters % 4:
                mine = item == number
                place[mine] = turn.cells(place[mine])
        size = np.array([self.grid.rows, self.grid.cols])
        corner = np.round(origin[:, ::-1] / self.grid.cell_m - size / 2.0).astype(np.int64)
        place -= corner[item]
        inside = ((place >= 0) & (place < size)).all(1)
        step, item, place, rows = step[inside], item[inside], place[inside], rows[inside]
        cells = MapCells(
            features=torch.zeros(len(rows), 0),
            step=torch.from_numpy(step),
            item=torch.from_numpy(item),
            row=torch.from_numpy(place[:, 0].copy()),
            col=torch.from_numpy(place[:, 1].copy()),
            counts=tuple(np.bincount(step, minlength=steps).tolist()),
            batch=batch,
            rows=self.grid.rows,
            cols=self.grid.cols,
        )
        return cells, rows

    def _tokens(
        self, examples: Sequence[Example], turns: Sequence[Turn], unknown: Bool[np.ndarray, "b l"] | None
    ) -> tuple[Tensor, Tensor]:
        ids = self.vocabulary.encode([example.text for example in examples])
        swap = _mirror_words(self.vocabulary)
        for number, turn in enumerate(turns):
            if turn.mirrored:
                ids[number] = swap[ids[number]]
        if unknown is not None:
            width = min(ids.shape[1], unknown.shape[1])
            ids[:, :width][unknown[:, :width] & (ids[:, :width] > 0)] = 1
        return torch.from_numpy(ids), torch.from_numpy((ids > 0).sum(1))

    def _coverage(self, plan: Stencil, steps: int, goal_xy_m: Float[np.ndarray, "b 2"]) -> tuple[Tensor, Tensor]:
        """Whether the goal's cell is seen, and the area seen, by each agent step."""
        place, first, batch = plan.place.numpy(), plan.first.numpy(), len(goal_xy_m)
        size = self.grid.rows * self.grid.cols
        new = np.bincount(place // size * steps + first, minlength=batch * steps).reshape(batch, steps)
        # Not round(): it takes a goal on a cell's edge to the even neighbour, tiles take it to the one above.
        goal = np.floor(geometry.to_cells(goal_xy_m.copy(), self.grid) + 0.5).astype(np.int64)
        on_map = ((goal >= 0) & (goal < [self.grid.cols, self.grid.rows])).all(1)
        flat = np.arange(batch) * size + goal[:, 1] * self.grid.cols + goal[:, 0]
        # The plan's places ascend, so that the goal's can be looked up; the end stands for never.
        at = np.searchsorted(place, flat)
        found = on_map & (np.append(place, -1)[at] == flat)
        when = np.where(found, np.append(first, steps)[at], steps)
        area = new.cumsum(1) * self.grid.cell_m**2
        return torch.from_numpy(when[:, None] <= np.arange(steps)), torch.from_numpy(area).float()


def _floats(values: Sequence[Any]) -> Tensor:
    return torch.from_numpy(np.asarray(values, dtype=np.float32))


def mirror_words(vocabulary: Vocabulary) -> Int[np.ndarray, " words"]:
    """Word ids with left and right swapped ("left" ↔ "right", "leftmost" ↔ "rightmost", …)."""
    swap = np.arange(len(vocabulary))
    known = set(vocabulary.words)
    for number, word in enumerate(vocabulary.words):
        for here, there in (("left", "right"), ("right", "left")):
            if word.startswith(here) and word.replace(here, there) in known:
                swap[number] = vocabulary.id(word.replace(here, there))
    return swap


_mirror_words = lru_cache(maxsize=8)(mirror_words)


def prefetch(
    make: Callable[[int], Any], numbers: Sequence[int], threads: int, ahead: int = 4
) -> Generator[Any, None, None]:
    """Make batches in threads, handed out in order; an error in a thread is raised where its batch is due.

    Args:
        make: batch of a number; called from several threads.
        numbers: in the order wanted.
        threads: 0 makes each batch when it is asked for.
        ahead: batches kept ready.
    """
    if threads == 0:
        for number in numbers:
            yield make(number)
        return
    waiting = iter(numbers)
    pool = ThreadPoolExecutor(threads)
    # A thread keeps the interpreter for 5 ms at a time by default, while the GPU waits to be told what to do.
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        ready = deque(pool.submit(make, number) for number in islice(waiting, ahead + threads))
        while ready:
            batch = ready.popleft().result()
            ready.extend(pool.submit(make, number) for number in islice(waiting, 1))
            yield batch
    finally:
        # Waited for: a thread that is still in torch when the interpreter ends takes the process down with it.
        pool.shutdown(cancel_futures=True)
        sys.setswitchinterval(interval)
