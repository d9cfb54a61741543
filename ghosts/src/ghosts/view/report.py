"""`ghosts report`: one HTML file with everything in it, of an episode or a whole evaluation. No server, no network."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import resources
from typing import Any

from ghosts.evaluate.goal import GoalScores
from ghosts.view.library import Library
from ghosts.view.panorama import data_address, jpeg, webp
from ghosts.view.record import EpisodeRecord, crop
from ghosts.view.record_json import to_json
from ghosts.view.report_scores import Listed, evaluation_html, headline_html
from ghosts_houses.draw import style
from ghosts_sim.errors import ConfigError, GhostsError
from ghosts_sim.metrics import NavScores
from ghosts_sim.types import SUCCESS_M

SCRIPTS = ("core", "heat", "signs", "layers", "map", "pano", "words", "inside", "episodes", "player", "report")
_PANORAMA_PX = 896


@dataclass(frozen=True)
class Shown:
    """An episode of a report."""

    name: str
    """Unique in the report; part of its link."""
    note: str
    """Why it is shown: "best", "worst", …"""
    records: tuple[EpisodeRecord, ...]
    """Of one model, or of several on the same walk, which are shown side by side."""


@dataclass(frozen=True)
class Assets:
    """What episodes are drawn on, by building."""

    scenes: Mapping[str, dict[str, Any]]
    panoramas: Mapping[str, str] = field(default_factory=dict)
    """`scan/viewpoint` to a picture in a data address."""
    paintings: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """`scan/storey` to extent and picture."""


def gather_assets(
    library: Library,
    world: str,
    records: Sequence[EpisodeRecord],
    *,
    pictures: bool = True,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Assets:
    """Plans, panoramas and paintings of the buildings of some episodes.

    Args:
        library: where they are.
        world: data root's name.
        records: episodes.
        pictures: whether to put panoramas and paintings in; they make most of a report's size.
        report: called with the episodes done by now, and with all of them.
    """
    scenes = {record.scan: library.scene(world, record.scan) for record in records}
    if not pictures or not library.root(world).has_images:
        return Assets({scan: {**scene, "images": False} for scan, scene in scenes.items()})
    panoramas, paintings = {}, {}
    for number, record in enumerate(records):
        report(number, len(records))
        for name in record.walk:
            if f"{record.scan}/{name}" not in panoramas:
                picture = library.equirect(world, record.scan, name, _PANORAMA_PX)
                panoramas[f"{record.scan}/{name}"] = data_address("jpeg", jpeg(picture, 72))
        for storey in range(len(scenes[record.scan]["storeys"])):
            key = f"{record.scan}/{storey}"
            if key not in paintings:
                try:
                    painting = library.painting(world, record.scan, storey)
                except GhostsError:
                    continue  # a storey without depth is drawn from its plan
                paintings[key] = {"extent_m": painting.extent_m, "image": data_address("webp", webp(painting.rgba))}
    return Assets(scenes, panoramas, paintings)


@dataclass(frozen=True)
class Evaluation:
    """What is known of all instructions of a split, of which a report shows some."""

    listed: Sequence[Listed] = ()
    """In the split's order."""
    walks: Mapping[str, NavScores] = field(default_factory=dict)
    """Of each model that walked by itself."""
    goals: Mapping[str, GoalScores] = field(default_factory=dict)
    """Of each model, on the fixed walks."""


def build_report(
    title: str, about: str, episodes: Sequence[Shown], assets: Assets, evaluation: Evaluation | None = None
) -> str:
    """The whole page.

    Args:
        title: of the page.
        about: a sentence under it: model, world, command.
        episodes: to look into; the first is open at the start.
        assets: what they are drawn on.
        evaluation: of the whole split; without it, the episodes are all there is.

    Raises:
        ConfigError: there is no episode, two have the same name, or models did not walk the same way.
    """
    if not episodes:
        raise ConfigError("a report needs at least one episode; raise --show or --examples")
    names = [item.name for item in episodes]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"episode {twice} is to be shown twice; name it once")
    for item in episodes:
        if len({record.walk for record in item.records}) != 1:
            raise ConfigError(f"models beside each other need the same walk; episode {item.name} has several")
    evaluation = evaluation or Evaluation()
    data = {
        "list": [vars(item) for item in evaluation.listed or map(_listed, episodes)],
        "episodes": [
            {"name": item.name, "note": item.note, "models": [_bare(record) for record in item.records]}
            for item in episodes
        ],
        "scenes": dict(assets.scenes),
        "panoramas": dict(assets.panoramas),
        "paintings": dict(assets.paintings),
    }
    # "</" would end the script element, whatever instruction it stands in.
    payload = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    scripts = "\n".join(static_text(f"{name}.js") for name in SCRIPTS)
    return _PAGE.format(
        title=html.escape(title),
        about=html.escape(about),
        style=static_text("style.css"),
        headline=headline_html(_arrived(episodes, evaluation), evaluation.goals),
        evaluation=evaluation_html(evaluation.goals) if evaluation.goals else "",
        data=payload,
        scripts=scripts,
    )


def _bare(record: EpisodeRecord) -> dict[str, Any]:
    """Without the plan, which the page has once for all episodes of a building."""
    return to_json(replace(crop(record), scene=None))


def _listed(item: Shown) -> Listed:
    record = item.records[0]
    return Listed(item.name, record.scan, record.text, record.left_m)


def _arrived(episodes: Sequence[Shown], evaluation: Evaluation) -> dict[str, tuple[int, int]]:
    """Walks that arrived, and all there were, of each model that walked by itself."""
    if evaluation.walks:
        arrived = {name: item.columns["SR"] for name, item in evaluation.walks.items()}
        return {name: (int(values.sum()), len(values)) for name, values in arrived.items()}
    ends: dict[str, list[float]] = {}
    for record in (record for item in episodes for record in item.records):
        if record.left_m is not None:
            ends.setdefault(record.model, []).append(record.left_m)
    return {name: (sum(end < SUCCESS_M for end in item), len(item)) for name, item in ends.items()}


def static_text(name: str) -> str:
    """A page, style or script of the viewer, from the package."""
    text = (resources.files("ghosts.view") / "static" / name).read_text(encoding="utf-8")
    return text.replace("Ghosts.colours = {}", f"Ghosts.colours = {json.dumps(style.for_scripts())}")


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
<header class="bar"><h1>{title}</h1><p class="lead">Where would somebody who follows these words end? <b>Orange = likely.</b></p></header>
<main>
{headline}
<p id="message" role="status" class="bad"></p>
<div class="which"><button id="before" title="[" aria-label="episode before">‹</button>
<button id="after" title="]" aria-label="next episode">›</button><h2 id="title"></h2></div>
<p id="related" class="related"></p>
<blockquote id="said"></blockquote>
<div id="player"></div>
<h2>All instructions</h2>
<div id="episodes"></div>
{evaluation}
<p>{about}</p>
<footer>Keys: ← → filter step · ↑ ↓ agent step · space play filter · p play walk · [ ] other episode · a d look left, right · 0 whole map.</footer>
</main>
<script type="application/json" id="data">{data}</script>
<script>
{scripts}
</script>
</body>
</html>
"""  # noqa: E501
