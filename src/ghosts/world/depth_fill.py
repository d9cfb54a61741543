"""Filling missing depth by a cross-bilateral filter guided by intensity (the method of the NYUv2 toolbox).

A pyramid is built by taking every second pixel. From the coarsest level up, each missing pixel becomes the mean of its
known neighbours (11 × 11), weighted by distance and by likeness of intensity; the next finer level starts from that.
Unlike the toolbox, which rounds depth to 8 bits, this works on any floating-point depth.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from ghosts.errors import ConfigError

RADIUS = 5
SIGMA_SPACE = (12.0, 5.0, 8.0)
SIGMA_RANGE = (0.2, 0.08, 0.02)
"""One entry a pyramid level, finest first."""


def fill_depth(
    depth: Float[np.ndarray, "h w"],
    intensity: Float[np.ndarray, "h w"],
    missing: Bool[np.ndarray, "h w"],
    sigma_space: tuple[float, ...] = SIGMA_SPACE,
    sigma_range: tuple[float, ...] = SIGMA_RANGE,
) -> Float[np.ndarray, "h w"]:
    """Fill missing depth.

    Args:
        depth: any unit.
        intensity: guide in 0..1.
        missing: where depth is to be filled; elsewhere it is returned as it is.
        sigma_space: standard deviations in pixels, one a pyramid level, finest first.
        sigma_range: standard deviations in intensity, likewise.

    Returns:
        The filled depth; 0 where nothing known was near.
    """
    if not depth.shape == intensity.shape == missing.shape:
        raise ConfigError(f"depth {depth.shape}, intensity {intensity.shape} and mask {missing.shape} differ in size")
    if len(sigma_space) != len(sigma_range):
        raise ConfigError(f"{len(sigma_space)} space and {len(sigma_range)} range deviations; give one each a level")
    levels = [_level(depth, intensity, missing, number) for number in range(len(sigma_space))]
    # Below the coarsest level nothing is known; one pixel stands for it.
    filled, valid = np.zeros((1, 1), depth.dtype), np.zeros((1, 1), bool)
    for number in reversed(range(len(levels))):
        values, guide, holes = levels[number]
        rows = (np.arange(values.shape[0]) * filled.shape[0]) // values.shape[0]
        cols = (np.arange(values.shape[1]) * filled.shape[1]) // values.shape[1]
        pick = np.ix_(rows, cols)
        known = ~holes | valid[pick]
        values = np.where(holes, filled[pick], values)
        filled, valid = _filter_holes(values, guide, holes, known, sigma_space[number], sigma_range[number])
    return filled


def _level(
    depth: np.ndarray, intensity: np.ndarray, missing: np.ndarray, number: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The image at 1/2ᴺᵁᴹᴮᴱᴿ of its size, by picking pixels (averaging would mix depths across edges)."""
    height, width = max(depth.shape[0] >> number, 1), max(depth.shape[1] >> number, 1)
    rows = (np.arange(height) * depth.shape[0]) // height
    cols = (np.arange(width) * depth.shape[1]) // width
    pick = np.ix_(rows, cols)
    return depth[pick], intensity[pick], missing[pick]


def _filter_holes(
    values: np.ndarray, guide: np.ndarray, holes: np.ndarray, known: np.ndarray, sigma_s: float, sigma_r: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean of the known neighbours at every hole; also which pixels are known afterwards."""
    rows, cols = np.nonzero(holes)
    result, valid = np.where(holes, 0, values).astype(values.dtype), known.copy()
    if not rows.size:
        return result, valid
    pad = ((RADIUS, RADIUS), (RADIUS, RADIUS))
    values, guide_padded, known = np.pad(values, pad), np.pad(guide, pad), np.pad(known, pad)
    here = guide[rows, cols]
    total, weight_sum = np.zeros(rows.size), np.zeros(rows.size)
    for dy in range(-RADIUS, RADIUS + 1):
        for dx in range(-RADIUS, RADIUS + 1):
            at = rows + dy + RADIUS, cols + dx + RADIUS
            unlike = guide_padded[at] - here
            weight = np.exp(-(dy * dy + dx * dx) / (2 * sigma_s**2) - unlike * unlike / (2 * sigma_r**2))
            weight = np.where(known[at], weight, 0.0)
            total += weight * values[at]
            weight_sum += weight
    some = weight_sum > 0.0
    result[rows[some], cols[some]] = total[some] / weight_sum[some]
    valid[rows[some], cols[some]] = True
    return result, valid
