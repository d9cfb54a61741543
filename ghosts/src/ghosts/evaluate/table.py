"""Table 1: scores of several models, each trained with one or several seeds, as JSON values, text and Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ghosts.evaluate.bootstrap import Draws, calibration_interval, draw_paths, mean_interval
from ghosts.evaluate.goal import CALIBRATION_BINS, WALK_SEED, GoalScores
from ghosts.evaluate.text_table import Table
from ghosts_sim.types import SUCCESS_M

FORMAT, VERSION = "ghosts-goal-table", 1


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """One trained model's scores."""

    name: str
    """Checkpoint or preset."""
    seed: int
    iteration: int | None
    """At which the checkpoint was kept; None where nothing is trained."""
    scores: dict[str, GoalScores]
    """By split."""


def summarise(models: Mapping[str, Sequence[ScoredRun]], samples: int = 2000) -> dict[str, Any]:
    """All numbers of the table, as plain JSON values.

    Args:
        models: runs of each model, one per seed; all on the same splits and instructions.
        samples: of the bootstrap.
    """
    splits = list(next(iter(models.values()))[0].scores)
    return {
        "format": FORMAT,
        "version": VERSION,
        "success_m": SUCCESS_M,
        "walk_seed": WALK_SEED,
        "bootstrap_samples": samples,
        "splits": {split: _split(models, split, samples) for split in splits},
    }


def _split(models: Mapping[str, Sequence[ScoredRun]], split: str, samples: int) -> dict[str, Any]:
    first = next(iter(models.values()))[0].scores[split]
    draws = draw_paths(first.instr_ids, samples)
    success = {name: _success(runs, split) for name, runs in models.items()}
    reference = next(iter(models))
    return {
        "instructions": len(first.instr_ids),
        "paths": draws.paths,
        "models": {name: _model(runs, split, draws) for name, runs in models.items()},
        "difference_to": reference,
        # All models are shown the same walks, so the interval of a difference is that of paired values.
        "differences": {
            name: {
                "steps": (values - success[reference]).mean(0).tolist(),
                "success": float((values - success[reference]).mean()),
                "interval": mean_interval((values - success[reference]).mean(1), draws),
            }
            for name, values in success.items()
            if name != reference
        },
    }


def _success(runs: Sequence[ScoredRun], split: str) -> Float[np.ndarray, "n s"]:
    """Success of each instruction at each time step, averaged over seeds."""
    return np.mean([run.scores[split].success for run in runs], axis=0)


def _model(runs: Sequence[ScoredRun], split: str, draws: Draws) -> dict[str, Any]:
    scores = [run.scores[split] for run in runs]
    confidence = np.mean([item.confidence for item in scores], axis=0).astype(float)
    success = np.mean([item.success for item in scores], axis=0)
    errors = np.concatenate([item.error_m.ravel() for item in scores])
    calibration = [item.calibration_error() for item in scores]
    return {
        "map_seen_m2": _row([item.seen_m2 for item in scores], draws),
        "goal_seen": _row([item.goal_seen for item in scores], draws),
        "error_m": _row([item.error_m for item in scores], draws),
        "success": _row([item.success for item in scores], draws),
        "peak_success": _row([item.peak_success for item in scores], draws),
        "nll": _row([item.nll for item in scores], draws),
        "confidence": _row([item.confidence for item in scores], draws),
        "calibration_error": {
            "average": float(np.mean(calibration)),
            "sd": _deviation(calibration),
            # With several seeds, of their mean prediction: the interval says what other paths would change.
            "interval": calibration_interval(success, confidence, draws, CALIBRATION_BINS),
        },
        "error_quantiles_m": {str(share): float(np.percentile(errors, share)) for share in (25, 50, 75, 90)},
        "runs": [
            {
                "name": run.name,
                "seed": run.seed,
                "iteration": run.iteration,
                "success": float(item.success.mean()),
                "error_m": float(item.error_m.mean()),
                "nll": float(item.nll.mean()),
                "calibration_error": gap,
            }
            for run, item, gap in zip(runs, scores, calibration)
        ],
    }


def _row(values: Sequence[np.ndarray], draws: Draws) -> dict[str, Any]:
    """A quantity at each time step and on average: mean over seeds, deviation between them, interval over paths."""
    mean = np.mean([item.astype(float) for item in values], axis=0)
    return {
        "steps": mean.mean(0).tolist(),
        "average": float(mean.mean()),
        "sd": _deviation([float(item.mean()) for item in values]),
        "interval": mean_interval(mean.mean(1), draws),
    }


def _deviation(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


_QUANTITIES = (
    ("Map seen (m²)", "map_seen_m2", 1.0, 1, True),
    ("Goal seen (%)", "goal_seen", 100.0, 1, True),
    ("Prediction error (m)", "error_m", 1.0, 2, False),
    ("Success rate (%)", "success", 100.0, 1, False),
    ("Success of the peak (%)", "peak_success", 100.0, 1, False),
    ("Negative log-likelihood", "nll", 1.0, 2, False),
    ("Calibration error (%)", "calibration_error", 100.0, 1, False),
)


def goal_table(summary: dict[str, Any], split: str) -> Table:
    """A split's table: quantity, model, time steps, average (± s.d. over seeds), 95 % interval."""
    models = summary["splits"][split]["models"]
    steps = len(next(iter(models.values()))["success"]["steps"])
    rows = [["", "", *(str(step) for step in range(steps)), "Avg", "95 %"]]
    for title, key, scale, digits, shared in _QUANTITIES:
        shown = {name: model[key] for name, model in models.items()}
        # What is seen depends on the walks, not on the model, unless models are shown different worlds.
        if shared and all(value["steps"] == next(iter(shown.values()))["steps"] for value in shown.values()):
            shown = {"": next(iter(shown.values()))}
        for number, (name, value) in enumerate(shown.items()):
            cells = [f"{scale * step:.{digits}f}" for step in value.get("steps", [])] or [""] * steps
            deviation = f" ± {scale * value['sd']:.{digits}f}" if value["sd"] is not None and not shared else ""
            low, high = (scale * bound for bound in value["interval"])
            average = f"{scale * value['average']:.{digits}f}{deviation}"
            interval = f"{low:.{digits}f}–{high:.{digits}f}"
            rows.append([title if number == 0 else "", name, *cells, average, interval])
    return Table(_title(summary, split), rows, 2, _difference_lines(summary, split))


def _title(summary: dict[str, Any], split: str) -> str:
    values = summary["splits"][split]
    runs = sorted({len(model["runs"]) for model in values["models"].values()})
    seeds = "" if runs == [1] else f", up to {runs[-1]} seeds: mean ± s.d."
    return f"{split}: {values['instructions']} instructions of {values['paths']} paths{seeds}"


def _difference_lines(summary: dict[str, Any], split: str) -> list[str]:
    values = summary["splits"][split]
    return [
        f"- {name} − {values['difference_to']}: {100 * item['success']:+.1f} points of average success "
        f"(95 %: {100 * item['interval'][0]:+.1f} to {100 * item['interval'][1]:+.1f}); "
        f"at every time step between {100 * min(item['steps']):+.1f} and {100 * max(item['steps']):+.1f}"
        for name, item in values["differences"].items()
    ]
