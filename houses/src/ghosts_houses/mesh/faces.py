"""The faces of a house's solids, of which only what can be seen is left.

A face is buried where another solid covers it, and of faces that lie in one plane and look the same way only one may
stay: the exact ray caster breaks such ties by order, a rasteriser would flicker. Boxes of one yaw are cut against each
other exactly, rectangle by rectangle. A round or turned solid whose lid shares a plane with another is sunk a little.

Every solid has six slots for faces: a box uses all (−x, +x, −y, +y, −z, +z of its own frame), a cylinder its side
(slot 0), bottom (4) and top (5), an ellipsoid slot 0. The number of a face is 6 · solid + slot.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Int

from ghosts_houses.house import House
from ghosts_houses.solids import AABB, BOX, CYLINDER, ELLIPSOID, Solids

SLOTS = 6
TOUCH_M = 1e-4
"""Faces nearer than this lie in one plane."""
SUNK_M = 4e-4
"""A lid that shares its plane with another one is moved this far below it."""
_AHEAD_M, _SHELL_M = 0.02, np.array([0.09, 0.09, 0.16])
"""A face looks outdoors when a point this far before it is farther than the second number from every room."""
Piece = tuple[float, float, float, float]
"""A rectangle of a face: from u, v to u, v, in metres from its middle along its axes."""

_IN_PLANE = ((2, 1), (1, 2), (0, 2), (2, 0), (1, 0), (0, 1))
"""Axes u and v of each slot; u × v points out of the solid."""


@dataclass(frozen=True)
class Faces:
    """What can be seen of a house's solids."""

    solids: Solids
    """The house's primitives as NumPy arrays, in double precision."""
    pieces: dict[int, tuple[Piece, ...]]
    """Visible rectangles of each flat face of a box, by its number; buried ones are left out."""
    lids: Int[np.ndarray, " k"]
    """Numbers of the visible round lids."""
    rounds: Int[np.ndarray, " r"]
    """Numbers of the curved faces: sides of cylinders, and ellipsoids."""
    sunk: dict[int, float]
    """How far a face was moved into its solid, in metres."""


