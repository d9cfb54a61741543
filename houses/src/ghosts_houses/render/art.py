"""Textures with a picture in them: books, rugs, paintings, screens, clocks, fire, the view outdoors."""

from __future__ import annotations

import math
from collections.abc import Callable

from ghosts_houses.arrays import Array, constant, library, single, take
from ghosts_houses.render.textures import (
    SurfacePoints,
    clip,
    fade,
    floor,
    frac,
    hashed,
    larger,
    mix,
    noise,
    seam,
    shade,
    where,
)

_BOOKS = (
    (0.45, 0.06, 0.05), (0.05, 0.12, 0.32), (0.06, 0.24, 0.10), (0.55, 0.36, 0.08), (0.65, 0.60, 0.50),
    (0.10, 0.09, 0.09), (0.30, 0.10, 0.28), (0.08, 0.30, 0.36), (0.50, 0.20, 0.06), (0.36, 0.22, 0.12),
)  # fmt: skip


def books(points: SurfacePoints) -> Array:
    xp = library(points.u)
    cell = points.u / 0.034 + 0.3 * xp.sin(points.u * 40)
    book = floor(cell) + points.seed * 13
    palette = xp.concatenate([constant(color, points.u) for color in _BOOKS], -1)
    color = take(palette, floor(hashed(book) * len(_BOOKS))) * (0.7 + 0.6 * hashed(book, 5))
    band = abs((points.v + points.rv) / (2 * points.rv) - 0.5 - 0.3 * hashed(book, 9)) < 0.05
    color = where(band & (hashed(book, 3) > 0.4), color * 0.4 + 0.45, color)
    color = where(abs(frac(cell) - 0.5) > 0.45, color * 0.35, color)
    return where(points.level > 0, constant([0.75, 0.72, 0.62], color), color)


def rug(points: SurfacePoints) -> Array:
    a, b = points.u / points.ru, points.v / points.rv
    rim = -larger((abs(a) - 1) * points.ru, (abs(b) - 1) * points.rv)
    tone = hashed(points.seed, 1)
    border = single((rim > 0.08) & (rim < 0.2))
    diamond = frac((abs(a) * points.ru + abs(b) * points.rv) / 0.34) < 0.5
    lines = frac(points.u / 0.25) < 0.5
    inner = where(tone > 0.5, single(diamond), single(lines)) * (rim > 0.2)
    light = points.color * 0.35 + constant([0.46, 0.43, 0.36], rim)
    mixed = mix(points.color, light, 0.75 * larger(border, inner))
    return mixed * (0.82 + 0.3 * fade(points, noise(points.u * 120, points.v * 120), 0.01))


def picture(points: SurfacePoints) -> Array:
    """A landscape or an abstract, different for every solid."""
    xp, a, b = library(points.u), points.u / points.ru, points.v / points.rv
    pick = [hashed(points.seed, k) for k in range(8)]
    hill = (
        -0.35
        + 0.5 * noise(a * (1 + 2 * pick[0]) + pick[1] * 30, pick[2] * 9)
        + 0.15 * noise(a * 6 + pick[1] * 9, pick[2])
    )
    far = -0.05 + 0.45 * noise(a * 1.5 + pick[3] * 30, pick[4] * 9)
    sky = xp.stack([0.25 + 0.6 * pick[5], 0.45 + 0.25 * pick[6], 0.80 - 0.4 * pick[5]]) * (1.05 - 0.3 * b)
    hills = xp.stack([0.10 + 0.3 * pick[6], 0.26 + 0.1 * pick[3], 0.12 + 0.12 * pick[0]])
    sun = ((a - pick[7] * 1.2 + 0.6) * points.ru) ** 2 + ((b - 0.45) * points.rv) ** 2 < (0.09 * 1.0) ** 2
    land = where(b < far, hills * 0.6 + sky * 0.4, sky)
    land = where(sun & (b >= far), constant([0.95, 0.75, 0.35], a), land)
    land = where(b < hill, hills * (0.8 + 0.5 * noise(a * 14, b * 14)), land)
    i, j = floor((a + 1) * 1.7 + pick[0]), floor((b + 1) * 1.7 + pick[1])
    block = xp.stack([hashed(i + 40 * k, j, points.seed) for k in (1, 2, 3)]) ** 1.5
    return where(pick[2] < 0.55, land, block * 0.8 + 0.08) * 0.8


def wicker(points: SurfacePoints) -> Array:
    odd = single((floor(points.u / 0.03) + floor(points.v / 0.02)) % 2)
    return shade(points, 0.6 + 0.45 * odd)


def keys(points: SurfacePoints) -> Array:
    joint = seam(points, points.u, 0.024, 0.002)
    white = points.color * (1 - 0.7 * joint)
    black = (seam(points, points.u + 0.012, 0.024, 0.006) > 0.5) & (hashed(floor(points.u / 0.024)) > 0.3)
    return where(black & (points.own[0] < 0.0), points.color * 0.03, white)


def clock(points: SurfacePoints) -> Array:
    xp, (_, y, z) = library(points.own), points.own
    radius, angle = xp.sqrt(y * y + z * z) / points.rv, xp.arctan2(y, z)
    tick = (seam(points, angle, math.pi / 6, 0.07) > 0.5) & (radius > 0.68) & (radius < 0.84)
    hour = (abs(y - 0.6 * z) < 0.012) & (z > 0) & (radius < 0.45)
    minute = (abs(z) < 0.008) & (y < 0) & (radius < 0.65)
    dark = tick | hour | minute | (radius > 0.9)
    return where(dark, constant([0.04], radius), points.color)


