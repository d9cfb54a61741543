"""What a driving agent knows of the space around it, from its depth images alone: columns of occupied heights.

Every cell of 10 cm holds one bit per 10 cm of height. A body can stand in a cell where the top of something was seen
from above, and nothing over it; it can go to a neighbour whose top is not more than a step higher or lower. So stairs
need no exception, and no graph or viewpoint is known.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

import cv2
import numpy as np
from jaxtyping import Bool, Float, Float32, Int, UInt64

from ghosts.agent.sensors import Views
from ghosts_sim.geometry import lattice_cells, pixel_rays
from ghosts_sim.types import Pose

CELL_M = 0.1
_SIDE = 480
_AREA = _SIDE * _SIDE
_BELOW_M = 3.2
"""Heights are kept from this far below the floor to 3.2 m above it: one storey up or down."""
_LOWEST, _HIGHEST = 12, 44
"""While the ground stays within these bins, the kept heights need not move: a body reaches 15 bins up."""
_FAR_M = 4.5
"""Farther points are left out: those of the floor lie too far apart there."""
_STEP = 2
"""Bins of height that one step may climb: 0.2 m, as stairs do."""
_CLEAR = 4
"""From so many bins above the ground on a body would bump into what is in its own cell, and one bin higher also into
what is beside it: the treads ahead on a stair."""
_STOREY = 24
"""What lies more bins below the ground belongs to another storey."""
_BEYOND = 14
"""A camera does not see the ground at the feet. It is laid to what was seen at most so many cells beyond that gap."""
_NEIGHBOURS = [(di, dj, CELL_M * math.hypot(di, dj)) for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj]


@dataclass(frozen=True)
class Space:
    """Occupied heights around the start of an episode."""

    columns: UInt64[np.ndarray, "y x"]
    """Bit k: something at the height k."""
    below: UInt64[np.ndarray, "y x"]
    """The same, as far as it was seen from above: what reaches up to the eyes may go on."""
    blocked: Bool[np.ndarray, "y x"]
    """Where the body bumped into what it had not seen."""
    first_m: Float[np.ndarray, "3"]
    """Centre of the first cell, and of the first bin of heights. The start is such a centre, too."""
    camera_m: float
    """Height of the cameras above the ground."""
    feet_m: tuple[tuple[float, float, float], ...] = ()
    """On the ground, where the body has looked around."""

    @property
    def corner_m(self) -> Float[np.ndarray, "3"]:
        """The lowest x, y and height of the first cell and bin."""
        return self.first_m - CELL_M / 2

    @staticmethod
    def around(pose: Pose, camera_m: float) -> Space:
        """Nothing is known yet; cameras are so high above the ground."""
        half = _SIDE // 2 * CELL_M
        empty = np.zeros((_SIDE, _SIDE), np.uint64)
        first_m = np.array([pose.x_m - half, pose.y_m - half, pose.z_m - camera_m - _BELOW_M])
        return Space(empty, empty, empty > 0, first_m, camera_m)

    def cell(self, x_m: float, y_m: float) -> tuple[int, int]:
        """Row and column of a place."""
        col, row = lattice_cells(np.array([x_m, y_m]) - self.corner_m[:2], CELL_M).tolist()
        return row, col

    def bin(self, z_m: float) -> int:
        """Which bit a height is."""
        return int(lattice_cells(z_m - self.corner_m[2:], CELL_M)[0])


def see(space: Space, views: Views, ground_m: float | None = None, least: int = 1) -> Space:
    """Add the depth images of one look around.

    Args:
        space: so far.
        views: with depth.
        ground_m: height of the ground under the camera; by default as far below it as at the start.
        least: so many points of one view must lie in a cell and bin for something to be there; a real sensor has noise.
    """
    x_m, y_m, eyes_m = views.camera_to_world[0, :3, 3].tolist()
    foot_m = x_m, y_m, eyes_m - space.camera_m if ground_m is None else ground_m
    space = _levelled(space, foot_m[2])
    rays = pixel_rays(views.camera)
    # One flag per cell and height: setting a flag twice costs nothing, sorting 65 000 points per view cost most of it.
    flags = np.zeros(_SIDE * _SIDE * 64, bool)
    for depth, matrix in zip(views.depth_m, views.camera_to_world, strict=True):
        near = (depth > 0.05) & (depth < _FAR_M)
        x, y, z = (rays[near] * depth[near][:, None]).T
        # Axis by axis: a product of matrices this thin waits for the threads of the linear algebra library.
        parts = zip(matrix[:3], space.corner_m)
        col, row, level = (lattice_cells(a * x + b * y + c * z + (d - low), CELL_M) for (a, b, c, d), low in parts)
        inside = (col >= 0) & (col < _SIDE) & (row >= 0) & (row < _SIDE) & (level >= 0) & (level < 64)
        hit = ((row * _SIDE + col) * 64 + level)[inside]
        if least > 1:
            hit, points = np.unique(hit, return_counts=True)
            hit = hit[points >= least]
        flags[hit] = True
    seen, found = np.flatnonzero(flags), np.zeros_like(space.columns)
    np.bitwise_or.at(found.reshape(-1), seen // 64, np.uint64(1) << (seen % 64).astype(np.uint64))
    # The bin of the eyes may begin just there; then what reaches up to them ends in the one below.
    under = _bits(0, space.bin(eyes_m) - 2)
    return replace(
        space,
        columns=space.columns | found,
        below=space.below | (found & under),
        feet_m=(*space.feet_m, foot_m),
    )


def _levelled(space: Space, ground_m: float) -> Space:
    """The same space; if stairs led away from the middle of the kept heights, these move along."""
    up = space.bin(ground_m) - round(_BELOW_M / CELL_M)
    if _LOWEST <= space.bin(ground_m) <= _HIGHEST:
        return space
    first_m = space.first_m + np.array([0.0, 0.0, CELL_M * up])
    return replace(space, columns=_lowered(space.columns, up), below=_lowered(space.below, up), first_m=first_m)


def _lowered(columns: UInt64[np.ndarray, "y x"], by: int) -> UInt64[np.ndarray, "y x"]:
    """Bits so many bins lower, or higher where it is negative."""
    if abs(by) > 63:  # for 64 bits such a shift is not defined
        return np.zeros_like(columns)
    return columns >> np.uint64(by) if by > 0 else columns << np.uint64(-by)


def centred(space: Space, x_m: float, y_m: float) -> Space:
    """The same space around another place, if that lies a third of its side away; what is left behind is forgotten."""
    moved = np.array(space.cell(x_m, y_m)) - _SIDE // 2
    if np.abs(moved).max() < _SIDE // 3:
        return space
    to = tuple(slice(max(0, -by), max(0, min(_SIDE, _SIDE - by))) for by in moved.tolist())
    of = tuple(slice(max(0, by), max(0, min(_SIDE, _SIDE + by))) for by in moved.tolist())
    kept = {name: np.zeros_like(getattr(space, name)) for name in ("columns", "below", "blocked")}
    for name, values in kept.items():
        values[to] = getattr(space, name)[of]
    first_m = space.first_m + CELL_M * np.array([moved[1], moved[0], 0.0])
    return replace(space, first_m=first_m, **kept)


def bump(space: Space, x_m: float, y_m: float) -> Space:
    """Remember that something unseen is at a place."""
    blocked = space.blocked.copy()
    row, col = space.cell(x_m, y_m)
    if 0 <= row < _SIDE and 0 <= col < _SIDE:
        blocked[row, col] = True
    return replace(space, blocked=blocked)


@dataclass(frozen=True)
class Reachable:
    """Where a body can go from a place, by what is known."""

    space: Space
    ground: Int[np.ndarray, "l y x"]
    """Bin of the ground in every cell that can be reached; −1 elsewhere. Where storeys lie above each other, a cell has
    one ground per layer."""
    distance_m: Float[np.ndarray, "l y x"]
    """From the place, where a metre near an obstacle counts twice; infinite where no way is known."""
    before: Int[np.ndarray, "l y x"]
    """The cell before, as a flat index; −1 at the place."""
    frontier: Bool[np.ndarray, "l y x"]
    """Cells that can be reached beside which nothing is known."""
    room: Float32[np.ndarray, "l y x"]
    """Distance to the nearest cell that cannot be reached, in metres."""

    def way_m(self, cell: tuple[int, int, int]) -> Float[np.ndarray, "n 3"]:
        """The way to a cell of a layer: x, y and the ground's height, from the place on."""
        way, flat = [], int(np.ravel_multi_index(cell, self.ground.shape))
        while flat >= 0:
            way.append(flat)
            flat = int(self.before.reshape(-1)[flat])
        return self.places_m(*np.unravel_index(way[::-1], self.ground.shape))

    def length_m(self, cell: tuple[int, int, int]) -> float:
        """Of the way to a cell."""
        return float(np.linalg.norm(np.diff(self.way_m(cell), axis=0), axis=1).sum())

    def places_m(
        self, layer: Int[np.ndarray, " n"], row: Int[np.ndarray, " n"], col: Int[np.ndarray, " n"]
    ) -> Float[np.ndarray, "n 3"]:
        """Centres of cells, on their ground."""
        return self.space.first_m + CELL_M * np.stack([col, row, self.ground[layer, row, col]], 1)

    def nearest(self, x_m: float, y_m: float, z_m: float) -> tuple[int, int, int]:
        """The cell that can be reached nearest to a place on the ground."""
        cells = np.nonzero(np.isfinite(self.distance_m))
        best = int(np.linalg.norm(self.places_m(*cells) - (x_m, y_m, z_m), axis=1).argmin())
        layer, row, col = (int(part[best]) for part in cells)
        return layer, row, col


