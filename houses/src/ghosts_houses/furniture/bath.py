"""Furniture of bathrooms, laundries and pantries."""

from __future__ import annotations

from ghosts_houses.furniture.kit import DARK, STEEL, WHITE, Kit, both, kind


@kind("toilet", "wall")
def _toilet(k: Kit) -> None:
    k.box(-0.26, 0, 0.36, 0.18, 0.42, 0.4, "gloss", WHITE)
    k.box(-0.26, 0, 0.76, 0.2, 0.45, 0.03, "gloss", WHITE)
    k.tube(0.05, 0, 0.0, 0.2, 0.3, "gloss", WHITE, 0.13)
    k.tube(0.05, 0, 0.26, 0.27, 0.12, "gloss", WHITE, 0.19)
    k.tube(0.05, 0, 0.38, 0.275, 0.025, "gloss", (0.74, 0.74, 0.73), 0.195)
    k.tube(0.07, 0, 0.405, 0.18, 0.003, "gloss", (0.30, 0.36, 0.40), 0.115)
    k.box(-0.19, 0, 0.4, 0.03, 0.36, 0.36, "gloss", (0.78, 0.78, 0.77))
    k.box(-0.26, 0, 0.79, 0.06, 0.06, 0.012, "metal", STEEL)


@kind("bathtub", "corner", clear_m=0.4)
def _bathtub(k: Kit) -> None:
    for side in (-1, 1):
        k.box(0, side * 0.36, 0, 1.66, 0.06, 0.56, "gloss", WHITE)
        k.box(side * 0.8, 0, 0, 0.07, 0.76, 0.56, "gloss", WHITE)
    k.box(0, 0, 0, 1.6, 0.7, 0.2, "gloss", WHITE)
    k.box(0, 0, 0.2, 1.54, 0.66, 0.22, "glass", (0.42, 0.66, 0.72))
    for side in (-1, 1):
        k.box(0, side * 0.36, 0.55, 1.72, 0.1, 0.03, "gloss", WHITE)
        k.box(side * 0.81, 0, 0.55, 0.1, 0.8, 0.03, "gloss", WHITE)
    k.tube(-0.78, 0, 0.58, 0.018, 0.16, "metal", STEEL)
    k.box(-0.7, 0, 0.72, 0.18, 0.03, 0.03, "metal", STEEL)


@kind("shower", "corner", clear_m=0.5)
def _shower(k: Kit) -> None:
    k.box(0, 0, 0, 0.9, 0.9, 0.08, "gloss", WHITE)
    k.box(0.44, (0.44, -0.44), 0.08, 0.03, 0.03, 1.95, "metal", STEEL)
    k.box(0.44, 0, 2.0, 0.03, 0.9, 0.03, "metal", STEEL)
    k.box(0, -0.44, 2.0, 0.9, 0.03, 0.03, "metal", STEEL)
    k.box(0, -0.445, 0.08, 0.88, 0.012, 1.92, "glass", (0.55, 0.70, 0.74))
    k.box(0.445, -0.22, 0.08, 0.012, 0.44, 1.92, "glass", (0.55, 0.70, 0.74))
    k.tube(-0.4, 0, 0.9, 0.014, 1.15, "metal", STEEL)
    k.box(-0.28, 0, 2.03, 0.28, 0.03, 0.03, "metal", STEEL)
    k.tube(-0.16, 0, 1.98, 0.1, 0.03, "metal", STEEL)
    k.ball(-0.4, 0, 1.05, 0.05, 0.05, 0.05, "metal", STEEL)


@kind("sink", "wall", clear_m=0.6)
def _sink(k: Kit) -> None:
    wood = k.wood()
    wide = k.span(0.7, 1.1)
    k.box(-0.02, 0, 0.1, 0.44, wide, 0.68, "wood", wood)
    k.box(-0.04, 0, 0, 0.38, wide - 0.06, 0.1, "matte", DARK)
    for side in (-1, 1):
        k.box(0.205, side * wide / 4, 0.14, 0.015, wide / 2 - 0.03, 0.6, "wood", wood)
        k.box(0.22, side * 0.06, 0.5, 0.014, 0.014, 0.14, "metal", STEEL)
    k.box(0, 0, 0.78, 0.5, wide + 0.04, 0.05, "marble", WHITE)
    k.tube(0.03, 0, 0.83, 0.17, 0.06, "gloss", WHITE, 0.23)
    k.tube(0.03, 0, 0.88, 0.145, 0.012, "gloss", (0.44, 0.50, 0.54), 0.2)
    k.tube(-0.18, 0, 0.83, 0.018, 0.2, "metal", STEEL)
    k.box(-0.11, 0, 1.02, 0.16, 0.028, 0.028, "metal", STEEL)
    k.tube(-0.1, wide / 2 - 0.1, 0.83, 0.03, 0.13, "gloss", k.color("teal", "white", "pink"))


