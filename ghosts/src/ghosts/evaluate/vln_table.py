"""Table 2: navigation scores of agents and baselines with intervals, on R2R beside the published rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ghosts.evaluate.bootstrap import SAMPLES, draw_paths, mean_interval
from ghosts.evaluate.text_table import Table
from ghosts_sim.metrics import NavScores
from ghosts_sim.types import SUCCESS_M

FORMAT, VERSION = "ghosts-vln-table", 1
SOURCE = "Anderson et al., Chasing Ghosts (NeurIPS 2019), Table 2"
Seconds = Mapping[str, Mapping[str, float]]
"""Split to model to seconds."""
_NAMES = ("TL", "NE", "OS", "SR", "SPL")
PUBLISHED: dict[str, dict[str, tuple[float | None, ...]]] = {
    "val_seen": {
        "RPA (RL)": (8.46, 5.56, 0.53, 0.43, None),
        "Speaker-Follower (aug.)": (None, 3.36, 0.74, 0.66, None),
        "RCM (RL)": (10.65, 3.53, 0.75, 0.67, None),
        "Self-Monitoring (aug.)": (None, 3.18, 0.77, 0.68, 0.58),
        "Regretful Agent (aug.)": (None, 3.23, 0.77, 0.69, 0.63),
        "Back Translation (RL, aug.)": (11.0, 3.99, None, 0.62, 0.59),
        "Speaker-Follower": (None, 4.86, 0.63, 0.52, None),
        "Back Translation": (10.3, 5.39, None, 0.48, 0.46),
        "Chasing Ghosts, images": (10.15, 7.59, 0.42, 0.34, 0.30),
    },
    "val_unseen": {
        "RPA (RL)": (7.22, 7.65, 0.32, 0.25, None),
        "Speaker-Follower (aug.)": (None, 6.62, 0.45, 0.36, None),
        "RCM (RL)": (11.46, 6.09, 0.50, 0.43, None),
        "Self-Monitoring (aug.)": (None, 5.41, 0.59, 0.47, 0.34),
        "Regretful Agent (aug.)": (None, 5.32, 0.59, 0.50, 0.41),
        "FAST (RL)": (21.1, 4.97, None, 0.56, 0.43),
        "Back Translation (RL, aug.)": (10.7, 5.22, None, 0.52, 0.48),
        "Speaker-Follower": (None, 7.07, 0.41, 0.31, None),
        "Back Translation": (9.15, 6.25, None, 0.44, 0.40),
        "Chasing Ghosts, images": (9.64, 7.20, 0.44, 0.35, 0.31),
    },
}
"""As printed in the paper, on R2R; None where it has a dash. RL: reinforcement learning; aug.: augmented data."""


def published_split(split: str) -> str:
    """The published split to set beside one of ours: seen buildings beside seen ones, unseen beside unseen."""
    return "val_seen" if split in ("val_seen", "train") else "val_unseen"


def summarise_vln(models: Mapping[str, Mapping[str, Sequence[NavScores]]], *, published: bool = True) -> dict[str, Any]:
    """All numbers of the table as plain JSON values.

    Args:
        models: model name to split to scores, one per seed; all on the same splits and instructions.
        published: whether to add the published rows; they are R2R's, and say nothing of other buildings.
    """
    splits = list(next(iter(models.values())))
    summary: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "success_m": SUCCESS_M,
        "bootstrap_samples": SAMPLES,
        "splits": {split: _split({name: runs[split] for name, runs in models.items()}) for split in splits},
    }
    if published:
        rows = {split: {name: dict(zip(_NAMES, row)) for name, row in of.items()} for split, of in PUBLISHED.items()}
        summary["published"] = {"source": SOURCE, "rows": rows}
    return summary


def _split(models: Mapping[str, Sequence[NavScores]]) -> dict[str, Any]:
    first = next(iter(models.values()))[0]
    draws = draw_paths(first.instr_ids)
    rows: dict[str, Any] = {}
    for name, runs in models.items():
        columns = [run.columns for run in runs]
        rows[name] = {"seeds": len(runs)}
        for metric in columns[0]:
            values = np.mean([column[metric] for column in columns], axis=0)
            means = [float(column[metric].mean()) for column in columns]
            finite = bool(np.isfinite(values).all())
            rows[name][metric] = {
                "mean": float(values.mean()) if finite else None,
                "sd": float(np.std(means, ddof=1)) if len(means) > 1 and finite else None,
                "interval": mean_interval(values, draws) if finite else None,
            }
    return {"instructions": len(first.instr_ids), "paths": draws.paths, "models": rows}


def vln_table(summary: dict[str, Any], split: str, seconds: Seconds | None = None) -> Table:
    """A split's table: model, then every metric; ours with 95 % intervals, any published ones after.

    Args:
        summary: of `summarise_vln`.
        split: which.
        seconds: how long each model's walks took; adds two columns.
    """
    models = summary["splits"][split]["models"]
    metrics = [name for name in next(iter(models.values())) if name != "seeds"]
    speed = ["seconds", "instructions/s"] if seconds is not None else []
    rows = [["", *metrics, *speed]]
    for name, values in models.items():
        taken = seconds[split][name] if seconds is not None else 0.0
        walked = summary["splits"][split]["instructions"] * values["seeds"]
        rates = [f"{taken:.1f}", f"{walked / max(taken, 1e-9):.0f}"] if speed else []
        rows.append([name, *(_cell(metric, values[metric]) for metric in metrics), *rates])
    published = summary["published"]["rows"][published_split(split)] if "published" in summary else {}
    for name, values in published.items():
        cells = [values.get(metric) for metric in metrics]
        rows.append([f"{name} [1]", *("–" if cell is None else f"{cell:.2f}" for cell in cells), *["–" for _ in speed]])
    return Table(_title(summary, split), rows, 1, _notes(summary, split))


def _cell(metric: str, value: dict[str, Any]) -> str:
    if value["mean"] is None:
        return "∞"
    digits = 2 if metric in ("TL", "NE") else 3
    deviation = f" ± {value['sd']:.{digits}f}" if value["sd"] is not None else ""
    low, high = value["interval"]
    return f"{value['mean']:.{digits}f}{deviation} ({low:.{digits}f}–{high:.{digits}f})"


def _title(summary: dict[str, Any], split: str) -> str:
    values = summary["splits"][split]
    return f"{split}: {values['instructions']} instructions of {values['paths']} paths (95 % intervals over paths)"


def _notes(summary: dict[str, Any], split: str) -> list[str]:
    if "published" not in summary:
        return []
    return [f"[1] {summary['published']['source']}: R2R {published_split(split)}, from images."]