def reach(
    space: Space, x_m: float, y_m: float, z_m: float, body_m: float, height_m: float, most_m: float = math.inf
) -> Reachable:
    """Flood what is known from a place on the ground, at a distance of `body_m` from obstacles, up to `most_m`."""
    kernels, top = [_disc(body_m), _disc(body_m + 0.2)], round(height_m / CELL_M)

    @cache
    def obstacles(level: int) -> tuple[np.ndarray, np.ndarray]:
        """Cells in which a body cannot stand whose ground has this height, and those near them."""
        own, beside = (_between(space, level + _CLEAR + k, level + top) for k in (0, 1))
        tight, wide = (cv2.dilate(beside.astype(np.uint8), kernel).reshape(-1) > 0 for kernel in kernels)
        return tight | own.reshape(-1), wide

    floors, unknown = _floors(space)
    floor = floors.reshape(-1).tolist()
    row, col = space.cell(x_m, y_m)
    start = row * _SIDE + col
    best, ground, before = {start: 0.0}, {start: space.bin(z_m)}, {start: -1}
    queue, done = [(0.0, start)], set()
    while queue:
        far, here = heapq.heappop(queue)
        if here in done:
            continue
        done.add(here)
        i, j = divmod(here % _AREA, _SIDE)
        if far > most_m or not (1 <= i < _SIDE - 1 and 1 <= j < _SIDE - 1):
            continue
        stood = ground[here]
        for di, dj, length in _NEIGHBOURS:
            cell = (i + di) * _SIDE + j + dj
            there = _layer(ground, cell, stood)
            if there in done:
                continue
            step = _step(floor[cell], stood)
            if step < 0 or obstacles(step)[0][cell]:
                continue
            # Near an obstacle a metre counts twice, so that ways keep to the middle of doors.
            total = far + math.hypot(length, CELL_M * (step - stood)) * (1.0 + obstacles(step)[1][cell])
            if total < best.get(there, math.inf):
                best[there], ground[there], before[there] = total, step, here
                heapq.heappush(queue, (total, there))
    return _gather(space, unknown, done, best, ground, before)


