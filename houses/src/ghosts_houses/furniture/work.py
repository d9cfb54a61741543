"""Furniture of offices, gyms, music rooms, closets and entryways."""

from __future__ import annotations

import math

from ghosts_houses.furniture.kit import DARK, PALETTE, STEEL, WHITE, Kit, both, kind, tint


@kind("desk", "wall", clear_m=0.8)
def _desk(k: Kit) -> None:
    wood = k.wood()
    wide = k.span(1.3, 1.6)
    k.box(0, 0, 0.71, 0.68, wide, 0.035, "wood", wood)
    k.box(0, wide / 2 - 0.22, 0.02, 0.6, 0.4, 0.69, "wood", wood)
    for row in range(3):
        k.box(0.305, wide / 2 - 0.22, 0.06 + row * 0.22, 0.015, 0.36, 0.2, "wood", wood)
        k.box(0.32, wide / 2 - 0.22, 0.16 + row * 0.22, 0.014, 0.12, 0.014, "metal", STEEL)
    k.box((-0.3, 0.3), -wide / 2 + 0.04, 0, 0.05, 0.05, 0.71, "metal", DARK)
    k.tube(-0.16, -0.08, 0.745, 0.1, 0.015, "gloss", DARK)
    k.box(-0.18, -0.08, 0.76, 0.03, 0.05, 0.14, "gloss", DARK)
    k.box(-0.16, -0.08, 0.85, 0.03, 0.62, 0.37, "gloss", DARK)
    k.box(-0.143, -0.08, 0.87, 0.006, 0.59, 0.33, "screen", WHITE)
    k.box(0.12, -0.08, 0.745, 0.14, 0.42, 0.018, "gloss", (0.12, 0.12, 0.13))
    k.ball(0.14, 0.22, 0.755, 0.05, 0.03, 0.018, "gloss", (0.12, 0.12, 0.13))
    k.box(0.02, wide / 2 - 0.2, 0.745, 0.22, 0.3, 0.06, "books", WHITE)
    k.tube(-0.2, wide / 2 - 0.45, 0.745, 0.04, 0.1, "gloss", k.color("red", "blue", "yellow"))


@kind("office chair", "front", clear_m=0.0)
def _office_chair(k: Kit) -> None:
    cloth = k.named("black", "gray", "red", "blue")
    k.box(0, 0, 0.44, 0.48, 0.48, 0.08, "fabric", cloth)
    k.box(-0.22, 0, 0.58, 0.07, 0.44, 0.52, "fabric", cloth)
    k.box(-0.23, 0, 0.46, 0.04, 0.08, 0.2, "metal", DARK)
    k.tube(0, 0, 0.08, 0.03, 0.36, "metal", STEEL)
    for i in range(5):
        a = i * 2 * math.pi / 5
        k.box(0.14 * math.cos(a), 0.14 * math.sin(a), 0.06, 0.28, 0.04, 0.03, "gloss", DARK, a)
        k.ball(0.27 * math.cos(a), 0.27 * math.sin(a), 0.03, 0.03, 0.03, 0.03, "gloss", DARK)
    for side in (-1, 1):
        k.box(0.0, side * 0.26, 0.62, 0.26, 0.05, 0.03, "gloss", DARK)
        k.box(0.0, side * 0.26, 0.46, 0.04, 0.03, 0.17, "gloss", DARK)


@kind("filing cabinet", "wall")
def _filing_cabinet(k: Kit) -> None:
    tone = tint(k.named("gray", "white", "green"), 0.75, 0.15)
    k.box(0, 0, 0, 0.5, 0.45, 1.25, "metal", tone)
    for row in range(4):
        k.box(0.255, 0, 0.03 + row * 0.305, 0.015, 0.41, 0.285, "metal", tone)
        k.box(0.272, 0, 0.2 + row * 0.305, 0.018, 0.14, 0.02, "metal", DARK)
        k.box(0.266, 0, 0.24 + row * 0.305, 0.006, 0.09, 0.04, "paint", WHITE)


