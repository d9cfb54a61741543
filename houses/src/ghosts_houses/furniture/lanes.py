"""Whether a room can be walked through between its furniture."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import cv2
import numpy as np

from ghosts_houses.furniture.spots import grow
from ghosts_houses.house import Room
from ghosts_houses.plan.slots import Rect

CELL_M = 0.1
LANE_HALF_M = 0.36
"""Half the width of a lane between furniture."""


def lanes_join(room: Room, solids: Iterable[Rect], gates: Sequence[tuple[float, float]]) -> bool:
    """Whether a walker of 0.7 m width can get from any gate of a room to any other.

    Args:
        room: the room.
        solids: what stands in it.
        gates: points that must stay joined.
    """
    nx, ny = (int((hi - lo) / CELL_M) + 1 for lo, hi in ((room.x0_m, room.x1_m), (room.y0_m, room.y1_m)))
    free = np.zeros((ny, nx), np.uint8)
    edge = math.ceil(LANE_HALF_M / CELL_M)
    free[edge:-edge, edge:-edge] = 1
    cut = [Rect(*room.notch_m)] if room.notch_m is not None else []
    for rect in (*cut, *solids):
        grown = grow(rect, LANE_HALF_M)
        i0, i1 = (math.ceil((v - room.y0_m) / CELL_M - 1e-9) for v in (grown.y0, grown.y1))
        j0, j1 = (math.ceil((v - room.x0_m) / CELL_M - 1e-9) for v in (grown.x0, grown.x1))
        free[max(i0, 0) : max(i1, 0), max(j0, 0) : max(j1, 0)] = 0
    areas, marks = cv2.connectedComponents(free, connectivity=4)
    if areas == 1:  # the background alone
        return False
    found = set()
    for x, y in gates:
        i, j = (y - room.y0_m) / CELL_M, (x - room.x0_m) / CELL_M
        window = marks[max(round(i) - 2, 0) : round(i) + 3, max(round(j) - 2, 0) : round(j) + 3]
        near = window[window > 0]
        if near.size == 0:
            return False
        found.add(int(near[0]))
    return len(found) <= 1
