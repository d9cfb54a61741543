"""The top-down map for matplotlib: one function per layer, the same layers and colours as the viewer's map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ghosts.view.paint import Painting
from ghosts.view.query import FIXED_WALK, VISITOR
from ghosts.view.record import Choice, EpisodeRecord, Frame, corner_m, extent_m
from ghosts_houses.draw import style
from ghosts_houses.draw.canvas import dashes, draw_arrow, draw_demonstrator, draw_graph, draw_plan, draw_scale, outline
from ghosts_houses.draw.floor_plan import places_of, route
from ghosts_sim.geometry import direction
from ghosts_sim.types import Grid

MOST_LABELS = 4
"""How many candidates have their value written on a map: more would cover it."""
Box = tuple[float, float, float, float]
"""Left, right, bottom, top, in metres."""


@dataclass(frozen=True)
class MapLayers:
    """What a map shows beside paths, start and goals."""

    layer: str = "belief"
    """belief, smoothed, prediction or likelihood."""
    painting: Painting | None = None
    """Drawn instead of the plan."""
    names: bool = True
    """Whether rooms carry theirs."""
    graph: bool = True
    """Whether viewpoints and edges are drawn."""
    arrows: bool = True
    """Whether wedges show headings."""
    choices: bool = False
    """Whether the agent's next choice and its other candidates are drawn."""
    box: Box | None = None
    """What part; `view_box` by default."""


def heat_of(frame: Frame, layer: str, t: int) -> np.ndarray:
    """Heading bins × rows × columns of a layer at filter step t; step 0 has only a belief."""
    if layer == "prediction" and t > 0 and len(frame.predictions):
        return frame.predictions[t - 1]
    if layer == "likelihood" and t > 0 and len(frame.likelihoods):
        return frame.likelihoods[t - 1]
    return (frame.smoothed if layer == "smoothed" else frame.beliefs)[t]


def view_box(record: EpisodeRecord, scene: dict[str, Any]) -> Box:
    """What a figure of this episode should show; of a house the whole plan."""
    places = places_of(scene)
    if scene["kind"] == "house":
        storeys = {places[name]["s"] for name in record.walk}
        corners = np.concatenate([shape["p"] for shape in scene["shapes"] if shape["s"] in storeys and shape["p"]])
        (left, bottom), (right, top) = corners.min(0) - 0.7, corners.max(0) + 0.7
        return float(left), float(right), float(bottom), float(top)
    points = [(places[name]["x"], places[name]["y"]) for name in {*record.walk, *record.path}]
    for frame in record.frames:
        mass = frame.beliefs[-1].sum(0)
        likely = np.argwhere(mass > 0.3 * mass.max())[:, ::-1] + 0.5
        points += (corner_m(record.grid, record.origin_xy_m) + likely * record.grid.cell_m).tolist()
    x, y = np.array(points, float).T
    return float(x.min() - 2.0), float(x.max() + 2.0), float(y.min() - 2.0), float(y.max() + 2.0)


def draw_map(
    axes: Any, scene: dict[str, Any], record: EpisodeRecord, step: int, t: int, layers: MapLayers = MapLayers()
) -> None:
    """Draw everything known at an agent step and a filter step `t`, of which 0 is the start."""
    frame = record.frames[step]
    places = places_of(scene)
    storey = places[record.walk[step]]["s"]
    left, right, bottom, top = layers.box or view_box(record, scene)
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.set_facecolor("#f3f4f5")
    axes.set_xticks([])
    axes.set_yticks([])
    if layers.painting is not None:
        axes.imshow(layers.painting.rgba, extent=layers.painting.extent_m, zorder=1, interpolation="bilinear")
    else:
        draw_plan(axes, scene, storey, layers.names)
    _draw_unseen(axes, record, frame)
    likely = layers.layer == "likelihood" and t > 0
    heat = heat_of(frame, layers.layer, t)
    heat = heat if layers.arrows else heat.sum(0, keepdims=True)
    draw_heat(axes, heat, record.grid, record.origin_xy_m, likely=likely)
    if layers.graph:
        draw_graph(axes, scene, storey, frame.choice.candidates)
    _draw_paths(axes, scene, record, step)
    if layers.choices:
        _draw_choice(axes, scene, record, step, storey)
    draw_scale(axes, left, right, bottom, top)


