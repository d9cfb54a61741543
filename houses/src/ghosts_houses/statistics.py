"""The figures that describe a data root, real or made: graph, paths, language."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ghosts_sim.dataroot import check_path
from ghosts_sim.episodes import Episode, load_episodes
from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite, listed, read_json, read_object
from ghosts_sim.geometry import heading_of, turn_rad
from ghosts_sim.graph import NavGraph, parse_graph

SPLITS = ("train", "val_seen", "val_unseen")
MEASURED = 100
"""Buildings, evenly spaced, that are measured where a split is one file per building."""
RARE = 5
"""A word counts for the vocabulary of the model from this many occurrences on (as in R2R's code)."""
SAMPLE = 693
"""Instructions measured for variety, picked at random: more texts have more words, so only equal numbers compare."""
OPENINGS = ("walk", "go", "turn", "exit", "leave", "enter")
"""R2R's six most frequent first words."""


def statistics(root: Path) -> dict[str, Any]:
    """Measure a data root.

    Returns:
        Figures by name, in the order of the table in `docs/data.md`.

    Raises:
        DataError: a file is missing or malformed, or a path does not run along edges of a building.
    """
    found = {split: _files(root / "r2r", split) for split in SPLITS}
    read = {path: load_episodes(path) for files in found.values() for path in files}
    episodes = {split: [episode for path in files for episode in read[path]] for split, files in found.items() if files}
    if not episodes:
        raise DataError("no R2R_<split>.json found", file=root / "r2r", hint='make one with "ghosts world --out DIR"')
    scans = sorted({episode.scan for split in episodes.values() for episode in split})
    paths = {scan: root / "connectivity" / f"{scan}_connectivity.json" for scan in scans}
    graphs = {scan: parse_graph(scan, read_json(path), path) for scan, path in paths.items()}
    for path, items in read.items():
        for episode in items:
            check_path(episode, graphs[episode.scan], path)
    every = [episode for split in episodes.values() for episode in split if episode.has_goal]
    result: dict[str, Any] = {f"paths, {split}": len(split_episodes) for split, split_episodes in episodes.items()}
    result |= _graph_figures(list(graphs.values()))
    result["paths per house"] = len(every) / len(scans)
    return (
        result
        | _path_figures(every, graphs)
        | _language_figures(every, episodes.get("train", every))
        | _goal_figures(root, scans)
    )


def _files(folder: Path, split: str) -> list[Path]:
    """The files of a split: one, or one per building, of which some are measured."""
    whole, shards = folder / f"R2R_{split}.json", listed(folder / f"R2R_{split}", "*.json")
    if whole.exists():
        return [whole]
    return (
        [shards[number * len(shards) // MEASURED] for number in range(MEASURED)] if len(shards) > MEASURED else shards
    )


def _graph_figures(graphs: list[NavGraph]) -> dict[str, Any]:
    degrees = np.concatenate([graph.adjacent[graph.included].sum(1) for graph in graphs])
    lengths = np.concatenate(
        [
            np.linalg.norm(graph.position_m[:, None] - graph.position_m[None], axis=-1)[graph.adjacent]
            for graph in graphs
        ]
    )
    return {
        "houses": len(graphs),
        "viewpoints per house": float(np.mean([graph.included.sum() for graph in graphs])),
        "degree": float(degrees.mean()),
        "edge length, mean (m)": float(lengths.mean()),
        "edge length, median (m)": float(np.median(lengths)),
        "edge length, 95 % (m)": float(np.percentile(lengths, 95)),
        "camera height (m)": float(np.mean(np.concatenate([graph.height_m[graph.included] for graph in graphs]))),
    }


def _path_figures(episodes: list[Episode], graphs: dict[str, NavGraph]) -> dict[str, Any]:
    walks = [graphs[e.scan].position_m[[graphs[e.scan].index(name) for name in e.path]] for e in episodes]
    distance = np.array([episode.distance_m for episode in episodes], float)
    moves = np.array([len(episode.path) - 1 for episode in episodes])
    straight = np.array([np.linalg.norm(walk[-1, :2] - walk[0, :2]) for walk in walks])
    floors = np.mean([abs(walk[-1, 2] - walk[0, 2]) > 1.2 for walk in walks])
    first = [abs(turn_rad(e.heading_rad, heading_of(w[1] - w[0]))) for e, w in zip(episodes, walks)]
    return {
        "path length, mean (m)": float(distance.mean()),
        "path length, spread (m)": float(distance.std()),
        "moves per path": float(moves.mean()),
        "start to goal, straight (m)": float(straight.mean()),
        "paths that change floor (%)": 100.0 * float(floors),
        "first turn below 30° (%)": 100.0 * float(np.mean(np.array(first) < math.radians(30))),
        "first turn above 150° (%)": 100.0 * float(np.mean(np.array(first) > math.radians(150))),
    }


def _language_figures(episodes: list[Episode], train: list[Episode]) -> dict[str, Any]:
    counts = np.array([len(words(text)) for episode in episodes for text in episode.instructions])
    texts = [text for episode in train for text in episode.instructions]
    tokens = [words(text) for text in texts]
    counted = Counter(itertools.chain.from_iterable(tokens))
    pairs = {pair for token in tokens for pair in itertools.pairwise(token)}
    figures = {
        "instructions": len(counts),
        "words per instruction, mean": float(counts.mean()),
        "words per instruction, spread": float(counts.std()),
        "words per instruction, 5–95 %": f"{np.percentile(counts, 5):.0f}–{np.percentile(counts, 95):.0f}",
        "different words in train": len(counted),
        f"of these ≥ {RARE} times": sum(count >= RARE for count in counted.values()),
        "different word pairs in train": len(pairs),
        "instructions written only once (%)": 100.0 * sum(n == 1 for n in Counter(texts).values()) / len(texts),
    }
    return figures | style_figures(texts)


def words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return re.findall(r"[a-z0-9]+", text.lower())


def style_figures(texts: list[str]) -> dict[str, float | int]:
    """Measure instructions.

    Args:
        texts: at least one; of more than `SAMPLE`, as many are picked at random.

    Returns:
        Figures by name.
    """
    chosen = np.random.default_rng(0).permutation(len(texts))[:SAMPLE]
    sample = [texts[k] for k in sorted(chosen)]
    tokens = [words(text) for text in sample]
    sentences = [part.strip().lower() for text in sample for part in re.split(r"[.!?\n]+", text) if words(part)]
    clauses = [words(part) for sentence in sentences for part in re.split(r",|\band\b|\bthen\b", sentence)]
    figures: dict[str, float | int] = {
        "different words": len({word for token in tokens for word in token}),
        "different word pairs": len({pair for token in tokens for pair in itertools.pairwise(token)}),
        "different first words of a clause": len({clause[0] for clause in clauses if clause}),
        "different sentences (%)": 100.0 * len(set(sentences)) / max(1, len(sentences)),
    }
    first = Counter(words(text)[0] for text in texts if words(text))
    shares = {f"instructions that begin with {word} (%)": 100.0 * first[word] / len(texts) for word in OPENINGS}
    return {f"{name} in {len(sample)} instructions": value for name, value in figures.items()} | shares


def _goal_figures(root: Path, scans: list[str]) -> dict[str, float]:
    """How many goals fit an instruction, where a world keeps them with its houses."""
    files = [file for scan in scans if (file := root / "houses" / f"{scan}.json").is_file()]
    paths = [path for file in files for path in read_object(file).get("paths") or () if isinstance(path, dict)]
    others = np.array([count for path in paths for count in path.get("others") or () if is_finite(count)], float)
    if not len(others):
        return {}
    return {
        "instructions that lead to one goal only (%)": 100.0 * float(np.mean(others == 0)),
        "goals that fit an instruction, mean": 1.0 + float(others.mean()),
    }