def standable(
    space: Space, levels_m: Sequence[float], height_m: float
) -> tuple[Bool[np.ndarray, "y x"], Bool[np.ndarray, "y x"]]:
    """Cells of which something is known, and those where a body could stand at one of some heights of the ground.

    Unlike `reach` it asks for no way there: what lies behind an open door counts.
    """
    levels = np.uint64(0)
    for level_m in levels_m:
        levels |= _bits(space.bin(level_m) - _STEP, space.bin(level_m) + _STEP)
    floors = space.below & ~(space.columns >> np.uint64(1)) & levels
    for rise in range(_CLEAR, round(height_m / CELL_M) + 1):
        floors &= ~(space.columns >> np.uint64(rise))
    return space.columns != 0, (floors != 0) & ~space.blocked


def _layer(ground: dict[int, int], cell: int, stood: int) -> int:
    """The cell in the layer whose ground there is of the same storey; in a new layer where none is."""
    while cell in ground and abs(ground[cell] - stood) > _STOREY // 2:
        cell += _AREA
    return cell


def _floors(space: Space) -> tuple[UInt64[np.ndarray, "y x"], Bool[np.ndarray, "y x"]]:
    """On what a body could stand, as one bit per height, and where nothing is known.

    These are tops of what was seen from above. Where nothing was seen, the ground is like that beside it: in gaps
    between points, and around the feet.
    """
    floors = _without_gaps(space.below & ~(space.columns >> np.uint64(1)))
    known = space.below | floors
    for x_m, y_m, z_m in space.feet_m:
        (row, col), ground = space.cell(x_m, y_m), space.bin(z_m)
        if 0 <= ground < 64:  # else it is two storeys up or down
            _lay(floors, known, row, col, ground, math.ceil(space.camera_m / CELL_M))
    floors = _without_gaps(floors)
    return floors, (space.columns | floors) == 0


def _without_gaps(floors: UInt64[np.ndarray, "y x"]) -> UInt64[np.ndarray, "y x"]:
    """A cell without a floor between two that have one is like them: points leave gaps."""
    filled = floors.copy()
    for axis in (0, 1):
        before, after = np.roll(floors, 1, axis), np.roll(floors, -1, axis)
        gap = (floors == 0) & (before != 0) & (after != 0)
        filled[gap] |= before[gap] | after[gap]
    return filled


