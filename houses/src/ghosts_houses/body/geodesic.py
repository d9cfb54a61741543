"""How far it is to walk: shortest ways over the cells where a body fits, storeys joined by their stairs."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import dijkstra

from ghosts_houses.body.ground import CELL_M, JOINT_M, Ground
from ghosts_houses.graph.obstacles import stair_coordinates, stair_ground_m, stair_length_m
from ghosts_sim.errors import DataError

# Knight's moves too: ways over eight neighbours are up to 8 % too long, over sixteen at most 3 %.
_NEIGHBOURS = ((0, 1), (1, 0), (1, 1), (1, -1), (1, 2), (2, 1), (2, -1), (1, -2))
_CLIMB = 1.5
"""Steepest change of the ground per metre along the plan; a flight's is 0.8."""


class Geodesic:
    """Shortest ways in one house.

    Args:
        ground: of the house.
        clear_m: room that a way must have; the body's radius by default.
    """

    def __init__(self, ground: Ground, clear_m: float | None = None) -> None:
        self.ground = ground
        clear = ground.body.radius_m if clear_m is None else clear_m
        self.free = np.stack([layer.clearance_m >= clear for layer in ground.layers])
        self.number = np.full(self.free.shape, -1)
        self.number[self.free] = np.arange(int(self.free.sum()))
        self.height_m = np.stack([_heights(ground, k) for k in range(len(ground.layers))])
        self.graph = self._edges()

    def field(self, x_m: float, y_m: float, layer: int) -> Field:
        """Distances of all cells from a goal.

        Raises:
            DataError: nothing is free near the goal.
        """
        goal = self.nearest(x_m, y_m, layer)
        distance, before = dijkstra(self.graph, directed=False, indices=self.number[goal], return_predecessors=True)
        full = np.full(self.free.shape, np.inf, np.float32)
        full[self.free] = distance
        return Field(self, goal, full, before)

    def nearest(self, x_m: float, y_m: float, layer: int) -> tuple[int, int, int]:
        """Layer, row and column of the free cell nearest to a place.

        Raises:
            DataError: there is none within 0.5 m.
        """
        col, row = (x_m - self.ground.x0_m) / CELL_M, (y_m - self.ground.y0_m) / CELL_M
        i, j = round(row), round(col)
        reach = 10
        i0, j0 = max(0, i - reach), max(0, j - reach)
        window = self.free[layer, i0 : max(0, i + reach + 1), j0 : max(0, j + reach + 1)]
        rows, cols = np.nonzero(window)
        if len(rows) == 0:
            raise DataError(
                "no room for a body within 0.5 m",
                record=f"pose {(round(x_m, 3), round(y_m, 3))}",
                hint="choose a place in a room",
            )
        best = int(np.argmin((rows + i0 - row) ** 2 + (cols + j0 - col) ** 2))
        return layer, int(rows[best] + i0), int(cols[best] + j0)

    def place_m(self, cell: tuple[int, int, int]) -> tuple[float, float, float]:
        """Centre of a cell, on the ground."""
        layer, row, col = cell
        x, y = self.ground.x0_m + CELL_M * col, self.ground.y0_m + CELL_M * row
        return x, y, float(self.height_m[layer, row, col])

    def _edges(self) -> csr_matrix:
        starts, ends, lengths = [], [], []
        rows, cols = self.ground.shape
        for layer in range(len(self.ground.layers)):
            number, height = self.number[layer], self.height_m[layer]
            for di, dj in _NEIGHBOURS:
                a = (slice(0, rows - di), slice(max(0, -dj), cols - max(0, dj)))
                b = (slice(di, rows), slice(max(0, dj), cols - max(0, -dj)))
                flat = CELL_M * math.hypot(di, dj)
                rise = np.abs(height[a] - height[b])
                joined = (number[a] >= 0) & (number[b] >= 0) & (rise <= _CLIMB * flat)
                starts.append(number[a][joined])
                ends.append(number[b][joined])
                lengths.append(np.hypot(flat, rise[joined]))
        for layer in range(len(self.ground.layers) - 1):
            # Where a flight's last cells and the floor above share place and height, layers meet.
            same = (self.number[layer] >= 0) & (self.number[layer + 1] >= 0)
            same &= np.abs(self.height_m[layer] - self.height_m[layer + 1]) < 0.12
            starts.append(self.number[layer][same])
            ends.append(self.number[layer + 1][same])
            lengths.append(np.full(int(same.sum()), 1e-3))
        count = int(self.free.sum())
        pairs = (np.concatenate(starts), np.concatenate(ends))
        return coo_matrix((np.concatenate(lengths), pairs), shape=(count, count)).tocsr()


def _heights(ground: Ground, layer: int) -> np.ndarray:
    """Height of the ground in every cell of a layer, as `Ground.height_m` tells it."""
    rows, cols = ground.shape
    height = np.full((rows, cols), ground.layers[layer].floor_z_m)
    xs, ys = ground.x0_m + CELL_M * np.arange(cols), ground.y0_m + CELL_M * np.arange(rows)
    points = np.stack(np.meshgrid(xs, ys), -1).reshape(-1, 2)
    for stair in ground.layers[layer].up:
        along, across = stair_coordinates(stair, points).T
        on = (along > 0.0) & (along <= stair_length_m(stair) + JOINT_M) & (np.abs(across) <= stair.width_m / 2)
        height[on.reshape(rows, cols)] = stair_ground_m(stair, along[on])
    return height


@dataclass(frozen=True)
class Field:
    """Distances to one goal."""

    geodesic: Geodesic
    goal: tuple[int, int, int]
    distance_m: Float32[np.ndarray, "l y x"]
    """Infinite where no way leads."""
    before: np.ndarray
    """The next cell on the way to the goal, by the number of a free cell."""

    def at(self, x_m: float, y_m: float, layer: int) -> float:
        """Distance to the goal from a place."""
        cell = self.geodesic.nearest(x_m, y_m, layer)
        x, y, _ = self.geodesic.place_m(cell)
        return float(self.distance_m[cell]) + math.hypot(x - x_m, y - y_m)

    def way_m(self, x_m: float, y_m: float, layer: int) -> np.ndarray:
        """The shortest way from a place to the goal: centres of cells and the ground's height, `n 3`."""
        cell = self.geodesic.nearest(x_m, y_m, layer)
        number = int(self.geodesic.number[cell])
        cells = np.argwhere(self.geodesic.free)
        way = []
        while number >= 0:
            layer, row, col = cells[number].tolist()
            way.append(self.geodesic.place_m((layer, row, col)))
            number = int(self.before[number])
        return np.array(way)
