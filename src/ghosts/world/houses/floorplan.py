"""Draws a house from above: rooms, openings, furniture, viewpoints and edges, and a path with its instruction."""

from __future__ import annotations

import itertools
import math
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts.errors import MissingExtraError
from ghosts.geometry import direction
from ghosts.world.houses.graph.paths import Path
from ghosts.world.houses.graph.viewpoints import HouseGraph
from ghosts.world.houses.graph.walk import stair_length_m
from ghosts.world.houses.house import House, Opening, Primitive, Room, Stair, Thing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, told apart by people with any colour vision.
_PATH, _START, _GOAL, _NODE, _EDGE = "#D55E00", "#009E73", "#CC79A7", "#0072B2", "#56B4E9"
_WALL, _INK = "#3b3b3b", "#222222"
_ROOM_TINTS = {
    "hallway": "#f4f1ea",
    "stair hall": "#f4f1ea",
    "entryway": "#efe9dc",
    "bathroom": "#dcebf2",
    "laundry room": "#dcebf2",
    "kitchen": "#f8efd2",
    "dining room": "#f6e7d3",
    "pantry": "#f8efd2",
    "bedroom": "#e9e4f1",
    "nursery": "#f2e2ea",
    "closet": "#ebe8e4",
    "living room": "#e4efe1",
    "library": "#e6eadb",
    "office": "#e2e8ec",
    "gym": "#e8e8e8",
    "music room": "#efe3dc",
}
_WALL_M = 0.16
_LABEL_AREA_M2 = 0.16
_UNLABELLED = ("door", "curtains", "ceiling lamp", "pendant lamp", "chandelier", "range hood", "window")
_SHORT = {
    "television": "TV",
    "washing machine": "washer",
    "grandfather clock": "clock",
    "kitchen counter": "counter",
    "kitchen island": "island",
    "kitchen sink": "sink",
    "single bed": "bed",
    "laundry basket": "basket",
    "filing cabinet": "files",
    "china cabinet": "china",
    "console table": "console",
    "clothes rail": "clothes",
    "exercise bike": "bike",
    "dumbbell rack": "dumbbells",
    "ironing board": "ironing",
}


