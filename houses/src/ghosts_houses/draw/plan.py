"""A building from above as a figure: its storeys side by side, its graph, and a path with its instruction."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts_houses.draw import style
from ghosts_houses.draw.canvas import draw_arrow, draw_demonstrator, draw_graph, draw_plan, draw_scale, new_figure
from ghosts_houses.draw.floor_plan import places_of
from ghosts_sim.geometry import direction

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_IN_PER_M = 0.5
_WIDEST_IN = 16.0
_AROUND_M = 3.0
"""Shown around a path where walls are not known."""


def house_figure(
    scene: dict[str, Any], title: str, path: Sequence[str] = (), heading_rad: float = 0.0, text: str = ""
) -> Figure:
    """Draw a whole house, or the surroundings of a path in a building whose walls are not known.

    Args:
        scene: the building (`scene.house_floor_plan`, `scene.make_floor_plan`).
        title: above it.
        path: viewpoints to walk over; none by default.
        heading_rad: heading at the start of the path.
        text: its instruction, below.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    places = places_of(scene)
    walls = [shape["p"] for shape in scene["shapes"] if shape["k"] == "wall"]
    if walls:
        x, y = np.concatenate(walls).T
        left, right, bottom, top = x.min() - 0.5, x.max() + 0.5, y.min() - 1.2, y.max() + 0.3
        storeys = list(range(len(scene["storeys"])))
    else:
        x, y = np.array([(places[name]["x"], places[name]["y"]) for name in path]).T
        left, right, bottom, top = x.min() - _AROUND_M, x.max() + _AROUND_M, y.min() - _AROUND_M, y.max() + _AROUND_M
        storeys = sorted({places[name]["s"] for name in path})
    scale = min(_IN_PER_M, _WIDEST_IN / (len(storeys) * (right - left)))
    width, tall = max(5.0, len(storeys) * (right - left) * scale), (top - bottom) * scale
    lines = textwrap.wrap(text, int(width / 0.085))  # inches per letter of 10 points
    height = tall + 0.5 + 0.2 * len(lines)
    figure = new_figure(width, height, "drawing a floor plan")
    figure.text(0.5, 1.0 - 0.1 / height, title, ha="center", va="top", fontsize=10, color=style.INK)
    figure.text(0.5, 0.1 / height, "\n".join(lines), ha="center", va="bottom", fontsize=10, style="italic")
    for number, storey in enumerate(storeys):
        place = (number / len(storeys), (0.15 + 0.2 * len(lines)) / height, 1 / len(storeys), tall / height)
        axes = figure.add_axes(place, aspect="equal", xlim=(left, right), ylim=(bottom, top))
        axes.set_axis_off()
        draw_plan(axes, scene, storey, things=True)
        draw_graph(axes, scene, storey, {})
        for here, there in pairwise(places[name] for name in path):
            if storey in (here["s"], there["s"]):
                draw_demonstrator(axes, [here, there], goal=there["id"] == path[-1] and there["s"] == storey)
        if path and places[path[0]]["s"] == storey:
            x, y = places[path[0]]["x"], places[path[0]]["y"]
            ahead = direction(heading_rad)[:2] * 0.8
            draw_arrow(axes, (x, y), (x + ahead[0], y + ahead[1]), style.START)
            axes.plot(x, y, "s", color=style.START, ms=6, mec="white", mew=0.8, zorder=8.5)
        draw_scale(axes, left, right, bottom, top)
    return figure
