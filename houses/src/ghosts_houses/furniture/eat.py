"""Furniture of kitchens and dining rooms."""

from __future__ import annotations

from dataclasses import dataclass

from ghosts_houses.furniture.kit import DARK, PALETTE, STEEL, WHITE, Kit, both, kind, tint
from ghosts_houses.plan.rooms import Color, pick

_TOP: tuple[Color, ...] = ((0.62, 0.60, 0.57), (0.10, 0.10, 0.11), (0.40, 0.25, 0.13), (0.75, 0.74, 0.72))
_FRONT = ("white", "gray", "blue", "green", "brown")


def _front(k: Kit, word: str) -> Color:
    if word == "brown":
        return k.wood()
    return PALETTE[word] if word in ("white", "gray") else tint(PALETTE[word], 0.6, 0.15)


@dataclass(frozen=True)
class Fronts:
    """What the units of a kitchen have in common."""

    word: str
    color: Color
    top: Color


def choose_fronts(k: Kit) -> Fronts:
    """Draw the make of a kitchen."""
    word = pick(k.rng, _FRONT)
    return Fronts(word, _front(k, word), pick(k.rng, _TOP))


def _cabinets(k: Kit, fronts: Fronts, wide: float) -> None:
    """A base unit: plinth, doors with handles, worktop."""
    color, top = fronts.color, fronts.top
    k.box(-0.02, 0, 0, 0.52, wide, 0.1, "matte", DARK)
    k.box(0, 0, 0.1, 0.58, wide, 0.76, "gloss", color)
    k.box(0.01, 0, 0.86, 0.62, wide, 0.04, "marble", top)
    count = max(1, round(wide / 0.5))
    for i in range(count):
        y = -wide / 2 + wide / count * (i + 0.5)
        k.box(0.295, y, 0.14, 0.015, wide / count - 0.02, 0.5, "gloss", color)
        k.box(0.295, y, 0.67, 0.015, wide / count - 0.02, 0.16, "gloss", color)
        k.box(0.312, y, 0.58, 0.015, 0.16, 0.014, "metal", STEEL)
        k.box(0.312, y, 0.75, 0.015, 0.16, 0.014, "metal", STEEL)


def counter(k: Kit, fronts: Fronts, wide: float) -> None:
    """A base unit with jars at one end and, where it is long, a board and a block of knives at the other."""
    _cabinets(k, fronts, wide)
    k.box(-0.28, 0, 0.9, 0.02, wide, 0.12, "wall tile", WHITE)
    k.tube(-0.05, wide / 2 - 0.1, 0.9, 0.06, 0.2, "gloss", k.color("red", "blue", "white", "yellow"))
    k.tube(-0.08, wide / 2 - 0.23, 0.9, 0.045, 0.15, "gloss", k.color("green", "orange", "white"))
    if wide > 1.25:
        k.box(0.08, -wide / 2 + 0.2, 0.9, 0.24, 0.3, 0.02, "wood", (0.5, 0.32, 0.15))
        k.box(-0.16, -wide / 2 + 0.16, 0.9, 0.18, 0.12, 0.22, "wood", (0.2, 0.1, 0.05))
    k.said = fronts.word


@kind("kitchen counter", "wall", clear_m=0.8)
def _counter(k: Kit) -> None:
    counter(k, choose_fronts(k), k.span(1.2, 2.2))


def wall_cabinet(k: Kit, fronts: Fronts, wide: float) -> None:
    """A cupboard to hang on the wall."""
    color = fronts.color
    k.box(0, 0, 0, 0.32, wide, 0.66, "gloss", color)
    count = max(2, round(wide / 0.45))
    for i in range(count):
        y = -wide / 2 + wide / count * (i + 0.5)
        k.box(0.165, y, 0.02, 0.015, wide / count - 0.02, 0.62, "gloss", color)
        side = 1 if i % 2 == 0 else -1
        k.box(0.18, y + side * (wide / count / 2 - 0.06), 0.05, 0.014, 0.014, 0.14, "metal", STEEL)
    k.said = fronts.word


@kind("wall cabinet", "on wall", blocks=False, height_m=1.45)
def _wall_cabinet(k: Kit) -> None:
    wall_cabinet(k, choose_fronts(k), k.span(0.8, 1.3))


def kitchen_sink(k: Kit, fronts: Fronts) -> None:
    """A base unit with a basin and a tap."""
    _cabinets(k, fronts, 1.0)
    k.box(0.03, 0, 0.87, 0.42, 0.66, 0.035, "metal", STEEL)
    k.box(0.03, 0, 0.9, 0.34, 0.56, 0.008, "metal", (0.12, 0.12, 0.13))
    k.tube(-0.2, 0, 0.9, 0.018, 0.27, "metal", STEEL)
    k.box(-0.11, 0, 1.15, 0.2, 0.03, 0.03, "metal", STEEL)
    k.tube(-0.02, 0, 1.1, 0.014, 0.07, "metal", STEEL)
    k.box(-0.28, 0, 0.9, 0.02, 1.0, 0.12, "wall tile", WHITE)
    k.tube(-0.15, 0.42, 0.9, 0.03, 0.18, "gloss", k.color("green", "yellow", "blue"))


