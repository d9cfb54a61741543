"""The cost of training as a picture: one panel per axis, with what perfect growth would be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ghosts_benchmarks.growth import AXES, Point
from ghosts_houses.draw.canvas import new_figure, save_figure

# Okabe and Ito's palette, told apart by people with any colour vision.
_LINE, _BASE, _PROBLEM, _INK = "#0072B2", "#E69F00", "#D55E00", "#444444"
_SMALL: dict[str, Any] = {"fontsize": 7.5, "ha": "center", "color": _INK}
_PAPER: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8}
"""Behind a label, so that lines do not cross it."""
_TITLES = {
    "batch": "episodes per iteration",
    "map": "cells per side of the map",
    "headings": "heading bins",
    "houses": "training buildings",
}
_IDEALS = {
    "batch": (1.0, "iterations that cost the same"),
    "map": (-2.0, "as the number of cells"),
    "headings": (-1.0, "as the number of bins"),
    "houses": (0.0, "no dependence"),
}
"""Power of the value that episodes per second follow in theory, and what that means."""


def draw_growth(points: Sequence[Point], title: str, path: Path) -> None:
    """Draw the points of `measure_growth`, whole or not at all.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    figure = new_figure(10.0, 6.6, "the picture of ghosts bench growth")
    for axes, axis in zip(figure.subplots(2, 2).flat, AXES):
        _draw_panel(axes, axis, [point for point in points if point.axis == axis])
    figure.suptitle(title, fontsize=12, color=_INK)
    figure.tight_layout()
    save_figure(figure, path)


def _draw_panel(axes: Any, axis: str, points: Sequence[Point]) -> None:
    from matplotlib.ticker import LogLocator

    axes.set(xscale="log", yscale="log", xlabel=_TITLES[axis], ylabel="episodes per second")
    axes.set_xticks([point.value for point in points], [str(point.value) for point in points])
    axes.minorticks_off()
    axes.margins(x=0.08)
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(color="#dddddd", linewidth=0.6)
    done = [(point.value, point.episodes_per_s, point) for point in points if point.episodes_per_s is not None]
    for point in points:
        if point.problem is not None:
            axes.axvline(point.value, color=_PROBLEM, linestyle="--", label=f"{point.value}: {point.problem}")
    if done:
        values, rates = [value for value, _, _ in done], [rate for _, rate, _ in done]
        power, meaning = _IDEALS[axis]
        own = next(((value, rate) for value, rate, point in done if point.base), None)
        # What a batch saves shows against the smallest one, growth of everything else around the preset.
        anchor, height = own if own is not None and axis != "batch" else (values[0], rates[0])
        ideal = [height * (value / anchor) ** power for value in values]
        axes.plot(values, ideal, ":", color=_INK, label=meaning)
        axes.plot(values, rates, "o-", color=_LINE, label="measured")
        if own is not None:
            axes.plot(*([number] for number in own), "o", color=_BASE, markersize=9, label="the preset")
        for value, rate, point in done:
            axes.annotate(_caption(point), (value, rate), (0, 8), textcoords="offset points", bbox=_PAPER, **_SMALL)
        low, high = min(*rates, *ideal), max(*rates, *ideal)
        # A flat line fills no panel by itself, and noise should not.
        axes.set_ylim(min(low / 1.4, height / 4.0), max(high * 1.6, height * 4.0))
    if points:
        axes.legend(fontsize=8, frameon=False)


def _caption(point: Point) -> str:
    waits = f"\nwaits {point.waiting:.0%}" if point.waiting is not None and point.waiting >= 0.01 else ""
    return f"{point.iteration_ms:.3g} ms{waits}"
