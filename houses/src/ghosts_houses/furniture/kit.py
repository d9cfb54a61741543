"""The kit furniture is built with: solids in an object's own frame, and colours with the words people use for them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ghosts_houses.house import Primitive, Shape, Thing, reach_m
from ghosts_houses.plan.rooms import Color, pick

PALETTE: dict[str, Color] = {
    "red": (0.55, 0.045, 0.035),
    "blue": (0.045, 0.13, 0.42),
    "green": (0.06, 0.27, 0.10),
    "yellow": (0.80, 0.55, 0.06),
    "orange": (0.75, 0.24, 0.03),
    "purple": (0.26, 0.08, 0.32),
    "pink": (0.80, 0.34, 0.40),
    "gray": (0.32, 0.33, 0.35),
    "white": (0.80, 0.80, 0.78),
    "black": (0.028, 0.028, 0.032),
    "beige": (0.64, 0.52, 0.36),
    "brown": (0.22, 0.10, 0.045),
    "teal": (0.03, 0.28, 0.30),
}
"""Linear RGB of colour words."""
WOODS: tuple[Color, ...] = ((0.40, 0.22, 0.10), (0.26, 0.13, 0.06), (0.56, 0.38, 0.20), (0.16, 0.08, 0.045))
STEEL: Color = (0.50, 0.51, 0.53)
DARK: Color = (0.03, 0.03, 0.034)
WHITE: Color = (0.82, 0.82, 0.81)
SOFT = ("red", "blue", "green", "gray", "beige", "teal", "purple", "orange", "brown", "yellow")


def tint(color: Color, share: float, plus: float = 0.0) -> Color:
    """A share of a colour, and so much white."""
    return plus + share * color[0], plus + share * color[1], plus + share * color[2]


Number = float | int
Where = Number | tuple[Number, ...]
"""A coordinate; of several, there is a solid at each."""


def both(at: Number) -> tuple[Number, Number]:
    """The same distance from the middle on either side."""
    return -at, at


def _places(x: Where, y: Where, z: Where, up_m: float) -> list[tuple[float, float, float]]:
    """Centres of solids: every x with every y and z, moved up."""
    several = (at if isinstance(at, tuple) else (at,) for at in (x, y, z))
    return [(float(a), float(b), c + up_m) for a, b, c in itertools.product(*several)]


Part = tuple[Shape, tuple[float, float, float], tuple[float, float, float], float, str, Color]
"""Shape, centre, half extents, yaw, material and colour."""


@dataclass
class Kit:
    """Collects the solids of one object. Front is +x, z = 0 its foot; boxes and cylinders are given by their bottom."""

    rng: np.random.Generator
    ceiling_m: float = 2.7
    """Height of the room, for what reaches up to its ceiling."""
    parts: list[Part] = field(default_factory=list)
    said: str = ""
    """The colour word of the object, where one is worth naming."""

    def box(
        self, x: Where, y: Where, z: Where, sx: Number, sy: Number, sz: Number, material: str, color: Color,
        yaw: Number = 0.0,
    ) -> None:  # fmt: skip
        """A box of full size (sx, sy, sz) whose bottom centre is (x, y, z)."""
        half = (sx / 2, sy / 2, sz / 2)
        self.parts += [("box", at, half, float(yaw), material, color) for at in _places(x, y, z, sz / 2)]

    def tube(
        self, x: Where, y: Where, z: Where, radius: Number, height: Number, material: str, color: Color,
        ry: Number = 0.0,
    ) -> None:  # fmt: skip
        """An upright cylinder whose bottom centre is (x, y, z)."""
        half = (float(radius), float(ry or radius), height / 2)
        self.parts += [("cylinder", at, half, 0.0, material, color) for at in _places(x, y, z, height / 2)]

    def ball(
        self, x: Where, y: Where, z: Where, rx: Number, ry: Number, rz: Number, material: str, color: Color
    ) -> None:
        """An ellipsoid around (x, y, z)."""
        half = (float(rx), float(ry), float(rz))
        self.parts += [("sphere", at, half, 0.0, material, color) for at in _places(x, y, z, 0.0)]

    def legs(
        self, depth: Number, width: Number, height: Number, size: Number, material: str, color: Color,
        inset: Number = 0.04,
    ) -> None:  # fmt: skip
        """Four legs under a top of the given size."""
        self.box(both(depth / 2 - inset), both(width / 2 - inset), 0.0, size, size, height, material, color)

    def color(self, *words: str) -> Color:
        """One of the palette's colours, each as likely."""
        return PALETTE[pick(self.rng, words)]

    def name(self, *words: str) -> str:
        """A colour word, each as likely, that people will call the object by."""
        self.said = pick(self.rng, words)
        return self.said

    def named(self, *words: str) -> Color:
        """The palette's colour of such a word."""
        return PALETTE[self.name(*words)]

    def painted(self, *words: str) -> Color:
        """The same of something of wood, for which brown is one of the furniture woods."""
        return self.wood() if self.name(*words) == "brown" else PALETTE[self.said]

    def wood(self) -> Color:
        """One of the furniture woods."""
        return pick(self.rng, WOODS)

    def span(self, low: Number, high: Number) -> float:
        """A random length, to the centimetre."""
        return round(float(self.rng.uniform(low, high)), 2)


