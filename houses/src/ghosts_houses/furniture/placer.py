"""Ways to place an object in a room: at a wall, in a corner, in the middle, by another object or on it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass

import numpy as np

from ghosts_houses.furniture.catalogue import KINDS
from ghosts_houses.furniture.kit import Model, build, stand
from ghosts_houses.furniture.space import SKIRT_M, Space
from ghosts_houses.furniture.spots import WallUse, around, footprint, grow, hits
from ghosts_houses.house import Thing, reach_m
from ghosts_houses.plan.slots import Rect
from ghosts_houses.touch import sunk

_CATERCORNERED = ("armchair", "exercise bike", "globe", "teddy bear")
"""Kinds that often stand across a corner."""


@dataclass
class Placer(Space):
    """Places objects in a room, each at a random one of the spots where it fits."""

    _: KW_ONLY
    rng: np.random.Generator

    def make(self, kind: str) -> Model:
        """Build an object of a kind."""
        return build(kind, KINDS[kind], self.rng, self.room.ceiling_z_m - self.room.floor_z_m)

    def along_wall(self, kind: str, *, strict: bool = True) -> Thing | None:
        """Stand an object with its back to a wall."""
        model = self.make(kind)
        spots = []
        for side in self.walls:
            low, high = self.wall_range(side)
            room_left = high - low - 2 * model.half_m[1] - 0.06
            if room_left < 0:
                continue
            steps = max(1, int(room_left / 0.15))
            spots += [(side, low + 0.03 + model.half_m[1] + room_left * k / steps) for k in range(steps + 1)]
        return self._at_a_wall(model, spots, strict)

    def _at_a_wall(self, model: Model, spots: list[tuple[str, float]], strict: bool) -> Thing | None:
        """Stand an object at one of some spots (wall, place along it), tried in any order."""
        for k in self.rng.permutation(len(spots)).tolist():
            thing = self.at_place(model, *spots[k], strict=strict)
            if thing is not None:
                return thing
        return None

    def at_place(self, model: Model, side: str, along: float, *, strict: bool) -> Thing | None:
        """Stand an object with its back to a wall, at one place along it."""
        yaw = self.yaw_at(side)
        x, y = self.at_wall(side, along, model.half_m[0] + SKIRT_M)
        if self.front_is_free(model, x, y, yaw, strict) and self.fits(model, x, y, yaw, strict=strict):
            return self.add(model, x, y, self.room.floor_z_m, yaw)
        return None

    def in_corner(self, kind: str, *, strict: bool = True) -> Thing | None:
        """Stand an object in a corner, its back to one of the two walls."""
        model = self.make(kind)
        spots = []
        room, off = self.room, model.half_m[1] + SKIRT_M + 0.01
        for side in self.walls:
            low, high = self.wall_range(side)
            ends = [(low, low + off), (high, high - off)]
            # Of an L's two inner walls only the far ends are corners that one stands in.
            inner, outer = side.endswith("2"), (room.x0_m, room.x1_m, room.y0_m, room.y1_m)
            spots += [(side, along) for end, along in ends if not inner or end in outer]
        if kind in _CATERCORNERED and self.rng.random() < 0.6:
            thing = self._across_corner(model, strict)
            if thing is not None:
                return thing
        return self._at_a_wall(model, spots, strict)

    def _across_corner(self, model: Model, strict: bool) -> Thing | None:
        """Stand an object across a corner, its front to the middle of the room."""
        room = self.room
        turn = float(self.rng.uniform(-0.25, 0.25))
        for k in self.rng.permutation(4):
            right, upper = bool(k % 2), bool(k // 2)
            yaw = math.atan2(-1.0 if upper else 1.0, -1.0 if right else 1.0) + turn
            hx, hy = (reach + SKIRT_M for reach in reach_m(model.half_m, yaw))
            x = room.x1_m - hx if right else room.x0_m + hx
            y = room.y1_m - hy if upper else room.y0_m + hy
            if self.front_is_free(model, x, y, yaw, strict) and self.fits(model, x, y, yaw, strict=strict):
                return self.add(model, x, y, room.floor_z_m, yaw)
        return None

    def in_middle(self, kind: str, *, strict: bool = True) -> Thing | None:
        """Stand or lay an object near the middle of the room, free on all sides."""
        model, room, spec = self.make(kind), self.room, KINDS[kind]
        part = Rect(*room.rects()[0])
        wide, deep = part.width, part.depth
        yaw = 0.0 if wide < deep else math.pi / 2
        if self.rng.random() < 0.15 and spec.blocks:
            yaw += math.pi / 2
        for _ in range(30):
            x = room.center_m[0] + float(self.rng.normal(0, 0.1 * wide))
            y = room.center_m[1] + float(self.rng.normal(0, 0.1 * deep))
            rect = around(model.half_m, x, y, yaw)
            gap = (spec.clear_m if strict else 0.45) if spec.blocks else 0.1
            grown = grow(rect, gap)
            if not self.inside(grown):
                continue
            if spec.blocks and hits(grown, self.solids):
                continue
            if self.fits(model, x, y, yaw, strict=strict):
                return self.add(model, x, y, room.floor_z_m, yaw)
        return None

    def beside(self, kind: str, host: Thing, gap: float) -> Thing | None:
        """Stand an object next to its host, backs in line."""
        model = self.make(kind)
        c, s = math.cos(host.yaw_rad), math.sin(host.yaw_rad)
        for side in self.rng.permutation([-1.0, 1.0]).tolist():
            dx = model.half_m[0] - host.half_m[0]
            dy = side * (host.half_m[1] + model.half_m[1] + gap)
            x, y = host.center_m[0] + dx * c - dy * s, host.center_m[1] + dx * s + dy * c
            if self.fits(model, x, y, host.yaw_rad):
                return self.add(model, x, y, self.room.floor_z_m, host.yaw_rad)
        return None

    def in_front(self, kind: str, host: Thing, gap: float, *, facing: bool) -> Thing | None:
        """Stand an object before its host, turned to it or the same way."""
        model = self.make(kind)
        c, s = math.cos(host.yaw_rad), math.sin(host.yaw_rad)
        reach = host.half_m[0] + model.half_m[0] + gap
        x, y = host.center_m[0] + c * reach, host.center_m[1] + s * reach
        yaw = host.yaw_rad + (math.pi if facing else 0.0)
        if kind == "office chair":  # as somebody left it, a little away from the desk
            yaw += float(self.rng.uniform(-0.6, 0.6))
            x, y = x + 0.12 * c, y + 0.12 * s
        if self.fits(model, x, y, yaw, strict=False):
            return self.add(model, x, y, self.room.floor_z_m, yaw)
        return None

    def around(self, kind: str, host: Thing, most: int) -> list[Thing]:
        """Stand up to `most` objects around a table, facing it."""
        model = self.make(kind)
        hx, hy = host.half_m[0], host.half_m[1]
        gap = model.half_m[0] - 0.12 if kind == "chair" else model.half_m[0] + 0.06
        rows = max(1, int(2 * hy / 0.62))
        places = [
            (sx * (hx + gap), (i - (rows - 1) / 2) * 0.62, math.pi if sx > 0 else 0.0)
            for i in range(rows)
            for sx in (1, -1)
        ]
        if kind == "chair":
            places += [(0.0, sy * (hy + gap), -sy * math.pi / 2) for sy in (1, -1)]
        made = []
        host_rect = footprint(host)
        c, s = math.cos(host.yaw_rad), math.sin(host.yaw_rad)
        others = [rect for rect in self.solids if rect != host_rect]
        for dx, dy, turn in places[:most]:
            # Chairs are not lined up with a ruler: each is turned a little, and drawn back a little.
            turn = turn + float(self.rng.normal(0.0, 0.12))
            back = 1.0 + float(self.rng.uniform(0.0, 0.12))
            x, y = host.center_m[0] + (dx * c - dy * s) * back, host.center_m[1] + (dx * s + dy * c) * back
            rect = around(model.half_m, x, y, host.yaw_rad + turn)
            parts = stand(model, KINDS[kind], self.room.index, x, y, self.room.floor_z_m, host.yaw_rad + turn).parts
            if sunk(parts, host.parts):
                continue
            free = not hits(rect, others, 0.03) and not hits(rect, self.keep_free[: len(self.gates)])
            if free and self.inside(rect, 0.1) and self.walkable(rect):
                made.append(self.add(model, x, y, self.room.floor_z_m, host.yaw_rad + turn))
                others.append(rect)
        return made

    def on_top(self, kind: str, host: Thing, height_m: float, shifts: Iterable[float]) -> Thing | None:
        """Put a small object on its host, at the first of some shifts to its left (metres) where it is free."""
        model = self.make(kind)
        c, s = math.cos(host.yaw_rad), math.sin(host.yaw_rad)
        for shift in shifts:
            x, y = host.center_m[0] - shift * s, host.center_m[1] + shift * c
            if self.clear(model, x, y, self.room.floor_z_m + height_m, host.yaw_rad):
                return self.add(model, x, y, self.room.floor_z_m + height_m, host.yaw_rad)
        return None

    def on_wall(self, kind: str, host: Thing | None = None, model: Model | None = None) -> Thing | None:
        """Hang an object on a free stretch of wall, or above its host.

        Args:
            kind: what to hang.
            host: thing to hang it above.
            model: the object, where it is built already.
        """
        model, spec = model or self.make(kind), KINDS[kind]
        height = spec.height_m + (float(self.rng.uniform(-0.05, 0.15)) if kind == "painting" else 0.0)
        top = height + model.bottom_m + 2 * model.half_m[2]
        spots: list[tuple[str, float]] = []
        for side in self.walls if host is None else self.behind(host):
            low, high = self.wall_range(side)
            low, high = low + model.half_m[1] + 0.12, high - model.half_m[1] - 0.12
            if host is not None:
                spots.append((side, host.center_m[0] if side[0] in "SN" else host.center_m[1]))
            elif high > low:
                spots += [(side, float(u)) for u in np.linspace(low, high, 9)]
        for k in self.rng.permutation(len(spots)):
            side, along = spots[int(k)]
            yaw = self.yaw_at(side)
            use = WallUse(side, along - model.half_m[1] - 0.08, along + model.half_m[1] + 0.08, height, top)
            x, y = self.at_wall(side, along, model.half_m[0] + 0.002)
            if self.wall_is_free(use) and self.clear(model, x, y, self.room.floor_z_m + height, yaw):
                self.uses.append(use)
                return self.add(model, x, y, self.room.floor_z_m + height, yaw)
        return None
