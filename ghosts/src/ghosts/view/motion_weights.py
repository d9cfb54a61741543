"""Motion kernels of all cells, compressed, so that a page without a server can show the kernel of any cell.

A factorised kernel is g_θ(k; x) ∝ m(k; x) · l_θ(k): the map's part m is the same for all filter steps and changes
between agent steps only where something new was seen; the words' part l does not depend on the place. So m is kept as
eight-bit logarithms, each agent step as its difference from the one before, deflated: some 50 kB for an episode whose
kernels written out would take 30 MB. A joint kernel has no such parts; records of such models keep the kernel of the
most likely cells alone.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8

from ghosts.belief.filter import FilterTrace
from ghosts.belief.kernel import FactorisedKernel
from ghosts.view.packed_arrays import EXPORT, deflate, inflate
from ghosts_sim.errors import DataError

RANGE_NATS = 12.0
"""Weights below e⁻¹² of a cell's largest one count as that; a level is 0.047 nats, an error of 2.4 % at most."""
_LEVELS = 254


@dataclass(frozen=True, eq=False)
class MotionWeights:
    """Both parts of the kernels of an episode."""

    map_levels: UInt8[np.ndarray, "s k y x"]
    """m at each agent step: 255 is the cell's largest weight, 1 is e⁻¹² of it, 0 nothing (off the map)."""
    language: Float[np.ndarray, "t c k"]
    """l of each filter step, turned to each source heading."""

    def kernel(self, step: int, filter_step: int, row: int, col: int) -> Float[np.ndarray, "c size size"]:
        """Where mass that leaves a cell goes at a filter step (1 to T), for each source heading; rows grow with +y."""
        levels = self.map_levels[step, :, row, col].astype(float)
        weights = np.where(levels > 0, np.exp((levels - 255.0) * (RANGE_NATS / _LEVELS)), 0.0)
        product = weights * self.language[filter_step - 1]
        product[:, product.shape[1] // 2] += 1e-18  # as `belief.motion.STAY_WEIGHT`: never nothing
        size = math.isqrt(product.shape[1])
        return (product / product.sum(1, keepdims=True)).reshape(-1, size, size)

    def crop(self, rows: slice, cols: slice) -> MotionWeights:
        """The weights of a window of cells."""
        return MotionWeights(np.ascontiguousarray(self.map_levels[..., rows, cols]), self.language)


def motion_weights(traces: Sequence[FilterTrace]) -> MotionWeights | None:
    """The weights behind the traces of an episode's agent steps; None for a joint kernel."""
    levels = []
    language: list[np.ndarray] = []
    for trace in traces:
        steps = range(trace.posteriors.shape[2])
        parts = [kernel for t in steps if isinstance(kernel := trace.kernel_at(t), FactorisedKernel)]
        if len(parts) < len(steps):
            return None
        weights = parts[0].map_weights[0].double().numpy()
        nats = np.log(np.where(weights > 0.0, weights, 1.0))
        scaled = np.clip(np.rint(255.0 + nats * (_LEVELS / RANGE_NATS)), 1, 255)
        levels.append(np.where(weights > 0.0, scaled, 0).astype(np.uint8))
        language = [kernel.language_weights[0].double().numpy() for kernel in parts]
    return MotionWeights(np.stack(levels), np.stack(language)) if levels else None


def motion_to_json(motion: MotionWeights | None) -> dict[str, Any] | None:
    """Plain JSON values."""
    if motion is None:
        return None
    levels = motion.map_levels.copy()
    levels[1:] -= motion.map_levels[:-1]  # modulo 256
    return {
        "shape": list(levels.shape),
        "map": deflate(levels),
        "language": [[[float(f"{x:.4g}") for x in row] for row in step] for step in motion.language.tolist()],
        "range_nats": RANGE_NATS,
    }


def motion_from_json(value: Any) -> MotionWeights | None:
    """Inverse of `motion_to_json`.

    Raises:
        DataError: it is malformed.
    """
    if value is None:
        return None
    try:
        levels, language = inflate(value["map"], value["shape"]), np.array(value["language"], float)
        if levels.ndim != 4 or value["range_nats"] != RANGE_NATS:
            raise ValueError
        if language.ndim != 3 or language.shape[2] != levels.shape[1] or not np.isfinite(language).all():
            raise ValueError
    except (LookupError, TypeError, ValueError, OverflowError, zlib.error):
        raise DataError("not the weights of a motion model", field="motion", hint=EXPORT) from None
    return MotionWeights(np.cumsum(levels, 0, dtype=np.uint8), language)
