"""Where a body fits: the ground of each storey and the room around every place, on cells of 5 cm.

A storey's layer holds its floor and the flights that climb from it. A body leaves a flight at its head for the layer
above, and comes back the same way; nowhere else do layers meet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float32

from ghosts_houses.graph.obstacles import STAIR_BOTTOM_M, stair_coordinates, stair_ground_m, stair_length_m
from ghosts_houses.house import House, Primitive, Stair
from ghosts_sim.motion import Body

CELL_M = 0.05
MARGIN_M = 0.6
"""Clearance is known up to this."""
_STEP_OVER_M = 0.08
"""Rugs and thresholds are stepped over."""
_NEAR_STAIR_M = 0.3
JOINT_M = 0.1
"""A flight reaches this far beyond its head, and the floor above reaches back over it by the same."""


@dataclass(frozen=True)
class Layer:
    """One storey and the flights that climb from it."""

    floor_z_m: float
    up: tuple[Stair, ...]
    """Flights that begin here."""
    down: tuple[Stair, ...]
    """Flights that end here."""
    clearance_m: Float32[np.ndarray, "y x"]
    """Distance from each cell's centre to what a body would bump into; at most `MARGIN_M`."""


@dataclass(frozen=True)
class Ground:
    """All of a house that a body can stand on."""

    body: Body
    x0_m: float
    y0_m: float
    """Centre of the first cell."""
    layers: tuple[Layer, ...]
    """From the lowest storey up."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of every layer."""
        rows, cols = self.layers[0].clearance_m.shape
        return rows, cols

    def clearance_m(self, x_m: float, y_m: float, layer: int) -> float:
        """Room around a place, between the cells' values; 0 outside the house."""
        field = self.layers[layer].clearance_m
        col, row = (x_m - self.x0_m) / CELL_M, (y_m - self.y0_m) / CELL_M
        j, i = math.floor(col), math.floor(row)
        if not (0 <= i < field.shape[0] - 1 and 0 <= j < field.shape[1] - 1):
            return 0.0
        a, b = col - j, row - i
        low = float(field[i, j]) * (1 - a) + float(field[i, j + 1]) * a
        high = float(field[i + 1, j]) * (1 - a) + float(field[i + 1, j + 1]) * a
        return low * (1 - b) + high * b

    def height_m(self, x_m: float, y_m: float, layer: int) -> float:
        """Height of the ground."""
        here = self.layers[layer]
        for stair in here.up:
            along, across = _on_stair(stair, x_m, y_m)
            if 0.0 < along <= stair_length_m(stair) + JOINT_M and abs(across) <= stair.width_m / 2:
                return float(stair_ground_m(stair, np.array([along]))[0])
        return here.floor_z_m

    def settle(self, x_m: float, y_m: float, layer: int) -> int:
        """The layer a body belongs to at a place, after a step on `layer`."""
        here = self.layers[layer]
        for stair in here.up:
            along, across = _on_stair(stair, x_m, y_m)
            beyond = along - stair_length_m(stair)
            if 0.0 < beyond < JOINT_M and abs(across) <= stair.width_m / 2:
                return layer + 1
        for stair in here.down:
            along, across = _on_stair(stair, x_m, y_m)
            beyond = along - stair_length_m(stair)
            if -JOINT_M < beyond <= 0.0 and abs(across) <= stair.width_m / 2:
                return layer - 1
        return layer

    def layer_at(self, z_m: float, x_m: float, y_m: float) -> int:
        """The layer whose ground is nearest to a height."""
        gaps = [abs(self.height_m(x_m, y_m, k) - z_m) for k in range(len(self.layers))]
        return int(np.argmin(gaps))


def _on_stair(stair: Stair, x_m: float, y_m: float) -> tuple[float, float]:
    """Distances along and across a flight; as `stair_coordinates`, for one point and quickly."""
    dx, dy = stair.head_m[0] - stair.foot_m[0], stair.head_m[1] - stair.foot_m[1]
    length = math.hypot(dx, dy)
    x, y = x_m - stair.foot_m[0], y_m - stair.foot_m[1]
    return (x * dx + y * dy) / length, (y * dx - x * dy) / length


