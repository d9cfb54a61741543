"""Light of a house: lamps and windows with shadow maps, ambient light and occlusion in a voxel volume.

All of it belongs to the house, not to a view, so the same wall is equally bright from every viewpoint. Shadow maps are
made by the ray caster itself; each light has a few sample points, which softens its shadows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from ghosts_houses.arrays import Array, dot, integer, library, put, take
from ghosts_houses.house import House
from ghosts_houses.render.raycast import Frames, cast
from ghosts_houses.solids import Solids

SHADOW_PX = 96
SAMPLES = 4
_FRAMES = 96
"""Images of shadow maps cast at once on a CPU."""
_PER_ROOM = 6
_LAMP_COLOR = (1.0, 0.84, 0.64)
_DAY_COLOR = (0.86, 0.94, 1.0)
LAMP_KINDS = ("ceiling lamp", "chandelier", "pendant lamp")


@dataclass(frozen=True)
class Lights:
    """Light sources with their shadow maps."""

    position: Float32[Array, "l s 3"]
    """Sample points of each light."""
    facing_of: tuple[tuple[int, float] | None, ...]
    """Axis (0 = x, 1 = y) and sign of the direction a window lights; None for a lamp."""
    power: Float32[Array, "l 3"]
    table: tuple[tuple[int, ...], ...]
    """Lights that count in each room, its own lamp first."""
    shadow: Float32[Array, "l s 6 f f"]
    """Distance of what each sample point sees, along ±x, ±y, ±z."""


def gather_lights(house: House) -> tuple[np.ndarray, tuple[tuple[int, float] | None, ...], np.ndarray, list[int]]:
    """Sample points `l s 3`, facing, power `l 3` and room of every lamp and window."""
    points: list[list[tuple[float, float, float]]] = []
    facing: list[tuple[int, float] | None] = []
    power: list[list[float]] = []
    owner: list[int] = []
    ring = [(math.cos(a), math.sin(a)) for a in np.arange(SAMPLES) * (2 * math.pi / SAMPLES) + 0.4]
    for room in house.rooms:
        lamps = [t for t in house.things if t.room == room.index and t.kind in LAMP_KINDS]
        spots = [(t.center_m[0], t.center_m[1], min(t.center_m[2], room.ceiling_z_m - 0.25)) for t in lamps]
        spots = spots or [(*room.center_m, room.ceiling_z_m - 0.3)]
        area = room.area_m2
        for x, y, z in spots:
            points.append([(x + 0.16 * c, y + 0.16 * s, z + 0.05 * (k % 2)) for k, (c, s) in enumerate(ring)])
            facing.append(None)
            strength = (1.7 + 0.17 * min(area, 26.0)) / len(spots) ** 0.8
            power.append([strength * c for c in _LAMP_COLOR])
            owner.append(room.index)
    for opening in house.openings:
        if opening.kind != "window":
            continue
        room = house.rooms[opening.rooms[0]]
        along = opening.along == "x"
        middle = room.center_m[1] if along else room.center_m[0]
        inward = 1.0 if middle > (opening.y_m if along else opening.x_m) else -1.0
        height = opening.top_z_m - opening.bottom_z_m
        quad = []
        for du, dv in ((-0.3, 0.3), (0.3, 0.25), (-0.22, 0.6), (0.25, 0.75)):
            u, z = du * opening.width_m, opening.bottom_z_m + dv * height
            quad.append(
                (opening.x_m + u, opening.y_m + inward * 0.13, z)
                if along
                else (opening.x_m + inward * 0.13, opening.y_m + u, z)
            )
        points.append(quad)
        facing.append((1, inward) if along else (0, inward))
        power.append([2.3 * opening.width_m * height * c for c in _DAY_COLOR])
        owner.append(room.index)
    return np.array(points, np.float32), tuple(facing), np.array(power, np.float32), owner


def make_lights(house: House, solids: Solids, casters: Array) -> Lights:
    """Collect the lights and cast their shadow maps.

    Args:
        house: the house.
        solids: its primitives.
        casters: which of them throw shadows (not lamp shades and window panes), bool `n`.
    """
    points, facing, power, owner = gather_lights(house)
    device = solids.center.device
    ahead = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], np.float32)
    axes = (ahead, np.roll(np.abs(ahead), 1, 1), np.roll(np.abs(ahead), 2, 1))
    count = points.shape[0] * points.shape[1]
    forward, right, down = (put(np.tile(axis, (count, 1)), device) for axis in axes)
    origin = put(np.repeat(points.reshape(-1, 3), 6, 0), device)
    frames = Frames(origin, forward, right, down, SHADOW_PX, SHADOW_PX)
    subset, xp = solids.only(casters), library(solids.center)
    step = _FRAMES if xp is np else 6 * count
    shadow = [cast(subset, frames.only(slice(k, k + step))).distance for k in range(0, 6 * count, step)]
    return Lights(
        put(points, device),
        facing,
        put(power, device),
        _lights_of_rooms(house, owner, points, power),
        xp.concatenate(shadow).reshape(*points.shape[:2], 6, SHADOW_PX, SHADOW_PX),
    )


def _lights_of_rooms(
    house: House, owner: list[int], points: np.ndarray, power: np.ndarray
) -> tuple[tuple[int, ...], ...]:
    """For each room the lights that matter most: its own, then those of rooms it opens to."""
    table = []
    joined: dict[int, set[int]] = {room.index: set() for room in house.rooms}
    pairs = [o.rooms for o in house.openings if o.inner] + [s.rooms for s in house.stairs]
    for a, b in pairs:
        joined[a].add(b)
        joined[b].add(a)
    for room in house.rooms:
        center = np.array([*room.center_m, room.floor_z_m + 1.0])
        own = [k for k, r in enumerate(owner) if r == room.index]
        own.sort(key=lambda k: -power[k].sum())
        next_door = [k for k, r in enumerate(owner) if r in joined[room.index]]
        next_door.sort(key=lambda k: float(np.linalg.norm(points[k].mean(0) - center)) / float(power[k].sum()) ** 0.5)
        table.append(tuple((own[: _PER_ROOM - 2] + next_door)[:_PER_ROOM]))
    return tuple(table)


def direct(lights: Lights, point: Array, normal: Array | None, room: Array, dither: Array) -> Array:
    """Light that arrives straight from lamps and windows.

    Points are grouped by room, because a room's lights are few and the same for all its points.

    Args:
        lights: the sources.
        point: `3 n`.
        normal: `3 n`, or None for the mean over all directions (ambient light).
        room: room index of each point, `n`.
        dither: `2 n` in (−0.5, 0.5), breaks up the shadow maps' texels.

    Returns:
        RGB, `3 n`.
    """
    xp = library(point)
    total = xp.zeros_like(point)
    for number in xp.unique(room).tolist():
        (where,) = xp.where(room == number)
        facing = None if normal is None else take(normal, where)
        total[:, where] = _room_light(lights, lights.table[number], take(point, where), facing, take(dither, where))
    return total


def _room_light(lights: Lights, chosen: tuple[int, ...], xyz: Array, normal: Array | None, dither: Array) -> Array:
    """Light of the chosen sources at points `3 n`, as `3 n`."""
    xp = library(xyz)
    total = xp.zeros_like(xyz)
    for light in chosen:
        away = xyz - lights.position[light].mean(0)[:, None]
        square = dot(away, away)
        inverse = 1.0 / xp.sqrt(square + 1e-4)
        weight = 1.0 / (square + 0.35)
        if normal is not None:
            # Wrapped a little round the edge, as large soft sources do.
            weight *= xp.clip(0.107 - 0.893 * dot(away, normal) * inverse, 0.0, None)
        else:
            weight *= 0.25
        facing = lights.facing_of[light]
        if facing is not None:
            weight *= xp.clip(away[facing[0]] * inverse * facing[1], 0.0, None)
        weight *= _seen(lights, light, xyz, dither)
        total += lights.power[light][:, None] * weight
    return total


def _seen(lights: Lights, light: int, xyz: Array, dither: Array) -> Array:
    """Share of a light's sample points that see each point; shadow maps are read with a dither of one texel."""
    xp, f = library(xyz), SHADOW_PX
    share = xp.zeros_like(xyz[0])
    # A quarter turn from sample to sample: their errors cancel, which leaves half the grain.
    turns = ((dither[0], dither[1]), (dither[1], -dither[0]), (-dither[0], -dither[1]), (-dither[1], dither[0]))
    for k in range(SAMPLES):
        x, y, z = away = xyz - lights.position[light, k][:, None]
        ax, ay, az = abs(away)
        on_x, on_z = (ax >= ay) & (ax >= az), az > xp.maximum(ax, ay)
        major = xp.where(on_x, x, xp.where(on_z, z, y))
        scale = (0.5 * f) / xp.clip(abs(major), 1e-6, None)
        # Face ±a has the axes a + 1 (columns) and a + 2 (rows), cyclically.
        col, row = (
            integer(xp.clip(xp.where(on_x, a, xp.where(on_z, b, c)) * scale + turn + 0.5 * f, 0, f - 1))
            for (a, b, c), turn in zip(((y, x, z), (z, y, x)), turns[k % 4], strict=True)
        )
        face = 4 * integer(on_z) + 2 * integer(~(on_x | on_z)) + (major < 0)
        depth = take(lights.shadow[light, k].reshape(-1), (face * f + row) * f + col)
        # A texel is wider the farther the surface: the bias grows with distance.
        share += depth > xp.sqrt(dot(away, away)) * 0.965 - 0.03
    return share / SAMPLES
