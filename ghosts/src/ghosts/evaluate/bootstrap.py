"""Confidence intervals by resampling paths: the instructions of one path are not independent and are drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from ghosts_sim.errors import ConfigError

SAMPLES, SEED, LEVEL = 2000, 0, 0.95


@dataclass(frozen=True, eq=False)
class Draws:
    """How often each path is drawn in each sample."""

    path: Int[np.ndarray, " n"]
    """Path of each instruction, numbered from 0."""
    times: Float[np.ndarray, "samples paths"]

    @property
    def paths(self) -> int:
        """Number of paths."""
        return self.times.shape[1]


def draw_paths(instr_ids: Sequence[str], samples: int = SAMPLES, seed: int = SEED) -> Draws:
    """Resample paths with replacement.

    Args:
        instr_ids: `<path>_<number>` of every instruction.
        samples: number of resampled splits.
        seed: equal seeds give equal intervals.
    """
    if not instr_ids or samples < 1:
        raise ConfigError(
            f"a bootstrap needs at least one instruction and one sample, got {len(instr_ids)} and {samples}"
        )
    names, path = np.unique([name.rsplit("_", 1)[0] for name in instr_ids], return_inverse=True)
    random = np.random.default_rng(seed)
    times = random.multinomial(len(names), np.full(len(names), 1.0 / len(names)), size=samples)
    return Draws(path.ravel(), times.astype(float))


def mean_interval(values: Float[np.ndarray, " n"], draws: Draws) -> tuple[float, float]:
    """Confidence interval of the mean over instructions, given a value of each."""
    total = np.bincount(draws.path, values, draws.paths)
    count = np.bincount(draws.path, minlength=draws.paths).astype(float)
    return _percentiles((draws.times @ total) / (draws.times @ count))


def calibration_interval(
    success: Float[np.ndarray, "n s"],
    confidence: Float[np.ndarray, "n s"],
    draws: Draws,
    bins: int,
) -> tuple[float, float]:
    """Confidence interval of the expected calibration error, over all instructions and time steps."""
    which = confidence_bin(confidence, bins)
    gap = np.zeros((draws.paths, bins))
    np.add.at(gap, (draws.path[:, None], which), success - confidence)
    count = np.bincount(draws.path, minlength=draws.paths) * float(success.shape[1])
    return _percentiles(np.abs(draws.times @ gap).sum(1) / (draws.times @ count))


def confidence_bin(confidence: Float[np.ndarray, "*n"], bins: int) -> Int[np.ndarray, "*n"]:
    """Bin of each confidence: equal widths over [0, 1]."""
    return np.clip((confidence * bins).astype(int), 0, bins - 1)


def _percentiles(samples: Float[np.ndarray, " k"]) -> tuple[float, float]:
    tail = 50.0 * (1.0 - LEVEL)
    low, high = np.percentile(samples, [tail, 100.0 - tail])
    return float(low), float(high)
