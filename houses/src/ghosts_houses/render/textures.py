"""Textures: colour patterns over surfaces, in the solids' own coordinates (metres)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float32, Int64

from ghosts_houses.arrays import Array, constant, dot, integer, library, put, single, take

_TABLE = 4096


@dataclass(frozen=True)
class SurfacePoints:
    """Points on surfaces, all of one material.

    `u`, `v` run along the surface in metres: v up (or along the second axis of a level surface), u across; zero is the
    solid's middle. `ru`, `rv` are the half extents in the same directions.
    """

    u: Float32[Array, " n"]
    v: Float32[Array, " n"]
    ru: Float32[Array, " n"]
    rv: Float32[Array, " n"]
    own: Float32[Array, "3 n"]
    """Coordinates in the solid's frame."""
    level: Float32[Array, " n"]
    """1 on surfaces that look up or down, else 0."""
    view: Float32[Array, "3 n"]
    """Direction of sight, world frame, unit length."""
    normal: Float32[Array, "3 n"]
    """Outward, world frame."""
    color: Float32[Array, "3 n"]
    size: Float32[Array, " n"]
    """Width of a pixel at the point, in metres: finer detail is averaged away."""
    seed: Int64[Array, " n"]
    """The solid's index: one painting differs from the next."""


@cache
def _table(device: object) -> Array:
    return put(np.random.default_rng(7).random(_TABLE, dtype=np.float32), device)


def hashed(i: Array, j: Array | int = 0, k: Array | int = 0) -> Array:
    """A fixed random number in [0, 1) for integer coordinates."""
    return take(_table(i.device), (i * 1597 + j * 3571 + k * 2741 + ((i * 31 + j * 17) >> 5)) & (_TABLE - 1))


def clip(x: Array, low: float | None = 0.0, high: float | None = 1.0) -> Array:
    return library(x).clip(x, low, high)


def where(mask: Array, yes: Array, no: Array | float) -> Array:
    return library(mask).where(mask, yes, no)


def floor(x: Array) -> Array:
    """The next lower whole number, as an integer."""
    return integer(library(x).floor(x))


def larger(a: Array, b: Array) -> Array:
    return library(a).maximum(a, b)


def mix(a: Array, b: Array | float, share: Array) -> Array:
    return a + (b - a) * share


def noise(x: Array, y: Array) -> Array:
    """Smooth value noise in [0, 1] with features of size 1."""
    i, j, a, b = floor(x), floor(y), frac(x), frac(y)
    a, b = a * a * (3 - 2 * a), b * b * (3 - 2 * b)
    low = mix(hashed(i, j), hashed(i + 1, j), a)
    high = mix(hashed(i, j + 1), hashed(i + 1, j + 1), a)
    return mix(low, high, b)


def frac(x: Array) -> Array:
    return x - library(x).floor(x)


def seam(points: SurfacePoints, x: Array, period: float, width: float) -> Array:
    """1 within `width` metres of multiples of `period`, else 0, averaged over a pixel."""
    gap = abs(frac(x / period + 0.5) - 0.5) * period
    reach = points.size * 0.5 + width
    return clip(1.0 - (gap - width) / reach) * clip(2.0 * width / (reach + width))


def square(points: SurfacePoints, x: Array, period: float) -> Array:
    """A square wave, 1 in the first half of each period and 0 in the second, averaged over a pixel."""
    wave = 0.25 - abs(frac(x / period + 0.25) - 0.5)
    return clip(wave * period / clip(points.size, 1e-4, None) + 0.5)


def fade(points: SurfacePoints, value: Array, scale_m: float) -> Array:
    """Noise around 0.5 of the given feature size, flattened where a pixel is wider than that."""
    return 0.5 + (value - 0.5) * (scale_m / (points.size + scale_m))


def shade(points: SurfacePoints, factor: Array) -> Array:
    return points.color * factor


def plain(points: SurfacePoints) -> Array:
    return points.color


def paint(points: SurfacePoints) -> Array:
    return shade(points, 0.97 + 0.06 * noise(points.u * 2.0, points.v * 2.0))


def plaster(points: SurfacePoints) -> Array:
    return shade(
        points,
        0.95
        + 0.05 * noise(points.u * 1.5, points.v * 1.5)
        + 0.05 * fade(points, noise(points.u * 30, points.v * 30), 0.033),
    )


def stripes(points: SurfacePoints) -> Array:
    band = square(points, points.u, 0.22)
    return shade(points, 0.88 + 0.12 * band)


def grain(points: SurfacePoints, along: Array, across: Array) -> Array:
    coarse, fine = noise(along * 2.2, across * 26), noise(along * 5, across * 90)
    return 0.6 * fade(points, coarse, 0.04) + 0.4 * fade(points, fine, 0.011)


def wood(points: SurfacePoints) -> Array:
    tall = points.rv > points.ru
    along, across = where(tall, points.v, points.u), where(tall, points.u, points.v)
    shift = hashed(points.seed) * 50
    return shade(points, 0.72 + 0.5 * grain(points, along + shift, across + shift))


