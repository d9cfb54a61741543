"""The space of a room while it is furnished: what is taken, and what may still stand where."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from ghosts_houses.furniture.catalogue import KINDS
from ghosts_houses.furniture.kit import Model, stand
from ghosts_houses.furniture.spots import WallUse, around, footprint, grow, hits, in_front, overlap
from ghosts_houses.house import Opening, Room, Stair, Thing, Wall
from ghosts_houses.plan.rooms import WALL_M
from ghosts_houses.plan.slots import Rect
from ghosts_houses.touch import sunk

SKIRT_M = 0.02
"""Between a wall and what stands with its back to it."""
_STANDS_HIGH_M = {"tv stand": 1.3}
"""Height with what will stand on it, where that must not stand before a window."""
_CELL_M = 0.1
_LANE_HALF_M = 0.36
"""Half the width of a lane between furniture."""


@dataclass
class Space:
    """A room and what stands in it so far: doors and windows stay free, and lanes of 0.7 m between all doors."""

    room: Room
    openings: list[Opening]
    stairs: tuple[Stair, ...]
    solids: list[Rect] = field(default_factory=list)
    keep_free: list[Rect] = field(default_factory=list)
    uses: list[WallUse] = field(default_factory=list)
    things: list[Thing] = field(default_factory=list)
    gates: list[tuple[float, float]] = field(default_factory=list)
    """Points that must stay joined: inside every door, at the foot and head of a stair."""
    walls: dict[str, Wall] = field(default_factory=dict)
    """Those of the room, by name."""
    notch: Rect | None = None
    """The corner that an L lacks."""

    def __post_init__(self) -> None:
        room = self.room
        self.walls = {wall.name: wall for wall in room.walls}
        self.notch = Rect(*room.notch_m) if room.notch_m is not None else None
        for opening in self.openings:
            side, inward = self.side_of(opening)
            reach = opening.width_m / 2 + 0.08
            middle = opening.x_m if opening.along == "x" else opening.y_m
            margin = 0.26 if opening.kind == "window" else 0.1
            bottom, top = opening.bottom_z_m - room.floor_z_m, opening.top_z_m - room.floor_z_m
            bottom = bottom - 0.05 if bottom > 0.1 or opening.kind != "window" else 0.01  # a glass door stays free
            self.uses.append(WallUse(side, middle - reach - margin, middle + reach + margin, bottom, top + 0.1))
            if opening.kind == "window":
                continue
            deep = WALL_M / 2 + 1.0
            x, y = opening.x_m, opening.y_m
            ends = (x + inward[0] * deep, y + inward[1] * deep)
            wide = (reach, 0.0) if opening.along == "x" else (0.0, reach)
            self.keep_free.append(
                Rect(
                    min(x, ends[0]) - wide[0],
                    min(y, ends[1]) - wide[1],
                    max(x, ends[0]) + wide[0],
                    max(y, ends[1]) + wide[1],
                )
            )
            self.gates.append((x + inward[0] * 0.5, y + inward[1] * 0.5))
        for stair in self.stairs:
            if room.index in stair.rooms:
                self._keep_stair(stair)

    def _keep_stair(self, stair: Stair) -> None:
        up = 1.0 if stair.head_m[1] > stair.foot_m[1] else -1.0
        half = stair.width_m / 2
        low, high = sorted((stair.foot_m[1], stair.head_m[1]))
        x = stair.foot_m[0]
        self.solids.append(Rect(x - half - 0.08, low, x + half + 0.08, high))
        # Pictures keep off the steps, and off the wall above them, where nobody could have hung them.
        side = "W" if x - self.room.x0_m < self.room.x1_m - x else "E"
        self.uses.append(WallUse(side, low - 0.05, high + 0.05, 0.0, math.inf))
        self.keep_free.append(Rect(x - half - 0.9, low - 1.1, x + half + 0.9, high + 1.1))
        end = stair.foot_m[1] - up * 0.5 if self.room.index == stair.rooms[0] else stair.head_m[1] + up * 0.5
        self.gates.append((x, end))

    def side_of(self, opening: Opening) -> tuple[str, tuple[float, float]]:
        """Which wall of the room an opening is in, and the direction into the room."""
        level = opening.y_m if opening.along == "x" else opening.x_m
        same = [wall for wall in self.walls.values() if wall.along == opening.along]
        wall = min(same, key=lambda wall: abs(wall.level_m - level))
        return wall.name, wall.inward

    def wall_range(self, side: str) -> tuple[float, float]:
        """From and to, along a wall."""
        return self.walls[side].low_m, self.walls[side].high_m

    def yaw_at(self, side: str) -> float:
        """Turn of what stands with its back to a wall."""
        return self.walls[side].yaw_rad

    def at_wall(self, side: str, along: float, off: float) -> tuple[float, float]:
        """The point `off` metres in front of a wall, at `along`."""
        wall = self.walls[side]
        level = wall.level_m + off * wall.sign
        return (along, level) if wall.along == "x" else (level, along)

    def walkable(self, extra: Rect | None = None) -> bool:
        """Whether a walker of 0.7 m width can get from any gate to any other."""
        return _lanes_join(self.room, [*self.solids, *([extra] if extra is not None else [])], self.gates)

    def fits(self, model: Model, x: float, y: float, yaw: float, *, strict: bool = True) -> bool:
        """Whether an object may stand at a place: inside, on nothing, out of the way, in front of no window."""
        spec = KINDS[model.kind]
        rect = around(model.half_m, x, y, yaw)
        if not self.inside(rect):
            return False
        if not spec.blocks:
            # Furniture may stand on a rug, but a rug lies on no other.
            flat = [footprint(thing) for thing in self.things if thing.is_rug]
            below = [grow(solid, -0.02) for solid in self.solids] if strict else []
            return not hits(rect, flat) and not hits(rect, below)
        zones = self.keep_free if strict else self.keep_free[: len(self.gates)]
        if hits(rect, self.solids, 0.003) or hits(rect, zones):
            return False
        top = max(2 * model.half_m[2] + model.bottom_m, _STANDS_HIGH_M.get(model.kind, 0.0))
        # Another thing in front is seen to above; a wall knows it from the floor up.
        if self._before(rect, top, [use for use in self.uses if use.bottom_m > 0.0]):
            return False
        return self.walkable(rect)

    def inside(self, rect: Rect, margin_m: float = 0.0) -> bool:
        """Whether a rectangle lies in the room, at least `margin_m` from its walls."""
        room = self.room  # not by way of gaps: this is asked most often
        return (
            rect.y0 - room.y0_m >= margin_m
            and room.y1_m - rect.y1 >= margin_m
            and rect.x0 - room.x0_m >= margin_m
            and room.x1_m - rect.x1 >= margin_m
            and (self.notch is None or not overlap(rect, self.notch, margin_m))
        )

    def gaps(self, rect: Rect) -> dict[str, float]:
        """Distance of a rectangle from each wall that it stands before; negative beyond it."""
        near = {"S": rect.y0, "N": rect.y1, "W": rect.x0, "E": rect.x1}
        gaps = {}
        for name, wall in self.walls.items():
            low, high = (rect.x0, rect.x1) if wall.along == "x" else (rect.y0, rect.y1)
            before = low < wall.high_m and wall.low_m < high
            gaps[name] = (near[name[0]] - wall.level_m) * wall.sign if before else math.inf
        return gaps

    def hides_window(self, rect: Rect, top_m: float, except_side: str = "") -> bool:
        """Whether something of a height above the floor would stand before a window or in a door."""
        uses = [use for use in self.uses[: len(self.openings)] if use.side != except_side]
        return self._before(rect, top_m, uses)

    def _before(self, rect: Rect, top_m: float, uses: Iterable[WallUse]) -> bool:
        """Whether something of a height above the floor would stand before what is on a wall."""
        gaps = self.gaps(rect)
        for use in uses:
            low, high = (rect.x0, rect.x1) if use.side[0] in "SN" else (rect.y0, rect.y1)
            if gaps[use.side] < 0.35 and top_m > use.bottom_m and low < use.high and use.low < high:
                return True
        return False

    def front_is_free(self, model: Model, x: float, y: float, yaw: float, strict: bool) -> bool:
        """Whether the floor that an object needs before it lies in the room and holds nothing."""
        spec = KINDS[model.kind]
        if spec.clear_m <= 0:
            return True
        zone = in_front(model.half_m, x, y, yaw, spec.clear_m if strict else 0.45)
        return self.inside(zone, -0.01) and not hits(zone, self.solids)

    def wall_is_free(self, use: WallUse) -> bool:
        """Whether nothing takes any of a stretch of wall."""
        return not any(
            taken.side == use.side
            and taken.low < use.high
            and use.low < taken.high
            and taken.bottom_m < use.top_m
            and use.bottom_m < taken.top_m
            for taken in self.uses
        )

    def slot_is_free(self, side: str, along: float, wide: float, deep: float) -> bool:
        """Whether a slice of the floor before a wall holds nothing, and keeps out of doors and flights."""
        x, y = self.at_wall(side, along, deep / 2 + SKIRT_M)
        rect = around((deep / 2, wide / 2, 0.0), x, y, self.yaw_at(side))
        if not self.inside(rect) or hits(rect, self.solids, 0.003):
            return False
        return not hits(rect, self.keep_free[: len(self.gates)])

    def clear(self, model: Model, x: float, y: float, z_m: float, yaw: float) -> bool:
        """Whether an object above the floor touches neither walls nor things, and hides no window."""
        rect = around(model.half_m, x, y, yaw)
        top = z_m - self.room.floor_z_m + model.bottom_m + 2 * model.half_m[2]
        if not self.inside(rect) or (KINDS[model.kind].blocks and self.hides_window(rect, top)):
            return False
        parts = stand(model, KINDS[model.kind], self.room.index, x, y, z_m, yaw).parts
        return not any(overlap(rect, footprint(thing)) and sunk(parts, thing.parts) for thing in self.things)

    def behind(self, host: Thing) -> list[str]:
        """The wall that a thing has its back to, if any."""
        gaps = self.gaps(footprint(host))
        backs = [s for s in gaps if abs(math.remainder(self.yaw_at(s) - host.yaw_rad, 2 * math.pi)) < 0.1]
        return sorted((side for side in backs if gaps[side] < math.inf), key=lambda side: gaps[side])[:1]

    def add(self, model: Model, x: float, y: float, z_m: float, yaw: float) -> Thing:
        """Put an object at a place and remember what it takes."""
        spec = KINDS[model.kind]
        thing = stand(model, spec, self.room.index, x, y, z_m, yaw)
        self.things.append(thing)
        if spec.blocks and z_m < self.room.floor_z_m + 0.3:
            rect = footprint(thing)
            self.solids.append(rect)
            self._use_walls(rect, 2 * model.half_m[2] + model.bottom_m)
            if spec.clear_m > 0:
                self.keep_free.append(in_front(model.half_m, x, y, yaw, spec.clear_m))
        return thing

    def _use_walls(self, rect: Rect, top_m: float) -> None:
        for side, gap in self.gaps(rect).items():
            if gap < 0.3:
                low, high = (rect.x0, rect.x1) if side[0] in "SN" else (rect.y0, rect.y1)
                self.uses.append(WallUse(side, low, high, 0.0, top_m))


def _lanes_join(room: Room, solids: Iterable[Rect], gates: Sequence[tuple[float, float]]) -> bool:
    """Whether a walker of 0.7 m width can get from any gate of a room to any other.

    Args:
        room: the room.
        solids: what stands in it.
        gates: points that must stay joined.
    """
    nx, ny = (int((hi - lo) / _CELL_M) + 1 for lo, hi in ((room.x0_m, room.x1_m), (room.y0_m, room.y1_m)))
    free = np.zeros((ny, nx), np.uint8)
    edge = math.ceil(_LANE_HALF_M / _CELL_M)
    free[edge:-edge, edge:-edge] = 1
    cut = [Rect(*room.notch_m)] if room.notch_m is not None else []
    for rect in (*cut, *solids):
        grown = grow(rect, _LANE_HALF_M)
        i0, i1 = (math.ceil((v - room.y0_m) / _CELL_M - 1e-9) for v in (grown.y0, grown.y1))
        j0, j1 = (math.ceil((v - room.x0_m) / _CELL_M - 1e-9) for v in (grown.x0, grown.x1))
        free[max(i0, 0) : max(i1, 0), max(j0, 0) : max(j1, 0)] = 0
    areas, marks = cv2.connectedComponents(free, connectivity=4)
    if areas == 1:  # the background alone
        return False
    found = set()
    for x, y in gates:
        i, j = (y - room.y0_m) / _CELL_M, (x - room.x0_m) / _CELL_M
        window = marks[max(round(i) - 2, 0) : round(i) + 3, max(round(j) - 2, 0) : round(j) + 3]
        near = window[window > 0]
        if near.size == 0:
            return False
        found.add(int(near[0]))
    return len(found) <= 1