def draw_house(
    house: House,
    graph: HouseGraph | None = None,
    path: Path | None = None,
    instruction: str | None = None,
    *,
    labels: bool = True,
) -> Figure:
    """Draw a house, its storeys side by side.

    Args:
        house: the house.
        graph: viewpoints and edges to draw over it.
        path: a path over the graph's viewpoints.
        instruction: words to print below.
        labels: whether furniture carries its name.

    Returns:
        A matplotlib figure that belongs to no window (`figure.savefig` writes it).

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "viz", "drawing a floor plan") from None
    storeys = sorted({room.storey for room in house.rooms})
    x0, x1 = min(r.x0_m for r in house.rooms) - 0.7, max(r.x1_m for r in house.rooms) + 0.7
    y0, y1 = min(r.y0_m for r in house.rooms) - 1.5, max(r.y1_m for r in house.rooms) + 0.9
    inches_per_m = min(0.62, 19.0 / (len(storeys) * (x1 - x0)))
    width = max(7.0, len(storeys) * (x1 - x0) * inches_per_m)
    lines = textwrap.wrap(instruction, int(width / 0.1)) if instruction else []  # 0.1 inches a letter at 13 points
    height = (y1 - y0) * inches_per_m + 0.75 + 0.3 * len(lines)
    figure = Figure(figsize=(width, height), dpi=110, facecolor="white")
    text_share = (0.15 + 0.3 * len(lines)) / height
    for column, storey in enumerate(storeys):
        axes = figure.add_axes(
            (column / len(storeys), text_share, 1 / len(storeys), (y1 - y0) * inches_per_m / height), aspect="equal"
        )
        axes.set(xlim=(x0, x1), ylim=(y0, y1))
        axes.axis("off")
        _draw_storey(axes, house, storey, labels)
        if graph is not None:
            _draw_graph(axes, house, graph, storey, path)
        name = "ground floor" if storey == storeys[0] else "upper floor"
        axes.text(x0 + 0.7, y1 - 0.45, name, fontsize=12, color=_INK, weight="bold", va="center")
        _draw_scale(axes, x0 + 0.7, y0 + 0.55)
        _draw_north(axes, x1 - 1.1, y0 + 0.5)
    title = f"house {house.name}  ·  seed {house.seed}  ·  {len(house.rooms)} rooms"
    title += f"  ·  {len(graph.viewpoints)} viewpoints" if graph is not None else ""
    figure.text(0.5, 1 - 0.18 / height, title, ha="center", va="top", fontsize=13, color=_INK)
    if lines:
        figure.text(
            0.5, 0.12 / height, "\n".join(lines), ha="center", va="bottom", fontsize=13, color=_INK, style="italic"
        )
    return figure


def _draw_storey(axes: Any, house: House, storey: int, labels: bool) -> None:
    rooms = [room for room in house.rooms if room.storey == storey]
    for room in rooms:
        _draw_room(axes, room)
    for opening in house.openings:
        if house.rooms[opening.rooms[0]].storey == storey:
            _draw_opening(axes, opening)
    for stair in house.stairs:
        _draw_stair(axes, stair, house.rooms[stair.rooms[0]].storey == storey)
    things = [thing for thing in house.things if house.rooms[thing.room].storey == storey]
    for thing in sorted(things, key=lambda item: item.center_m[2] - item.half_m[2]):
        _draw_thing(axes, thing)
    taken: list[tuple[float, float, float, float]] = []
    for room in rooms:
        taken.append(_label_room(axes, room, [t for t in things if t.blocks]))
    if labels:
        for thing in sorted(things, key=lambda item: -item.half_m[0] * item.half_m[1]):
            _label_thing(axes, thing, taken)


def _draw_room(axes: Any, room: Room) -> None:
    from matplotlib.patches import Rectangle

    size = (room.x1_m - room.x0_m, room.y1_m - room.y0_m)
    half = _WALL_M / 2
    outer = (room.x0_m - half, room.y0_m - half)
    axes.add_patch(
        Rectangle(outer, size[0] + _WALL_M, size[1] + _WALL_M, facecolor=_WALL, edgecolor=_WALL, lw=1.5, zorder=1)
    )
    tint = _ROOM_TINTS.get(room.kind, "#eeeeee")
    axes.add_patch(Rectangle((room.x0_m, room.y0_m), *size, facecolor=tint, edgecolor="none", zorder=2))


def _draw_opening(axes: Any, opening: Opening) -> None:
    from matplotlib.patches import Rectangle

    along, across = opening.width_m, _WALL_M + 0.04
    width, depth = (along, across) if opening.along == "x" else (across, along)
    corner = (opening.x_m - width / 2, opening.y_m - depth / 2)
    if opening.kind == "window":
        axes.add_patch(Rectangle(corner, width, depth, facecolor="#cfe8f7", edgecolor=_EDGE, lw=0.8, zorder=3))
        return
    outside = min(opening.rooms) < 0
    color = "#c9a26b" if outside else "#f4f1ea"
    axes.add_patch(Rectangle(corner, width, depth, facecolor=color, edgecolor="none", zorder=3))
    if opening.kind == "door" and not outside:  # a threshold line tells a door from an open passage
        dx, dy = (along / 2, 0.0) if opening.along == "x" else (0.0, along / 2)
        ends = [opening.x_m - dx, opening.x_m + dx], [opening.y_m - dy, opening.y_m + dy]
        axes.plot(*ends, color="#b08d57", lw=1.2, zorder=3.2)


def _draw_stair(axes: Any, stair: Stair, lower: bool) -> None:
    foot, head = np.array(stair.foot_m[:2]), np.array(stair.head_m[:2])
    length = stair_length_m(stair)
    axis = (head - foot) / length
    side = np.array([-axis[1], axis[0]]) * stair.width_m / 2
    corners = np.array([foot - side, foot + side, head + side, head - side])
    axes.fill(*corners.T, facecolor="#e3d9c6", edgecolor="#8a7a5c", lw=1.0, zorder=4)
    for at in np.linspace(0.0, length, max(2, round(length / 0.28)) + 1)[1:-1]:
        middle = foot + axis * at
        axes.plot(*np.array([middle - side, middle + side]).T, color="#8a7a5c", lw=0.7, zorder=4.1)
    start, end = (foot, head) if lower else (head, foot)
    style = {"arrowstyle": "-|>", "color": "#6b5b3e", "lw": 1.4, "shrinkA": 8, "shrinkB": 8}
    axes.annotate("", xy=tuple(end), xytext=tuple(start), arrowprops=style, zorder=4.2)
    word = "up" if lower else "down"
    turn = math.degrees(math.atan2(axis[1], axis[0])) % 180
    spot = (foot + head) / 2 + side * 0.45
    axes.text(
        *spot,
        word,
        fontsize=8,
        color="#6b5b3e",
        ha="center",
        va="center",
        rotation=turn if turn < 90 else turn - 180,
        zorder=4.3,
    )


def _outline(solid: Primitive | Thing) -> np.ndarray:
    """Corners (box) or rim (cylinder, sphere) of a solid seen from above."""
    cos, sin = math.cos(solid.yaw_rad), math.sin(solid.yaw_rad)
    if isinstance(solid, Primitive) and solid.shape != "box":
        angle = np.linspace(0.0, 2 * math.pi, 25)[:-1]
        local = np.stack([np.cos(angle), np.sin(angle)], 1)
    else:
        local = np.array([(1, 1), (1, -1), (-1, -1), (-1, 1)], float)
    local = local * np.array(solid.half_m[:2])
    turned = np.stack([local[:, 0] * cos - local[:, 1] * sin, local[:, 0] * sin + local[:, 1] * cos], 1)
    return turned + np.array(solid.center_m[:2])


def _draw_thing(axes: Any, thing: Thing) -> None:
    """A thing by its parts, low ones first, in a light version of their colours."""
    level = 5.0 if thing.blocks else 4.5
    overhead = not thing.blocks and thing.kind in _UNLABELLED
    if overhead and thing.kind != "door":
        return
    for order, part in enumerate(sorted(thing.parts, key=lambda item: item.center_m[2] + item.half_m[2])):
        # Linear colour to the screen's, then half-way to white: the plan's own lines stay readable on dark furniture.
        color = 0.55 * np.clip(np.array(part.color), 0.0, 1.0) ** (1 / 2.2) + 0.45
        axes.fill(*_outline(part).T, facecolor=color, edgecolor="#6a6a6a", lw=0.45, zorder=level + 0.001 * order)


def _label_room(axes: Any, room: Room, things: list[Thing]) -> tuple[float, float, float, float]:
    """Write a room's name where least furniture lies; returns the box it takes (centre, half size)."""
    name = room.kind
    wide = room.x1_m - room.x0_m >= room.y1_m - room.y0_m or room.x1_m - room.x0_m > 0.16 * len(name) + 0.3
    size = (0.085 * len(name) + 0.08, 0.16) if wide else (0.16, 0.085 * len(name) + 0.08)
    best, spot = -math.inf, room.center_m
    for fx in np.linspace(0.2, 0.8, 7):
        for fy in np.linspace(0.12, 0.88, 9):
            x, y = room.x0_m + fx * (room.x1_m - room.x0_m), room.y0_m + fy * (room.y1_m - room.y0_m)
            gaps = [
                max(
                    abs(x - t.center_m[0]) - size[0] - max(t.half_m[:2]),
                    abs(y - t.center_m[1]) - size[1] - max(t.half_m[:2]),
                )
                for t in things
                if t.room == room.index
            ]
            score = min([0.4, *gaps]) - 0.06 * math.hypot(x - room.center_m[0], y - room.center_m[1])
            if score > best:
                best, spot = score, (float(x), float(y))
    axes.text(
        *spot,
        name,
        fontsize=9.5,
        weight="bold",
        color="#444444",
        ha="center",
        va="center",
        zorder=8,
        rotation=0 if wide else 90,
        bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "alpha": 0.65, "lw": 0},
    )
    return (*spot, *size)


