"""Textures: colour patterns over surfaces, in the solids' own coordinates (metres)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Int64
from torch import Tensor

_TABLE = 4096


@dataclass(frozen=True)
class Points:
    """Points on surfaces, all of one material.

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


def _frac(x: Tensor) -> Tensor:
    return x - x.floor()


def _seam(x: Tensor, size: float, width: float) -> Tensor:
    """1 within `width` metres of multiples of `size`, else 0, with soft edges."""
    gap = (_frac(x / size + 0.5) - 0.5).abs() * size
    return (1.5 - gap / width).clamp(0.0, 1.0)


def _shade(points: Points, factor: Tensor) -> Tensor:
    return points.color * factor[:, None]


def plain(points: Points) -> Tensor:
    """Plain."""
    return points.color


def paint(points: Points) -> Tensor:
    """Paint."""
    return _shade(points, 0.97 + 0.06 * noise(points.u * 2.0, points.v * 2.0))


def plaster(points: Points) -> Tensor:
    """Plaster."""
    return _shade(
        points, 0.95 + 0.05 * noise(points.u * 1.5, points.v * 1.5) + 0.05 * noise(points.u * 30, points.v * 30)
    )


def stripes(points: Points) -> Tensor:
    """Stripes."""
    band = (_frac(points.u / 0.22) < 0.5).float()
    return _shade(points, 0.88 + 0.12 * band)


def _grain(along: Tensor, across: Tensor) -> Tensor:
    return 0.6 * noise(along * 2.2, across * 26) + 0.4 * noise(along * 5, across * 90)


def wood(points: Points) -> Tensor:
    """Wood."""
    tall = points.rv > points.ru
    along, across = torch.where(tall, points.v, points.u), torch.where(tall, points.u, points.v)
    shift = hashed(points.seed) * 50
    return _shade(points, 0.72 + 0.5 * _grain(along + shift, across + shift))


def planks(points: Points) -> Tensor:
    """Planks."""
    row = (points.v / 0.16).floor()
    start = points.u / 1.7 + hashed(row.int()) * 7
    tone = hashed(row.int(), start.floor().int())
    seam = torch.maximum(_seam(points.v, 0.16, 0.003), _seam(start * 1.7, 1.7, 0.004))
    grain = _grain(points.u + tone * 31, points.v)
    return _shade(points, (0.68 + 0.36 * tone + 0.3 * (grain - 0.4)) * (1 - 0.55 * seam))


def parquet(points: Points) -> Tensor:
    """Parquet."""
    i, j = (points.u / 0.48).floor(), (points.v / 0.48).floor()
    swap = (i + j).int() % 2 == 0
    a, b = torch.where(swap, points.u, points.v), torch.where(swap, points.v, points.u)
    tone = hashed((a / 0.12).floor().int(), i.int(), j.int())
    seam = torch.maximum(_seam(a, 0.12, 0.002), _seam(b, 0.48, 0.002))
    return _shade(points, (0.72 + 0.32 * tone + 0.25 * (_grain(b + tone * 9, a) - 0.4)) * (1 - 0.5 * seam))


def _tile_tone(points: Points, width: float, height: float, shift: float, grout: float) -> tuple[Tensor, Tensor]:
    row = (points.v / height).floor()
    x = points.u + shift * width * (row.int() % 2)
    tone = hashed((x / width).floor().int(), row.int())
    return tone, torch.maximum(_seam(x, width, grout), _seam(points.v, height, grout))


def tile(points: Points) -> Tensor:
    """Tile."""
    tone, seam = _tile_tone(points, 0.45, 0.45, 0.0, 0.005)
    cloud = noise(points.u * 6 + tone * 9, points.v * 6)
    base = _shade(points, 0.88 + 0.1 * tone + 0.08 * cloud)
    return torch.lerp(base, base * 0.55, seam[:, None])


def checker(points: Points) -> Tensor:
    """Checker."""
    odd = ((points.u / 0.4).floor() + (points.v / 0.4).floor()).int() % 2 == 0
    dark = torch.tensor([0.07, 0.075, 0.085], device=points.u.device)
    base = torch.where(odd[:, None], points.color, dark)
    return base * (0.9 + 0.15 * noise(points.u * 5, points.v * 5))[:, None]


