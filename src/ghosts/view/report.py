"""`ghosts report`: one HTML file with everything in it, of an episode or a whole evaluation. No server, no network."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import cv2
import numpy as np

from ghosts.errors import ConfigError, GhostsError
from ghosts.evaluate.goal import GoalScores
from ghosts.view.figures import calibration_points
from ghosts.view.library import Library
from ghosts.view.paint import Painting
from ghosts.view.panorama import equirect, jpeg
from ghosts.view.record import EpisodeRecord, crop, to_json

SCRIPTS = ("core", "heat", "layers", "map", "pano", "words", "inside", "player", "report")
_PANORAMA_PX = 896


@dataclass(frozen=True)
class Shown:
    """An episode of a report."""

    name: str
    """Unique in the report; part of its link."""
    note: str
    """Why it is shown: "best", "worst", …"""
    record: EpisodeRecord


@dataclass(frozen=True)
class Assets:
    """What episodes are drawn on, by building."""

    scenes: Mapping[str, dict[str, Any]]
    panoramas: Mapping[str, str] = field(default_factory=dict)
    """`scan/viewpoint` to a picture in a data address."""
    paintings: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """`scan/storey` to extent and picture."""


def choose_episodes(scores: GoalScores, count: int) -> list[tuple[str, str]]:
    """Instructions worth looking at: best, worst and middling ones by their mean error, with the reason."""
    error = scores.error_m.mean(1)
    order = np.argsort(error, kind="stable").tolist()
    count = min(count, len(order))
    best, worst = order[: -(-count // 3)], order[::-1][: count // 3]
    left = [row for row in order if row not in {*best, *worst}]
    middle = left[:: max(1, len(left) // max(1, count - len(best) - len(worst)))][: count - len(best) - len(worst)]
    notes = [(best, "best"), (worst, "worst"), (middle, "middling")]
    return [(scores.instr_ids[row], f"{note}, {error[row]:.1f} m off") for rows, note in notes for row in rows]


def gather_assets(library: Library, world: str, records: Sequence[EpisodeRecord], *, pictures: bool = True) -> Assets:
    """Plans, panoramas and paintings of the buildings of some episodes.

    Args:
        library: where they are.
        world: data root's name.
        records: episodes.
        pictures: whether to put panoramas and paintings in; they make most of a report's size.
    """
    scenes = {record.scan: library.scene(world, record.scan) for record in records}
    if not pictures or not library.root(world).has_images:
        return Assets({scan: {**scene, "images": False} for scan, scene in scenes.items()})
    store = library.root(world).panoramas()
    panoramas, paintings = {}, {}
    for record in records:
        graph = library.root(world).graph(record.scan)
        for name in record.walk:
            if f"{record.scan}/{name}" not in panoramas:
                picture = equirect(store.load(record.scan, name), graph.rotation[graph.index(name)], _PANORAMA_PX)
                panoramas[f"{record.scan}/{name}"] = _address("image/jpeg", jpeg(picture, 72))
        for storey in range(len(scenes[record.scan]["storeys"])):
            key = f"{record.scan}/{storey}"
            if key not in paintings:
                try:
                    painting = library.painting(world, record.scan, storey)
                except GhostsError:
                    continue  # a storey without depth is drawn from its plan
                paintings[key] = {"extent_m": painting.extent_m, "image": _webp(painting)}
    return Assets(scenes, panoramas, paintings)


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _webp(painting: Painting) -> str:
    done, data = cv2.imencode(".webp", painting.rgba[..., [2, 1, 0, 3]], [cv2.IMWRITE_WEBP_QUALITY, 82])
    if not done:
        raise GhostsError("the painted map could not be encoded")
    return _address("image/webp", data.tobytes())


def build_report(
    title: str, about: str, episodes: Sequence[Shown], assets: Assets, scores: GoalScores | None = None
) -> str:
    """The whole page.

    Args:
        title: of the page.
        about: a sentence under it: model, world, command.
        episodes: to look into; the first is open at the start.
        assets: what they are drawn on.
        scores: of the whole evaluation, for the table, the calibration plot and the list.

    Raises:
        ConfigError: there is no episode, or two have the same name.
    """
    if not episodes:
        raise ConfigError("a report needs at least one episode")
    names = [item.name for item in episodes]
    if len(set(names)) != len(names):
        raise ConfigError(f"two episodes of the report have the same name, got {names}")
    data = {
        "episodes": [{**to_json(crop(item.record)), "name": item.name, "note": item.note} for item in episodes],
        "scenes": dict(assets.scenes),
        "panoramas": dict(assets.panoramas),
        "paintings": dict(assets.paintings),
    }
    # "</" would end the script element, whatever instruction it stands in.
    payload = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    scripts = "\n".join(_static(f"{name}.js") for name in SCRIPTS)
    evaluation = _evaluation(scores, set(names)) if scores is not None else ""
    return _PAGE.format(
        title=html.escape(title),
        about=html.escape(about),
        style=_static("style.css"),
        evaluation=evaluation,
        data=payload,
        scripts=scripts,
    )


def _static(name: str) -> str:
    return (resources.files("ghosts.view") / "static" / name).read_text(encoding="utf-8")


def _evaluation(scores: GoalScores, shown: set[str]) -> str:
    """Table by time step, calibration plot, and every instruction with its error."""
    rows = (
        ("Map seen (m²)", scores.seen_m2, 1.0, 1),
        ("Goal seen (%)", scores.goal_seen, 100.0, 1),
        ("Prediction error (m)", scores.error_m, 1.0, 2),
        ("Success, below 3 m (%)", scores.success, 100.0, 1),
        ("Negative log-likelihood (nats)", scores.nll, 1.0, 2),
        ("Own estimate of success (%)", scores.confidence, 100.0, 1),
    )
    steps = scores.error_m.shape[1]
    head = "".join(f"<th>{step}</th>" for step in range(steps))
    body = "".join(
        f"<tr><td>{name}</td>"
        + "".join(f"<td>{scale * value:.{digits}f}</td>" for value in values.mean(0))
        + f"<td><b>{scale * values.mean():.{digits}f}</b></td></tr>"
        for name, values, scale, digits in rows
    )
    table = f"<table class='sheet'><tr><th>Time step</th>{head}<th>mean</th></tr>{body}</table>"
    plots = _calibration_svg(scores) + _error_svg(scores)
    return (
        f"<h2>All {len(scores.instr_ids)} instructions</h2><div class='scroll'>{table}</div>"
        f"<div class='plots'>{plots}</div><details><summary>Every instruction</summary>"
        f"<div class='scroll'>{_list(scores, shown)}</div></details>"
    )


def _list(scores: GoalScores, shown: set[str]) -> str:
    error, success = scores.error_m.mean(1), scores.success.mean(1)
    rows = []
    for row in np.argsort(error, kind="stable").tolist():
        name = html.escape(scores.instr_ids[row])
        link = f"<a href='#e={name}' data-go='{name}'>{name}</a>" if scores.instr_ids[row] in shown else name
        rows.append(f"<tr><td>{link}</td><td>{error[row]:.2f}</td><td>{100 * success[row]:.0f}</td></tr>")
    head = "<tr><th>Instruction</th><th>error (m)</th><th>success (%)</th></tr>"
    return f"<table class='sheet'>{head}{''.join(rows)}</table>"


def _calibration_svg(scores: GoalScores) -> str:
    points = calibration_points(scores.confidence.ravel().astype(float), scores.success.ravel())
    spots = [(40 + 260 * p["confidence"], 280 - 260 * p["success"], 3 + 14 * p["share"] ** 0.5) for p in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in spots)
    circles = "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{r:.1f}' fill='#0072B2cc'/>" for x, y, r in spots)
    ticks = "".join(
        f"<text x='{40 + 260 * v:.0f}' y='296' text-anchor='middle'>{100 * v:.0f}</text>"
        f"<text x='34' y='{284 - 260 * v:.0f}' text-anchor='end'>{100 * v:.0f}</text>"
        for v in (0.0, 0.5, 1.0)
    )
    return (
        "<svg viewBox='0 0 320 322' width='320' height='322' font-size='11' role='img' aria-label='calibration'>"
        "<rect x='40' y='20' width='260' height='260' fill='none' stroke='#ccc'/>"
        f"<path d='M40 280 L300 20' stroke='#999' stroke-dasharray='4 4'/>{ticks}"
        f"<polyline points='{line}' fill='none' stroke='#0072B2' stroke-width='1.5'/>{circles}"
        f"<text x='170' y='13' text-anchor='middle'>Calibration: error {100 * scores.calibration_error():.1f} %</text>"
        "<text x='170' y='314' text-anchor='middle'>own estimate (%); up: came true (%)</text></svg>"
    )


def _error_svg(scores: GoalScores) -> str:
    """How errors are spread, in classes of a metre, at the last time step."""
    counts = np.bincount(np.clip(scores.error_m[:, -1].astype(int), 0, 19), minlength=20)
    top = max(1, int(counts.max()))
    bars = "".join(
        f"<rect x='{30 + 14 * k}' y='{280 - 240 * count / top:.1f}' width='12' height='{240 * count / top:.1f}' "
        f"fill='{'#009E73' if k < 3 else '#9aa7b0'}'/>"
        for k, count in enumerate(counts.tolist())
    )
    ticks = "".join(f"<text x='{30 + 14 * k}' y='296' text-anchor='middle'>{k}</text>" for k in (0, 3, 5, 10, 15, 20))
    return (
        "<svg viewBox='0 0 330 322' width='330' height='322' font-size='11' role='img' aria-label='errors'>"
        f"{bars}{ticks}<text x='165' y='13' text-anchor='middle'>Errors at the last time step</text>"
        "<text x='165' y='314' text-anchor='middle'>metres (green: success; last bar: more)</text></svg>"
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data: blob:; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body class="report">
<header class="bar"><h1>{title}</h1><span>{about}</span></header>
<main>
<p id="message" role="status" class="bad"></p>
<div style="display:flex;gap:10px;align-items:center;flex-wrap:wrap;margin-bottom:8px"><button id="before" title="[">‹</button>
<button id="after" title="]">›</button><h3 id="title"></h3></div>
<div id="player"></div>
<h2>Episodes</h2>
<div class="cards" id="cards"></div>
{evaluation}
<footer>Keys: ← → filter step · ↑ ↓ agent step · space play filter · p play walk · [ ] other episode · a d look left, right · 0 whole map.</footer>
</main>
<script type="application/json" id="data">{data}</script>
<script>
{scripts}
</script>
</body>
</html>
"""  # noqa: E501
