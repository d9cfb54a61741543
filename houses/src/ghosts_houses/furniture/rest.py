"""Furniture of bedrooms, living rooms and nurseries."""

from __future__ import annotations

from ghosts_houses.furniture.kit import DARK, PALETTE, SOFT, STEEL, WHITE, Kit, both, kind, tint
from ghosts_houses.plan.rooms import pick


@kind("bed", "wall", clear_m=0.6)
def _bed(k: Kit) -> None:
    cloth = k.named("red", "blue", "green", "gray", "purple", "yellow", "white", "teal", "pink")
    wide, wood = k.span(1.4, 1.8), k.wood()
    k.box(-1.02, 0, 0, 0.06, wide + 0.1, k.span(0.9, 1.15), "wood", wood)
    k.box(0, 0, 0.1, 2.0, wide + 0.04, 0.2, "wood", wood)
    k.box(0.99, 0, 0, 0.05, wide + 0.06, 0.42, "wood", wood)
    k.legs(1.9, wide, 0.12, 0.08, "wood", wood)
    k.box(0, 0, 0.3, 1.94, wide, 0.2, "fabric", WHITE)
    k.box(0.25, 0, 0.49, 1.46, wide + 0.06, 0.05, "fabric", cloth)
    k.box(0.25, wide / 2 + 0.025, 0.26, 1.46, 0.03, 0.25, "fabric", cloth)
    k.box(0.25, -wide / 2 - 0.025, 0.26, 1.46, 0.03, 0.25, "fabric", cloth)
    k.box(-0.42, 0, 0.51, 0.24, wide + 0.07, 0.05, "fabric", tint(cloth, 0.55, 0.35))
    for side in (-1, 1):
        k.ball(-0.76, side * wide / 4, 0.56, 0.2, wide / 4 - 0.05, 0.1, "fabric", WHITE)
        k.ball(-0.62, side * wide / 5, 0.6, 0.12, 0.24, 0.13, "fabric", cloth)


@kind("single bed", "corner", clear_m=0.4)
def _single_bed(k: Kit) -> None:
    cloth, wood = k.named("red", "blue", "green", "yellow", "orange"), k.wood()
    k.box(-0.98, 0, 0, 0.05, 0.98, 0.8, "wood", wood)
    k.box(0.98, 0, 0, 0.05, 0.98, 0.45, "wood", wood)
    k.box(0, 0, 0.14, 1.92, 0.94, 0.18, "wood", wood)
    k.box(0, 0, 0.32, 1.9, 0.9, 0.16, "fabric", WHITE)
    k.box(0.25, 0, 0.34, 1.42, 0.96, 0.17, "check", cloth)
    k.ball(-0.7, 0, 0.53, 0.18, 0.32, 0.09, "fabric", WHITE)


@kind("crib", "wall")
def _crib(k: Kit) -> None:
    color = k.painted("white", "brown")
    for x in (-0.32, 0.32):
        k.box(x, 0, 0.9, 0.04, 1.2, 0.05, "wood", color)
        k.box(x, 0, 0.2, 0.04, 1.2, 0.05, "wood", color)
        for i in range(9):
            k.tube(x, -0.54 + 0.135 * i, 0.22, 0.011, 0.7, "wood", color)
    k.box(0, (-0.6, 0.6), 0, 0.68, 0.05, 1.0, "wood", color)
    k.box(0, 0, 0.3, 0.58, 1.14, 0.12, "fabric", (0.7, 0.78, 0.82))
    k.ball(0, -0.42, 0.46, 0.16, 0.12, 0.06, "fabric", WHITE)


@kind("nightstand", "beside", clear_m=0.0)
def _nightstand(k: Kit) -> None:
    wood = k.wood()
    k.box(0, 0, 0.08, 0.4, 0.45, 0.44, "wood", wood)
    k.legs(0.4, 0.45, 0.1, 0.035, "wood", wood)
    for z in (0.14, 0.34):
        k.box(0.205, 0, z, 0.015, 0.4, 0.16, "wood", wood)
        k.ball(0.225, 0, z + 0.08, 0.014, 0.014, 0.014, "metal", STEEL)
    k.box(0, 0, 0.52, 0.43, 0.48, 0.025, "wood", wood)


def _doors_and_knobs(
    k: Kit, x: float, wide: float, low: float, high: float, count: int, wood: tuple[float, float, float]
) -> None:
    each = wide / count
    for i in range(count):
        y = -wide / 2 + each * (i + 0.5)
        k.box(x, y, low, 0.02, each - 0.025, high - low, "wood", wood)
        side = 1 if i % 2 == 0 else -1
        k.tube(x + 0.03, y + side * (each / 2 - 0.07), (low + high) / 2 - 0.08, 0.012, 0.16, "metal", STEEL)


