"""Procedural materials: a texture, how glossy it is, and whether it shines by itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float32

from ghosts_houses.arrays import Array, library
from ghosts_houses.render import art, textures
from ghosts_houses.render.textures import SurfacePoints


@dataclass(frozen=True)
class Surface:
    """What light meets: linear RGB."""

    albedo: Float32[Array, "3 n"]
    emission: Float32[Array, "3 n"]
    gloss: float
    """Strength of highlights."""


Texture = Callable[[SurfacePoints], Array]
_REFLECT: dict[str, tuple[Texture, float]] = {
    "paint": (textures.paint, 0.0), "plaster": (textures.plaster, 0.0), "stripes": (textures.stripes, 0.0),
    "gloss": (textures.plain, 0.25), "matte": (textures.plain, 0.0), "wood": (textures.wood, 0.12),
    "planks": (textures.planks, 0.12), "parquet": (textures.parquet, 0.15), "tile": (textures.tile, 0.2),
    "checker": (textures.checker, 0.25), "wall tile": (textures.wall_tile, 0.2), "brick": (textures.brick, 0.0),
    "marble": (textures.marble, 0.3), "carpet": (textures.carpet, 0.0), "rubber": (textures.rubber, 0.0),
    "fabric": (textures.fabric, 0.0), "check": (textures.check, 0.0), "metal": (textures.metal, 0.5),
    "glass": (textures.plain, 0.5), "leaves": (textures.leaves, 0.05), "books": (art.books, 0.0),
    "rug": (art.rug, 0.0), "picture": (art.picture, 0.0), "wicker": (art.wicker, 0.0), "keys": (art.keys, 0.2),
    "clock": (art.clock, 0.1), "globe": (art.globe, 0.3), "leather": (textures.fabric, 0.25),
}  # fmt: skip
_GLOW: dict[str, tuple[Texture, float]] = {
    "screen": (art.screen, 0.9), "fire": (art.fire, 1.5), "water": (art.water, 0.35), "meadow": (art.meadow, 1.6),
    "mountains": (art.mountains, 1.6), "sea": (art.sea, 1.6), "town": (art.town, 1.6), "lamp": (textures.plain, 1.7),
    "mirror": (textures.mirror, 0.62),
}  # fmt: skip
MATERIALS: tuple[str, ...] = (*_REFLECT, *_GLOW)
"""Every material's name; its place is its number."""


def evaluate(material: int, points: SurfacePoints) -> Surface:
    """Colours of points that all have one material.

    Args:
        material: place in `MATERIALS`.
        points: where.
    """
    name, xp = MATERIALS[material], library(points.color)
    if name in _REFLECT:
        texture, gloss = _REFLECT[name]
        return Surface(xp.clip(texture(points), 0.0, 1.0), xp.zeros_like(points.color), gloss)
    texture, strength = _GLOW[name]
    glow = texture(points)
    return Surface(xp.clip(glow, 0.0, 1.0) * 0.2, glow * strength, 0.3)
