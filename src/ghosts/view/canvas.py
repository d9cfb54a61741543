"""The top-down map for matplotlib: one function per layer, the same layers and colours as the viewer's map."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ghosts.errors import MissingExtraError
from ghosts.geometry import direction
from ghosts.types import Grid
from ghosts.view import style
from ghosts.view.paint import Painting
from ghosts.view.question import FIXED_WALK, VISITOR
from ghosts.view.record import Choice, EpisodeRecord, Frame, corner_m, extent_m
from ghosts.view.scene import places_of, route

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
    choices: bool = False
    """Whether the agent's next choice and its other candidates are drawn."""
    box: Box | None = None
    """What part; `view_box` by default."""


def new_figure(width_in: float, height_in: float, what: str) -> Figure:
    """A matplotlib figure that belongs to no window.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "viz", what) from None
    return Figure(figsize=(width_in, height_in), dpi=120, facecolor="white")


def heat_of(frame: Frame, layer: str, t: int) -> np.ndarray:
    """Heading bins × rows × columns of a layer at filter step t; step 0 has only a belief."""
    if layer == "prediction" and t > 0 and len(frame.predictions):
        return frame.predictions[t - 1]
    if layer == "likelihood" and t > 0 and len(frame.likelihoods):
        return frame.likelihoods[t - 1]
    return (frame.smoothed if layer == "smoothed" else frame.beliefs)[t]


def view_box(record: EpisodeRecord, scene: dict[str, Any]) -> Box:
    """What a figure of this episode should show."""
    places = places_of(scene)
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
    draw_heat(axes, heat_of(frame, layers.layer, t), record.grid, record.origin_xy_m, likely=likely)
    if layers.graph:
        draw_graph(axes, scene, storey, frame.choice.candidates)
    _draw_paths(axes, scene, record, step)
    if layers.choices:
        _draw_choice(axes, scene, record, step, storey)
    draw_scale(axes, left, right, bottom, top)


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
    outline, taken = _outline(2.0), list[tuple[float, float, float]]()
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
            path_effects=outline,
        )  # fmt: skip


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
            path_effects=_outline(2.0),
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
    axes.plot(*way, color=colour, lw=3.2, zorder=6.5, path_effects=_outline(4.6))
    axes.plot(*line(record.walk[:1]), "s", color=style.START, ms=6, mec="white", mew=0.8, zorder=7)
    x, y = line(record.walk[step : step + 1])[:, 0]
    ahead = direction(record.walk_heading_rad[step])[:2] * 0.8
    draw_arrow(axes, (x, y), (x + ahead[0], y + ahead[1]), colour)
    axes.plot(x, y, "o", color=colour, ms=6.5, mec="white", mew=1.0, zorder=8.5)
    if record.path:
        draw_demonstrator(axes, [places[name] for name in record.path])
    axes.plot(
        *record.frames[step].goal_xy_m, "x", color=style.PREDICTED, ms=6, mew=1.8, zorder=9, path_effects=_outline(3.2)
    )


def walk_colour(record: EpisodeRecord) -> str:
    """Blue for the model's own walk, grey for any other."""
    return style.AGENT if record.own_walk else style.GUIDED


def walk_name(record: EpisodeRecord) -> str:
    """What a legend calls the walk."""
    names = {record.model: "agent and its path", FIXED_WALK: "fixed walk (evaluation's)", VISITOR: "a visitor's walk"}
    return names.get(record.walked_by, f"walk of {record.walked_by}")


def draw_demonstrator(axes: Any, points: Sequence[dict[str, Any]], *, goal: bool = True) -> None:
    """The demonstrator's path over viewpoints of a scene, and a star where it ends."""
    x, y = [point["x"] for point in points], [point["y"] for point in points]
    axes.plot(x, y, color=style.DEMONSTRATOR, lw=1.6, zorder=6.8, **_dashes())
    if goal:
        axes.plot(x[-1], y[-1], "*", color=style.GOAL, ms=13, mec="white", mew=0.8, zorder=8.8)


def _dashes() -> dict[str, Any]:
    """The demonstrator's line."""
    return {"ls": (0, (3, 2)), "path_effects": _outline(2.6, "#3a2800")}


def _outline(width: float, colour: str = "white") -> list[Any]:
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
    outline = _outline(2.0)
    axes.text(x, y + 1.6 * high, f"{length} m", fontsize=6.5, color=style.INK, zorder=10.2, path_effects=outline)
    north = x + length + 0.05 * wide
    draw_arrow(axes, (north, y), (north, y + 0.07 * wide), style.INK, 1.0, 10.0)
    axes.text(north + 0.012 * wide, y, "N", fontsize=6.5, color=style.INK, zorder=10.2, path_effects=outline)


def draw_arrow(
    axes: Any,
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    width: float = 1.4,
    order: float = 8.0,
) -> None:
    """An arrow from one place to another."""
    arrow = {"arrowstyle": "-|>", "color": colour, "lw": width, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", xy=end, xytext=start, arrowprops=arrow, zorder=order)


def draw_legend(axes: Any, record: EpisodeRecord) -> None:
    """What the signs of an episode's map mean, on axes of their own."""
    axes.set_axis_off()
    signs = _signs(record)
    axes.legend(handles=signs, loc="center left", fontsize=8, frameon=False, labelspacing=0.9, handlelength=2.2)


def draw_signs(figure: Any, record: EpisodeRecord, bottom: float) -> None:
    """The same in one line of a figure, the most important ones."""
    place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, bottom), "borderaxespad": 0.0}
    how: dict[str, Any] = {"fontsize": 7, "frameon": False, "columnspacing": 1.2, "handletextpad": 0.4}
    figure.legend(handles=_signs(record)[:5], ncol=5, handlelength=1.8, **place, **how)


def _signs(record: EpisodeRecord) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    pale, dark = style.BELIEF[1], style.BELIEF[3]
    line, sign = ([0], [0]), dict[str, Any](ls="", mec="white", mew=0.8)
    return [
        Line2D(*line, color=walk_colour(record), lw=3.2, marker="o", ms=6.5, mec="white", label=walk_name(record)),
        Line2D(*line, color=style.DEMONSTRATOR, lw=1.6, label="demonstrator's path", **_dashes()),
        Line2D(*line, color=style.START, marker="s", ms=7, label="start", **sign),
        Line2D(*line, color=style.GOAL, marker="*", ms=13, label="true goal", **sign),
        Line2D(*line, color=style.PREDICTED, marker="x", ms=6, mew=1.8, ls="", label="predicted goal"),
        Line2D(*line, color=style.CANDIDATE, marker="o", ms=6, ls="", mec=style.AGENT, label="known viewpoint"),
        Line2D(*line, color=style.INK, marker="^", ms=5, ls="", label="heading (longer: more of the cell)"),
        Patch(facecolor=pale, label="belief: little"),
        Patch(facecolor=dark, label="belief: much (square-root scale)"),
        Patch(facecolor=style.UNSEEN, alpha=0.33, label="not yet observed"),
    ]