@kind("wardrobe", "wall", clear_m=0.6)
def _wardrobe(k: Kit) -> None:
    color = k.painted("white", "brown", "gray")
    wide = k.span(1.1, 1.9)
    k.box(0, 0, 0.0, 0.56, wide, 0.08, "matte", DARK)
    k.box(0, 0, 0.08, 0.58, wide, 2.0, "wood", color)
    k.box(0, 0, 2.08, 0.62, wide + 0.06, 0.05, "wood", color)
    _doors_and_knobs(k, 0.295, wide, 0.12, 2.04, 2 if wide < 1.5 else 3, color)


@kind("dresser", "wall")
def _dresser(k: Kit) -> None:
    word = k.name("white", "brown", "blue", "green")
    tone = k.wood() if word == "brown" else tint(PALETTE[word], 0.6, 0.25)
    wide = k.span(1.0, 1.4)
    k.box(0, 0, 0.1, 0.46, wide, 0.74, "wood", tone)
    k.legs(0.46, wide, 0.12, 0.05, "wood", tone)
    k.box(0, 0, 0.84, 0.5, wide + 0.04, 0.03, "wood", tone)
    for row in range(3):
        for side in (-1, 1):
            k.box(0.235, side * wide / 4, 0.15 + row * 0.23, 0.02, wide / 2 - 0.05, 0.2, "wood", tone)
            k.ball(0.255, side * wide / 4, 0.25 + row * 0.23, 0.016, 0.016, 0.016, "metal", (0.5, 0.38, 0.14))


@kind("sofa", "wall", clear_m=0.8)
def _sofa(k: Kit) -> None:
    word = k.name(*SOFT)
    cloth = PALETTE[word]
    material = "leather" if word in ("brown", "beige") else "fabric"
    wide = k.span(1.8, 2.3)
    k.box(0, 0, 0.1, 0.86, wide, 0.22, material, cloth)
    k.box(-0.35, 0, 0.3, 0.2, wide, 0.52, material, cloth)
    k.box(0.02, both(wide / 2 - 0.1), 0.1, 0.88, 0.2, 0.5, material, cloth)
    seats = 2 if wide < 2.0 else 3
    each = (wide - 0.42) / seats
    for i in range(seats):
        y = -wide / 2 + 0.21 + each * (i + 0.5)
        k.box(0.08, y, 0.31, 0.68, each - 0.02, 0.15, material, cloth)
        k.box(-0.22, y, 0.44, 0.14, each - 0.03, 0.36, material, cloth)
    accent = k.color("yellow", "white", "orange", "teal", "pink")
    k.ball(-0.08, both(wide / 2 - 0.36), 0.58, 0.09, 0.2, 0.19, "fabric", accent)
    k.legs(0.84, wide, 0.1, 0.05, "wood", DARK)


@kind("armchair", "corner", clear_m=0.4)
def _armchair(k: Kit) -> None:
    cloth = k.named(*SOFT)
    k.box(0, 0, 0.12, 0.78, 0.82, 0.2, "fabric", cloth)
    k.box(-0.32, 0, 0.3, 0.16, 0.82, 0.62, "fabric", cloth)
    k.box(0.02, both(0.34), 0.12, 0.78, 0.15, 0.48, "fabric", cloth)
    k.box(0.06, 0, 0.31, 0.64, 0.52, 0.15, "fabric", cloth)
    k.ball(-0.16, 0, 0.58, 0.08, 0.2, 0.18, "fabric", k.color("white", "yellow", "orange", "gray"))
    k.legs(0.74, 0.8, 0.12, 0.05, "wood", DARK)


@kind("ottoman", "middle", clear_m=0.0)
def _ottoman(k: Kit) -> None:
    color = k.named(*SOFT)
    k.tube(0, 0, 0.05, 0.3, 0.32, "fabric", color)
    k.ball(0, 0, 0.37, 0.3, 0.3, 0.06, "fabric", color)
    k.tube(0, 0, 0, 0.24, 0.06, "wood", DARK)