def wall_tile(points: Points) -> Tensor:
    """Wall tile."""
    tone, seam = _tile_tone(points, 0.24, 0.12, 0.5, 0.003)
    base = _shade(points, 0.93 + 0.09 * tone)
    return torch.lerp(base, torch.full_like(base, 0.72), 0.8 * seam[:, None])


def brick(points: Points) -> Tensor:
    """Brick."""
    tone, seam = _tile_tone(points, 0.24, 0.08, 0.5, 0.008)
    base = _shade(points, 0.65 + 0.6 * tone + 0.25 * (noise(points.u * 40, points.v * 40) - 0.5))
    return torch.lerp(base, torch.full_like(base, 0.48), seam[:, None])


def marble(points: Points) -> Tensor:
    """Marble."""
    shift = hashed(points.seed) * 20
    warp = noise(points.u * 2 + shift, points.v * 2) * 3 + noise(points.u * 7 + shift, points.v * 7)
    vein = 1 - (torch.sin((points.u + points.v) * 4 + warp * 3)).abs()
    return _shade(points, 1.02 - 0.35 * vein**5 - 0.06 * warp / 4)


def carpet(points: Points) -> Tensor:
    """Carpet."""
    fine = noise(points.u * 110, points.v * 110)
    return _shade(points, 0.80 + 0.26 * fine + 0.12 * noise(points.u * 3, points.v * 3))


def rubber(points: Points) -> Tensor:
    """Rubber."""
    speck = (noise(points.u * 60, points.v * 60) > 0.82).float()
    return _shade(points, 0.9 + 1.6 * speck)


def fabric(points: Points) -> Tensor:
    """Fabric."""
    weave = noise(points.u * 140, points.v * 140)
    return _shade(points, 0.86 + 0.14 * weave + 0.1 * noise(points.u * 5, points.v * 5))


def check(points: Points) -> Tensor:
    """Check."""
    a, b = (_frac(points.u / 0.28) < 0.5).float(), (_frac(points.v / 0.28) < 0.5).float()
    return _shade(points, 0.55 + 0.3 * (a + b))


def curtain(points: Points) -> Tensor:
    """Curtain."""
    return _shade(points, 0.78 + 0.2 * torch.sin(points.u * 75) + 0.05 * noise(points.u * 90, points.v * 90))


def metal(points: Points) -> Tensor:
    """Metal."""
    sky = (points.normal[:, 2] * 0.5 + 0.5) * 0.25
    return _shade(points, 0.85 + sky + 0.08 * noise(points.u * 3, points.v * 160))


def mirror(points: Points) -> Tensor:
    """Mirror."""
    bounce = points.view - 2 * (points.view * points.normal).sum(-1, keepdim=True) * points.normal
    height = bounce[:, 2:]
    device = points.u.device
    up, flat, down = (
        torch.tensor(c, device=device) for c in ([0.85, 0.86, 0.88], [0.58, 0.62, 0.66], [0.32, 0.30, 0.28])
    )
    mixed = torch.where(
        height > 0, flat + (up - flat) * (height * 2.5).clamp(0, 1), flat + (down - flat) * (-height * 2).clamp(0, 1)
    )
    streak = (_frac((points.u + points.v) * 1.1) < 0.16).float() * 0.10
    return mixed + streak[:, None]


def leaves(points: Points) -> Tensor:
    """Leaves."""
    patch = noise(points.u * 28 + hashed(points.seed) * 40, points.v * 28)
    return _shade(points, 0.35 + 1.0 * patch)


_BOOKS = (
    (0.45, 0.06, 0.05), (0.05, 0.12, 0.32), (0.06, 0.24, 0.10), (0.55, 0.36, 0.08), (0.65, 0.60, 0.50),
    (0.10, 0.09, 0.09), (0.30, 0.10, 0.28), (0.08, 0.30, 0.36), (0.50, 0.20, 0.06), (0.36, 0.22, 0.12),
)  # fmt: skip


