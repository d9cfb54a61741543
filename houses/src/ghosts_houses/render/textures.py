"""Textures: colour patterns over surfaces, in the solids' own coordinates (metres)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

_TABLE = 4096


@dataclass(frozen=True)
class SurfacePoints:
    """SurfacePoints on surfaces, all of one material.

    `u`, `v` run along the surface in metres: v up (or along the second axis of a level surface), u across; zero is the
    solid's middle. `ru`, `rv` are the half extents in the same directions.
    """

    u: Float32[Tensor, " n"]
    v: Float32[Tensor, " n"]
    ru: Float32[Tensor, " n"]
    rv: Float32[Tensor, " n"]
    own: Float32[Tensor, "n 3"]
    """Coordinates in the solid's frame."""
    level: Float32[Tensor, " n"]
    """1 on surfaces that look up or down, else 0."""
    view: Float32[Tensor, "n 3"]
    """Direction of sight, world frame, unit length."""
    normal: Float32[Tensor, "n 3"]
    """Outward, world frame."""
    color: Float32[Tensor, "n 3"]
    size: Float32[Tensor, " n"]
    """Width of a pixel at the point, in metres: finer detail is averaged away."""
    seed: Int64[Tensor, " n"]
    """The solid's index: one painting differs from the next."""


def _table(device: torch.device) -> Tensor:
    key = str(device)
    if key not in _TABLES:
        _TABLES[key] = torch.from_numpy(np.random.default_rng(7).random(_TABLE, dtype=np.float32)).to(device)
    return _TABLES[key]


_TABLES: dict[str, Tensor] = {}


def hashed(i: Tensor, j: Tensor | int = 0, k: Tensor | int = 0) -> Tensor:
    """A fixed random number in [0, 1) for integer coordinates."""
    return _table(i.device)[(i * 1597 + j * 3571 + k * 2741 + ((i * 31 + j * 17) >> 5)) & (_TABLE - 1)]


def noise(x: Tensor, y: Tensor) -> Tensor:
    """Smooth value noise in [0, 1] with features of size 1."""
    fx, fy = x.floor(), y.floor()
    i, j = fx.to(torch.int32), fy.to(torch.int32)
    a, b = x - fx, y - fy
    a, b = a * a * (3 - 2 * a), b * b * (3 - 2 * b)
    low = torch.lerp(hashed(i, j), hashed(i + 1, j), a)
    high = torch.lerp(hashed(i, j + 1), hashed(i + 1, j + 1), a)
    return torch.lerp(low, high, b)


def frac(x: Tensor) -> Tensor:
    return x - x.floor()


def seam(points: SurfacePoints, x: Tensor, period: float, width: float) -> Tensor:
    """1 within `width` metres of multiples of `period`, else 0, averaged over a pixel."""
    gap = (frac(x / period + 0.5) - 0.5).abs() * period
    reach = points.size * 0.5 + width
    return (1.0 - (gap - width) / reach).clamp(0.0, 1.0) * (2.0 * width / (reach + width)).clamp(max=1.0)


def square(points: SurfacePoints, x: Tensor, period: float) -> Tensor:
    """A square wave, 1 in the first half of each period and 0 in the second, averaged over a pixel."""
    wave = 0.25 - (frac(x / period + 0.25) - 0.5).abs()
    return (wave * period / points.size.clamp(min=1e-4) + 0.5).clamp(0.0, 1.0)


def fade(points: SurfacePoints, value: Tensor, scale_m: float) -> Tensor:
    """Noise around 0.5 of the given feature size, flattened where a pixel is wider than that."""
    return 0.5 + (value - 0.5) * (scale_m / (points.size + scale_m))


def shade(points: SurfacePoints, factor: Tensor) -> Tensor:
    return points.color * factor[:, None]


def plain(points: SurfacePoints) -> Tensor:
    return points.color


def paint(points: SurfacePoints) -> Tensor:
    return shade(points, 0.97 + 0.06 * noise(points.u * 2.0, points.v * 2.0))


def plaster(points: SurfacePoints) -> Tensor:
    return shade(
        points,
        0.95
        + 0.05 * noise(points.u * 1.5, points.v * 1.5)
        + 0.05 * fade(points, noise(points.u * 30, points.v * 30), 0.033),
    )


def stripes(points: SurfacePoints) -> Tensor:
    band = square(points, points.u, 0.22)
    return shade(points, 0.88 + 0.12 * band)


def grain(points: SurfacePoints, along: Tensor, across: Tensor) -> Tensor:
    coarse, fine = noise(along * 2.2, across * 26), noise(along * 5, across * 90)
    return 0.6 * fade(points, coarse, 0.04) + 0.4 * fade(points, fine, 0.011)


def wood(points: SurfacePoints) -> Tensor:
    tall = points.rv > points.ru
    along, across = torch.where(tall, points.v, points.u), torch.where(tall, points.u, points.v)
    shift = hashed(points.seed) * 50
    return shade(points, 0.72 + 0.5 * grain(points, along + shift, across + shift))


def planks(points: SurfacePoints) -> Tensor:
    row = (points.v / 0.16).floor()
    start = points.u / 1.7 + hashed(row.int()) * 7
    tone = hashed(row.int(), start.floor().int())
    joint = torch.maximum(seam(points, points.v, 0.16, 0.003), seam(points, start * 1.7, 1.7, 0.004))
    fibre = grain(points, points.u + tone * 31, points.v)
    return shade(points, (0.68 + 0.36 * tone + 0.3 * (fibre - 0.4)) * (1 - 0.55 * joint))