@kind("towel rack", "on wall", blocks=False, height_m=0.9)
def _towel_rack(k: Kit) -> None:
    color = k.named("white", "blue", "red", "green", "yellow", "pink")
    k.box(0.06, 0, 0.5, 0.025, 0.6, 0.025, "metal", STEEL)
    k.box(0.03, both(0.28), 0.49, 0.06, 0.03, 0.04, "metal", STEEL)
    k.box(0.075, -0.05, 0.02, 0.03, 0.36, 0.52, "fabric", color)
    k.box(0.078, -0.05, 0.12, 0.032, 0.362, 0.04, "fabric", WHITE)


@kind("laundry basket", "corner", clear_m=0.1)
def _laundry_basket(k: Kit) -> None:
    k.tube(0, 0, 0, 0.22, 0.5, "wicker", (0.50, 0.34, 0.17))
    k.tube(0, 0, 0.49, 0.235, 0.03, "wicker", (0.42, 0.27, 0.13))
    k.ball(0.02, 0.03, 0.52, 0.16, 0.15, 0.08, "fabric", k.color("white", "blue", "red"))
    k.ball(-0.06, -0.06, 0.54, 0.1, 0.1, 0.07, "fabric", k.color("yellow", "gray", "teal"))


@kind("washing machine", "wall", clear_m=0.7)
def _washer(k: Kit) -> None:
    k.box(0, 0, 0, 0.58, 0.6, 0.85, "gloss", WHITE)
    k.ball(0.285, 0, 0.42, 0.03, 0.23, 0.23, "metal", STEEL)
    k.ball(0.305, 0, 0.42, 0.03, 0.18, 0.18, "gloss", (0.05, 0.07, 0.1))
    k.box(0.292, 0, 0.72, 0.01, 0.58, 0.11, "gloss", (0.55, 0.57, 0.6))
    k.ball(0.3, 0.2, 0.775, 0.02, 0.035, 0.035, "metal", STEEL)
    k.box(0.298, -0.16, 0.745, 0.006, 0.18, 0.06, "gloss", DARK)


@kind("dryer", "wall", clear_m=0.7)
def _dryer(k: Kit) -> None:
    k.box(0, 0, 0, 0.58, 0.6, 0.85, "gloss", (0.62, 0.63, 0.65))
    k.box(0.292, 0, 0.16, 0.012, 0.44, 0.46, "gloss", (0.5, 0.51, 0.53))
    k.box(0.3, 0.0, 0.24, 0.008, 0.3, 0.3, "gloss", (0.06, 0.06, 0.07))
    k.box(0.292, 0, 0.72, 0.01, 0.58, 0.11, "gloss", DARK)
    k.ball(0.3, -0.2, 0.775, 0.02, 0.035, 0.035, "metal", STEEL)


@kind("ironing board", "wall", clear_m=0.3)
def _ironing_board(k: Kit) -> None:
    color = k.named("blue", "green", "red", "gray")
    k.box(0, -0.1, 0.84, 0.34, 1.0, 0.03, "check", color)
    k.tube(0, 0.4, 0.84, 0.17, 0.03, "check", color)
    for y in (-0.35, 0.2):
        k.tube((-0.12, 0.12), y, 0.0, 0.014, 0.84, "metal", STEEL)
    k.box(0, -0.45, 0.87, 0.11, 0.22, 0.05, "metal", STEEL)
    k.box(0, -0.45, 0.92, 0.06, 0.16, 0.06, "gloss", k.color("blue", "red", "teal"))


@kind("pantry shelf", "wall")
def _pantry_shelf(k: Kit) -> None:
    wood = k.wood()
    wide = k.span(0.9, 1.3)
    k.box(0, both(wide / 2 - 0.015), 0, 0.34, 0.03, 2.0, "wood", wood)
    for row in range(5):
        z = 0.08 + row * 0.44
        k.box(0, 0, z, 0.34, wide, 0.025, "wood", wood)
        y = -wide / 2 + 0.1
        while row < 4 and y < wide / 2 - 0.08:
            color = k.color("red", "yellow", "green", "orange", "blue", "white", "beige", "brown")
            tall = k.span(0.12, 0.3)
            if k.rng.random() < 0.5:
                k.tube(0.02, y, z + 0.025, 0.055, tall * 0.8, "gloss", color)
            else:
                k.box(0.02, y, z + 0.025, 0.16, 0.1, tall, "matte", color)
            y += 0.14