@kind("coffee table", "front", clear_m=0.0)
def _coffee_table(k: Kit) -> None:
    wood = k.wood()
    wide = k.span(0.9, 1.2)
    if k.rng.random() < 0.4:
        k.tube(0, 0, 0.38, 0.45, 0.035, "wood", wood)
        for dx, dy in ((0.28, 0.28), (-0.28, 0.28), (0.28, -0.28), (-0.28, -0.28)):
            k.tube(dx, dy, 0, 0.02, 0.38, "metal", DARK)
    else:
        k.box(0, 0, 0.38, 0.58, wide, 0.04, "wood", wood)
        k.box(0, 0, 0.12, 0.5, wide - 0.1, 0.02, "wood", wood)
        k.legs(0.58, wide, 0.38, 0.05, "wood", wood)
    k.box(0.05, 0.15, 0.415, 0.2, 0.26, 0.03, "matte", k.color("red", "blue", "white", "teal"))
    k.box(0.04, 0.16, 0.445, 0.18, 0.22, 0.025, "matte", k.color("yellow", "green", "gray"))
    k.tube(0.0, -0.2, 0.415, 0.04, 0.09, "gloss", k.color("white", "blue", "orange"))


@kind("side table", "beside", clear_m=0.0)
def _side_table(k: Kit) -> None:
    wood = k.wood()
    k.tube(0, 0, 0.52, 0.24, 0.03, "wood", wood)
    k.tube(0, 0, 0.02, 0.03, 0.5, "wood", wood)
    k.tube(0, 0, 0, 0.16, 0.025, "wood", wood)


@kind("tv stand", "wall", clear_m=0.6)
def _tv_stand(k: Kit) -> None:
    wood = k.wood()
    wide = k.span(1.3, 1.8)
    k.box(0, 0, 0.06, 0.42, wide, 0.4, "wood", wood)
    k.box(0, 0, 0, 0.36, wide - 0.1, 0.06, "matte", DARK)
    for side in (-1, 1):
        k.box(0.212, side * wide / 3, 0.09, 0.012, wide / 3 - 0.04, 0.34, "wood", wood)
        k.ball(0.225, side * (wide / 6 + 0.06), 0.28, 0.015, 0.015, 0.015, "metal", STEEL)
    k.box(0.2, 0, 0.12, 0.03, wide / 3 - 0.06, 0.12, "matte", DARK)
    k.box(0.2, 0, 0.28, 0.03, wide / 3 - 0.06, 0.07, "gloss", (0.06, 0.06, 0.07))


@kind("television", "on top")
def _television(k: Kit) -> None:
    wide = k.span(1.0, 1.35)
    tall = round(wide * 0.57, 2)
    k.box(0, 0, 0, 0.22, 0.4, 0.015, "gloss", DARK)
    k.box(0, 0, 0.01, 0.04, 0.1, 0.08, "gloss", DARK)
    k.box(0, 0, 0.07, 0.05, wide, tall, "gloss", DARK)
    shown = "picture" if k.rng.random() < 0.5 else "gloss"
    k.box(0.026, 0, 0.09, 0.008, wide - 0.05, tall - 0.05, shown, (0.02, 0.022, 0.028))


@kind("fireplace", "wall", clear_m=0.8)
def _fireplace(k: Kit) -> None:
    bodies = ("", "brick", (0.45, 0.2, 0.13)), ("white", "marble", WHITE), ("", "brick", (0.42, 0.41, 0.39))
    k.said, material, color = pick(k.rng, bodies)
    k.box(0, both(0.6), 0, 0.42, 0.34, 1.1, material, color)
    k.box(0, 0, 0.78, 0.42, 0.9, 0.32, material, color)
    k.box(-0.17, 0, 0, 0.06, 0.9, 0.8, "matte", (0.015, 0.013, 0.012))
    k.box(0.05, 0, 0, 0.44, 0.88, 0.05, "brick", (0.2, 0.19, 0.18))
    k.box(0.02, 0, 1.1, 0.54, 1.7, 0.07, "wood", k.wood())
    k.box(-0.1, 0, 1.17, 0.3, 1.1, k.ceiling_m - 1.2, material, color)
    k.box(-0.08, 0, 0.06, 0.1, 0.6, 0.42, "fire", (1.0, 0.5, 0.1))
    for y in (-0.12, 0.02, 0.15):
        k.box(0.02, y, 0.05, 0.3, 0.08, 0.08, "wood", (0.16, 0.08, 0.04), 0.3 * y)