def globe(points: SurfacePoints) -> Array:
    x, y, z = points.own
    land = noise(library(x).arctan2(y, x) * 1.6 + 20, z * 14) > 0.52
    return where(land, constant([0.22, 0.34, 0.12], x), points.color)


def screen(points: SurfacePoints) -> Array:
    """A lit screen: bars of a desktop, or a picture on a television."""
    a, b = points.u / points.ru, points.v / points.rv
    glow = library(a).stack([0.05 + 0.04 * b, 0.12 + 0.08 * b, 0.24 + 0.12 * a])
    panel = (a > -0.7) & (a < 0.3) & (b > -0.6) & (b < 0.7)
    text = panel & (frac(b * 7) < 0.45) & (a < -0.6 + 0.8 * hashed(floor(b * 7), points.seed))
    glow = where(panel, constant([0.6], a), glow)
    return where(text, constant([0.16], a), glow)


def fire(points: SurfacePoints) -> Array:
    height = (points.v / points.rv + 1) / 2
    tongue = noise(points.u * 14, points.v * 5) * 0.9 + 0.25 - height
    return constant([1.6, 0.75, 0.16], tongue) * clip(tongue * 2.2) + constant([0.05, 0.015, 0.005], tongue)


def water(points: SurfacePoints) -> Array:
    wave = noise(points.u * 9, points.v * 9)
    fish = noise(points.u * 12 + 5, points.v * 22 + 3) > 0.86
    blue = points.color * (0.7 + 0.5 * wave + 0.4 * points.v / points.rv)
    return where(fish, constant([0.9, 0.35, 0.05], wave), blue)


def _outside(points: SurfacePoints, land: Callable[[Array, Array, Array], Array]) -> Array:
    """Outdoors by direction of sight: a sky with clouds, and land in front of it."""
    x, y, z = points.view
    turn = library(x).arctan2(y, x)
    puff = clip((noise(turn * 4, z * 9) + 0.5 * noise(turn * 11, z * 22) - 0.75) * 2.5)
    above = mix(constant((0.86, 0.93, 1.0), z), constant((0.40, 0.62, 1.0), z), clip(z * 2.2))
    above = mix(above, 1.0, puff * 0.8)
    return land(turn, z, above) * 1.15


def _up_to(top: Array, z: Array, color: Array, beyond: Array) -> Array:
    """A colour below a line of heights, `beyond` above it."""
    return where(z < top, color, beyond)


def _ground(turn: Array, z: Array, color: tuple[float, float, float]) -> Array:
    return constant(color, z) * (0.85 + 0.3 * noise(turn * 20, 3 / (abs(z) + 0.05)))


def meadow(points: SurfacePoints) -> Array:
    """Trees at the horizon, lawn below."""

    def land(turn: Array, z: Array, sky: Array) -> Array:
        top = 0.02 + 0.10 * noise(turn * 7, turn * 0) + 0.03 * noise(turn * 40, turn * 0)
        trees = constant((0.16, 0.27, 0.12), z) * (0.7 + 0.7 * noise(turn * 60, z * 60))
        return _up_to(z * 0 - 0.035, z, _ground(turn, z, (0.34, 0.48, 0.20)), _up_to(top, z, trees, sky))

    return _outside(points, land)


def mountains(points: SurfacePoints) -> Array:
    """Snowy ridges behind dark woods, dry grass below."""

    def land(turn: Array, z: Array, sky: Array) -> Array:
        ridge = 0.08 + 0.22 * noise(turn * 3.5, turn * 0) + 0.05 * noise(turn * 17, turn * 0)
        snow = z > ridge - 0.07 - 0.05 * noise(turn * 30, z * 40)
        rock = where(snow, constant((0.85, 0.88, 0.94), z), constant((0.34, 0.38, 0.46), z))
        woods = constant((0.07, 0.16, 0.11), z) * (0.7 + 0.6 * noise(turn * 90, z * 50))
        edge = 0.01 + 0.05 * noise(turn * 9, turn * 0) + 0.025 * noise(turn * 70, turn * 0)
        behind = _up_to(edge, z, woods, _up_to(ridge, z, rock, sky))
        return _up_to(z * 0 - 0.04, z, _ground(turn, z, (0.50, 0.44, 0.22)), behind)

    return _outside(points, land)


def sea(points: SurfacePoints) -> Array:
    """Water to the horizon, a beach below."""

    def land(turn: Array, z: Array, sky: Array) -> Array:
        waves = noise(turn * 26, 4 / (abs(z) + 0.02))
        water = mix(constant((0.06, 0.28, 0.42), z), constant((0.30, 0.58, 0.66), z), waves * 0.8)
        shore = -0.17 - 0.03 * noise(turn * 5, turn * 0)
        return _up_to(shore, z, _ground(turn, z, (0.72, 0.62, 0.44)), _up_to(z * 0 + 0.003, z, water, sky))

    return _outside(points, land)


def town(points: SurfacePoints) -> Array:
    """Houses of many heights with windows, a street below."""

    def land(turn: Array, z: Array, sky: Array) -> Array:
        place = turn * 9 + 0.4 * library(turn).sin(turn * 5)
        block = floor(place)
        top = 0.05 + 0.22 * hashed(block, 3)
        base = library(turn).stack([0.35 + 0.4 * hashed(block, k) for k in (5, 6, 7)])
        base = base * (0.7 + 0.3 * hashed(block, 8))
        column, row = frac(place * 6), frac(z * 40)
        glass = (column > 0.25) & (column < 0.75) & (row > 0.25) & (row < 0.8)
        wall = where(glass, constant((0.16, 0.20, 0.26), z), base)
        return _up_to(z * 0 - 0.06, z, _ground(turn, z, (0.26, 0.26, 0.27)), _up_to(top, z, wall, sky))

    return _outside(points, land)