@kind("kitchen sink", "wall", clear_m=0.8)
def _kitchen_sink(k: Kit) -> None:
    kitchen_sink(k, choose_fronts(k))


@kind("fridge", "wall", clear_m=0.8)
def _fridge(k: Kit) -> None:
    word = k.name("white", "gray", "red", "black")
    color = STEEL if word == "gray" else PALETTE[word]
    k.box(0, 0, 0.04, 0.62, 0.72, 1.78, "metal" if word == "gray" else "gloss", color)
    k.box(0, 0, 0, 0.56, 0.66, 0.04, "matte", DARK)
    for low, high in ((0.06, 1.16), (1.18, 1.81)):
        k.box(0.325, 0, low, 0.03, 0.71, high - low, "metal" if word == "gray" else "gloss", color)
        k.box(0.355, -0.28, low + 0.12, 0.03, 0.03, min(high - low - 0.2, 0.5), "metal", (0.3, 0.3, 0.31))
    k.box(0.343, 0.15, 1.5, 0.004, 0.09, 0.12, "paint", PALETTE["yellow"])
    k.box(0.343, 0.02, 1.42, 0.004, 0.12, 0.08, "paint", PALETTE["blue"])


@kind("stove", "wall", clear_m=0.8)
def _stove(k: Kit) -> None:
    word = k.name("white", "gray", "black")
    color = STEEL if word == "gray" else PALETTE[word]
    k.box(-0.02, 0, 0, 0.54, 0.6, 0.05, "matte", DARK)
    k.box(0, 0, 0.05, 0.6, 0.62, 0.83, "metal" if word == "gray" else "gloss", color)
    k.box(0, 0, 0.88, 0.61, 0.63, 0.02, "gloss", DARK)
    for x in (-0.14, 0.14):
        for y in (-0.15, 0.15):
            k.tube(x, y, 0.9, 0.1, 0.008, "metal", (0.16, 0.16, 0.17))
            k.tube(x, y, 0.908, 0.05, 0.006, "matte", (0.32, 0.05, 0.03))
    k.box(0.305, 0, 0.22, 0.015, 0.5, 0.4, "gloss", DARK)
    k.box(0.33, 0, 0.66, 0.025, 0.46, 0.02, "metal", STEEL)
    for i in range(5):
        k.ball(0.31, -0.22 + 0.11 * i, 0.79, 0.02, 0.022, 0.022, "gloss", DARK if word != "black" else WHITE)
    k.box(-0.28, 0, 0.9, 0.04, 0.62, 0.14, "metal", STEEL)
    k.tube(0.14, -0.15, 0.912, 0.1, 0.13, "metal", k.color("red", "gray", "blue"))


@kind("range hood", "on wall", blocks=False, height_m=1.62)
def _hood(k: Kit) -> None:
    k.box(0.0, 0, 0, 0.46, 0.64, 0.1, "metal", STEEL)
    k.box(-0.05, 0, 0.1, 0.34, 0.44, 0.08, "metal", STEEL)
    k.box(-0.1, 0, 0.18, 0.24, 0.26, min(0.85, k.ceiling_m - 1.62 - 0.24), "metal", STEEL)
    k.box(0.02, 0, -0.005, 0.3, 0.4, 0.005, "lamp", (0.9, 0.85, 0.7))


@kind("kitchen island", "middle", clear_m=0.65)
def _island(k: Kit) -> None:
    color = _front(k, k.name(*_FRONT))
    wide = k.span(1.3, 1.7)
    k.box(0, 0, 0, 0.6, wide - 0.1, 0.08, "matte", DARK)
    k.box(0, 0, 0.08, 0.68, wide, 0.8, "gloss", color)
    k.box(0.345, both(wide / 4), 0.14, 0.015, wide / 2 - 0.06, 0.68, "gloss", color)
    k.box(0, 0, 0.88, 0.86, wide + 0.12, 0.05, "marble", pick(k.rng, _TOP))
    k.tube(0, 0.1, 0.93, 0.16, 0.06, "gloss", k.color("white", "blue", "teal"))
    for dx, dy, fruit in ((0.05, 0.1, "red"), (-0.05, 0.15, "green"), (0.0, 0.03, "orange"), (-0.04, 0.07, "yellow")):
        k.ball(dx, dy, 1.01, 0.045, 0.045, 0.045, "gloss", PALETTE[fruit])


@kind("bar stool", "around", clear_m=0.0)
def _bar_stool(k: Kit) -> None:
    color = k.named("red", "black", "white", "brown", "blue")
    k.tube(0, 0, 0.66, 0.18, 0.06, "leather", color)
    k.tube(0, 0, 0.02, 0.022, 0.65, "metal", STEEL)
    k.tube(0, 0, 0, 0.19, 0.02, "metal", STEEL)
    k.tube(0, 0, 0.24, 0.12, 0.02, "metal", STEEL)


