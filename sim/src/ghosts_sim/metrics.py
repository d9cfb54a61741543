"""Navigation metrics of R2R (TL, NE, OS, SR, SPL) and of path fidelity (nDTW, SDTW, CLS), from paths and graphs alone.

As in the original evaluation (Anderson et al. 2018), all distances are shortest walks along the graph's edges, so a
path that jumps pays for the walk it skipped. SPL follows Anderson et al. 2018b; CLS Jain et al. 2019; nDTW and SDTW
Ilharco et al. 2019; the distance scale d_th of both is the 3 m of success.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ghosts_sim.errors import DataError
from ghosts_sim.graph import NavGraph
from ghosts_sim.types import SUCCESS_M

if TYPE_CHECKING:
    from jaxtyping import Float


@dataclass(frozen=True)
class PathScores:
    """One walk against its reference."""

    length_m: float
    """TL: length of the walk."""
    error_m: float
    """NE: shortest walk from the last viewpoint to the goal; infinite where there is none."""
    oracle_error_m: float
    """Shortest walk from the viewpoint of the walk that is nearest to the goal."""
    spl: float
    ndtw: float
    cls: float

    @property
    def success(self) -> bool:
        """SR: ends within 3 m of the goal."""
        return self.error_m < SUCCESS_M

    @property
    def oracle_success(self) -> bool:
        """OS: passes within 3 m of the goal."""
        return self.oracle_error_m < SUCCESS_M

    @property
    def sdtw(self) -> float:
        """nDTW where the walk succeeds, else 0."""
        return self.ndtw if self.success else 0.0


METRICS = {
    "TL": "length_m",
    "NE": "error_m",
    "OS": "oracle_success",
    "SR": "success",
    "SPL": "spl",
    "nDTW": "ndtw",
    "SDTW": "sdtw",
    "CLS": "cls",
}
"""Usual short names, in the order of the paper's Table 2, and what they are of `PathScores`."""


@dataclass(frozen=True, eq=False)
class NavScores:
    """Many walks against their references."""

    instr_ids: tuple[str, ...]
    columns: dict[str, Float[np.ndarray, " n"]]
    """Values of every metric by its short name, one per instruction."""

    def means(self) -> dict[str, float]:
        """The mean of every metric."""
        return {name: float(values.mean()) for name, values in self.columns.items()}


def score_path(graph: NavGraph, path: Sequence[int], reference: Sequence[int]) -> PathScores:
    """Score one walk.

    Args:
        graph: the building.
        path: rows of the viewpoints walked through, the start first; consecutive ones may be equal.
        reference: rows of the demonstrator's path, start and goal included.

    Raises:
        DataError: one of them is empty.
    """
    if not path or not reference:
        which = "path" if not path else "reference path"
        raise DataError(f"scan {graph.scan}: an empty {which} cannot be scored")
    between = graph.distance_m[np.ix_(path, reference)]
    length, shortest = path_length_m(graph, path), float(graph.distance_m[reference[0], reference[-1]])
    error = float(between[-1, -1])
    return PathScores(
        length_m=length,
        error_m=error,
        oracle_error_m=float(between[:, -1].min()),
        spl=_spl(error, length, shortest),
        ndtw=ndtw(between),
        cls=cls(between, length, path_length_m(graph, reference)),
    )


def score_paths(
    instr_ids: Sequence[str],
    graphs: Sequence[NavGraph],
    paths: Sequence[Sequence[int]],
    references: Sequence[Sequence[int]],
) -> NavScores:
    """Score many walks; see `score_path`."""
    if not len(graphs) == len(paths) == len(references):
        raise DataError(f"{len(paths)} paths, but {len(graphs)} graphs and {len(references)} references")
    scores = [score_path(*item) for item in zip(graphs, paths, references)]
    columns = {name: np.array([getattr(item, of) for item in scores], float) for name, of in METRICS.items()}
    return NavScores(tuple(instr_ids), columns)


def path_length_m(graph: NavGraph, path: Sequence[int]) -> float:
    """Sum of the shortest walks between consecutive viewpoints."""
    return float(graph.distance_m[list(path[:-1]), list(path[1:])].sum())


def _spl(error_m: float, length_m: float, shortest_m: float) -> float:
    if error_m >= SUCCESS_M:
        return 0.0
    longest = max(length_m, shortest_m)
    # Start and goal at one place: standing still is perfect (the original divides by zero).
    return shortest_m / longest if longest > 0.0 else 1.0


def ndtw(between_m: Float[np.ndarray, "p r"]) -> float:
    """Normalised dynamic time warping: exp(−DTW / (|R| · d_th)).

    Args:
        between_m: distance between every viewpoint of the walk and of the reference.
    """
    cost = np.full((between_m.shape[0] + 1, between_m.shape[1] + 1), np.inf)
    cost[0, 0] = 0.0
    for row in range(between_m.shape[0]):
        for col in range(between_m.shape[1]):
            best = min(cost[row, col], cost[row, col + 1], cost[row + 1, col])
            cost[row + 1, col + 1] = between_m[row, col] + best
    return float(np.exp(-cost[-1, -1] / (between_m.shape[1] * SUCCESS_M)))


def cls(between_m: Float[np.ndarray, "p r"], length_m: float, reference_m: float) -> float:
    """Coverage weighted by length score, from distances as in `ndtw` and the lengths of walk and reference."""
    coverage = float(np.exp(-between_m.min(0) / SUCCESS_M).mean())
    expected = coverage * reference_m
    denominator = expected + abs(expected - length_m)
    # Nothing was expected and nothing walked: the length is right.
    return coverage * (expected / denominator if denominator > 0.0 else 1.0)
