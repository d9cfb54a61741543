"""A voxel volume over a house: occlusion and ambient light, sampled smoothly at any point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor
from torch.nn import functional as F

from ghosts_houses.house import House, Primitive, reach_m
from ghosts_houses.render.lighting import Lights, direct

VOXEL_M = 0.1


@dataclass(frozen=True)
class Volume:
    """Voxels over the whole house; the centre of voxel (0, 0, 0) is `origin`."""

    origin: tuple[float, float, float]
    room: Int64[Tensor, "z y x"]
    """Room of each voxel, in walls that of a neighbour."""
    near: Float32[Tensor, "1 1 z y x"]
    """Occupancy averaged over 0.3 m."""
    field: Float32[Tensor, "1 4 z y x"]
    """Ambient RGB, then occupancy averaged over 0.7 m."""


def make_volume(house: House, lights: Lights, primitives: tuple[Primitive, ...]) -> Volume:
    """Voxels of occupancy and ambient light.

    Args:
        house: the house.
        lights: its lights.
        primitives: solids that occlude.
    """
    device = lights.position.device
    low = np.array([min(r.x0_m for r in house.rooms), min(r.y0_m for r in house.rooms), 0.0]) - 0.5
    high = (
        np.array(
            [
                max(r.x1_m for r in house.rooms),
                max(r.y1_m for r in house.rooms),
                max(r.ceiling_z_m for r in house.rooms),
            ]
        )
        + 0.5
    )
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
    occupied = torch.from_numpy(np.minimum(solid, 1.0)).to(device)
    rooms = torch.from_numpy(_nearest_room(room)).to(device)
    ambient = _ambient(house, lights, torch.from_numpy(room).to(device), rooms, origin)
    near, wide = _blur(occupied, 1), _blur(occupied, 3)
    field = torch.cat([ambient, wide[None]])[None].contiguous()
    return Volume((float(origin[0]), float(origin[1]), float(origin[2])), rooms, near[None, None], field)


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


def _blur(field: Tensor, radius: int) -> Tensor:
    """Mean over a cube of 2·radius + 1 voxels, edges repeated; last three axes."""
    for axis in (-1, -2, -3):
        first, last = field.narrow(axis, 0, 1), field.narrow(axis, field.shape[axis] - 1, 1)
        padded = torch.cat([first] * radius + [field] + [last] * radius, axis)
        length = field.shape[axis]
        total = padded.narrow(axis, 0, length).clone()
        for k in range(1, 2 * radius + 1):
            total += padded.narrow(axis, k, length)
        field = total / (2 * radius + 1)
    return field


def _ambient(house: House, lights: Lights, free_room: Tensor, rooms: Tensor, origin: np.ndarray) -> Tensor:
    """Bounced light: what arrives in free air, spread without passing walls. Returns `3 z y x`."""
    free = free_room >= 0
    z, y, x = free.nonzero(as_tuple=True)
    start = torch.tensor(origin, dtype=torch.float32, device=free.device)
    field = torch.zeros(3, *free.shape, device=free.device)
    owner = rooms[z, y, x]
    step = 400_000 if free.device.type == "cpu" else len(z)
    for k in range(0, len(z), step):
        part = slice(k, k + step)
        point = torch.stack([x[part], y[part], z[part]], -1).float() * VOXEL_M + start
        light = direct(lights, point, None, owner[part], torch.zeros(2, len(point), device=free.device))
        field[:, z[part], y[part], x[part]] = light.T
    flat = field[:, z, y, x].T
    count = torch.zeros(len(house.rooms), device=free.device).index_add_(
        0, owner, torch.ones_like(owner, dtype=torch.float32)
    )
    mean = torch.zeros(len(house.rooms), 3, device=free.device).index_add_(0, owner, flat) / count.clamp(min=1)[:, None]
    field[:, z, y, x] = (0.5 * flat + 0.5 * mean[owner]).T
    mask = free.float()
    for _ in range(8):
        field = torch.where(free, _blur(field * mask, 1) / _blur(mask, 1).clamp(min=1e-4), field)
    # Surfaces lie half in walls: continue the field there.
    for _ in range(2):
        weight = _blur(mask, 1)
        field = torch.where(mask > 0, field, _blur(field * mask, 1) / weight.clamp(min=1e-4) * (weight > 1e-3))
        mask = (weight > 1e-3).float()
    return field


def sample(volume: Volume, values: Tensor, point: Tensor) -> Tensor:
    """Trilinear values of one of the volume's arrays (`1 c z y x`) at points: `n 3` → `c n`."""
    depth, height, width = values.shape[2:]
    size = torch.tensor([width, height, depth], dtype=torch.float32, device=point.device)
    origin = torch.tensor(volume.origin, dtype=torch.float32, device=point.device)
    grid = ((point - origin) / VOXEL_M + 0.5) * (2.0 / size) - 1.0
    return F.grid_sample(values, grid[None, :, None, None], align_corners=False, padding_mode="border")[0, :, :, 0, 0]


def room_of(volume: Volume, point: Tensor) -> Tensor:
    """Index of the room each point lies in (or beside)."""
    origin = torch.tensor(volume.origin, dtype=torch.float32, device=point.device)
    place = ((point - origin) / VOXEL_M).round().long()
    depth, height, width = volume.room.shape
    x, y, z = place[:, 0].clamp(0, width - 1), place[:, 1].clamp(0, height - 1), place[:, 2].clamp(0, depth - 1)
    return volume.room[z, y, x]
