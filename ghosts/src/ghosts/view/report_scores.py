"""The part of a report that is about a whole evaluation: outcome, list of instructions, tables, calibration, errors."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from ghosts.evaluate.bootstrap import confidence_bin
from ghosts.evaluate.goal import CALIBRATION_BINS, GoalScores
from ghosts_houses.draw.style import model_colour
from ghosts_sim.types import SUCCESS_M

_FAR_M = 20
_PERCENT = (0, 25, 50, 75, 100)


@dataclass(frozen=True)
class Listed:
    """An instruction in a report's list."""

    name: str
    scan: str
    text: str
    left_m: float | None = None
    """How far from the goal the first model stopped; None where it did not walk by itself."""
    error_m: float | None = None
    """How far its prediction was off, on average over the time steps."""


def choose_episodes(names: Sequence[str], errors: Sequence[np.ndarray], count: int) -> list[tuple[str, str]]:
    """Instructions worth looking at, with the reason; errors are each model's, in metres.

    A third are the first model's best, a third its worst; the others are its middling ones, or where models are
    compared those on which the first and the last of them differ most.
    """
    error = errors[0]
    order = np.argsort(error, kind="stable").tolist()
    count = min(count, len(order))
    best, worst = order[: -(-count // 3)], order[::-1][: count // 3]
    left = [row for row in order if row not in {*best, *worst}]
    wanted = count - len(best) - len(worst)
    notes = [
        (row, f"{note}, {error[row]:.1f} m off") for rows, note in ((best, "best"), (worst, "worst")) for row in rows
    ]
    if len(errors) > 1:
        gap = errors[-1] - error
        left.sort(key=lambda row: -abs(gap[row]))
        notes += [(row, f"differ by {abs(gap[row]):.1f} m") for row in left[:wanted]]
    else:
        middle = left[:: max(1, len(left) // max(1, wanted))][:wanted]
        notes += [(row, f"middling, {error[row]:.1f} m off") for row in middle]
    return [(names[row], note) for row, note in notes]


def headline_html(arrived: Mapping[str, tuple[int, int]], scores: Mapping[str, GoalScores]) -> str:
    """The outcome in large letters, and what its words mean.

    Args:
        arrived: of each model that walked by itself, how many of its walks arrived, and how many there were.
        scores: of goal prediction, for models that did not walk.
    """
    lines = [
        f"<p class='big'><b>{count} of {total} arrived</b> <span>{html.escape(name)}, walking by itself</span></p>"
        for name, (count, total) in arrived.items()
    ]
    lines += [
        f"<p class='big'><b>{100 * item.success.mean():.0f} % predicted right</b> <span>{html.escape(name)}, led along "
        f"the fixed walks of {len(item.instr_ids)} instructions</span></p>"
        for name, item in scores.items()
        if name not in arrived
    ]
    words = (
        "<b>Arrived</b>: the agent stops less than 3 m, by the shortest walk, from where the words lead. ✕ is its best "
        "guess of that place; <b>sure</b> is how much of the orange lies within 3 m of it."
    )
    return f"<section class='headline'>{''.join(lines)}<p>{words}</p></section>"


def evaluation_html(scores: Mapping[str, GoalScores]) -> str:
    """Goal prediction on the fixed walks: tables by model and by time step, calibration and error plots."""
    count = len(next(iter(scores.values())).instr_ids)
    steps = "".join(
        f"<details{' open' if len(scores) == 1 else ''}><summary>{html.escape(name)} by time step</summary>"
        f"<div class='scroll' tabindex='0'>{_step_table(item)}</div></details>"
        for name, item in scores.items()
    )
    return (
        f"<h2>Goal prediction on the fixed walks of {count} instructions</h2>"
        f"<div class='scroll' tabindex='0'>{_model_table(scores)}</div>{steps}"
        f"<div class='plots'>{_calibration_svg(scores)}{_error_svg(scores)}</div>"
    )


def _model_table(scores: Mapping[str, GoalScores]) -> str:
    titles = ("error (m)", "success (%)", "NLL (nats)", "own estimate (%)", "calibration error (%)")
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(
        f"<tr><td><i class='swatch' style='background:{model_colour(number)}'></i>{html.escape(name)}</td>"
        f"<td>{item.error_m.mean():.2f}</td><td>{100 * item.success.mean():.1f}</td><td>{item.nll.mean():.2f}</td>"
        f"<td>{100 * item.confidence.mean():.1f}</td><td>{100 * item.calibration_error():.1f}</td></tr>"
        for number, (name, item) in enumerate(scores.items())
    )
    return f"<table class='sheet'><tr><th>Mean over time steps</th>{head}</tr>{body}</table>"


def _step_table(scores: GoalScores) -> str:
    rows = (
        ("Map seen (m²)", scores.seen_m2, 1.0, 1),
        ("Goal seen (%)", scores.goal_seen, 100.0, 1),
        ("Prediction error (m)", scores.error_m, 1.0, 2),
        ("Success, below 3 m (%)", scores.success, 100.0, 1),
        ("Negative log-likelihood (nats)", scores.nll, 1.0, 2),
        ("Own estimate of success (%)", scores.confidence, 100.0, 1),
    )
    head = "".join(f"<th>{step}</th>" for step in range(scores.error_m.shape[1]))
    body = "".join(
        f"<tr><td>{name}</td>"
        + "".join(f"<td>{scale * value:.{digits}f}</td>" for value in values.mean(0))
        + f"<td><b>{scale * values.mean():.{digits}f}</b></td></tr>"
        for name, values, scale, digits in rows
    )
    return f"<table class='sheet'><tr><th>Time step</th>{head}<th>mean</th></tr>{body}</table>"


def calibration_points(confidence: Float[np.ndarray, " n"], success: Bool[np.ndarray, " n"]) -> list[dict[str, float]]:
    """Mean confidence and success of each bin that holds anything, and its share of all predictions."""
    which = confidence_bin(confidence, CALIBRATION_BINS)
    return [
        {
            "confidence": float(confidence[which == number].mean()),
            "success": float(success[which == number].mean()),
            "share": float((which == number).mean()),
        }
        for number in range(CALIBRATION_BINS)
        if (which == number).any()
    ]


def _calibration_svg(scores: Mapping[str, GoalScores]) -> str:
    drawn = ["<path d='M44 284 L304 24' stroke='#999' stroke-dasharray='4 4'/>"]
    for number, item in enumerate(scores.values()):
        points = calibration_points(item.confidence.ravel().astype(float), item.success.ravel())
        spots = [(44 + 260 * p["confidence"], 284 - 260 * p["success"], 3 + 12 * p["share"] ** 0.5) for p in points]
        colour = model_colour(number)
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in spots)
        drawn.append(f"<polyline points='{line}' fill='none' stroke='{colour}' stroke-width='1.6'/>")
        drawn += [
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{r:.1f}' fill='{colour}' fill-opacity='.75'/>" for x, y, r in spots
        ]
    across = {percent: percent / 100 for percent in _PERCENT}
    return _plot_svg(
        "calibration", "Calibration", across, "model's own estimate of success (%)", "came true (%)", drawn
    )


def _error_svg(scores: Mapping[str, GoalScores]) -> str:
    """Share of instructions whose error is below a distance, at the last time step."""
    success = 260 * SUCCESS_M / _FAR_M
    drawn = [f"<rect x='44' y='24' width='{success:.1f}' height='260' fill='#009E73' fill-opacity='.12'/>"]
    for number, item in enumerate(scores.values()):
        last = np.sort(item.error_m[:, -1])
        at = np.linspace(0.0, _FAR_M, 101)
        share = np.searchsorted(last, at, side="right") / len(last)
        line = " ".join(f"{44 + 260 * x / _FAR_M:.1f},{284 - 260 * y:.1f}" for x, y in zip(at, share))
        drawn.append(f"<polyline points='{line}' fill='none' stroke='{model_colour(number)}' stroke-width='2'/>")
    across = {metres: metres / _FAR_M for metres in (0, 3, 5, 10, 15, 20)}
    titles = "Errors at the last time step", across, "metres to the goal (green: success)", "instructions below (%)"
    return _plot_svg("errors", *titles, drawn)


def _plot_svg(
    label: str, title: str, across: Mapping[int, float], x_title: str, y_title: str, drawn: Sequence[str]
) -> str:
    """A square plot of percentages; `across` says at which share of its width a number of the x axis stands."""
    ticks = [f"<text x='{44 + 260 * at:.0f}' y='299' text-anchor='middle'>{text}</text>" for text, at in across.items()]
    ticks += [f"<text x='38' y='{288 - 2.6 * value:.0f}' text-anchor='end'>{value}</text>" for value in _PERCENT]
    return (
        f"<svg viewBox='0 0 324 326' width='324' height='326' font-size='11' role='img' aria-label='{label}'>"
        "<rect x='44' y='24' width='260' height='260' fill='none' stroke='#ccc'/>"
        f"{''.join(ticks)}{''.join(drawn)}"
        f"<text x='174' y='15' text-anchor='middle' font-weight='600'>{title}</text>"
        f"<text x='174' y='318' text-anchor='middle'>{x_title}</text>"
        f"<text x='12' y='154' text-anchor='middle' transform='rotate(-90 12 154)'>{y_title}</text></svg>"
    )