def _label_thing(axes: Any, thing: Thing, taken: list[tuple[float, float, float, float]]) -> None:
    """Write a thing's short name on it, unless it is small or another name is in the way."""
    if thing.kind in _UNLABELLED or thing.half_m[0] * thing.half_m[1] * 4 < _LABEL_AREA_M2:
        return
    name = _SHORT.get(thing.kind, thing.kind)
    x, y = thing.center_m[:2]
    upright = abs(math.sin(thing.yaw_rad)) * thing.half_m[0] + abs(math.cos(thing.yaw_rad)) * thing.half_m[1] > 1.4 * (
        abs(math.cos(thing.yaw_rad)) * thing.half_m[0] + abs(math.sin(thing.yaw_rad)) * thing.half_m[1]
    )
    size = (0.09, 0.055 * len(name)) if upright else (0.055 * len(name), 0.09)
    if any(abs(x - a) < size[0] + c and abs(y - b) < size[1] + d for a, b, c, d in taken):
        return
    taken.append((x, y, *size))
    axes.text(x, y, name, fontsize=6.2, color=_INK, ha="center", va="center", rotation=90 if upright else 0, zorder=7)


def _draw_graph(axes: Any, house: House, graph: HouseGraph, storey: int, path: Path | None) -> None:
    level = [house.rooms[point.room].storey == storey or point.stair >= 0 for point in graph.viewpoints]
    xy = np.array([point.xy_m for point in graph.viewpoints])
    for a, b in np.argwhere(np.triu(graph.unobstructed)):
        if level[a] and level[b]:
            axes.plot(*xy[[a, b]].T, color=_EDGE, lw=0.9, alpha=0.55, zorder=6)
    axes.plot(*xy[level].T, "o", color=_NODE, ms=4.2, mec="white", mew=0.6, zorder=6.5)
    if path is None:
        return
    steps = list(path.steps)
    style = {"arrowstyle": "-|>", "color": _PATH, "lw": 2.6, "shrinkA": 3, "shrinkB": 3, "mutation_scale": 13}
    for a, b in itertools.pairwise(steps):
        if level[a] and level[b]:
            axes.annotate("", xy=tuple(xy[b]), xytext=tuple(xy[a]), arrowprops=style, zorder=9)
    if level[steps[0]]:
        ahead = direction(path.heading_rad)[:2] * 0.75
        arrow = {"arrowstyle": "-|>", "color": _START, "lw": 2.2, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", xy=tuple(xy[steps[0]] + ahead), xytext=tuple(xy[steps[0]]), arrowprops=arrow, zorder=9.5)
        axes.plot(*xy[steps[0]], "o", color=_START, ms=11, mec="white", mew=1.4, zorder=10)
        axes.annotate(
            "start",
            xy[steps[0]],
            xytext=(8, 7),
            textcoords="offset points",
            fontsize=9,
            weight="bold",
            color=_START,
            zorder=10,
        )
    if level[steps[-1]]:
        axes.plot(*xy[steps[-1]], "*", color=_GOAL, ms=19, mec="white", mew=1.2, zorder=10)
        axes.annotate(
            "goal",
            xy[steps[-1]],
            xytext=(9, 7),
            textcoords="offset points",
            fontsize=9,
            weight="bold",
            color=_GOAL,
            zorder=10,
        )


def _draw_scale(axes: Any, x_m: float, y_m: float) -> None:
    for k, color in enumerate(("black", "white", "black", "white")):
        axes.fill(
            [x_m + k / 2, x_m + (k + 1) / 2] * 1 + [x_m + (k + 1) / 2, x_m + k / 2],
            [y_m, y_m, y_m + 0.12, y_m + 0.12],
            facecolor=color,
            edgecolor="black",
            lw=0.6,
        )
    axes.text(x_m, y_m - 0.1, "0", fontsize=8, ha="center", va="top")
    axes.text(x_m + 2, y_m - 0.1, "2 m", fontsize=8, ha="center", va="top")


def _draw_north(axes: Any, x_m: float, y_m: float) -> None:
    arrow = {"arrowstyle": "-|>", "color": _INK, "lw": 1.4}
    axes.annotate("", xy=(x_m, y_m + 0.75), xytext=(x_m, y_m - 0.1), arrowprops=arrow)
    axes.text(x_m + 0.15, y_m + 0.3, "N (+y)", fontsize=8, va="center")