Place = Literal["wall", "corner", "middle", "on wall", "on top", "ceiling", "beside", "around", "front", "fixed"]
Builder = Callable[[Kit], None]


@dataclass(frozen=True)
class Kind:
    """A kind of object."""

    build: Builder
    """Adds its solids to a kit."""
    place: Place
    blocks: bool = True
    clear_m: float = 0.55
    """Free depth kept in front of it."""
    height_m: float = 0.0
    """Foot of an object on a wall, above the floor."""


KINDS: dict[str, Kind] = {}
"""Object kinds by name (`furniture.catalogue` has them all)."""


def kind(name: str, place: Place, **settings: Any) -> Callable[[Builder], Builder]:
    """Make what a function builds a kind of object, with its name, its place and other fields of `Kind`."""

    def add(build: Builder) -> Builder:
        KINDS[name] = Kind(build, place, **settings)
        return build

    return add


@dataclass(frozen=True)
class Model:
    """A built object in its own frame, its bounding box centred on the plan's origin."""

    kind: str
    half_m: tuple[float, float, float]
    bottom_m: float
    word: str
    parts: tuple[Part, ...]


def build(name: str, spec: Kind, rng: np.random.Generator, ceiling_m: float = 2.7) -> Model:
    """Build one object for a room of a height, and centre it."""
    kit = Kit(rng, ceiling_m)
    spec.build(kit)
    # Most parts are not turned: their reach is their half extents, exactly.
    spans = [(at, half if yaw == 0.0 else (*reach_m(half, yaw), half[2])) for _, at, half, yaw, _, _ in kit.parts]
    low = [min([at[axis] - by[axis] for at, by in spans]) for axis in range(3)]
    high = [max([at[axis] + by[axis] for at, by in spans]) for axis in range(3)]
    mid = [(a + b) / 2 for a, b in zip(low, high)]
    parts = tuple(
        (shape, (float(center[0] - mid[0]), float(center[1] - mid[1]), center[2]), half, yaw, material, color)
        for shape, center, half, yaw, material, color in kit.parts
    )
    half = tuple(float((b - a) / 2) for a, b in zip(low, high))
    return Model(name, (half[0], half[1], half[2]), float(low[2]), kit.said, parts)


def stand(model: Model, spec: Kind, room: int, x_m: float, y_m: float, z_m: float, yaw_rad: float) -> Thing:
    """Put a model into the world with its foot at (x, y, z)."""
    c, s = math.cos(yaw_rad), math.sin(yaw_rad)
    # Quarter turns are made exact, so that boxes stay axis-aligned for the ray caster.
    if abs(yaw_rad / (math.pi / 2) - round(yaw_rad / (math.pi / 2))) < 1e-9:
        c, s = float(round(c)), float(round(s))
    parts = tuple(
        Primitive(shape, placed, half, yaw + yaw_rad, material, color, model.kind)
        for shape, (x, y, z), half, yaw, material, color in model.parts
        for placed in [(round(x_m + x * c - y * s, 5), round(y_m + x * s + y * c, 5), round(z_m + z, 5))]
    )
    center = (round(x_m, 5), round(y_m, 5), round(z_m + model.bottom_m + model.half_m[2], 5))
    return Thing(model.kind, room, center, model.half_m, yaw_rad, model.word, spec.blocks, parts)