@kind("globe", "corner", clear_m=0.2)
def _globe(k: Kit) -> None:
    wood = k.wood()
    k.tube(0, 0, 0, 0.2, 0.03, "wood", wood)
    k.tube(0, 0, 0.03, 0.03, 0.5, "wood", wood)
    k.tube(0, 0, 0.72, 0.3, 0.03, "wood", wood)
    for dx, dy in ((0.26, 0), (-0.26, 0), (0, 0.26), (0, -0.26)):
        k.tube(dx, dy, 0.1, 0.018, 0.62, "wood", wood)
    k.ball(0, 0, 0.77, 0.25, 0.25, 0.25, "globe", (0.06, 0.22, 0.48))


@kind("printer", "wall")
def _printer(k: Kit) -> None:
    k.box(0, 0, 0, 0.46, 0.5, 0.55, "wood", k.wood())
    k.box(0, 0, 0.55, 0.4, 0.46, 0.2, "gloss", (0.2, 0.2, 0.21))
    k.box(0.03, 0, 0.75, 0.3, 0.4, 0.05, "gloss", (0.3, 0.3, 0.31))
    k.box(0.2, 0, 0.6, 0.16, 0.3, 0.01, "paint", WHITE)
    k.box(-0.12, 0, 0.78, 0.02, 0.26, 0.16, "paint", WHITE)


@kind("whiteboard", "on wall", blocks=False, height_m=1.0)
def _whiteboard(k: Kit) -> None:
    k.box(0, 0, 0, 0.03, 1.3, 0.85, "metal", STEEL)
    k.box(0.016, 0, 0.03, 0.006, 1.22, 0.79, "gloss", (0.86, 0.87, 0.88))
    for i, word in enumerate(("blue", "red", "green")):
        k.box(0.02, -0.2 + 0.05 * i, 0.6 - 0.16 * i, 0.003, 0.55 - 0.1 * i, 0.025, "matte", PALETTE[word])
    k.box(0.04, 0, 0, 0.08, 0.5, 0.015, "metal", STEEL)


@kind("treadmill", "wall", clear_m=0.5)
def _treadmill(k: Kit) -> None:
    k.legs(1.5, 0.7, 0.06, 0.08, "gloss", DARK)
    k.box(0, 0, 0.06, 1.6, 0.76, 0.1, "gloss", (0.09, 0.09, 0.1))
    k.box(0.12, 0, 0.16, 1.34, 0.48, 0.012, "rubber", (0.03, 0.03, 0.03))
    for side in (-1, 1):
        k.box(0.1, side * 0.31, 0.155, 1.36, 0.12, 0.02, "metal", STEEL)
        k.tube(-0.68, side * 0.34, 0.14, 0.035, 1.1, "metal", STEEL)
        k.box(-0.46, side * 0.34, 1.0, 0.46, 0.05, 0.05, "gloss", DARK)
    k.box(-0.72, 0, 1.16, 0.1, 0.74, 0.26, "gloss", DARK)
    k.box(-0.665, 0, 1.22, 0.012, 0.34, 0.16, "screen", WHITE)
    k.box(-0.7, 0, 0.1, 0.26, 0.7, 0.14, "gloss", (0.5, 0.06, 0.05))


@kind("exercise bike", "corner", clear_m=0.3)
def _exercise_bike(k: Kit) -> None:
    color = k.named("red", "black", "white")
    k.box((-0.42, 0.42), 0, 0, 0.08, 0.5, 0.06, "gloss", DARK)
    k.box(0, 0, 0.05, 0.86, 0.08, 0.06, "metal", STEEL)
    k.ball(-0.3, 0, 0.36, 0.28, 0.05, 0.28, "metal", DARK)
    k.ball(-0.3, 0, 0.36, 0.12, 0.07, 0.12, "gloss", color)
    k.box(0.2, 0, 0.08, 0.07, 0.07, 0.72, "gloss", color)
    k.ball(0.22, 0, 0.84, 0.15, 0.11, 0.05, "leather", DARK)
    k.box(-0.3, 0, 0.5, 0.06, 0.06, 0.6, "gloss", color)
    k.box(-0.26, 0, 1.08, 0.1, 0.5, 0.04, "gloss", DARK)
    k.box(-0.32, 0, 1.12, 0.06, 0.22, 0.16, "gloss", DARK)
    k.box(0.0, 0.13, 0.3, 0.12, 0.1, 0.03, "gloss", DARK)
    k.box(0.04, -0.13, 0.48, 0.12, 0.1, 0.03, "gloss", DARK)


