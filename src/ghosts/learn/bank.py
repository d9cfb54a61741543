"""All tiles of a data root in one place, so that a training batch is index arithmetic and one gather.

A tile's cell carries either a stored feature vector (a frozen backbone's) or a list of labels with weights (landmarks,
embedded by the model). Both kinds share the cells and everything that is done with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Int32, Int64
from torch import Tensor

from ghosts.mapping.tile_store import StoredTiles
from ghosts.world.landmarks.source import LandmarkSource, landmark_tile


@dataclass(frozen=True, eq=False)
class Entries:
    """Labels of each cell: cell k has entries `starts[k]` to `starts[k + 1]`."""

    starts: Int64[np.ndarray, " n1"]
    label_id: Int32[np.ndarray, " m"]
    weight: Float32[np.ndarray, " m"]


@dataclass(frozen=True, eq=False)
class TileBank:
    """Tiles of many viewpoints, in one or several variants (a building turned by some angle)."""

    cell_m: float
    numbers: dict[tuple[str, int], int]
    """(scan, row) to tile number within a variant."""
    angles_rad: tuple[float, ...]
    """How far the world is turned in each variant (mathematical angle); the first is 0."""
    starts: Int64[np.ndarray, " v1"]
    """Tile k has cells `starts[k]` to `starts[k + 1]`; variant w of viewpoint v is tile w · V + v."""
    cells: Int32[np.ndarray, "n 2"]
    """(row, column) on the lattice."""
    entries: Entries | None = None
    features: Float[Tensor, "n c"] | None = None

    def tile(self, scan: str, row: int, variant: int = 0) -> int:
        """Number of a viewpoint's tile."""
        return variant * len(self.numbers) + self.numbers[scan, row]

    def gather(self, tiles: Int64[np.ndarray, " k"]) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
        """All cells of the named tiles: which of them each belongs to, and its row in the bank."""
        return ragged_rows(self.starts, tiles)


def ragged_rows(
    starts: Int64[np.ndarray, " v1"], picked: Int64[np.ndarray, " k"]
) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
    """Rows of several ragged groups one after the other, with the position of their group in `picked`."""
    sizes = starts[picked + 1] - starts[picked]
    owner = np.repeat(np.arange(len(picked)), sizes)
    first = np.cumsum(sizes) - sizes
    return owner, np.arange(int(sizes.sum())) - first[owner] + starts[picked][owner]


def landmark_bank(
    source: LandmarkSource, scans: Iterable[str], cell_m: float, angles_rad: tuple[float, ...] = (0.0,)
) -> TileBank:
    """Tiles of landmarks for every included viewpoint of the given buildings.

    Args:
        source: gives what is seen where.
        scans: buildings.
        cell_m: side of a map cell.
        angles_rad: variants to make; with landmarks the world can be turned by any angle.
    """
    places = [(scan, int(row)) for scan in scans for row in np.flatnonzero(source.root.graph(scan).included)]
    views = [source.observe(scan, source.root.graph(scan).ids[row]) for scan, row in places]
    cells: list[np.ndarray] = []
    counts: list[int] = []
    entry_counts: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    for angle in angles_rad:
        for view in views:
            tile = landmark_tile(view.turned(angle), cell_m)
            unique, where = np.unique(tile.cells[:, ::-1], axis=0, return_inverse=True)
            order = np.argsort(where.ravel(), kind="stable")
            cells.append(unique)
            counts.append(len(unique))
            entry_counts.append(np.bincount(where.ravel(), minlength=len(unique)))
            labels.append(tile.label_id[order])
            weights.append(tile.weight[order])
    entries = Entries(
        _starts(np.concatenate(entry_counts)),
        np.concatenate(labels).astype(np.int32),
        np.concatenate(weights).astype(np.float32),
    )
    numbers = {place: number for number, place in enumerate(places)}
    return TileBank(
        cell_m, numbers, angles_rad, _starts(np.array(counts)), np.concatenate(cells).astype(np.int32), entries
    )


def tile_bank(stored: StoredTiles, rows: Mapping[str, Sequence[int]]) -> TileBank:
    """Stored tiles as a bank; cells and features stay memory-mapped.

    Args:
        stored: the file.
        rows: for each building of interest, the graph's row of each of its viewpoints.
    """
    numbers, first = {}, 0
    for building in stored.buildings:
        numbers.update({(building.scan, row): first + k for k, row in enumerate(rows.get(building.scan, ()))})
        first += len(building.counts)
    counts = np.array([count for building in stored.buildings for count in building.counts], np.int64)
    return TileBank(
        stored.settings.cell_m, numbers, (0.0,), _starts(counts), stored.cells.numpy(), features=stored.features
    )


def _starts(counts: np.ndarray) -> Int64[np.ndarray, " n1"]:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def entry_tensors(
    entries: Entries, rows: Int64[np.ndarray, " n"]
) -> tuple[Int64[Tensor, " m"], Int64[Tensor, " m"], Float32[Tensor, " m"]]:
    """Entries of the named cells: which of them each belongs to, its label and its weight."""
    owner, picked = ragged_rows(entries.starts, rows)
    return (
        torch.from_numpy(owner),
        torch.from_numpy(entries.label_id[picked].astype(np.int64)),
        torch.from_numpy(entries.weight[picked]),
    )