def planks(points: SurfacePoints) -> Array:
    row = floor(points.v / 0.16)
    start = points.u / 1.7 + hashed(row) * 7
    tone = hashed(row, floor(start))
    joint = larger(seam(points, points.v, 0.16, 0.003), seam(points, start * 1.7, 1.7, 0.004))
    fibre = grain(points, points.u + tone * 31, points.v)
    return shade(points, (0.68 + 0.36 * tone + 0.3 * (fibre - 0.4)) * (1 - 0.55 * joint))


def parquet(points: SurfacePoints) -> Array:
    i, j = floor(points.u / 0.48), floor(points.v / 0.48)
    swap = (i + j) % 2 == 0
    a, b = where(swap, points.u, points.v), where(swap, points.v, points.u)
    tone = hashed(floor(a / 0.12), i, j)
    joint = larger(seam(points, a, 0.12, 0.002), seam(points, b, 0.48, 0.002))
    return shade(points, (0.72 + 0.32 * tone + 0.25 * (grain(points, b + tone * 9, a) - 0.4)) * (1 - 0.5 * joint))


def tile_tone(points: SurfacePoints, width: float, height: float, shift: float, grout: float) -> tuple[Array, Array]:
    row = floor(points.v / height)
    x = points.u + shift * width * single(row % 2)
    tone = hashed(floor(x / width), row)
    return tone, larger(seam(points, x, width, grout), seam(points, points.v, height, grout))


def tile(points: SurfacePoints) -> Array:
    tone, joint = tile_tone(points, 0.45, 0.45, 0.0, 0.005)
    cloud = noise(points.u * 6 + tone * 9, points.v * 6)
    base = shade(points, 0.88 + 0.1 * tone + 0.08 * cloud)
    return mix(base, base * 0.55, joint)


def checker(points: SurfacePoints) -> Array:
    a, b = square(points, points.u, 0.8), square(points, points.v, 0.8)
    odd = a * b + (1 - a) * (1 - b)
    base = mix(constant([0.07, 0.075, 0.085], points.u), points.color, odd)
    return base * (0.9 + 0.15 * noise(points.u * 5, points.v * 5))


def wall_tile(points: SurfacePoints) -> Array:
    tone, joint = tile_tone(points, 0.24, 0.12, 0.5, 0.003)
    base = shade(points, 0.84 + 0.2 * tone)
    return mix(base, base * 0.45, 0.8 * joint)


def brick(points: SurfacePoints) -> Array:
    tone, joint = tile_tone(points, 0.24, 0.08, 0.5, 0.008)
    base = shade(points, 0.65 + 0.6 * tone + 0.25 * (noise(points.u * 40, points.v * 40) - 0.5))
    return mix(base, 0.48, joint)


def marble(points: SurfacePoints) -> Array:
    shift = hashed(points.seed) * 20
    warp = noise(points.u * 2 + shift, points.v * 2) * 3 + noise(points.u * 7 + shift, points.v * 7)
    vein = 1 - abs(library(warp).sin((points.u + points.v) * 4 + warp * 3))
    return shade(points, 1.02 - 0.35 * vein**5 - 0.06 * warp / 4)


def carpet(points: SurfacePoints) -> Array:
    fine = fade(points, noise(points.u * 110, points.v * 110), 0.01)
    return shade(points, 0.80 + 0.26 * fine + 0.12 * noise(points.u * 3, points.v * 3))


def rubber(points: SurfacePoints) -> Array:
    speck = single(noise(points.u * 60, points.v * 60) > 0.82)
    return shade(points, 0.9 + 1.6 * speck)


def fabric(points: SurfacePoints) -> Array:
    weave = fade(points, noise(points.u * 140, points.v * 140), 0.008)
    return shade(points, 0.86 + 0.14 * weave + 0.1 * noise(points.u * 5, points.v * 5))


def check(points: SurfacePoints) -> Array:
    a, b = square(points, points.u, 0.28), square(points, points.v, 0.28)
    return shade(points, 0.55 + 0.3 * (a + b))


def metal(points: SurfacePoints) -> Array:
    sky = (points.normal[2] * 0.5 + 0.5) * 0.25
    return shade(points, 0.85 + sky + 0.08 * noise(points.u * 3, points.v * 160))


def mirror(points: SurfacePoints) -> Array:
    height = points.view[2] - 2 * dot(points.view, points.normal) * points.normal[2]
    up, flat, down = (constant(c, height) for c in ((0.85, 0.86, 0.88), (0.58, 0.62, 0.66), (0.32, 0.30, 0.28)))
    mixed = where(height > 0, mix(flat, up, clip(height * 2.5)), mix(flat, down, clip(-height * 2)))
    return mixed + single(frac((points.u + points.v) * 1.1) < 0.16) * 0.10


def leaves(points: SurfacePoints) -> Array:
    patch = noise(points.u * 28 + hashed(points.seed) * 40, points.v * 28)
    return shade(points, 0.35 + 1.0 * patch)
