"""A voxel volume over a house: occlusion and ambient light, sampled smoothly at any point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Int64

from ghosts_houses.arrays import Array, constant, integer, library, put, single, take
from ghosts_houses.house import House, Primitive, reach_m
from ghosts_houses.render.lighting import Lights, direct

VOXEL_M = 0.1
_VOXELS = 100_000
"""Voxels lit at once on a CPU: temporaries stay in its caches."""


@dataclass(frozen=True)
class Volume:
    """Voxels over the whole house; the centre of voxel (0, 0, 0) is `origin`."""

    origin: tuple[float, float, float]
    room: Int64[Array, "z y x"]
    """Room of each voxel, in walls that of a neighbour."""
    near: Float32[Array, "1 z y x"]
    """Occupancy averaged over 0.3 m."""
    field: Float32[Array, "4 z y x"]
    """Ambient RGB, then occupancy averaged over 0.7 m."""


def make_volume(house: House, lights: Lights, primitives: tuple[Primitive, ...]) -> Volume:
    """Voxels of occupancy and ambient light.

    Args:
        house: the house.
        lights: its lights.
        primitives: solids that occlude.
    """
    device = lights.position.device
    low = np.min([(r.x0_m, r.y0_m, 0.0) for r in house.rooms], 0) - 0.5
    high = np.max([(r.x1_m, r.y1_m, r.ceiling_z_m) for r in house.rooms], 0) + 0.5
    origin = np.floor(low / VOXEL_M) * VOXEL_M
    shape = np.ceil((high - origin) / VOXEL_M).astype(int)[::-1]
    solid, room = np.ones(shape, np.float32), np.full(shape, -1, np.int64)
    for item in house.rooms:
        for x0, y0, x1, y1 in item.rects():
            where = _block(origin, shape, (x0, y0, item.floor_z_m), (x1, y1, item.ceiling_z_m))
            solid[where], room[where] = 0.0, item.index
    _carve_openings(house, origin, shape, solid, room)
    for part in primitives:
        _fill(solid, origin, part)
    occupied = put(np.minimum(solid, 1.0), device)
    rooms = put(_nearest_room(room), device)
    ambient = _ambient(house, lights, put(room, device), rooms, origin)
    near, wide = _blur(occupied, 1), _blur(occupied, 3)
    field = library(wide).concatenate([ambient, wide[None]])
    return Volume((float(origin[0]), float(origin[1]), float(origin[2])), rooms, near[None], field)


def _block(origin: np.ndarray, shape: np.ndarray, low: tuple, high: tuple) -> tuple[slice, slice, slice]:
    first = np.ceil((np.array(low) - origin) / VOXEL_M - 1e-6).astype(int)
    last = np.floor((np.array(high) - origin) / VOXEL_M + 1e-6).astype(int) + 1
    first, last = np.maximum(first, 0), np.minimum(last, shape[::-1])
    return slice(first[2], last[2]), slice(first[1], last[1]), slice(first[0], last[0])


def _carve_openings(house: House, origin: np.ndarray, shape: np.ndarray, solid: np.ndarray, room: np.ndarray) -> None:
    for o in house.openings:
        if not o.inner:
            continue
        dx, dy = (o.width_m / 2, 0.1) if o.along == "x" else (0.1, o.width_m / 2)
        where = _block(origin, shape, (o.x_m - dx, o.y_m - dy, o.bottom_z_m), (o.x_m + dx, o.y_m + dy, o.top_z_m))
        solid[where] = 0.0
        room[where] = np.where(room[where] < 0, o.rooms[0], room[where])
    for stair in house.stairs:
        upper = house.rooms[stair.rooms[1]]
        ends = sorted((stair.foot_m[1], stair.head_m[1]))
        half = stair.width_m / 2
        where = _block(
            origin,
            shape,
            (stair.foot_m[0] - half, ends[0], upper.floor_z_m - 0.35),
            (stair.foot_m[0] + half, ends[1], upper.floor_z_m),
        )
        solid[where] = 0.0
        room[where] = np.where(room[where] < 0, upper.index, room[where])


def _fill(solid: np.ndarray, origin: np.ndarray, part: Primitive) -> None:
    """Add a primitive's share of each voxel it touches (its bounding box; rounder solids count less)."""
    ranges, shares = [], []
    for axis, half in enumerate((*reach_m(part.half_m, part.yaw_rad), part.half_m[2])):
        low = (part.center_m[axis] - half - origin[axis]) / VOXEL_M + 0.5
        high = (part.center_m[axis] + half - origin[axis]) / VOXEL_M + 0.5
        first, last = max(0, math.floor(low)), min(solid.shape[2 - axis], math.ceil(high))
        if last <= first:
            return
        edge = np.arange(first, last)
        ranges.append(slice(first, last))
        shares.append(np.clip(np.minimum(edge + 1, high) - np.maximum(edge, low), 0.0, 1.0))
    weight = {"box": 1.0, "cylinder": 0.78, "sphere": 0.6}[part.shape]
    block = shares[2][:, None, None] * shares[1][None, :, None] * shares[0][None, None, :] * weight
    solid[ranges[2], ranges[1], ranges[0]] += block.astype(np.float32)