@kind("dumbbell rack", "wall", clear_m=0.7)
def _dumbbell_rack(k: Kit) -> None:
    k.box(0, both(0.6), 0, 0.4, 0.06, 0.85, "metal", DARK)
    for row, z in enumerate((0.2, 0.48, 0.76)):
        k.box(0.02 - 0.04 * row, 0, z, 0.3, 1.2, 0.03, "metal", (0.14, 0.14, 0.15))
        color = PALETTE[("black", "blue", "red")[row]] if k.rng.random() < 0.6 else DARK
        for i in range(5):
            y = -0.46 + 0.23 * i
            k.box(0.02 - 0.04 * row, y, z + 0.07, 0.2, 0.03, 0.03, "metal", STEEL)
            for dx in (-0.09, 0.09):
                k.box(dx + 0.02 - 0.04 * row, y, z + 0.03, 0.07, 0.12, 0.11, "gloss", color)


@kind("weight bench", "wall", clear_m=0.4)
def _weight_bench(k: Kit) -> None:
    k.box(0.1, 0, 0.4, 1.1, 0.3, 0.08, "leather", k.color("red", "black", "blue"))
    for x in (-0.4, 0.55):
        k.box(x, 0, 0, 0.06, 0.46, 0.06, "metal", STEEL)
        k.box(x, 0, 0.05, 0.06, 0.06, 0.36, "metal", STEEL)
    for side in (-1, 1):
        k.box(-0.42, side * 0.48, 0, 0.06, 0.06, 1.05, "metal", STEEL)
        k.box(-0.42, side * 0.76, 0.78, 0.44, 0.05, 0.44, "gloss", DARK)
        k.box(-0.42, side * 0.70, 0.84, 0.32, 0.05, 0.32, "gloss", PALETTE["red"])
    k.box(-0.42, 0, 0.985, 0.035, 1.66, 0.035, "metal", STEEL)


@kind("yoga mat", "middle", blocks=False)
def _yoga_mat(k: Kit) -> None:
    k.box(0, 0, 0, 1.75, 0.62, 0.012, "fabric", k.named("purple", "green", "blue", "pink", "teal"))


@kind("exercise ball", "corner", clear_m=0.1)
def _exercise_ball(k: Kit) -> None:
    k.ball(0, 0, 0.32, 0.32, 0.32, 0.32, "gloss", k.named("blue", "red", "purple", "green", "gray"))


@kind("punching bag", "corner", clear_m=0.3)
def _punching_bag(k: Kit) -> None:
    color = k.named("red", "black", "blue")
    k.tube(0, 0, 0, 0.3, 0.1, "gloss", DARK)
    k.tube(0, 0, 0.1, 0.06, 0.3, "metal", STEEL)
    k.tube(0, 0, 0.38, 0.18, 1.25, "leather", color)
    k.ball(0, 0, 1.63, 0.18, 0.18, 0.08, "leather", color)
    k.tube(0, 0, 0.9, 0.183, 0.1, "fabric", WHITE)