def books(points: Points) -> Tensor:
    """Books."""
    palette = torch.tensor(_BOOKS, device=points.u.device)
    cell = points.u / 0.034 + 0.3 * torch.sin(points.u * 40)
    book = cell.floor().int() + points.seed.int() * 13
    color = palette[(hashed(book) * len(_BOOKS)).long()] * (0.7 + 0.6 * hashed(book, 5))[:, None]
    band = ((points.v + points.rv) / (2 * points.rv) - 0.5 - 0.3 * hashed(book, 9)).abs() < 0.05
    color = torch.where((band & (hashed(book, 3) > 0.4))[:, None], color * 0.4 + 0.45, color)
    gap = (_frac(cell) - 0.5).abs() > 0.45
    color = torch.where(gap[:, None], color * 0.35, color)
    paper = torch.tensor([0.75, 0.72, 0.62], device=points.u.device)
    return torch.where(points.level[:, None] > 0, paper, color)


def rug(points: Points) -> Tensor:
    """Rug."""
    a, b = points.u / points.ru, points.v / points.rv
    rim = torch.minimum((1 - a.abs()) * points.ru, (1 - b.abs()) * points.rv)
    tone = hashed(points.seed, 1)
    border = ((rim > 0.08) & (rim < 0.2)).float()
    diamond = _frac((a.abs() * points.ru + b.abs() * points.rv) / 0.34) < 0.5
    lines = _frac(points.u / 0.25) < 0.5
    inner = torch.where(tone > 0.5, diamond.float(), lines.float()) * (rim > 0.2)
    light = points.color * 0.35 + torch.tensor([0.46, 0.43, 0.36], device=points.u.device)
    mixed = torch.lerp(points.color, light, (0.75 * torch.maximum(border, inner))[:, None])
    return mixed * (0.82 + 0.3 * noise(points.u * 120, points.v * 120))[:, None]


def picture(points: Points) -> Tensor:
    """A landscape or an abstract, different for every solid."""
    a, b = points.u / points.ru, points.v / points.rv
    pick = [hashed(points.seed, k) for k in range(8)]
    hill = (
        -0.35
        + 0.5 * noise(a * (1 + 2 * pick[0]) + pick[1] * 30, pick[2] * 9)
        + 0.15 * noise(a * 6 + pick[1] * 9, pick[2])
    )
    far = -0.05 + 0.45 * noise(a * 1.5 + pick[3] * 30, pick[4] * 9)
    sky = (
        torch.stack([0.25 + 0.6 * pick[5], 0.45 + 0.25 * pick[6], 0.80 - 0.4 * pick[5]], -1) * (1.05 - 0.3 * b)[:, None]
    )
    hills = torch.stack([0.10 + 0.3 * pick[6], 0.26 + 0.1 * pick[3], 0.12 + 0.12 * pick[0]], -1)
    sun = ((a - pick[7] * 1.2 + 0.6) * points.ru) ** 2 + ((b - 0.45) * points.rv) ** 2 < (0.09 * 1.0) ** 2
    land = torch.where((b < far)[:, None], hills * 0.6 + sky * 0.4, sky)
    land = torch.where((sun & (b >= far))[:, None], torch.tensor([0.95, 0.75, 0.35], device=a.device), land)
    land = torch.where((b < hill)[:, None], hills * (0.8 + 0.5 * noise(a * 14, b * 14))[:, None], land)
    i, j = ((a + 1) * 1.7 + pick[0]).floor().int(), ((b + 1) * 1.7 + pick[1]).floor().int()
    block = torch.stack([hashed(i + 40 * k, j, points.seed.int()) for k in (1, 2, 3)], -1) ** 1.5
    return torch.where((pick[2] < 0.55)[:, None], land, block * 0.8 + 0.08) * 0.8


def wicker(points: Points) -> Tensor:
    """Wicker."""
    odd = ((points.u / 0.03).floor() + (points.v / 0.02).floor()).int() % 2
    return _shade(points, 0.6 + 0.45 * odd)


def keys(points: Points) -> Tensor:
    """Keys."""
    seam = _seam(points.u, 0.024, 0.002)
    white = points.color * (1 - 0.7 * seam)[:, None]
    black = (_seam(points.u + 0.012, 0.024, 0.006) > 0.5) & (hashed((points.u / 0.024).floor().int()) > 0.3)
    return torch.where((black & (points.own[:, 0] < 0.0))[:, None], points.color * 0.03, white)


