"""Layers of a building's plan for matplotlib, in the same colours as the viewer's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts_houses.draw import style
from ghosts_sim.errors import DataError, MissingExtraError
from ghosts_sim.files import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = (".png", ".pdf", ".svg", ".jpg")
"""Suffixes of a figure's file."""


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all; the suffix chooses the kind.

    Raises:
        DataError: another suffix.
    """
    if path.suffix.lower() not in KINDS:
        raise DataError(f"a figure is written as {', '.join(KINDS)}", file=path, hint="end the name in .png")
    from matplotlib import rc_context

    # Publishers refuse the default's Type 3 fonts.
    with atomic_path(path) as temporary, rc_context({"pdf.fonttype": 42}):
        figure.savefig(temporary)


def new_figure(width_in: float, height_in: float, what: str) -> Figure:
    """A matplotlib figure that belongs to no window.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "ghosts-houses[viz]", what) from None
    return Figure(figsize=(width_in, height_in), dpi=120, facecolor="white")


def draw_plan(axes: Any, scene: dict[str, Any], storey: int, names: bool = True, *, things: bool = False) -> None:
    """Rooms and things of a storey, and landmarks where there are any; names of rooms, and of things where they fit."""
    from matplotlib.patches import Polygon

    for order, shape in enumerate(scene["shapes"]):
        if shape["s"] != storey or not shape["p"]:
            continue
        edge = {"edgecolor": "#00000040", "linewidth": 0.4} if shape["k"] in ("thing", "stair") else {"linewidth": 0.0}
        axes.add_patch(Polygon(shape["p"], closed=True, facecolor=shape["f"], zorder=1 + order * 1e-5, **edge))
    marks = [(mark["x"], mark["y"]) for mark in scene["marks"] if mark["s"] == storey]
    if marks:
        axes.plot(*np.array(marks).T, "s", color="#8a7f70", ms=1.6, zorder=2, lw=0)
    if not names:
        return
    around, taken = outline(2.0), list[tuple[float, float, float]]()
    wanted = ("room", "name", "stair", "thing", "mark")[: 5 if things else 2]
    named = [*scene["shapes"], *({**mark, "k": "mark", "at": (mark["x"], mark["y"])} for mark in scene["marks"])]
    shapes = [shape for shape in named if shape["s"] == storey and shape.get("t") and shape["k"] in wanted]
    for shape in sorted(shapes, key=lambda item: wanted.index(item["k"])):
        small = shape["k"] in wanted[2:]
        size = 4.5 if small else 6.5
        x, y = shape.get("at") or np.mean(shape["p"], 0)
        reach = 0.008 * size * len(shape["t"])  # half a name's width in metres, in a plan of half an inch per metre
        if small and any(abs(x - a) < reach + r and abs(y - b) < 0.2 for a, b, r in taken):
            continue
        taken.append((x, y, reach))
        axes.text(
            x, y, shape["t"], fontsize=size, color="#4a4a4a", ha="center", va="center", zorder=6.9, clip_on=True,
            path_effects=around,
        )  # fmt: skip


def draw_graph(axes: Any, scene: dict[str, Any], storey: int, values: Mapping[str, float]) -> None:
    """Viewpoints and edges of a storey; viewpoints that have a value are larger the greater it is."""
    from matplotlib.collections import LineCollection

    points = scene["viewpoints"]
    lines = [
        [(points[a]["x"], points[a]["y"]), (points[b]["x"], points[b]["y"])]
        for a, b in scene["edges"]
        if storey in (points[a]["s"], points[b]["s"])
    ]
    axes.add_collection(LineCollection(lines, colors=style.EDGE, linewidths=0.6, zorder=4))
    here = [point for point in points if point["ok"] and point["s"] == storey]
    plain = np.array([(p["x"], p["y"]) for p in here if p["id"] not in values]).reshape(-1, 2)
    known = [p for p in here if p["id"] in values]
    axes.scatter(*plain.T, s=4, color=style.NODE, zorder=4.1, lw=0)
    sizes = [10.0 + 120.0 * min(1.0, max(0.0, values[p["id"]])) for p in known]
    spots = np.array([(p["x"], p["y"]) for p in known]).reshape(-1, 2)
    axes.scatter(*spots.T, s=sizes, color=style.CANDIDATE, edgecolor=style.AGENT, lw=0.6, alpha=0.8, zorder=4.2)


def draw_demonstrator(axes: Any, points: Sequence[dict[str, Any]], *, goal: bool = True) -> None:
    """The demonstrator's path over viewpoints of a scene, and a star where it ends."""
    x, y = [point["x"] for point in points], [point["y"] for point in points]
    axes.plot(x, y, color=style.DEMONSTRATOR, lw=1.6, zorder=6.8, **dashes())
    if goal:
        axes.plot(x[-1], y[-1], "*", color=style.GOAL, ms=13, mec="white", mew=0.8, zorder=8.8)


def dashes() -> dict[str, Any]:
    """The demonstrator's line."""
    return {"ls": (0, (3, 2)), "path_effects": outline(2.6, "#3a2800")}


def outline(width: float, colour: str = "white") -> list[Any]:
    from matplotlib.patheffects import Normal, Stroke

    return [Stroke(linewidth=width, foreground=colour), Normal()]


def draw_scale(axes: Any, left: float, right: float, bottom: float, top: float) -> None:
    """Scale bar and north arrow in the lower left corner."""
    from matplotlib.patches import Rectangle

    wide = right - left
    length = next((m for m in (1, 2, 5, 10, 20) if m > 0.12 * wide), 50)
    x, y, high = left + 0.03 * wide, bottom + 0.03 * (top - bottom), 0.012 * wide
    axes.add_patch(Rectangle((x, y), length, high, facecolor="white", edgecolor=style.INK, lw=0.7, zorder=10))
    axes.add_patch(Rectangle((x, y), length / 2, high, facecolor=style.INK, lw=0, zorder=10.1))
    around = outline(2.0)
    axes.text(x, y + 1.6 * high, f"{length} m", fontsize=6.5, color=style.INK, zorder=10.2, path_effects=around)
    north = x + length + 0.05 * wide
    draw_arrow(axes, (north, y), (north, y + 0.07 * wide), style.INK, 1.0, 10.0)
    axes.text(north + 0.012 * wide, y, "N", fontsize=6.5, color=style.INK, zorder=10.2, path_effects=around)


def draw_arrow(
    axes: Any, start: tuple[float, float], end: tuple[float, float], colour: str, width: float = 1.4, order: float = 8.0
) -> None:
    """An arrow from one place to another."""
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": width, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=order)