def draw_heat(
    axes: Any, belief: np.ndarray, grid: Grid, origin_xy_m: tuple[float, float], *, likely: bool = False
) -> None:
    """A belief (or a likelihood) as a heat map, with a wedge per heading where there is most of it."""
    mass = belief.sum(0)
    top = float(mass.max()) if likely else max(0.02, float(mass.max()))
    left, right, bottom, high = extent_m(grid, origin_xy_m)
    # A likelihood is no density: it is drawn on a linear scale, which the squares give.
    rgba = style.heat_rgba(mass**2, top**2, style.LIKELIHOOD) if likely else style.heat_rgba(mass, top)
    axes.imshow(rgba, extent=(left, right, bottom, high), origin="lower", interpolation="nearest", zorder=3)
    if likely or len(belief) == 1:
        return
    from matplotlib.collections import PolyCollection

    wedges = []
    for row, col in np.argwhere(mass > 0.06 * top):
        centre = np.array([left + (col + 0.5) * grid.cell_m, bottom + (row + 0.5) * grid.cell_m])
        for k, share in enumerate(belief[:, row, col] / mass[row, col]):
            if share < 0.15:
                continue
            angle = 2.0 * math.pi * k / len(belief)
            ahead = np.array([math.cos(angle), math.sin(angle)])
            side = np.array([-ahead[1], ahead[0]]) * 0.1 * grid.cell_m
            wedges.append([centre + 0.46 * grid.cell_m * math.sqrt(share) * ahead, centre + side, centre - side])
    axes.add_collection(PolyCollection(wedges, facecolors="#000000b0", linewidths=0, zorder=3.5))


def _draw_unseen(axes: Any, record: EpisodeRecord, frame: Frame) -> None:
    grid = record.map_grid
    shade = np.zeros((grid.rows, grid.cols, 4))
    shade[..., :3] = np.array(style.rgb(style.UNSEEN)) / 255.0
    shade[..., 3] = np.where(frame.observed, 0.0, 0.33)
    extent = extent_m(grid, record.origin_xy_m)
    axes.imshow(shade, extent=extent, origin="lower", interpolation="nearest", zorder=2.5)


def _draw_choice(axes: Any, scene: dict[str, Any], record: EpisodeRecord, step: int, storey: int) -> None:
    """Values of the best candidates, a ring around the chosen one, and the way there."""
    places, choice = places_of(scene), record.frames[step].choice
    good = [name for name, value in choice.candidates.items() if value > 0.005]
    best = sorted(good, key=lambda name: -choice.candidates[name])[:MOST_LABELS]
    for name in {*best, choice.chosen}:
        point = places[name]
        if point["s"] != storey:
            continue
        text = choice_label(choice, name)
        axes.annotate(
            text, (point["x"], point["y"]), (0, 6), textcoords="offset points", ha="center", va="bottom", fontsize=6.5,
            color=style.AGENT, weight="bold" if name == choice.chosen else "normal", zorder=9.5, clip_on=True,
            path_effects=outline(2.0),
        )  # fmt: skip
    spot = places[choice.chosen]
    axes.plot(spot["x"], spot["y"], "o", mfc="none", mec=style.AGENT, mew=1.6, ms=13, zorder=8.4)
    if choice.moves:
        way = route(scene, [record.walk[step], *choice.moves])
        line = np.array([(places[name]["x"], places[name]["y"]) for name in way])
        axes.plot(*line.T, color=style.AGENT, lw=1.4, ls=":", zorder=6.6)


def choice_label(choice: Choice, name: str) -> str:
    """A candidate's value as maps show it: a share in percent, a worth as a number."""
    value = choice.candidates[name]
    return f"{value:.2f}" if choice.by == "planner" else f"{100 * value:.0f} %"


