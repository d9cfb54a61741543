"""Figures for papers and pages: a belief sequence, attention, the inside of the filter (PNG, PDF, SVG)."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from ghosts.view.canvas import MapLayers, draw_heat, draw_legend, draw_map, signs_of, view_box
from ghosts.view.paint import Painting
from ghosts.view.record import EpisodeRecord, corner_m
from ghosts_houses.draw import style
from ghosts_houses.draw.canvas import new_figure
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANEL_IN, _GAP_IN = 2.85, 0.14


def belief_sequence(
    record: EpisodeRecord, scene: dict[str, Any], step: int = -1, *, painting: Painting | None = None
) -> Figure:
    """The belief at the start and after each filter step, on the map of one agent step (by default the last)."""
    step = step % len(record.frames)
    count = record.filter_steps + 1
    columns = min(4, count)
    rows = -(-count // columns)
    box = view_box(record, scene)
    wide, tall = _PANEL_IN, _PANEL_IN * (box[3] - box[2]) / (box[1] - box[0])
    lines = textwrap.wrap(record.text, 38 * columns)
    head, each = 0.2 + 0.2 * len(lines), tall + 0.42
    width, height = (wide + _GAP_IN) * columns + _GAP_IN, each * rows + head
    figure = new_figure(width, height, "drawing a belief")
    figure.text(0.5, 1 - 0.1 / height, "\n".join(lines), ha="center", va="top", fontsize=10, style="italic")
    for t in range(rows * columns):
        row, col = divmod(t, columns)
        left, bottom = _GAP_IN + col * (wide + _GAP_IN), height - head - row * each - tall
        axes = figure.add_axes((left / width, bottom / height, wide / width, tall / height))
        if t < count:
            layers = MapLayers(painting=painting, names=t == 0, graph=t == 0, box=box)
            draw_map(axes, scene, record, step, t, layers)
            axes.set_xlabel(_step_words(record, t), fontsize=8, labelpad=3)
        elif t == count:
            draw_legend(axes, signs_of(record, MapLayers(graph=False)))
        else:
            axes.set_axis_off()
    return figure


def _step_words(record: EpisodeRecord, t: int) -> str:
    """What a filter step attends to most, for a caption."""
    if t == 0:
        return "t = 0: the known start"
    best = []
    for attention in (record.action_attention, record.observation_attention):
        order = np.argsort(-attention[t - 1], kind="stable").tolist()
        top = [k for k in order if record.words[k].isalnum()][:2]  # a full stop says nothing in a caption
        best.append(" ".join(record.words[k] for k in sorted(top)))
    return f"t = {t}: do “{best[0]}”, see “{best[1]}”"


def attention_figure(record: EpisodeRecord) -> Figure:
    """Words × filter steps, for observations and for motion.

    Raises:
        ConfigError: the model has no attention over steps.
    """
    if not record.filter_steps:
        raise ConfigError(f"model {record.model} has no attention over filter steps; name a run of a filter")
    words = len(record.words)
    figure = new_figure(max(5.0, 1.2 + 0.24 * words), 0.9 + 0.44 * record.filter_steps + 1.1, "drawing attention")
    panels = (
        ("what should be seen", record.observation_attention, style.LIKELIHOOD),
        ("what should be done", record.action_attention, style.BELIEF),
    )
    for number, (title, attention, stops) in enumerate(panels):
        axes = figure.add_subplot(2, 1, number + 1)
        axes.imshow(style.heat_rgba(attention, 1.0, stops)[..., :3], aspect="auto", interpolation="nearest")
        axes.set_yticks(range(len(attention)), [f"t = {t + 1}" for t in range(len(attention))], fontsize=7)
        axes.set_ylabel(title, fontsize=8)
        axes.set_xticks(range(words), record.words if number else [""] * words, rotation=90, fontsize=8)
        axes.tick_params(length=0, which="both")
        axes.set_xticks(np.arange(words + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(len(attention) + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", lw=0.8)
        for side in axes.spines.values():
            side.set_visible(False)
    figure.tight_layout(h_pad=0.4)
    return figure


def inside_figure(record: EpisodeRecord, scene: dict[str, Any], step: int, t: int) -> Figure:
    """Belief before, motion kernel at its most likely cell, prediction, likelihood and posterior, side by side.

    Raises:
        ConfigError: the filter step `t` does not lie in 1 to T.
    """
    if not 1 <= t <= record.filter_steps:
        raise ConfigError(f"filter step must lie in 1..{record.filter_steps}, got {t}")
    frame = record.frames[step]
    box = view_box(record, scene)
    wide, tall = _PANEL_IN, _PANEL_IN * max(1.0, (box[3] - box[2]) / (box[1] - box[0]))
    width, height = 5 * (wide + _GAP_IN) + _GAP_IN, tall + 0.75
    figure = new_figure(width, height, "drawing the inside of the filter")
    kernel = frame.kernels[t - 1]
    row, col = frame.kernel_cells[t - 1].tolist()
    weights = frame.beliefs[t - 1][:, row, col]
    mixed = np.einsum("c,cyx->yx", weights / weights.sum() if weights.sum() > 0 else weights + 1 / len(weights), kernel)
    panels = (
        (f"belief, t = {t - 1}", "belief", t - 1),
        ("motion kernel", "", t),
        ("prediction", "prediction", t),
        ("likelihood", "likelihood", t),
        (f"belief, t = {t}", "belief", t),
    )
    for number, (title, layer, at) in enumerate(panels):
        left = _GAP_IN + number * (wide + _GAP_IN)
        axes = figure.add_axes((left / width, 0.4 / height, wide / width, tall / height), anchor="N")
        axes.set_title(title, fontsize=10)
        if not layer:
            _draw_kernel(axes, mixed, record.grid.cell_m)
            continue
        draw_map(axes, scene, record, step, at, MapLayers(layer, names=False, graph=False, box=box))
        corners = np.array([(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]) + np.array([col, row])
        outline = corners * record.grid.cell_m + np.array(corner_m(record.grid, record.origin_xy_m))
        axes.plot(*outline.T, color=style.INK, lw=1.1, zorder=12)
    return figure


def _draw_kernel(axes: Any, kernel: Float[np.ndarray, "k k"], cell_m: float) -> None:
    size = len(kernel)
    draw_heat(axes, kernel[None], Grid(size, size, cell_m), (0.0, 0.0))
    half = size * cell_m / 2
    axes.set(xlim=(-half, half), ylim=(-half, half), aspect="equal", xlabel="metres from the cell")
    axes.set_yticks([])
    axes.xaxis.label.set_size(8)
    axes.tick_params(labelsize=7)
    axes.plot(0, 0, "s", mfc="none", mec=style.INK, ms=9, zorder=5)


def episode_figures(
    record: EpisodeRecord, scene: dict[str, Any], step: int = -1, painting: Painting | None = None
) -> dict[str, Figure]:
    """All figures of an episode by name: belief, attention, inside."""
    step = step % len(record.frames)
    figures = {"belief": belief_sequence(record, scene, step)}
    if painting is not None:
        figures["belief-photo"] = belief_sequence(record, scene, step, painting=painting)
    if record.filter_steps:
        figures["attention"] = attention_figure(record)
        figures["inside"] = inside_figure(record, scene, step, max(1, record.filter_steps // 2))
    return figures
