"""Directions by a trained speaker: for one path of a building, or for thousands as training data.

`describe` tells one path; `paths_like_r2r` and `tell_paths` make episodes in R2R's format of paths drawn like R2R's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from ghosts.data.dataset import Dataset
from ghosts.data.drops import drops_of
from ghosts.data.examples import TRAIN, Example, make_example
from ghosts.methods.speaker.model import Speaker
from ghosts.methods.speaker.paths import load_batch, make_batch, spoken_text
from ghosts.run.load import Run
from ghosts_sim.episodes import MOST_SEED, Hidden
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.graph import NavGraph

VIEWPOINTS, SHORTEST_M = (5, 7), 5.0
"""Of R2R's paths: viewpoints, and metres from start to goal; all are shortest walks (Anderson et al. 2018)."""
FIRST_ID = 10_000_000
"""Path ids of described paths start here; R2R's have four digits."""
_BATCH = 512
"""Paths described at a time."""


def speaker_of(run: Run) -> Speaker:
    """The model of a run that speaks.

    Raises:
        ConfigError: the run is no speaker.
    """
    if run.speaker is None:
        raise ConfigError(f"{run.name} does not speak; name a run of ghosts train speaker, such as landmarks-speaker")
    return run.speaker


def describe(run: Run, data: Dataset, scan: str, viewpoints: Sequence[str], heading_rad: float | None = None) -> str:
    """Directions for a walk.

    Args:
        run: a speaker.
        data: what it reads.
        scan: the building.
        viewpoints: of the walk, from start to goal; two that are no neighbours are joined by the shortest walk.
        heading_rad: where the walker looks at the start, clockwise from +y; along the first move by default.

    Raises:
        ConfigError: no walk leads from one to the next, there is no walk at all, or the data set lacks the building.
        UnknownNameError: no such building or viewpoint.
    """
    graph = data.root.graph(scan)
    if scan not in data.scans:
        raise ConfigError(f"the data set does not show {scan}; open it with also=[{scan!r}]")
    path = walk_through(graph, viewpoints)
    if heading_rad is None:
        delta = graph.position_m[path[1]] - graph.position_m[path[0]]
        heading_rad = float(np.arctan2(delta[0], delta[1]))
    example = make_example(graph, "", "", heading_rad, path, data.reading.steps)
    return tell_paths(run, data, [example])[0]


def walk_through(graph: NavGraph, viewpoints: Sequence[str]) -> tuple[int, ...]:
    """Rows of the shortest walk through some viewpoints.

    Raises:
        ConfigError: there is none.
        UnknownNameError: no such viewpoint.
    """
    rows = [graph.index(name) for name in viewpoints]
    if len(rows) < 2 or all(row == rows[0] for row in rows):
        raise ConfigError(f"a walk needs two viewpoints or more, got {', '.join(viewpoints) or 'none'}")
    path = [rows[0]]
    for here, there in pairwise(rows):
        if not np.isfinite(graph.distance_m[here, there]):
            raise ConfigError(f"no walk leads from {graph.ids[here]} to {graph.ids[there]} in {graph.scan}")
        path += graph.path(here, there)[1:]
    return tuple(path)


def tell_paths(
    run: Run,
    data: Dataset,
    examples: Sequence[Example],
    *,
    temperature: float = 0.0,
    seed: int = 0,
    device: torch.device | None = None,
) -> list[str]:
    """Instructions for the paths of examples (`Speaker.tell`).

    The speaker sees neither their own texts nor labels hidden from them.
    """
    device = device or torch.device("cpu")
    speaker, data = speaker_of(run).to(device).eval(), data.to(device)
    generator, texts = torch.Generator().manual_seed(seed), []
    for at in range(0, len(examples), _BATCH):
        some = examples[at : at + _BATCH]
        batch = load_batch(data, make_batch(data, some, drops=drops_of(some, data.labels)), device)
        words = speaker.tell(batch.paths, temperature=temperature, generator=generator)
        texts += [spoken_text(row, data.vocabulary) for row in words.tolist()]
    return texts


def paths_like_r2r(data: Dataset, count: int, seed: int = 0) -> list[Example]:
    """Paths of the training buildings, drawn like R2R's: as many per building as it has of R2R's, all different.

    Raises:
        DataError: the buildings have no such path, or are streamed.
    """
    if data.stream is not None:
        hint = "name a data root whose training split is one file"
        raise DataError("paths cannot be sampled from a streamed training split", file=data.root.path, hint=hint)
    random = np.random.default_rng(seed)
    share: dict[str, int] = {}
    for example in data.splits[TRAIN]:
        share[example.scan] = share.get(example.scan, 0) + 1
    described = {(example.scan, example.start, example.goal) for example in data.splits[TRAIN]}
    found: list[Example] = []
    for scan, weight in sorted(share.items()):
        graph = data.root.graph(scan)
        far = np.argwhere((graph.distance_m >= SHORTEST_M) & np.isfinite(graph.distance_m))
        wanted, many = max(1, round(count * weight / len(data.splits[TRAIN]))), 0
        for start, goal in far[random.permutation(len(far))].tolist():
            if many >= wanted or len(found) >= count:
                break
            path = graph.path(start, goal)
            if VIEWPOINTS[0] <= len(path) <= VIEWPOINTS[1] and (scan, start, goal) not in described:
                heading = float(random.uniform(0.0, 2.0 * np.pi))
                name = f"{FIRST_ID + len(found)}_0"
                found.append(make_example(graph, name, "", heading, tuple(path), data.reading.steps))
                many += 1
    if not found:
        hint = "its buildings are too small; name another --data"
        raise DataError("no path of five to seven viewpoints and five metres", file=data.root.path, hint=hint)
    return found


def hide_labels(data: Dataset, examples: Sequence[Example], share: float, seed: int = 0) -> list[Example]:
    """Paths with some labels of their building hidden, drawn anew for each path (back translation, Tan et al. 2019).

    Raises:
        ConfigError: the buildings are shown without labels.
    """
    if data.labels is None:
        raise ConfigError("a world of images has no labels to hide; leave out --label-dropout")
    seeds = np.random.default_rng([seed, 7]).integers(MOST_SEED, size=len(examples), endpoint=True)
    return [replace(example, hidden=Hidden(share, number)) for example, number in zip(examples, seeds.tolist())]


def as_episodes(data: Dataset, examples: Sequence[Example], texts: Sequence[str]) -> list[dict[str, Any]]:
    """A speaker's paths in R2R's format, with `hidden_labels` where some labels were hidden from it."""
    records: list[dict[str, Any]] = []
    for number, (example, text) in enumerate(zip(examples, texts, strict=True)):
        if not text:
            continue
        graph = data.root.graph(example.scan)
        records.append(
            {
                "distance": round(float(graph.distance_m[example.start, example.goal]), 3),
                "scan": example.scan,
                "path_id": FIRST_ID + number,
                "path": [graph.ids[row] for row in example.path],
                "heading": round(example.start_heading_rad, 4),
                "instructions": [text],
                **({"hidden_labels": example.hidden._asdict()} if example.hidden is not None else {}),
            }
        )
    return records