@kind("bookshelf", "wall")
def _bookshelf(k: Kit) -> None:
    color = k.painted("white", "brown", "brown", "black")
    wide, tall = k.span(0.8, 1.4), k.span(1.8, 2.15)
    k.box(-0.15, 0, 0, 0.02, wide, tall, "wood", color)
    k.box(0, both(wide / 2 - 0.012), 0, 0.32, 0.025, tall, "wood", color)
    rows = 5
    for row in range(rows + 1):
        z = 0.04 + row * (tall - 0.07) / rows
        k.box(0, 0, z, 0.32, wide, 0.025, "wood", color)
        if row == rows:
            break
        gap, y = (tall - 0.07) / rows - 0.03, -wide / 2 + 0.03
        while y < wide / 2 - 0.12:
            run = min(float(k.rng.uniform(0.16, 0.42)), wide / 2 - 0.03 - y)
            roll = k.rng.random()
            if roll < 0.78:
                k.box(0.01, y + run / 2, z + 0.025, 0.22, run, gap * float(k.rng.uniform(0.66, 0.92)), "books", WHITE)
            elif roll < 0.9:
                k.ball(0.03, y + run / 2, z + 0.1, 0.06, 0.06, 0.075, "gloss", k.color(*SOFT))
            y += run + float(k.rng.uniform(0.01, 0.05))


@kind("piano", "wall", clear_m=0.3)
def _piano(k: Kit) -> None:
    word = k.name("black", "black", "brown")
    color = DARK if word == "black" else (0.24, 0.1, 0.045)
    k.box(-0.16, 0, 0, 0.32, 1.48, 1.2, "gloss", color)
    k.box(-0.14, 0, 1.2, 0.38, 1.52, 0.03, "gloss", color)
    k.box(0.14, 0, 0.62, 0.36, 1.48, 0.1, "gloss", color)
    k.box(0.16, 0, 0.72, 0.22, 1.32, 0.025, "keys", (0.85, 0.84, 0.8))
    k.box(0.14, both(0.71), 0.0, 0.36, 0.06, 0.8, "gloss", color)
    k.box(0.01, 0, 0.88, 0.03, 0.7, 0.24, "gloss", color)
    k.box(0.03, 0.0, 0.9, 0.01, 0.4, 0.26, "paint", (0.8, 0.79, 0.72))
    k.box(0.03, (-0.07, 0.0, 0.07), 0.06, 0.12, 0.03, 0.015, "metal", (0.6, 0.45, 0.15))
    k.box(0.68, 0, 0.42, 0.34, 0.72, 0.08, "leather", DARK)
    k.box(0.68, 0.3, 0, 0.3, 0.05, 0.42, "gloss", color)
    k.box(0.68, -0.3, 0, 0.3, 0.05, 0.42, "gloss", color)


@kind("aquarium", "wall")
def _aquarium(k: Kit) -> None:
    k.box(0, 0, 0, 0.42, 1.0, 0.72, "wood", k.wood())
    k.box(0, 0, 0.72, 0.4, 0.98, 0.06, "carpet", (0.62, 0.5, 0.3))
    k.box(0, 0, 0.78, 0.4, 0.98, 0.42, "water", (0.10, 0.42, 0.72))
    k.box(0, 0, 1.2, 0.43, 1.02, 0.06, "gloss", DARK)


@kind("toy box", "wall", clear_m=0.3)
def _toy_box(k: Kit) -> None:
    color = k.named("red", "blue", "yellow", "green")
    k.box(0, 0, 0, 0.42, 0.75, 0.36, "wood", color)
    k.box(0, 0, 0.36, 0.44, 0.77, 0.03, "wood", WHITE)
    for i, other in enumerate(("yellow", "blue", "red")):
        k.ball(0.0, -0.2 + 0.2 * i, 0.45, 0.07, 0.07, 0.07, "gloss", PALETTE[other])


@kind("teddy bear", "corner", clear_m=0.1)
def _teddy(k: Kit) -> None:
    fur = (0.42, 0.23, 0.09)
    k.ball(0, 0, 0.2, 0.15, 0.16, 0.2, "carpet", fur)
    k.ball(0.02, 0, 0.5, 0.13, 0.14, 0.13, "carpet", fur)
    k.ball(0.13, 0, 0.47, 0.06, 0.07, 0.05, "carpet", (0.6, 0.42, 0.22))
    for side in (-1, 1):
        k.ball(0, side * 0.11, 0.62, 0.04, 0.05, 0.05, "carpet", fur)
        k.ball(0.14, side * 0.12, 0.08, 0.13, 0.07, 0.07, "carpet", fur)
        k.ball(0.06, side * 0.19, 0.27, 0.07, 0.06, 0.12, "carpet", fur)
        k.ball(0.135, side * 0.05, 0.54, 0.015, 0.015, 0.015, "gloss", DARK)
