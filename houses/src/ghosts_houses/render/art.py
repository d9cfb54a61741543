"""Textures with a picture in them: books, rugs, paintings, screens, clocks, fire, the view outdoors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from ghosts_houses.render.textures import SurfacePoints, fade, frac, hashed, noise, seam, shade

_BOOKS = (
    (0.45, 0.06, 0.05), (0.05, 0.12, 0.32), (0.06, 0.24, 0.10), (0.55, 0.36, 0.08), (0.65, 0.60, 0.50),
    (0.10, 0.09, 0.09), (0.30, 0.10, 0.28), (0.08, 0.30, 0.36), (0.50, 0.20, 0.06), (0.36, 0.22, 0.12),
)  # fmt: skip


def books(points: SurfacePoints) -> Tensor:
    palette = torch.tensor(_BOOKS, device=points.u.device)
    cell = points.u / 0.034 + 0.3 * torch.sin(points.u * 40)
    book = cell.floor().int() + points.seed.int() * 13
    color = palette[(hashed(book) * len(_BOOKS)).long()] * (0.7 + 0.6 * hashed(book, 5))[:, None]
    band = ((points.v + points.rv) / (2 * points.rv) - 0.5 - 0.3 * hashed(book, 9)).abs() < 0.05
    color = torch.where((band & (hashed(book, 3) > 0.4))[:, None], color * 0.4 + 0.45, color)
    gap = (frac(cell) - 0.5).abs() > 0.45
    color = torch.where(gap[:, None], color * 0.35, color)
    paper = torch.tensor([0.75, 0.72, 0.62], device=points.u.device)
    return torch.where(points.level[:, None] > 0, paper, color)


def rug(points: SurfacePoints) -> Tensor:
    a, b = points.u / points.ru, points.v / points.rv
    rim = torch.minimum((1 - a.abs()) * points.ru, (1 - b.abs()) * points.rv)
    tone = hashed(points.seed, 1)
    border = ((rim > 0.08) & (rim < 0.2)).float()
    diamond = frac((a.abs() * points.ru + b.abs() * points.rv) / 0.34) < 0.5
    lines = frac(points.u / 0.25) < 0.5
    inner = torch.where(tone > 0.5, diamond.float(), lines.float()) * (rim > 0.2)
    light = points.color * 0.35 + torch.tensor([0.46, 0.43, 0.36], device=points.u.device)
    mixed = torch.lerp(points.color, light, (0.75 * torch.maximum(border, inner))[:, None])
    return mixed * (0.82 + 0.3 * fade(points, noise(points.u * 120, points.v * 120), 0.01))[:, None]


def picture(points: SurfacePoints) -> Tensor:
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


def wicker(points: SurfacePoints) -> Tensor:
    odd = ((points.u / 0.03).floor() + (points.v / 0.02).floor()).int() % 2
    return shade(points, 0.6 + 0.45 * odd)


def keys(points: SurfacePoints) -> Tensor:
    joint = seam(points, points.u, 0.024, 0.002)
    white = points.color * (1 - 0.7 * joint)[:, None]
    black = (seam(points, points.u + 0.012, 0.024, 0.006) > 0.5) & (hashed((points.u / 0.024).floor().int()) > 0.3)
    return torch.where((black & (points.own[:, 0] < 0.0))[:, None], points.color * 0.03, white)


def clock(points: SurfacePoints) -> Tensor:
    y, z = points.own[:, 1], points.own[:, 2]
    radius, angle = (y * y + z * z).sqrt() / points.rv, torch.atan2(y, z)
    tick = (seam(points, angle, np.pi / 6, 0.07) > 0.5) & (radius > 0.68) & (radius < 0.84)
    hour = ((y - 0.6 * z).abs() < 0.012) & (z > 0) & (radius < 0.45)
    minute = (z.abs() < 0.008) & (y < 0) & (radius < 0.65)
    dark = tick | hour | minute | (radius > 0.9)
    return torch.where(dark[:, None], torch.full_like(points.color, 0.04), points.color)


def globe(points: SurfacePoints) -> Tensor:
    x, y, z = points.own.unbind(-1)
    land = noise(torch.atan2(y, x) * 1.6 + 20, z * 14) > 0.52
    green = torch.tensor([0.22, 0.34, 0.12], device=x.device)
    return torch.where(land[:, None], green, points.color)


def screen(points: SurfacePoints) -> Tensor:
    """A lit screen: bars of a desktop, or a picture on a television."""
    a, b = points.u / points.ru, points.v / points.rv
    glow = torch.stack([0.05 + 0.04 * b, 0.12 + 0.08 * b, 0.24 + 0.12 * a], -1)
    panel = (a > -0.7) & (a < 0.3) & (b > -0.6) & (b < 0.7)
    text = panel & (frac(b * 7) < 0.45) & (a < -0.6 + 0.8 * hashed((b * 7).floor().int(), points.seed.int()))
    glow = torch.where(panel[:, None], torch.full_like(glow, 0.6), glow)
    return torch.where(text[:, None], torch.full_like(glow, 0.16), glow)


def fire(points: SurfacePoints) -> Tensor:
    height = (points.v / points.rv + 1) / 2
    tongue = noise(points.u * 14, points.v * 5) * 0.9 + 0.25 - height
    hot = torch.tensor([1.6, 0.75, 0.16], device=points.u.device)
    return hot * (tongue * 2.2).clamp(0.0, 1.0)[:, None] + torch.tensor([0.05, 0.015, 0.005], device=points.u.device)


def water(points: SurfacePoints) -> Tensor:
    wave = noise(points.u * 9, points.v * 9)
    fish = noise(points.u * 12 + 5, points.v * 22 + 3) > 0.86
    blue = points.color * (0.7 + 0.5 * wave + 0.4 * points.v / points.rv)[:, None]
    return torch.where(fish[:, None], torch.tensor([0.9, 0.35, 0.05], device=wave.device), blue)


def _outside(points: SurfacePoints, land: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
    """Outdoors by direction of sight: a sky with clouds, and land in front of it."""
    x, y, z = points.view.unbind(-1)
    turn = torch.atan2(y, x)
    high, low, cloud = (_rgb(c, z) for c in ((0.40, 0.62, 1.0), (0.86, 0.93, 1.0), (1.0, 1.0, 1.0)))
    puff = ((noise(turn * 4, z * 9) + 0.5 * noise(turn * 11, z * 22) - 0.75) * 2.5).clamp(0, 1)
    above = torch.lerp(low.expand(len(z), 3), high.expand(len(z), 3), (z * 2.2).clamp(0, 1)[:, None])
    above = torch.lerp(above, cloud.expand_as(above), puff[:, None] * 0.8)
    return land(turn, z, above) * 1.15


def _rgb(color: tuple[float, float, float], like: Tensor) -> Tensor:
    return torch.tensor(color, device=like.device)


def _up_to(top: Tensor, z: Tensor, color: Tensor, beyond: Tensor) -> Tensor:
    """A colour below a line of heights, `beyond` above it."""
    return torch.where((z < top)[:, None], color, beyond)


def _ground(turn: Tensor, z: Tensor, color: tuple[float, float, float]) -> Tensor:
    return _rgb(color, z) * (0.85 + 0.3 * noise(turn * 20, 3 / (z.abs() + 0.05)))[:, None]


def meadow(points: SurfacePoints) -> Tensor:
    """Trees at the horizon, lawn below."""

    def land(turn: Tensor, z: Tensor, sky: Tensor) -> Tensor:
        top = 0.02 + 0.10 * noise(turn * 7, turn * 0) + 0.03 * noise(turn * 40, turn * 0)
        trees = _rgb((0.16, 0.27, 0.12), z) * (0.7 + 0.7 * noise(turn * 60, z * 60))[:, None]
        return _up_to(z * 0 - 0.035, z, _ground(turn, z, (0.34, 0.48, 0.20)), _up_to(top, z, trees, sky))

    return _outside(points, land)


def mountains(points: SurfacePoints) -> Tensor:
    """Snowy ridges behind dark woods, dry grass below."""

    def land(turn: Tensor, z: Tensor, sky: Tensor) -> Tensor:
        ridge = 0.08 + 0.22 * noise(turn * 3.5, turn * 0) + 0.05 * noise(turn * 17, turn * 0)
        snow = (z > ridge - 0.07 - 0.05 * noise(turn * 30, z * 40))[:, None]
        rock = torch.where(snow, _rgb((0.85, 0.88, 0.94), z), _rgb((0.34, 0.38, 0.46), z).expand(len(z), 3))
        woods = _rgb((0.07, 0.16, 0.11), z) * (0.7 + 0.6 * noise(turn * 90, z * 50))[:, None]
        edge = 0.01 + 0.05 * noise(turn * 9, turn * 0) + 0.025 * noise(turn * 70, turn * 0)
        behind = _up_to(edge, z, woods, _up_to(ridge, z, rock, sky))
        return _up_to(z * 0 - 0.04, z, _ground(turn, z, (0.50, 0.44, 0.22)), behind)

    return _outside(points, land)


def sea(points: SurfacePoints) -> Tensor:
    """Water to the horizon, a beach below."""

    def land(turn: Tensor, z: Tensor, sky: Tensor) -> Tensor:
        waves = noise(turn * 26, 4 / (z.abs() + 0.02))
        water = torch.lerp(_rgb((0.06, 0.28, 0.42), z), _rgb((0.30, 0.58, 0.66), z), (waves * 0.8)[:, None])
        shore = -0.17 - 0.03 * noise(turn * 5, turn * 0)
        return _up_to(shore, z, _ground(turn, z, (0.72, 0.62, 0.44)), _up_to(z * 0 + 0.003, z, water, sky))

    return _outside(points, land)


def town(points: SurfacePoints) -> Tensor:
    """Houses of many heights with windows, a street below."""

    def land(turn: Tensor, z: Tensor, sky: Tensor) -> Tensor:
        place = turn * 9 + 0.4 * torch.sin(turn * 5)
        block = place.floor().int()
        top = 0.05 + 0.22 * hashed(block, 3)
        base = (
            torch.stack([0.35 + 0.4 * hashed(block, k) for k in (5, 6, 7)], -1)
            * (0.7 + 0.3 * hashed(block, 8))[:, None]
        )
        column, row = frac(place * 6), frac(z * 40)
        glass = (column > 0.25) & (column < 0.75) & (row > 0.25) & (row < 0.8)
        wall = torch.where(glass[:, None], _rgb((0.16, 0.20, 0.26), z).expand_as(base), base)
        return _up_to(z * 0 - 0.06, z, _ground(turn, z, (0.26, 0.26, 0.27)), _up_to(top, z, wall, sky))

    return _outside(points, land)
