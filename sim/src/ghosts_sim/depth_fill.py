"""Filling missing depth by a cross-bilateral filter guided by intensity (the method of the NYUv2 toolbox).

A pyramid is built by taking every second pixel. From the coarsest level up, each missing pixel becomes the mean of its
known neighbours (11 × 11), weighted by distance and by likeness of intensity; the next finer level starts from that.
Unlike the toolbox, which rounds depth to 8 bits, this works on any floating-point depth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ghosts_sim.errors import ConfigError

if TYPE_CHECKING:
    from jaxtyping import Bool, Float

RADIUS = 5
SIGMAS = ((12.0, 0.2), (5.0, 0.08), (8.0, 0.02))
"""Standard deviations in pixels and in intensity, one pair per pyramid level, finest first."""
_CHUNK = 8192  # pixels at a time: all arrays of a chunk stay in the second-level cache
_RIDGE = 0.1  # square pixels; neighbours on one side have a variance of about 2
_FARTHEST = 0.4  # a plane may leave the mean of its neighbours by this share of it


def fill_depth(
    depth: Float[np.ndarray, "h w"],
    intensity: Float[np.ndarray, "h w"],
    missing: Bool[np.ndarray, "h w"],
    *,
    planes: bool = False,
) -> Float[np.ndarray, "h w"]:
    """Fill missing depth.

    Args:
        depth: any unit.
        intensity: guide in 0..1.
        missing: where depth is to be filled; elsewhere it is returned as it is.
        planes: fit a plane to the weighted neighbours instead of taking their mean (the toolbox's way). A hole at the
            border of the image, which sees one side only, then goes on as its rim does.

    Returns:
        The filled depth; 0 where nothing known was near.
    """
    if not depth.shape == intensity.shape == missing.shape:
        raise ConfigError(f"depth {depth.shape}, intensity {intensity.shape} and mask {missing.shape} differ in size")
    # Below the coarsest level nothing is known; one pixel stands for it.
    filled, valid = np.zeros((1, 1), depth.dtype), np.zeros((1, 1), bool)
    shade = np.zeros((1, 1), intensity.dtype)
    for number in reversed(range(len(SIGMAS))):
        # At 1/2**number of its size, by picking pixels: averaging would mix depths across edges.
        height, width = (max(side >> number, 1) for side in depth.shape)
        whole, pick = _pick((height, width), depth.shape), _pick((height, width), filled.shape)
        values, guide, holes = depth[whole], intensity[whole], missing[whole]
        # Callers that keep surfaces apart by intensities farther apart than 1 do not want one's depth in another.
        known = ~holes | (valid[pick] & (np.abs(guide - shade[pick]) <= 1.0))
        values = np.where(holes, filled[pick], values)
        filled, valid = _filter_holes(values, guide, holes, known, SIGMAS[number], planes)
        shade = guide
    return filled


def _pick(size: tuple[int, int], source: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """Which pixels of an image of the source's size make one of another size."""
    return np.ix_(*((np.arange(side) * whole) // side for side, whole in zip(size, source)))


def _filter_holes(
    values: np.ndarray,
    guide: np.ndarray,
    holes: np.ndarray,
    known: np.ndarray,
    sigmas: tuple[float, float],
    planes: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Value at every hole from its known neighbours; also which pixels are known afterwards."""
    result, valid = np.where(holes, 0, values).astype(values.dtype), known.copy()
    # The middle of a large hole has no known neighbour; a panorama's poles are such holes.
    near = known
    for _ in range(2):  # along rows, then along columns
        counts = np.pad(near, ((0, 0), (RADIUS + 1, RADIUS))).cumsum(1, dtype=np.int32)
        near = (counts[:, 2 * RADIUS + 1 :] > counts[:, : -2 * RADIUS - 1]).T
    rows, cols = np.nonzero(holes & near)
    # Single precision holds the weight of any neighbour, exp(−1 / 2σ²), down to σ = 0.08.
    kind = values.dtype if sigmas[1] >= 0.08 else np.dtype(np.float64)
    # An unknown neighbour is infinitely unlike: its weight is 0 without a mask to look up.
    unlike = np.pad(np.where(known, guide, np.inf).astype(kind), RADIUS, constant_values=np.inf)
    padded = np.pad(np.where(known, values, 0).astype(kind), RADIUS)
    stride = padded.shape[1]
    at = (rows + RADIUS) * stride + cols + RADIUS
    here = guide[rows, cols].astype(kind)
    mean = np.empty(at.size, kind)
    for start in range(0, at.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        moments = _moments(padded.ravel(), unlike.ravel(), at[part], here[part], stride, sigmas)
        mean[part] = _plane(moments) if planes else _divide(moments[3], moments[0])
    some = np.isfinite(mean)
    result[rows[some], cols[some]] = mean[some]
    valid[rows[some], cols[some]] = True
    return result, valid


def _moments(
    values: np.ndarray,
    guide: np.ndarray,
    at: np.ndarray,
    here: np.ndarray,
    stride: int,
    sigmas: tuple[float, float],
) -> np.ndarray:
    """Sums over the neighbours of pixels given by flat index; the guide is infinite where nothing is known.

    Returns:
        Rows Σw, Σwx, Σwy, Σwv, Σwxv, Σwyv, Σwxx, Σwxy, Σwyy, with w the weight, v the value and x, y the offset.
    """
    sums = np.zeros((9, here.size), here.dtype)
    weight, value, index = np.empty_like(here), np.empty_like(here), np.empty_like(at)
    for dy in range(-RADIUS, RADIUS + 1):
        line = np.zeros((5, here.size), here.dtype)
        for dx in range(-RADIUS, RADIUS + 1):
            np.add(at, dy * stride + dx, out=index)
            np.take(guide, index, out=weight, mode="clip")
            weight -= here
            weight *= weight
            weight *= -1.0 / (2.0 * sigmas[1] ** 2)
            weight -= (dy * dy + dx * dx) / (2.0 * sigmas[0] ** 2)
            np.exp(weight, out=weight)
            np.take(values, index, out=value, mode="clip")
            value *= weight
            line[0] += weight
            line[1] += value
            weight *= dx
            line[2] += weight
            weight *= dx
            line[3] += weight
            value *= dx
            line[4] += value
        w, wv, wx, wxx, wxv = line
        for row, term in enumerate((w, wx, dy * w, wv, wxv, dy * wv, wxx, dy * wx, dy * dy * w)):
            sums[row] += term
    return sums


def _divide(total: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """NaN where even double precision finds nobody alike: a finer level with a wider σ decides."""
    return np.divide(total, weight, out=np.full_like(total, np.nan), where=weight > 0.0)


def _plane(moments: np.ndarray) -> np.ndarray:
    """Value at offset 0 of the weighted least-squares plane, held near the mean where neighbours are few or differ."""
    x, y, v, xv, yv, xx, xy, yy = (_divide(moment, moments[0]) for moment in moments[1:])
    xx, yy, xy = xx - x * x + _RIDGE, yy - y * y + _RIDGE, xy - x * y
    xv, yv = xv - x * v, yv - y * v
    determinant = xx * yy - xy * xy
    slope_x, slope_y = (yy * xv - xy * yv) / determinant, (xx * yv - xy * xv) / determinant
    far = _FARTHEST * np.abs(v)
    return v - np.clip(slope_x * x + slope_y * y, -far, far)