def _lay(floors: np.ndarray, known: np.ndarray, row: int, col: int, ground: int, eyes: int) -> None:
    """Let the ground go on evenly from the feet to what was seen beyond: floor stays level, stairs go up or down.

    Args:
        floors: in which it is laid.
        known: what was seen from above.
        row: of the feet.
        col: of the feet.
        ground: bin of their height.
        eyes: bins from there up to the camera. It does not see what lies as many cells around the feet below it.
    """
    cells, ways, share = _around_feet(eyes)
    # The storey below does not count; what lies beside a stair does.
    here = _bits(ground - _STOREY, ground + eyes - 1)
    rows, cols = (np.clip(axis, 0, _SIDE - 1) for axis in (row + cells[0], col + cells[1]))
    beyond = known[tuple(np.clip(axis, 0, _SIDE - 1) for axis in (row + ways[0], col + ways[1]))] & here
    first = (beyond != 0).argmax(1)[:, None]
    seen = np.take_along_axis(beyond, first, 1)[:, 0]
    lowest = np.log2(np.maximum(seen & (~seen + np.uint64(1)), np.uint64(1)).astype(float))
    rise = np.where(seen != 0, (lowest - ground) * np.take_along_axis(share, first, 1)[:, 0], 0.0)
    unseen = (known[rows, cols] & here) == 0
    bits = np.uint64(1) << np.clip(np.rint(ground + rise), 0, 63).astype(np.uint64)
    np.bitwise_or.at(floors, (rows[unseen], cols[unseen]), bits[unseen])


@lru_cache(maxsize=4)
def _around_feet(
    reach: int,
) -> tuple[Int[np.ndarray, "2 n"], Int[np.ndarray, "2 n k"], Float[np.ndarray, "n k"]]:
    """Cells so far around the feet, the cells that lie beyond each of them, and its share of their distances."""
    cells = np.mgrid[-reach : reach + 1, -reach : reach + 1].reshape(2, -1)
    away = np.hypot(*cells)
    cells, away = cells[:, away <= reach], np.maximum(away[away <= reach], 1e-9)
    farther = away[:, None] + np.arange(1, _BEYOND)
    return cells, np.rint(cells[:, :, None] * (farther / away[:, None])).astype(int), away[:, None] / farther


def _step(floor: int, stood: int) -> int:
    """The highest of a cell's floors that a body standing at a height can step to; −1 where there is none."""
    for rise in range(_STEP, -_STEP - 1, -1):
        if stood + rise >= 0 and floor >> (stood + rise) & 1:
            return stood + rise
    return -1


def _between(space: Space, low: int, high: int) -> Bool[np.ndarray, "y x"]:
    """Cells with something between two heights, or where the body bumped into something."""
    return ((space.columns & _bits(low, high)) > 0) | space.blocked


def _bits(low: int, high: int) -> np.uint64:
    """All heights from one to another."""
    return np.uint64(sum(1 << k for k in range(max(0, low), min(64, high + 1))))


def _disc(radius_m: float) -> np.ndarray:
    cells = math.ceil(radius_m / CELL_M)
    y, x = np.mgrid[-cells : cells + 1, -cells : cells + 1]
    return (np.hypot(x, y) * CELL_M <= radius_m + 1e-6).astype(np.uint8)


def _gather(
    space: Space,
    unknown: Bool[np.ndarray, "y x"],
    done: set[int],
    best: dict[int, float],
    ground: dict[int, int],
    before: dict[int, int],
) -> Reachable:
    cells = np.array(sorted(done))
    layers = int(cells[-1]) // _AREA + 1
    level, distance, back = (np.full(layers * _AREA, empty) for empty in (-1, math.inf, -1))
    level[cells] = [ground[k] for k in cells.tolist()]
    distance[cells] = [best[k] for k in cells.tolist()]
    back[cells] = [before[k] for k in cells.tolist()]
    bins, far, last = (part.reshape(layers, _SIDE, _SIDE) for part in (level, distance, back))
    reached = bins >= 0
    # A gap of one cell between points of the floor is no frontier.
    dark = cv2.morphologyEx(unknown.astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    frontier = reached & (cv2.dilate(dark, np.ones((3, 3), np.uint8)) > 0)
    room = np.stack([cv2.distanceTransform(part, cv2.DIST_L2, 3) for part in reached.astype(np.uint8)]) * CELL_M
    return Reachable(space, bins, far, last.astype(np.int64), frontier, room.astype(np.float32))