@kind("guitar", "corner", clear_m=0.2)
def _guitar(k: Kit) -> None:
    word = k.name("orange", "red", "brown")
    body = {"orange": (0.55, 0.24, 0.05), "red": PALETTE["red"], "brown": (0.24, 0.1, 0.045)}[word]
    k.box(-0.1, 0, 0, 0.2, 0.3, 0.03, "metal", DARK)
    k.tube(-0.12, 0, 0, 0.014, 0.7, "metal", DARK)
    k.ball(0, 0, 0.27, 0.05, 0.19, 0.18, "gloss", body)
    k.ball(0, 0, 0.5, 0.05, 0.15, 0.14, "gloss", body)
    k.ball(0.035, 0, 0.42, 0.025, 0.06, 0.06, "matte", DARK)
    k.box(0.03, 0, 0.42, 0.03, 0.055, 0.66, "wood", (0.1, 0.05, 0.03))
    k.box(0.03, 0, 1.08, 0.03, 0.09, 0.16, "wood", body)


@kind("drum set", "corner", clear_m=0.3)
def _drum_set(k: Kit) -> None:
    shell = k.named("red", "blue", "black", "white")
    k.ball(0.1, 0, 0.3, 0.2, 0.3, 0.3, "gloss", shell)
    k.ball(0.24, 0, 0.3, 0.08, 0.25, 0.25, "gloss", WHITE)
    for y in (-0.2, 0.2):
        k.tube(0.0, y, 0.62, 0.16, 0.22, "gloss", shell)
        k.tube(0.0, y, 0.84, 0.163, 0.012, "gloss", WHITE)
        k.tube(0.0, y, 0.4, 0.012, 0.24, "metal", STEEL)
    k.tube(-0.3, 0.48, 0.32, 0.22, 0.3, "gloss", shell)
    k.tube(-0.3, 0.48, 0.62, 0.223, 0.012, "gloss", WHITE)
    k.tube(-0.3, -0.45, 0.5, 0.18, 0.14, "gloss", shell)
    k.tube(-0.3, -0.45, 0.64, 0.183, 0.012, "gloss", WHITE)
    for x, y, z in ((0.1, -0.55, 1.1), (0.1, 0.55, 1.2)):
        k.tube(x, y, z, 0.22, 0.012, "metal", (0.65, 0.48, 0.14))
        k.tube(x, y, 0, 0.012, z, "metal", STEEL)
    k.tube(-0.3, (0.48, -0.45), 0, 0.02, 0.5, "metal", STEEL)


@kind("music stand", "middle", clear_m=0.2)
def _music_stand(k: Kit) -> None:
    k.tube(0, 0, 0, 0.2, 0.025, "metal", DARK)
    k.tube(0, 0, 0, 0.015, 1.1, "metal", DARK)
    k.box(0.03, 0, 1.0, 0.03, 0.5, 0.34, "gloss", DARK)
    k.box(0.05, 0.0, 1.03, 0.006, 0.4, 0.28, "paint", WHITE)


@kind("clothes rail", "wall", clear_m=0.6)
def _clothes_rail(k: Kit) -> None:
    for side in (-1, 1):
        k.box(0, side * 0.6, 0, 0.4, 0.04, 0.04, "metal", STEEL)
        k.tube(0, side * 0.6, 0, 0.018, 1.65, "metal", STEEL)
    k.box(0, 0, 1.62, 0.03, 1.22, 0.03, "metal", STEEL)
    for i in range(11):
        color = k.color("red", "blue", "white", "black", "green", "gray", "pink", "yellow", "teal", "beige")
        tall = k.span(0.6, 1.05)
        k.box(0, -0.5 + 0.1 * i, 1.58 - tall, 0.4, 0.05, tall, "fabric", color)
    for i in range(3):
        k.box(0, -0.35 + 0.35 * i, 0.05, 0.26, 0.18, 0.1, "leather", k.color("brown", "black", "red"))


@kind("suitcase", "corner", clear_m=0.1)
def _suitcase(k: Kit) -> None:
    color = k.named("red", "blue", "yellow", "black", "teal")
    k.box(0, 0, 0.04, 0.26, 0.46, 0.64, "gloss", color)
    k.box(0, 0, (0.15, 0.34, 0.53), 0.27, 0.4, 0.03, "gloss", tint(color, 0.6))
    for side in (-1, 1):
        k.ball(0, side * 0.18, 0.03, 0.03, 0.03, 0.03, "gloss", DARK)
        k.tube(-0.1, side * 0.08, 0.68, 0.01, 0.3, "metal", STEEL)
    k.box(-0.1, 0, 0.97, 0.03, 0.2, 0.03, "gloss", DARK)


