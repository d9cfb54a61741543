"""Lamps, plants, pictures, rugs, curtains, doors: what makes a room lived in."""

from __future__ import annotations

import math

from ghosts_houses.furniture.kit import DARK, STEEL, WHITE, Kit, both, kind, tint
from ghosts_houses.plan.rooms import DOOR_HEIGHT_M, DOOR_WIDTH_M, Color

_GLOW: Color = (1.0, 0.86, 0.62)


@kind("plant", "corner", clear_m=0.1)
def _plant(k: Kit) -> None:
    pot = k.color("white", "brown", "orange", "blue", "gray")
    k.tube(0, 0, 0, 0.17, 0.3, "gloss", pot)
    k.tube(0, 0, 0.29, 0.185, 0.03, "gloss", pot)
    k.tube(0, 0, 0.3, 0.15, 0.03, "carpet", (0.08, 0.05, 0.03))
    green = (0.10, 0.32, 0.07)
    tall = k.span(0.75, 1.15)
    k.tube(0, 0, 0.3, 0.018, tall - 0.3, "wood", (0.2, 0.12, 0.05))
    for i in range(11):
        a, f = i * 2.4, i / 10
        r = 0.20 * (1 - 0.5 * f) + 0.04
        k.ball(r * math.cos(a), r * math.sin(a), 0.52 + (tall - 0.35) * f, 0.14, 0.14, 0.075, "leaves", green)
    k.ball(0, 0, tall + 0.22, 0.12, 0.12, 0.12, "leaves", green)


@kind("cactus", "corner", clear_m=0.1)
def _cactus(k: Kit) -> None:
    k.tube(0, 0, 0, 0.16, 0.26, "gloss", k.color("orange", "white", "teal"))
    green = (0.10, 0.27, 0.10)
    k.ball(0, 0, 0.68, 0.11, 0.11, 0.5, "leaves", green)
    k.ball(0, 0.17, 0.8, 0.06, 0.06, 0.2, "leaves", green)
    k.ball(0, 0.1, 0.68, 0.05, 0.12, 0.05, "leaves", green)
    k.ball(0, -0.16, 0.95, 0.055, 0.055, 0.17, "leaves", green)
    k.ball(0, -0.09, 0.85, 0.045, 0.11, 0.045, "leaves", green)


@kind("floor lamp", "corner", clear_m=0.1)
def _floor_lamp(k: Kit) -> None:
    k.tube(0, 0, 0, 0.15, 0.025, "metal", DARK)
    k.tube(0, 0, 0, 0.014, 1.42, "metal", DARK)
    k.tube(0, 0, 1.36, 0.19, 0.28, "lamp", (0.95, 0.78, 0.52))


@kind("table lamp", "on top")
def _table_lamp(k: Kit) -> None:
    base = k.color("white", "blue", "teal", "orange", "black")
    k.tube(0, 0, 0, 0.06, 0.015, "gloss", base)
    k.ball(0, 0, 0.11, 0.06, 0.06, 0.1, "gloss", base)
    k.tube(0, 0, 0.2, 0.012, 0.06, "metal", STEEL)
    k.tube(0, 0, 0.24, 0.12, 0.17, "lamp", (0.95, 0.78, 0.52))


@kind("ceiling lamp", "ceiling", blocks=False)
def _ceiling_lamp(k: Kit) -> None:
    k.tube(0, 0, -0.02, 0.12, 0.02, "gloss", WHITE)
    k.tube(0, 0, -0.1, 0.19, 0.085, "lamp", _GLOW)


@kind("pendant lamp", "ceiling", blocks=False)
def _pendant_lamp(k: Kit) -> None:
    color = k.named("black", "white", "red", "yellow", "teal")
    k.tube(0, 0, -0.03, 0.06, 0.03, "metal", DARK)
    k.tube(0, 0, -0.5, 0.008, 0.48, "metal", DARK)
    k.tube(0, 0, -0.58, 0.07, 0.1, "gloss", color)
    k.tube(0, 0, -0.68, 0.2, 0.1, "gloss", color)
    k.ball(0, 0, -0.68, 0.08, 0.08, 0.06, "lamp", _GLOW)


