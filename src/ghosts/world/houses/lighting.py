"""Light of a house: lamps and windows with shadow maps, ambient light and occlusion in a voxel volume.

All of it belongs to the house, not to a view, so the same wall is equally bright from every viewpoint. Shadow maps are
made by the ray caster itself; each light has a few sample points, which softens its shadows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

from ghosts.world.houses.house import House
from ghosts.world.houses.raycast import Frames, Solids, cast

SHADOW_PX = 64
SAMPLES = 4
_PER_ROOM = 7
_LAMP_COLOR = (1.0, 0.84, 0.64)
_DAY_COLOR = (0.86, 0.94, 1.0)
LAMP_KINDS = ("ceiling lamp", "chandelier", "pendant lamp")


@dataclass(frozen=True)
class Lights:
    """Light sources with their shadow maps."""

    position: Float32[Tensor, "l s 3"]
    """Sample points of each light."""
    facing: Float32[Tensor, "l 3"]
    """Direction a window lights; zero for a lamp."""
    power: Float32[Tensor, "l 3"]
    of_room: Int64[Tensor, "r g"]
    """Lights that count in each room, −1 = none."""
    shadow: Float32[Tensor, "l s 6 f f"]
    """Distance of what each sample point sees, along ±x, ±y, ±z."""


def gather_lights(house: House) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Sample points `l s 3`, facing `l 3`, power `l 3` and room of every lamp and window."""
    points, facing, power, owner = [], [], [], []
    ring = [(math.cos(a), math.sin(a)) for a in np.arange(SAMPLES) * (2 * math.pi / SAMPLES) + 0.4]
    for room in house.rooms:
        lamps = [t for t in house.things if t.room == room.index and t.kind in LAMP_KINDS]
        spots = [(t.center_m[0], t.center_m[1], min(t.center_m[2], room.ceiling_z_m - 0.25)) for t in lamps]
        spots = spots or [(*room.center_m, room.ceiling_z_m - 0.3)]
        area = (room.x1_m - room.x0_m) * (room.y1_m - room.y0_m)
        for x, y, z in spots:
            points.append([(x + 0.16 * c, y + 0.16 * s, z + 0.05 * (k % 2)) for k, (c, s) in enumerate(ring)])
            facing.append((0.0, 0.0, 0.0))
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
        facing.append((0.0, inward, 0.0) if along else (inward, 0.0, 0.0))
        power.append([2.3 * opening.width_m * height * c for c in _DAY_COLOR])
        owner.append(room.index)
    return np.array(points, np.float32), np.array(facing, np.float32), np.array(power, np.float32), owner


def make_lights(house: House, solids: Solids, casters: Tensor) -> Lights:
    """Collect the lights and cast their shadow maps.

    Args:
        house: the house.
        solids: its primitives.
        casters: which of them throw shadows (not lamp shades and window panes), bool `n`.
    """
    points, facing, power, owner = gather_lights(house)
    device = solids.device
    position = torch.from_numpy(points).to(device)
    flat = position.view(-1, 3)
    forward = torch.tensor(
        [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], dtype=torch.float32, device=device
    )
    frames = Frames(
        flat.repeat_interleave(6, 0),
        forward.repeat(len(flat), 1),
        forward.abs().roll(1, 1).repeat(len(flat), 1),
        forward.abs().roll(2, 1).repeat(len(flat), 1),
        SHADOW_PX,
        SHADOW_PX,
    )
    subset = solids.only(casters)
    step = 96 if device.type == "cpu" else len(frames.origin)
    shadow = torch.cat(
        [
            cast(subset, Frames(frames.origin[k : k + step], frames.forward[k : k + step], frames.right[k : k + step],
                                frames.down[k : k + step], SHADOW_PX, SHADOW_PX)).distance
            for k in range(0, len(frames.origin), step)
        ]
    )  # fmt: skip
    table = torch.from_numpy(_lights_of_rooms(house, owner, points, power))
    return Lights(
        position,
        torch.from_numpy(facing).to(device),
        torch.from_numpy(power).to(device),
        table.to(device),
        shadow.view(*position.shape[:2], 6, SHADOW_PX, SHADOW_PX),
    )


