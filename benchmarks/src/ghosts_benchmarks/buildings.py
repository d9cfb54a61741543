"""Success against the number of training buildings, from the table of an evaluation, as figures and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghosts_houses.draw.canvas import new_figure, save_figure
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.files import is_finite, read_object

_LINE, _INK = "#0072B2", "#444444"


@dataclass(frozen=True)
class BuildingPoint:
    """A model of the table."""

    model: str
    buildings: int
    """That it was trained in."""
    seeds: int
    success: float
    """Of goals within 3 m, averaged over time steps and seeds."""
    low: float
    high: float
    """95 % interval over paths."""


def read_points(path: Path, split: str) -> list[BuildingPoint]:
    """The models of a table of `ghosts eval goal`, by the number of their training buildings.

    Raises:
        DataError: the file is no such table, or a model was trained in all buildings, whose number nobody knows.
        UnknownNameError: no such split in it.
    """
    table = read_object(path, hint="write it with: ghosts eval goal --run RUN --data ROOT --out FOLDER")
    try:
        experiments, splits = table["experiments"], table["splits"]
        if split not in splits:
            raise UnknownNameError("split", split, splits, str(path))
        points = [_point(name, scores, experiments[name], path) for name, scores in splits[split]["models"].items()]
    except (KeyError, TypeError, AttributeError):
        raise DataError("not a table of ghosts eval goal", file=path, hint="name its goal.json") from None
    return sorted(points, key=lambda point: point.buildings)


def _point(name: str, scores: dict[str, Any], experiment: dict[str, Any], path: Path) -> BuildingPoint:
    buildings, success = experiment["train"]["buildings"], scores["success"]
    if not isinstance(buildings, int) or buildings < 1:
        hint = "train it with --train.buildings N"
        raise DataError("trained in all buildings of its data root", file=path, record=name, hint=hint)
    values = (success["average"], *success["interval"])
    if not all(is_finite(value) for value in values):
        raise DataError("expected finite numbers", file=path, record=name, field="success", value=values)
    return BuildingPoint(name, buildings, len(scores["runs"]), *map(float, values))


def draw_points(points: Sequence[BuildingPoint], title: str, path: Path) -> None:
    """Draw success against the number of training buildings, whole or not at all.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = new_figure(6.4, 4.2, "the picture of ghosts bench buildings")
    axes = figure.subplots()
    count, success = [point.buildings for point in points], [100.0 * point.success for point in points]
    spread = [[100.0 * (p.success - p.low) for p in points], [100.0 * (p.high - p.success) for p in points]]
    axes.errorbar(count, success, yerr=spread, fmt="o-", color=_LINE, capsize=3)
    for point in points:
        place = point.buildings, 100.0 * point.success
        axes.annotate(f"{place[1]:.1f}", place, (6, 6), textcoords="offset points", fontsize=9, color=_INK)
    axes.set(xscale="log", xlabel="training buildings", ylabel="goals within 3 m (%)", title=title)
    axes.set_xticks(count, [str(value) for value in count])
    axes.minorticks_off()
    axes.margins(x=0.1, y=0.2)
    axes.grid(color="#dddddd", linewidth=0.6)
    figure.tight_layout()
    save_figure(figure, path)