@kind("chandelier", "ceiling", blocks=False)
def _chandelier(k: Kit) -> None:
    gold = (0.55, 0.40, 0.14)
    k.tube(0, 0, -0.03, 0.08, 0.03, "metal", gold)
    k.tube(0, 0, -0.6, 0.012, 0.6, "metal", gold)
    k.ball(0, 0, -0.56, 0.07, 0.07, 0.1, "metal", gold)
    for i in range(6):
        a = i * math.pi / 3
        k.box(0.17 * math.cos(a), 0.17 * math.sin(a), -0.6, 0.34, 0.02, 0.02, "metal", gold, a)
        k.tube(0.34 * math.cos(a), 0.34 * math.sin(a), -0.6, 0.02, 0.09, "gloss", WHITE)
        k.ball(0.34 * math.cos(a), 0.34 * math.sin(a), -0.47, 0.035, 0.035, 0.055, "lamp", _GLOW)


@kind("painting", "on wall", blocks=False, height_m=1.25)
def _painting(k: Kit) -> None:
    wide, tall = k.span(0.6, 1.2), k.span(0.5, 0.85)
    frame = k.wood() if k.rng.random() < 0.6 else ((0.5, 0.38, 0.14) if k.rng.random() < 0.5 else DARK)
    k.box(0, 0, 0, 0.025, wide, tall, "wood", frame)
    k.box(0.008, 0, 0.035, 0.02, wide - 0.07, tall - 0.07, "paint", (0.8, 0.79, 0.74))
    k.box(0.011, 0, 0.08, 0.02, wide - 0.16, tall - 0.16, "picture", WHITE)


@kind("mirror", "on wall", blocks=False, height_m=1.1)
def _mirror(k: Kit) -> None:
    frame = k.wood() if k.rng.random() < 0.5 else STEEL
    wide, tall = k.span(0.55, 0.9), k.span(0.75, 0.95)
    k.box(0, 0, 0, 0.03, wide, tall, "wood", frame)
    k.box(0.012, 0, 0.03, 0.02, wide - 0.06, tall - 0.06, "mirror", WHITE)


@kind("clock", "on wall", blocks=False, height_m=1.7)
def _clock(k: Kit) -> None:
    k.ball(0, 0, 0.16, 0.03, 0.16, 0.16, "gloss", k.color("black", "brown", "red"))
    k.ball(0.012, 0, 0.16, 0.03, 0.145, 0.145, "clock", (0.85, 0.84, 0.8))


@kind("grandfather clock", "wall", clear_m=0.3)
def _grandfather_clock(k: Kit) -> None:
    wood = k.wood()
    k.box(0, 0, 0, 0.3, 0.5, 0.4, "wood", wood)
    k.box(0, 0, 0.4, 0.24, 0.36, 1.0, "wood", wood)
    k.box(0.122, 0, 0.48, 0.008, 0.22, 0.84, "gloss", (0.05, 0.035, 0.025))
    k.box(0.13, 0, 0.75, 0.006, 0.015, 0.5, "metal", (0.6, 0.45, 0.15))
    k.ball(0.13, 0, 0.72, 0.01, 0.07, 0.07, "metal", (0.65, 0.48, 0.16))
    k.box(0, 0, 1.4, 0.3, 0.48, 0.5, "wood", wood)
    k.box(0, 0, 1.9, 0.34, 0.54, 0.06, "wood", wood)
    k.ball(0.15, 0, 1.65, 0.02, 0.18, 0.18, "clock", (0.85, 0.82, 0.72))


@kind("vase", "on top")
def _vase(k: Kit) -> None:
    color = k.named("blue", "white", "red", "teal", "yellow")
    k.ball(0, 0, 0.1, 0.075, 0.075, 0.1, "gloss", color)
    k.tube(0, 0, 0.17, 0.035, 0.08, "gloss", color)
    for i in range(5):
        a = i * 1.256
        flower = k.color("red", "pink", "yellow", "white", "purple", "orange")
        k.ball(0.06 * math.cos(a), 0.06 * math.sin(a), 0.3, 0.03, 0.03, 0.05, "leaves", (0.10, 0.32, 0.07))
        k.ball(0.07 * math.cos(a), 0.07 * math.sin(a), 0.36 + 0.01 * i, 0.035, 0.035, 0.03, "fabric", flower)