def parquet(points: SurfacePoints) -> Tensor:
    i, j = (points.u / 0.48).floor(), (points.v / 0.48).floor()
    swap = (i + j).int() % 2 == 0
    a, b = torch.where(swap, points.u, points.v), torch.where(swap, points.v, points.u)
    tone = hashed((a / 0.12).floor().int(), i.int(), j.int())
    joint = torch.maximum(seam(points, a, 0.12, 0.002), seam(points, b, 0.48, 0.002))
    return shade(points, (0.72 + 0.32 * tone + 0.25 * (grain(points, b + tone * 9, a) - 0.4)) * (1 - 0.5 * joint))


def tile_tone(points: SurfacePoints, width: float, height: float, shift: float, grout: float) -> tuple[Tensor, Tensor]:
    row = (points.v / height).floor()
    x = points.u + shift * width * (row.int() % 2)
    tone = hashed((x / width).floor().int(), row.int())
    return tone, torch.maximum(seam(points, x, width, grout), seam(points, points.v, height, grout))


def tile(points: SurfacePoints) -> Tensor:
    tone, joint = tile_tone(points, 0.45, 0.45, 0.0, 0.005)
    cloud = noise(points.u * 6 + tone * 9, points.v * 6)
    base = shade(points, 0.88 + 0.1 * tone + 0.08 * cloud)
    return torch.lerp(base, base * 0.55, joint[:, None])


def checker(points: SurfacePoints) -> Tensor:
    a, b = square(points, points.u, 0.8), square(points, points.v, 0.8)
    odd = a * b + (1 - a) * (1 - b)
    dark = torch.tensor([0.07, 0.075, 0.085], device=points.u.device)
    base = torch.lerp(dark.expand_as(points.color), points.color, odd[:, None])
    return base * (0.9 + 0.15 * noise(points.u * 5, points.v * 5))[:, None]


def wall_tile(points: SurfacePoints) -> Tensor:
    tone, joint = tile_tone(points, 0.24, 0.12, 0.5, 0.003)
    base = shade(points, 0.84 + 0.2 * tone)
    return torch.lerp(base, base * 0.45, 0.8 * joint[:, None])


def brick(points: SurfacePoints) -> Tensor:
    tone, joint = tile_tone(points, 0.24, 0.08, 0.5, 0.008)
    base = shade(points, 0.65 + 0.6 * tone + 0.25 * (noise(points.u * 40, points.v * 40) - 0.5))
    return torch.lerp(base, torch.full_like(base, 0.48), joint[:, None])


def marble(points: SurfacePoints) -> Tensor:
    shift = hashed(points.seed) * 20
    warp = noise(points.u * 2 + shift, points.v * 2) * 3 + noise(points.u * 7 + shift, points.v * 7)
    vein = 1 - (torch.sin((points.u + points.v) * 4 + warp * 3)).abs()
    return shade(points, 1.02 - 0.35 * vein**5 - 0.06 * warp / 4)


def carpet(points: SurfacePoints) -> Tensor:
    fine = fade(points, noise(points.u * 110, points.v * 110), 0.01)
    return shade(points, 0.80 + 0.26 * fine + 0.12 * noise(points.u * 3, points.v * 3))


def rubber(points: SurfacePoints) -> Tensor:
    speck = (noise(points.u * 60, points.v * 60) > 0.82).float()
    return shade(points, 0.9 + 1.6 * speck)


def fabric(points: SurfacePoints) -> Tensor:
    weave = fade(points, noise(points.u * 140, points.v * 140), 0.008)
    return shade(points, 0.86 + 0.14 * weave + 0.1 * noise(points.u * 5, points.v * 5))


def check(points: SurfacePoints) -> Tensor:
    a, b = square(points, points.u, 0.28), square(points, points.v, 0.28)
    return shade(points, 0.55 + 0.3 * (a + b))


def curtain(points: SurfacePoints) -> Tensor:
    return shade(points, 0.78 + 0.2 * torch.sin(points.u * 75) + 0.05 * noise(points.u * 90, points.v * 90))


def metal(points: SurfacePoints) -> Tensor:
    sky = (points.normal[:, 2] * 0.5 + 0.5) * 0.25
    return shade(points, 0.85 + sky + 0.08 * noise(points.u * 3, points.v * 160))


def mirror(points: SurfacePoints) -> Tensor:
    bounce = points.view - 2 * (points.view * points.normal).sum(-1, keepdim=True) * points.normal
    height = bounce[:, 2:]
    device = points.u.device
    up, flat, down = (
        torch.tensor(c, device=device) for c in ([0.85, 0.86, 0.88], [0.58, 0.62, 0.66], [0.32, 0.30, 0.28])
    )
    mixed = torch.where(
        height > 0, flat + (up - flat) * (height * 2.5).clamp(0, 1), flat + (down - flat) * (-height * 2).clamp(0, 1)
    )
    streak = (frac((points.u + points.v) * 1.1) < 0.16).float() * 0.10
    return mixed + streak[:, None]


def leaves(points: SurfacePoints) -> Tensor:
    patch = noise(points.u * 28 + hashed(points.seed) * 40, points.v * 28)
    return shade(points, 0.35 + 1.0 * patch)