def _draw_paths(axes: Any, scene: dict[str, Any], record: EpisodeRecord, step: int) -> None:
    places = places_of(scene)

    def line(names: Sequence[str]) -> np.ndarray:
        return np.array([(places[name]["x"], places[name]["y"]) for name in names]).T

    way, colour = line(route(scene, record.walk[: step + 1])), walk_colour(record)
    axes.plot(*way, color=colour, lw=3.2, zorder=6.5, path_effects=outline(4.6))
    axes.plot(*line(record.walk[:1]), "s", color=style.START, ms=6, mec="white", mew=0.8, zorder=7)
    x, y = line(record.walk[step : step + 1])[:, 0]
    ahead = direction(record.walk_heading_rad[step])[:2] * 0.8
    draw_arrow(axes, (x, y), (x + ahead[0], y + ahead[1]), colour)
    axes.plot(x, y, "o", color=colour, ms=6.5, mec="white", mew=1.0, zorder=8.5)
    if record.path:
        draw_demonstrator(axes, [places[name] for name in record.path])
    draw_guess(axes, record.frames[step].goal_xy_m)


def draw_guess(axes: Any, xy_m: tuple[float, float]) -> None:
    """The best guess of the goal, and the circle that confidence is about."""
    from matplotlib.patches import Circle

    axes.plot(*xy_m, "x", color=style.PREDICTED, ms=6, mew=1.8, zorder=9, path_effects=outline(3.2))
    around: dict[str, Any] = {"fill": False, "lw": 1.0, "path_effects": outline(2.4, "#ffffffb0")}
    axes.add_patch(Circle(xy_m, style.SURE_M, ec=style.PREDICTED, ls=(0, (4, 4)), zorder=6.4, **around))


def walk_colour(record: EpisodeRecord) -> str:
    """Blue for the model's own walk, grey for any other."""
    return style.AGENT if record.own_walk else style.GUIDED


def walk_name(record: EpisodeRecord) -> str:
    """What a legend calls the walk."""
    own, names = style.LEGEND["agent"][2], {FIXED_WALK: "fixed walk (evaluation's)", VISITOR: "walk by hand"}
    return own if record.own_walk else names.get(record.walked_by, f"walk of {record.walked_by}")


def draw_legend(axes: Any, signs: Sequence[str | tuple[str, str]]) -> None:
    """What signs mean, on axes of their own: names of `style.LEGEND`, or with other words."""
    axes.set_axis_off()
    named = [(item, style.LEGEND[item][2]) if isinstance(item, str) else item for item in signs]
    handles = [_sign(style.LEGEND[name][0], style.LEGEND[name][1], text) for name, text in named]
    axes.legend(handles=handles, loc="upper left", fontsize=8, frameon=False, labelspacing=0.8, handlelength=2.2)


def signs_of(record: EpisodeRecord, layers: MapLayers = MapLayers()) -> list[str | tuple[str, str]]:
    """What is drawn of an episode, in the order of the viewer's legend."""
    frames, shown = record.frames, ["likelihood" if layers.layer == "likelihood" else "belief", "predicted"]
    walker = "agent" if record.own_walk else "guided"
    asked = (
        ("demonstrator", bool(record.path)),
        ("next", layers.choices and any(frame.choice.moves for frame in frames)),
        ("candidate", layers.graph),
        ("heading", layers.arrows and frames[0].beliefs.shape[1] > 1),
        ("unseen", True),
    )
    goal = ["goal"] if record.path else []
    return [*shown, *goal, (walker, walk_name(record)), "start", *(name for name, there in asked if there)]


def _sign(kind: str, colour: Any, text: str) -> Any:
    """A sign for a legend of matplotlib."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if kind in ("heat", "veil"):
        return Patch(
            facecolor=colour[2] if kind == "heat" else colour, alpha=1.0 if kind == "heat" else 0.33, label=text
        )
    white = {"mec": "white", "mew": 0.8}
    looks: dict[str, dict[str, Any]] = {
        "walk": {"lw": 3.2, "marker": "o", "ms": 6.5, **white},
        "dashes": {"lw": 1.6, **dashes()},
        "square": {"marker": "s", "ms": 7, "ls": "", **white},
        "star": {"marker": "*", "ms": 13, "ls": "", **white},
        "cross": {"marker": "x", "ms": 6, "mew": 1.8, "ls": ""},
        "disc": {"marker": "o", "ms": 6, "ls": "", "mec": style.AGENT},
        "wedge": {"marker": "^", "ms": 5, "ls": ""},
        "dots": {"lw": 1.4, "ls": ":"},
        "mark": {"lw": 1.0, "marker": "s", "ms": 4},
    }
    return Line2D([0], [0], color=colour, label=text, **looks[kind])