@kind("shoe rack", "wall", clear_m=0.3)
def _shoe_rack(k: Kit) -> None:
    wood = k.wood()
    k.box(0, both(0.4), 0, 0.3, 0.03, 0.55, "wood", wood)
    for row in range(3):
        z = 0.08 + 0.2 * row
        k.box(0, 0, z, 0.3, 0.8, 0.02, "wood", wood)
        if row < 2 or k.rng.random() < 0.6:
            for i in range(3):
                color = k.color("black", "brown", "red", "white", "blue")
                for dy in (-0.05, 0.05):
                    k.ball(0.02, -0.26 + 0.26 * i + dy, z + 0.06, 0.12, 0.04, 0.05, "leather", color)


@kind("coat rack", "corner", clear_m=0.1)
def _coat_rack(k: Kit) -> None:
    wood = k.wood()
    k.tube(0, 0, 0, 0.22, 0.04, "wood", wood)
    k.tube(0, 0, 0.04, 0.025, 1.7, "wood", wood)
    for i in range(4):
        a = i * math.pi / 2 + 0.4
        k.box(0.1 * math.cos(a), 0.1 * math.sin(a), 1.62, 0.2, 0.025, 0.025, "wood", wood, a)
    for a, words in ((0.4, ("red", "blue", "yellow")), (2.5, ("gray", "green", "brown")), (4.6, ("black", "beige"))):
        k.ball(0.15 * math.cos(a), 0.15 * math.sin(a), 1.2, 0.12, 0.12, 0.42, "fabric", k.color(*words))
    k.ball(0, 0, 1.78, 0.15, 0.15, 0.02, "fabric", (0.4, 0.26, 0.13))
    k.ball(0, 0, 1.82, 0.08, 0.08, 0.07, "fabric", (0.4, 0.26, 0.13))


@kind("bench", "wall", clear_m=0.4)
def _bench(k: Kit) -> None:
    wood = k.wood()
    color = k.named("red", "blue", "gray", "green", "beige")
    k.box(0, 0, 0.4, 0.38, 1.1, 0.04, "wood", wood)
    k.legs(0.38, 1.1, 0.4, 0.05, "wood", wood)
    k.box(0, 0, 0.12, 0.3, 1.0, 0.02, "wood", wood)
    k.box(0, 0, 0.44, 0.36, 1.06, 0.06, "fabric", color)


@kind("console table", "wall", clear_m=0.4)
def _console(k: Kit) -> None:
    wood = k.wood()
    k.box(0, 0, 0.78, 0.34, 1.05, 0.035, "wood", wood)
    k.box(0, 0, 0.66, 0.3, 1.0, 0.12, "wood", wood)
    k.legs(0.34, 1.05, 0.78, 0.04, "wood", wood)
    k.ball(0.155, 0.2, 0.72, 0.015, 0.015, 0.015, "metal", STEEL)
    k.ball(0.155, -0.2, 0.72, 0.015, 0.015, 0.015, "metal", STEEL)
    k.box(0, 0, 0.15, 0.3, 1.0, 0.02, "wood", wood)
    k.box(0, -0.2, 0.17, 0.22, 0.3, 0.2, "wicker", (0.5, 0.34, 0.17))


@kind("umbrella stand", "corner", clear_m=0.1)
def _umbrella_stand(k: Kit) -> None:
    k.tube(0, 0, 0, 0.14, 0.5, "metal", DARK)
    colors = k.color("red", "yellow"), PALETTE["blue"], PALETTE["black"]
    for dx, dy, color in zip((0.04, -0.05, 0.02), (0.03, -0.02, -0.06), colors):
        k.tube(dx, dy, 0.3, 0.025, 0.5, "fabric", color)
        k.ball(dx, dy, 0.84, 0.03, 0.03, 0.05, "wood", (0.3, 0.16, 0.07))