@kind("rug", "middle", blocks=False)
def _rug(k: Kit) -> None:
    color = k.named("red", "blue", "green", "gray", "beige", "teal", "purple", "orange")
    k.box(0, 0, 0, k.span(1.4, 2.0), k.span(2.0, 2.8), 0.012, "rug", color)


@kind("round rug", "middle", blocks=False)
def _round_rug(k: Kit) -> None:
    color = k.named("red", "blue", "yellow", "gray", "pink", "teal")
    radius = k.span(0.7, 1.0)
    k.tube(0, 0, 0, radius, 0.01, "carpet", color)
    k.tube(0, 0, 0.01, radius * 0.78, 0.003, "carpet", WHITE)
    k.tube(0, 0, 0.013, radius * 0.68, 0.003, "carpet", color)


@kind("bath mat", "middle", blocks=False)
def _bath_mat(k: Kit) -> None:
    k.box(0, 0, 0, 0.5, 0.8, 0.015, "carpet", k.named("blue", "green", "gray", "pink", "teal", "yellow"))


@kind("runner", "middle", blocks=False)
def _runner(k: Kit) -> None:
    color = k.named("red", "blue", "green", "beige", "gray")
    k.box(0, 0, 0, 0.75, k.span(2.0, 3.2), 0.012, "rug", color)


@kind("door mat", "fixed", blocks=False)
def _door_mat(k: Kit) -> None:
    k.box(0, 0, 0, 0.45, 0.75, 0.015, "carpet", (0.20, 0.15, 0.10))


def curtains(k: Kit, width_m: float, drop_m: float) -> None:
    """Two curtains on a rod over a window of the given width; z = 0 is their lower hem."""
    color = k.named("red", "blue", "green", "white", "beige", "gray", "yellow", "teal", "orange")
    k.tube(0, width_m / 2 + 0.2, drop_m, 0.03, 0.05, "metal", DARK)
    k.tube(0, -width_m / 2 - 0.2, drop_m, 0.03, 0.05, "metal", DARK)
    k.box(0, 0, drop_m + 0.012, 0.024, width_m + 0.4, 0.024, "metal", DARK)
    for side in (-1, 1):
        for i in range(5):
            y = side * (width_m / 2 + 0.14 - 0.058 * i)
            k.tube(0, y, 0, 0.034, drop_m + 0.01, "fabric", color)


@kind("curtains", "fixed", blocks=False)
def _curtains(k: Kit) -> None:
    curtains(k, 1.4, 1.7)


@kind("door", "fixed")
def _door(k: Kit) -> None:
    """An open door leaf; its hinge is at the −x end."""
    word = k.name("white", "white", "brown")
    color = (0.80, 0.79, 0.76) if word == "white" else k.wood()
    material = "gloss" if word == "white" else "wood"
    wide, tall = DOOR_WIDTH_M - 0.06, DOOR_HEIGHT_M - 0.05
    k.box(0, 0, 0.01, wide, 0.036, tall, material, color)
    for z, h in ((0.2, 0.75), (1.1, 0.75)):
        k.box(0, both(0.019), z, wide - 0.26, 0.006, h, material, tint(color, 0.9))
    k.ball(wide / 2 - 0.07, both(0.05), 1.0, 0.028, 0.025, 0.028, "metal", (0.5, 0.4, 0.18))


@kind("front door", "fixed")
def _front_door(k: Kit) -> None:
    """A closed door in an outer wall, seen from inside (+x)."""
    color = k.named("red", "blue", "green", "brown", "black", "yellow")
    wide, tall = DOOR_WIDTH_M - 0.04, DOOR_HEIGHT_M - 0.02
    k.box(0, 0, 0, 0.05, wide, tall, "gloss", color)
    for z, h in ((0.15, 0.6), (0.85, 0.45)):
        k.box(0.027, both(0.2), z, 0.012, 0.3, h, "gloss", tint(color, 0.75))
    k.box(0.027, 0, 1.45, 0.012, 0.62, 0.4, "glass", (0.62, 0.74, 0.80))
    k.box(0.032, (-0.1, 0.1), 1.45, 0.012, 0.025, 0.4, "gloss", color)
    k.ball(0.07, wide / 2 - 0.09, 1.0, 0.03, 0.03, 0.03, "metal", (0.6, 0.45, 0.15))