def _nearest_room(room: np.ndarray) -> np.ndarray:
    """Spread room numbers into the walls beside them, so that points on surfaces find their room."""
    room = room.copy()
    for _ in range(2):
        for axis in range(3):
            for shift in (1, -1):
                moved = np.roll(room, shift, axis)
                room = np.where((room < 0) & (moved >= 0), moved, room)
    return np.maximum(room, 0)


def _along(field: Array, axis: int, start: int, stop: int | None) -> Array:
    """Part of an array along one of its last axes."""
    index = [slice(None)] * field.ndim
    index[axis] = slice(start, stop)
    return field[tuple(index)]


def _blur(field: Array, radius: int) -> Array:
    """Mean over a cube of 2·radius + 1 voxels, edges repeated; last three axes."""
    xp = library(field)
    for axis in (-1, -2, -3):
        length, first, last = field.shape[axis], _along(field, axis, 0, 1), _along(field, axis, -1, None)
        padded = xp.concatenate([first] * radius + [field] + [last] * radius, axis)
        total = _along(padded, axis, 0, length) + 0.0
        for k in range(1, 2 * radius + 1):
            total += _along(padded, axis, k, k + length)
        field = total / (2 * radius + 1)
    return field


def _ambient(house: House, lights: Lights, free_room: Array, rooms: Array, origin: np.ndarray) -> Array:
    """Bounced light: what arrives in free air, spread without passing walls. Returns `3 z y x`."""
    xp, free = library(rooms), free_room >= 0
    z, y, x = xp.where(free)
    field = xp.zeros((3, *free.shape), dtype=xp.float32, device=free.device)
    owner = rooms[z, y, x]
    point = single(xp.stack([x, y, z])) * VOXEL_M + constant(origin.tolist(), field)
    step = _VOXELS if xp is np else len(z)
    still = xp.zeros_like(point[:2])
    parts = [slice(k, k + step) for k in range(0, len(z), step)]
    flat = xp.concatenate([direct(lights, point[:, p], None, owner[p], still[:, p]) for p in parts], 1)
    count = xp.clip(xp.bincount(owner, minlength=len(house.rooms)), 1, None)
    mean = single(xp.stack([xp.bincount(owner, color, len(house.rooms)) for color in flat]) / count)
    field[:, z, y, x] = 0.5 * flat + 0.5 * take(mean, owner)
    mask = single(free)
    for _ in range(8):
        field = xp.where(free, _blur(field * mask, 1) / xp.clip(_blur(mask, 1), 1e-4, None), field)
    # Surfaces lie half in walls: continue the field there.
    for _ in range(2):
        weight = _blur(mask, 1)
        spread = _blur(field * mask, 1) / xp.clip(weight, 1e-4, None) * (weight > 1e-3)
        field, mask = xp.where(mask > 0, field, spread), single(weight > 1e-3)
    return field


def sample(volume: Volume, values: Array, point: Array) -> Array:
    """Trilinear values of one of the volume's arrays (`c z y x`) at points: `3 n` → `c n`."""
    xp, (channels, depth, height, width) = library(values), values.shape
    flat, total = values.reshape(channels, -1), 0.0
    whole, part = [], []
    for value, start, count in zip(point, volume.origin, (width, height, depth), strict=True):
        place = xp.clip((value - start) / VOXEL_M, 0.0, count - 1.0)
        whole.append(xp.clip(integer(place), 0, max(0, count - 2)))
        part.append(place - single(whole[-1]))
    x, y, z = whole
    corner = (z * height + y) * width + x
    steps = (int(width > 1), width * int(height > 1), width * height * int(depth > 1))
    for bits in range(8):
        share, move = 1.0, 0
        for axis in range(3):
            ahead = bits >> axis & 1
            share = share * (part[axis] if ahead else 1.0 - part[axis])
            move += steps[axis] * ahead
        total = total + take(flat, corner + move) * share
    return total


def room_of(volume: Volume, point: Array) -> Array:
    """Index of the room each point (`3 n`) lies in (or beside)."""
    xp, (depth, height, width) = library(point), volume.room.shape
    x, y, z = (
        xp.clip(integer(xp.round((value - start) / VOXEL_M)), 0, count - 1)
        for value, start, count in zip(point, volume.origin, (width, height, depth), strict=True)
    )
    return take(volume.room.reshape(-1), (z * height + y) * width + x)