@kind("microwave", "on top")
def _microwave(k: Kit) -> None:
    k.box(0, 0, 0, 0.36, 0.48, 0.28, "metal", STEEL)
    k.box(0.182, -0.06, 0.03, 0.01, 0.32, 0.22, "gloss", DARK)
    k.box(0.182, 0.18, 0.03, 0.01, 0.09, 0.22, "gloss", (0.08, 0.08, 0.09))
    k.box(0.188, 0.18, 0.2, 0.004, 0.07, 0.03, "lamp", (0.1, 0.6, 0.3))


@kind("trash can", "corner", clear_m=0.1)
def _trash_can(k: Kit) -> None:
    k.tube(0, 0, 0, 0.17, 0.58, "metal", STEEL)
    k.ball(0, 0, 0.58, 0.17, 0.17, 0.07, "metal", (0.16, 0.16, 0.17))


@kind("dining table", "middle", clear_m=0.8)
def _dining_table(k: Kit) -> None:
    wood = k.wood()
    wide = k.span(1.5, 2.1)
    if k.rng.random() < 0.3:
        k.tube(0, 0, 0.72, 0.62, 0.04, "wood", wood)
        k.tube(0, 0, 0.04, 0.07, 0.68, "wood", wood)
        k.tube(0, 0, 0, 0.32, 0.04, "wood", wood)
        plates = [(0.4, 0.0), (-0.4, 0.0), (0.0, 0.4), (0.0, -0.4)]
    else:
        k.box(0, 0, 0.72, 0.92, wide, 0.04, "wood", wood)
        k.box(0, 0, 0.64, 0.8, wide - 0.12, 0.08, "wood", wood)
        k.legs(0.92, wide, 0.72, 0.07, "wood", wood, 0.07)
        plates = [(sx * 0.28, y) for sx in (-1, 1) for y in (-wide / 4, wide / 4)]
    for x, y in plates:
        k.tube(x, y, 0.76, 0.115, 0.012, "gloss", WHITE)
        k.tube(x, y, 0.772, 0.075, 0.004, "gloss", (0.7, 0.72, 0.75))


@kind("chair", "around", clear_m=0.0)
def _chair(k: Kit) -> None:
    color = k.painted("brown", "white", "black", "red", "blue", "green")
    k.box(0, 0, 0.43, 0.42, 0.42, 0.04, "wood", color)
    k.legs(0.42, 0.42, 0.43, 0.035, "wood", color, 0.025)
    k.box(-0.19, both(0.185), 0.47, 0.035, 0.035, 0.48, "wood", color)
    k.box(-0.19, 0, (0.6, 0.74, 0.87), 0.025, 0.36, 0.07, "wood", color)
    k.box(0.01, 0, 0.47, 0.36, 0.38, 0.03, "fabric", k.color("beige", "gray", "red", "blue"))


@kind("sideboard", "wall")
def _sideboard(k: Kit) -> None:
    wood = k.wood()
    wide = k.span(1.3, 1.7)
    k.box(0, 0, 0.14, 0.42, wide, 0.66, "wood", wood)
    k.legs(0.42, wide, 0.15, 0.05, "wood", wood)
    k.box(0, 0, 0.8, 0.46, wide + 0.05, 0.03, "wood", wood)
    for i in range(3):
        y = (i - 1) * wide / 3
        k.box(0.215, y, 0.18, 0.02, wide / 3 - 0.03, 0.58, "wood", wood)
        k.ball(0.235, y + 0.1, 0.5, 0.015, 0.015, 0.015, "metal", (0.5, 0.38, 0.14))
    k.tube(0, -wide / 3, 0.83, 0.03, 0.22, "glass", (0.10, 0.3, 0.14))
    k.tube(0, -wide / 3 + 0.1, 0.83, 0.035, 0.2, "glass", (0.35, 0.05, 0.06))


@kind("china cabinet", "wall")
def _china_cabinet(k: Kit) -> None:
    wood = k.wood()
    k.box(0, 0, 0, 0.42, 1.1, 0.85, "wood", wood)
    k.box(-0.18, 0, 0.85, 0.04, 1.1, 1.15, "wood", wood)
    for side in (-1, 0, 1):
        k.box(0, side * 0.535, 0.85, 0.36 if side else 0.03, 0.03, 1.15, "wood", wood)
    k.box(0, 0, 2.0, 0.46, 1.16, 0.06, "wood", wood)
    for side in (-1, 1):
        k.box(0.215, side * 0.27, 0.06, 0.02, 0.5, 0.72, "wood", wood)
        k.ball(0.235, side * 0.06, 0.5, 0.015, 0.015, 0.015, "metal", STEEL)
    k.box(0, 0, (1.2, 1.58), 0.34, 1.06, 0.02, "wood", wood)
    for z in (0.85, 1.22, 1.6):
        for y in (-0.4, -0.2, 0.18, 0.4):
            tall = 0.05 + 0.14 * float(k.rng.random())
            k.tube(0, y, z, 0.07, tall, "gloss", k.color("white", "blue", "white", "teal"))