def _lights_of_rooms(house: House, owner: list[int], points: np.ndarray, power: np.ndarray) -> np.ndarray:
    """For each room the lights that matter most: its own, then those of rooms it opens to."""
    table = np.full((len(house.rooms), _PER_ROOM), -1, np.int64)
    joined: dict[int, set[int]] = {room.index: set() for room in house.rooms}
    pairs = [o.rooms for o in house.openings if o.kind != "window" and o.rooms[1] >= 0] + [
        s.rooms for s in house.stairs
    ]
    for a, b in pairs:
        joined[a].add(b)
        joined[b].add(a)
    for room in house.rooms:
        center = np.array([*room.center_m, room.floor_z_m + 1.0])
        own = [k for k, r in enumerate(owner) if r == room.index]
        own.sort(key=lambda k: -power[k].sum())
        next_door = [k for k, r in enumerate(owner) if r in joined[room.index]]
        next_door.sort(key=lambda k: float(np.linalg.norm(points[k].mean(0) - center)) / float(power[k].sum()) ** 0.5)
        chosen = (own[: _PER_ROOM - 2] + next_door)[:_PER_ROOM]
        table[room.index, : len(chosen)] = chosen
    return table


def _unshadowed(
    lights: Lights, light: Tensor, sample: int, delta: Tensor, distance: Tensor, jitter: tuple[Tensor, Tensor]
) -> Tensor:
    """1 where a sample point of a light sees the point, else 0; the shadow map is read with a dither of one texel."""
    size = delta.abs()
    axis = size.argmax(-1)
    major = delta.gather(-1, axis[:, None])[:, 0]
    face = axis * 2 + (major < 0)
    inverse = 1.0 / size.gather(-1, axis[:, None])[:, 0].clamp(min=1e-6)
    u = delta.gather(-1, ((axis + 1) % 3)[:, None])[:, 0] * inverse
    v = delta.gather(-1, ((axis + 2) % 3)[:, None])[:, 0] * inverse
    f = lights.shadow.shape[-1]
    col = ((u + 1) * (0.5 * f) + jitter[0]).long().clamp(0, f - 1)
    row = ((v + 1) * (0.5 * f) + jitter[1]).long().clamp(0, f - 1)
    place = (((light * SAMPLES + sample) * 6 + face) * f + row) * f + col
    # A texel is wider the farther the surface: the bias grows with distance.
    return (lights.shadow.view(-1)[place] > distance * 0.965 - 0.03).float()


def direct(lights: Lights, point: Tensor, normal: Tensor | None, room: Tensor, dither: Tensor) -> tuple[Tensor, Tensor]:
    """Light that arrives straight from lamps and windows.

    Args:
        lights: the sources.
        point: `n 3`.
        normal: `n 3`, or None for the mean over all directions (ambient light).
        room: room index of each point.
        dither: `n 2` in (−0.5, 0.5), breaks up the shadow maps' texels.

    Returns:
        RGB `n 3`, and the direction to the strongest lamp of the room `n 3`.
    """
    total = torch.zeros_like(point)
    main = lights.position[lights.of_room[room, 0].clamp(min=0), 0] - point
    jitter = (dither[:, 0], dither[:, 1])
    for g in range(lights.of_room.shape[1]):
        light = lights.of_room[room, g]
        there = (light >= 0).float()
        light = light.clamp(min=0)
        facing, power = lights.facing[light], lights.power[light]
        is_lamp = facing.abs().sum(-1) < 0.5
        amount = torch.zeros_like(there)
        for sample in range(SAMPLES):
            delta = point - lights.position[light, sample]
            distance = delta.square().sum(-1).sqrt().clamp(min=1e-3)
            weight = 1.0 / (distance * distance + 0.35)
            leaving = (delta * facing).sum(-1) / distance
            weight = weight * torch.where(is_lamp, torch.ones_like(leaving), leaving.clamp(min=0.0))
            if normal is not None:
                # Wrapped a little round the edge, as large soft sources do.
                cosine = -(delta * normal).sum(-1) / distance
                weight = weight * ((cosine + 0.12) / 1.12).clamp(min=0.0)
            else:
                weight = weight * 0.25
            amount = amount + weight * _unshadowed(lights, light, sample, delta, distance, jitter)
        total = total + power * (amount * there / SAMPLES)[:, None]
    return total, main / main.square().sum(-1, keepdim=True).sqrt().clamp(min=1e-3)