def clock(points: Points) -> Tensor:
    """Clock."""
    y, z = points.own[:, 1], points.own[:, 2]
    radius, angle = (y * y + z * z).sqrt() / points.rv, torch.atan2(y, z)
    tick = (_seam(angle, np.pi / 6, 0.07) > 0.5) & (radius > 0.68) & (radius < 0.84)
    hour = ((y - 0.6 * z).abs() < 0.012) & (z > 0) & (radius < 0.45)
    minute = (z.abs() < 0.008) & (y < 0) & (radius < 0.65)
    dark = tick | hour | minute | (radius > 0.9)
    return torch.where(dark[:, None], torch.full_like(points.color, 0.04), points.color)


def globe(points: Points) -> Tensor:
    """Globe."""
    x, y, z = points.own.unbind(-1)
    land = noise(torch.atan2(y, x) * 1.6 + 20, z * 14) > 0.52
    green = torch.tensor([0.22, 0.34, 0.12], device=x.device)
    return torch.where(land[:, None], green, points.color)


def screen(points: Points) -> Tensor:
    """A lit screen: bars of a desktop, or a picture on a television."""
    a, b = points.u / points.ru, points.v / points.rv
    glow = torch.stack([0.05 + 0.04 * b, 0.12 + 0.08 * b, 0.24 + 0.12 * a], -1)
    panel = (a > -0.7) & (a < 0.3) & (b > -0.6) & (b < 0.7)
    text = panel & (_frac(b * 7) < 0.45) & (a < -0.6 + 0.8 * hashed((b * 7).floor().int(), points.seed.int()))
    glow = torch.where(panel[:, None], torch.full_like(glow, 0.6), glow)
    return torch.where(text[:, None], torch.full_like(glow, 0.16), glow)


def fire(points: Points) -> Tensor:
    """Fire."""
    height = (points.v / points.rv + 1) / 2
    tongue = noise(points.u * 14, points.v * 5) * 0.9 + 0.25 - height
    hot = torch.tensor([1.6, 0.75, 0.16], device=points.u.device)
    return hot * (tongue * 2.2).clamp(0.0, 1.0)[:, None] + torch.tensor([0.05, 0.015, 0.005], device=points.u.device)


def water(points: Points) -> Tensor:
    """Water."""
    wave = noise(points.u * 9, points.v * 9)
    fish = noise(points.u * 12 + 5, points.v * 22 + 3) > 0.86
    blue = points.color * (0.7 + 0.5 * wave + 0.4 * points.v / points.rv)[:, None]
    return torch.where(fish[:, None], torch.tensor([0.9, 0.35, 0.05], device=wave.device), blue)


def sky(points: Points) -> Tensor:
    """Outdoors by direction of sight: sky above, clouds, trees at the horizon, lawn below."""
    x, y, z = points.view.unbind(-1)
    turn = torch.atan2(y, x)
    device = z.device
    high, low, cloud, tree, lawn = (
        torch.tensor(c, device=device)
        for c in ([0.40, 0.62, 1.0], [0.86, 0.93, 1.0], [1.0, 1.0, 1.0], [0.16, 0.27, 0.12], [0.34, 0.48, 0.20])
    )
    puff = ((noise(turn * 4, z * 9) + 0.5 * noise(turn * 11, z * 22) - 0.75) * 2.5).clamp(0, 1)
    sky = torch.lerp(low.expand(len(z), 3), high.expand(len(z), 3), (z * 2.2).clamp(0, 1)[:, None])
    sky = torch.lerp(sky, cloud.expand_as(sky), puff[:, None] * 0.8)
    top = 0.02 + 0.10 * noise(turn * 7, turn * 0) + 0.03 * noise(turn * 40, turn * 0)
    trees = tree * (0.7 + 0.7 * noise(turn * 60, z * 60))[:, None]
    ground = lawn * (0.85 + 0.3 * noise(turn * 20, 3 / (z.abs() + 0.05)))[:, None]
    return torch.where((z > top)[:, None], sky, torch.where((z > -0.035)[:, None], trees, ground)) * 1.15