def make_ground(house: House, body: Body = Body()) -> Ground:
    """Measure the room around every place of a house."""
    low = np.array([min(r.x0_m for r in house.rooms), min(r.y0_m for r in house.rooms)]) - 2 * CELL_M
    high = np.array([max(r.x1_m for r in house.rooms), max(r.y1_m for r in house.rooms)]) + 2 * CELL_M
    cols, rows = np.ceil((high - low) / CELL_M).astype(int) + 1
    xs, ys = low[0] + CELL_M * np.arange(cols), low[1] + CELL_M * np.arange(rows)
    obstacles = _obstacles(house)
    layers = []
    for storey in sorted({room.storey for room in house.rooms}):
        floor = min(room.floor_z_m for room in house.rooms if room.storey == storey)
        up = tuple(s for s in house.stairs if house.rooms[s.rooms[0]].storey == storey)
        down = tuple(s for s in house.stairs if house.rooms[s.rooms[1]].storey == storey)
        empty = Layer(floor, up, down, np.full((rows, cols), MARGIN_M, np.float32))
        layers.append(replace(empty, clearance_m=_clearance(empty, xs, ys, obstacles, body)))
    return Ground(body, float(low[0]), float(low[1]), tuple(layers))


def _obstacles(house: House) -> list[Primitive]:
    """Solids that a body bumps into, the front doors closed."""
    parts = [part for thing in house.things if thing.blocks for part in thing.parts]
    doors = []
    for opening in house.openings:
        if opening.kind != "window" and not opening.inner:
            wide = (opening.width_m / 2, 0.08) if opening.along == "x" else (0.08, opening.width_m / 2)
            middle = (opening.x_m, opening.y_m, (opening.bottom_z_m + opening.top_z_m) / 2)
            half = (*wide, (opening.top_z_m - opening.bottom_z_m) / 2)
            doors.append(Primitive("box", middle, half, 0.0, "wood", (0.5, 0.5, 0.5), "door"))
    return [piece for part in (*house.shell, *parts, *doors) for piece in part.level_pieces()]


def _clearance(
    layer: Layer, xs: np.ndarray, ys: np.ndarray, obstacles: list[Primitive], body: Body
) -> Float32[np.ndarray, "y x"]:
    """Clearance of a layer's cells, from that of an empty one."""
    room, shape = layer.clearance_m, layer.clearance_m.shape
    ground, bottom, flight = np.full(shape, layer.floor_z_m), np.full(shape, _STEP_OVER_M), np.zeros(shape, bool)
    points = np.stack(np.meshgrid(xs, ys), -1).reshape(-1, 2)
    for stair in layer.up:
        along, across = (axis.reshape(shape) for axis in stair_coordinates(stair, points).T)
        on = (along > -_NEAR_STAIR_M) & (along <= stair_length_m(stair) + JOINT_M)
        on &= np.abs(across) <= stair.width_m / 2
        ground = np.where(on, stair_ground_m(stair, along.ravel()).reshape(shape), ground)
        bottom, flight = np.where(on, STAIR_BOTTOM_M, bottom), flight | on
    for stair in layer.down:
        along, across = (axis.reshape(shape) for axis in stair_coordinates(stair, points).T)
        length, half = stair_length_m(stair), stair.width_m / 2
        gap = np.hypot(np.maximum(np.maximum(-along, along - length), 0.0), np.maximum(np.abs(across) - half, 0.0))
        landing = (along > length - JOINT_M) & (np.abs(across) <= half)
        # The next flight leads over the well of this one.
        room = np.where(landing | flight, room, np.minimum(room, gap)).astype(np.float32)
    low, high = ground + bottom, ground + body.height_m
    for part in obstacles:
        _keep_off(room, xs, ys, part, low, high)
    return room


def _keep_off(
    room: np.ndarray, xs: np.ndarray, ys: np.ndarray, part: Primitive, low: np.ndarray, high: np.ndarray
) -> None:
    """Lower the clearance around one solid, where the body would meet it (in place)."""
    (x, y, z), half = part.center_m, part.half_m
    if z - half[2] >= high.max() or z + half[2] <= low.min():
        return
    reach = math.hypot(half[0], half[1]) + MARGIN_M
    j0, j1 = np.searchsorted(xs, (x - reach, x + reach))
    i0, i1 = np.searchsorted(ys, (y - reach, y + reach))
    if j0 == j1 or i0 == i1:
        return
    window = (slice(i0, i1), slice(j0, j1))
    dx, dy = xs[None, j0:j1] - x, ys[i0:i1, None] - y
    c, s = math.cos(part.yaw_rad), math.sin(part.yaw_rad)
    a, b = np.abs(dx * c + dy * s), np.abs(dy * c - dx * s)
    if part.shape == "box":
        gap = np.hypot(np.maximum(a - half[0], 0.0), np.maximum(b - half[1], 0.0))
    else:
        # An ellipse as a circle of its longer axis: wrong by little for what stands in houses, and on the safe side.
        gap = np.maximum(np.hypot(a, b) - max(half[0], half[1]), 0.0)
    meets = (z - half[2] < high[window]) & (z + half[2] > low[window])
    room[window] = np.minimum(room[window], np.where(meets, gap, MARGIN_M))