def axes_of(slot: int) -> tuple[int, int, int]:
    """Axes of a flat face in its solid's own frame: its normal's, u and v.

    Example:
        >>> axes_of(5)
        (2, 0, 1)
    """
    return (slot // 2, *_IN_PLANE[slot])


def visible_faces(house: House) -> Faces:
    """Cut away what cannot be seen from inside a house: buried faces, and those that face outdoors."""
    solids = Solids.of(house.primitives)
    rank = np.empty(len(solids.form), int)
    # The order in which the ray caster meets them, which is how it breaks ties.
    rank[np.lexsort((np.arange(len(solids.form)), solids.form, ~solids.first))] = np.arange(len(solids.form))
    pieces: dict[int, tuple[Piece, ...]] = {}
    for group in _by_yaw(solids):
        pieces |= _indoors(house, solids, _cut_group(solids, group, rank))
    for solid in np.flatnonzero(solids.turn[:, 2] != 0.0).tolist():
        # Of a rail nothing is buried but where posts meet it.
        for slot in range(SLOTS):
            u, v = solids.half[solid, list(axes_of(slot)[1:])].tolist()
            pieces[solid * SLOTS + slot] = ((-u, -v, u, v),)
    judge = _Lids.of(solids, rank)
    level = (solids.form == BOX) & (solids.turn[:, 2] == 0.0)
    turned = [face for face in pieces if face % SLOTS >= 4 and level[face // SLOTS]]
    round_lids = [int(solid) * SLOTS + slot for solid in np.flatnonzero(solids.form == CYLINDER) for slot in (4, 5)]
    for face in turned:
        if judge.covered(face):
            del pieces[face]
    lids = [face for face in round_lids if not judge.covered(face)]
    depths = {face: judge.sunk_m(face) for face in [*lids, *(face for face in turned if face in pieces)]}
    sunk = {face: depth for face, depth in depths.items() if depth}
    rounds = np.flatnonzero((solids.form == CYLINDER) | (solids.form == ELLIPSOID)) * SLOTS
    return Faces(solids, pieces, np.array(lids, int), rounds, sunk)


def _indoors(house: House, solids: Solids, pieces: dict[int, tuple[Piece, ...]]) -> dict[int, tuple[Piece, ...]]:
    """Faces in front of which there is a room, a wall or the slab between storeys."""
    if not pieces:
        return pieces
    solid, slot = np.divmod(np.array(list(pieces)), SLOTS)
    axis, sign = slot // 2, np.where(slot % 2, 1.0, -1.0)
    normal = np.zeros((len(solid), 3))
    normal[np.arange(len(solid)), axis] = sign
    own = normal * (solids.half[solid] + _AHEAD_M)
    (c, s, slope), (x, y, z) = solids.turn[solid].T, own.T
    ahead = solids.center[solid] + np.stack([x * c - y * s, x * s + y * c, z + slope * x], 1)
    low = np.array([(r.x0_m, r.y0_m, r.floor_z_m) for r in house.rooms]) - _SHELL_M
    high = np.array([(r.x1_m, r.y1_m, r.ceiling_z_m) for r in house.rooms]) + _SHELL_M
    inside = ((ahead[:, None] > low) & (ahead[:, None] < high)).all(2).any(1)
    return {face: item for (face, item), keep in zip(pieces.items(), inside) if keep}


def _by_yaw(solids: Solids) -> Iterator[np.ndarray]:
    """Level boxes that are parallel to each other; quarter turns have been taken out of `turn`."""
    boxes = np.flatnonzero((solids.form <= BOX) & (solids.turn[:, 2] == 0.0))
    yaw = np.arctan2(solids.turn[boxes, 1], solids.turn[boxes, 0]) % (math.pi / 2)
    key = np.round(yaw / 1e-6).astype(int) % round(math.pi / 2 / 1e-6)
    for value in np.unique(key):
        yield boxes[key == value]


def _cut_group(solids: Solids, group: np.ndarray, rank: np.ndarray) -> dict[int, tuple[Piece, ...]]:
    """Visible pieces of parallel boxes."""
    # All in the frame of the first; the others may be a quarter turn from it, which swaps their x and y.
    c, s = solids.turn[group[0], :2]
    center = solids.center[group] @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    turn = solids.turn[group, :2]
    quarter = np.round(np.arctan2(turn[:, 1] * c - turn[:, 0] * s, turn @ np.array([c, s])) / (math.pi / 2)).astype(int)
    half = solids.half[group].copy()
    odd = quarter % 2 == 1
    half[odd, :2] = half[odd, 1::-1]
    low, high = center - half, center + half
    found = {}
    for k, solid in enumerate(group):
        for slot in range(SLOTS):
            # The same side in the group's frame: a quarter turn takes +x to +y, +y to −x.
            here = slot
            for _ in range(int(quarter[k]) % 4):
                here = (2, 3, 1, 0, 4, 5)[here]
            visible = _cut_face(low, high, k, here, rank[group])
            if visible:
                found[int(solid) * SLOTS + slot] = _in_own_frame(visible, here, slot, int(quarter[k]), center[k])
    return found


def _cut_face(low: np.ndarray, high: np.ndarray, k: int, slot: int, rank: np.ndarray) -> list[Piece]:
    """Pieces of one face that no other box covers, in the group's coordinates."""
    axis, u, v = axes_of(slot)
    up = slot % 2 == 1
    level = high[k, axis] if up else low[k, axis]
    probe = level + (TOUCH_M if up else -TOUCH_M)
    over = (low[:, axis] <= probe) & (high[:, axis] >= probe)
    twin = np.abs((high if up else low)[:, axis] - level) < TOUCH_M
    over = (over | (twin & (rank < rank[k]))) & (np.arange(len(low)) != k)
    for a in (u, v):
        over &= (low[:, a] < high[k, a] - TOUCH_M) & (high[:, a] > low[k, a] + TOUCH_M)
    frame = (low[k, u], low[k, v], high[k, u], high[k, v])
    return subtract(frame, [(low[j, u], low[j, v], high[j, u], high[j, v]) for j in np.flatnonzero(over)])


def subtract(frame: Piece, covers: list[Piece]) -> list[Piece]:
    """A rectangle without others, as few rectangles side by side.

    Example:
        >>> subtract((0.0, 0.0, 2.0, 1.0), [(1.0, -1.0, 3.0, 3.0)])
        [(0.0, 0.0, 1.0, 1.0)]
    """
    if not covers:
        return [frame]
    cuts = []
    for axis in (0, 1):
        edges = [frame[axis], frame[axis + 2]]
        for cover in covers:
            edges += [edge for edge in (cover[axis], cover[axis + 2]) if frame[axis] < edge < frame[axis + 2]]
        edges.sort()
        cuts.append([edges[0], *(b for a, b in pairwise(edges) if b - a > TOUCH_M)])
        cuts[-1][-1] = frame[axis + 2]
    x, y = np.array(cuts[0]), np.array(cuts[1])
    free = np.ones((len(y) - 1, len(x) - 1), bool)
    for x0, y0, x1, y1 in covers:
        inside_x = (x[:-1] >= x0 - TOUCH_M) & (x[1:] <= x1 + TOUCH_M)
        inside_y = (y[:-1] >= y0 - TOUCH_M) & (y[1:] <= y1 + TOUCH_M)
        free &= ~(inside_y[:, None] & inside_x[None])
    return [(float(x[a]), float(y[b]), float(x[c]), float(y[d])) for a, b, c, d in _rectangles(free)]


def _rectangles(free: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Cells as rectangles: the longest run of a row, as high as it goes."""
    free, found = free.copy(), []
    for row in range(free.shape[0]):
        col = 0
        while col < free.shape[1]:
            if not free[row, col]:
                col += 1
                continue
            end, top = col, row
            while end < free.shape[1] and free[row, end]:
                end += 1
            while top < free.shape[0] and free[top, col:end].all():
                top += 1
            free[row:top, col:end] = False
            found.append((col, row, end, top))
            col = end
    return found


def _in_own_frame(pieces: list[Piece], here: int, slot: int, quarter: int, center: np.ndarray) -> tuple[Piece, ...]:
    """Pieces from the group's coordinates to metres from the face's middle along its own axes."""
    _, u, v = axes_of(here)
    _, own_u, own_v = axes_of(slot)
    c, s = ((1, 0), (0, 1), (-1, 0), (0, -1))[quarter % 4]
    moved = []
    for x0, y0, x1, y1 in pieces:
        corners = []
        for a, b in ((x0, y0), (x1, y1)):
            point = np.zeros(3)
            point[u], point[v] = a - center[u], b - center[v]
            own = (point[0] * c + point[1] * s, point[1] * c - point[0] * s, point[2])
            corners.append((own[own_u], own[own_v]))
        (a0, b0), (a1, b1) = corners
        moved.append((float(min(a0, a1)), float(min(b0, b1)), float(max(a0, a1)), float(max(b0, b1))))
    return tuple(moved)


@dataclass(frozen=True)
class _Lids:
    """Decides which lids are seen: bounding boxes of all solids, and which of two in one plane is drawn."""

    solids: Solids
    low: np.ndarray
    high: np.ndarray
    rank: np.ndarray

    @staticmethod
    def of(solids: Solids, rank: np.ndarray) -> _Lids:
        reach = np.stack(solids.reach_m, 1)
        return _Lids(solids, solids.center - reach, solids.center + reach, rank)

    def covered(self, face: int) -> bool:
        """Whether one axis-aligned box covers a whole lid."""
        solid, top = face // SLOTS, face % SLOTS == 5
        probe = self.high[solid, 2] + TOUCH_M if top else self.low[solid, 2] - TOUCH_M
        at = (self.solids.form == AABB) & (self.low[:, 2] <= probe) & (self.high[:, 2] >= probe)
        low, high = self.low[at, :2] - TOUCH_M, self.high[at, :2] + TOUCH_M
        return bool(((low <= self.low[solid, :2]) & (high >= self.high[solid, :2])).all(1).any())

    def sunk_m(self, face: int) -> float:
        """How far a lid goes down, for the solids before it that have a lid in the same plane over the same place."""
        solid, ends = face // SLOTS, self.high if face % SLOTS == 5 else self.low
        twin = (
            (self.solids.form != ELLIPSOID)
            & (self.solids.turn[:, 2] == 0.0)
            & (np.abs(ends[:, 2] - ends[solid, 2]) < TOUCH_M)
        )
        twin &= self.rank < self.rank[solid]
        near = (self.low[:, :2] < self.high[solid, :2] - TOUCH_M) & (self.high[:, :2] > self.low[solid, :2] + TOUCH_M)
        return SUNK_M * int((twin & near.all(1)).sum())
