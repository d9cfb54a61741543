"""All tiles of a data root in one place, so that a training batch is index arithmetic and one gather.

A tile's cell carries either a stored feature vector (a frozen backbone's) or a list of labels with weights (landmarks,
embedded by the model). Both kinds share the cells and everything that is done with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int, Int32, Int64
from torch import Tensor

from ghosts.data.tile_store import StoredTiles
from ghosts.mapping.cells import ragged_rows, starts_of
from ghosts.mapping.label_tiles import LabelTiles, join_label_tiles, label_tiles
from ghosts.mapping.landmark_views import LandmarkSource


@dataclass(frozen=True, eq=False)
class TileBank:
    """Tiles of many viewpoints, in one or several variants (a building rotated by some angle)."""

    numbers: dict[tuple[str, int], int]
    """(scan, row) to tile number within a variant."""
    angles_rad: tuple[float, ...]
    """How far the world is rotated in each variant (mathematical angle); the first is 0."""
    starts: Int64[np.ndarray, " v1"]
    """Tile k has cells `starts[k]` to `starts[k + 1]`; variant w of viewpoint v is tile w · V + v."""
    cells: Int32[np.ndarray, "n 2"]
    """(row, column) on the lattice."""
    labels: LabelTiles | None = None
    features: Float[Tensor, "n c"] | None = None
    more: Callable[[str], TileBank] | None = None
    """Tiles of a building that is not among `numbers` (labels alone), read when asked for."""

    def part(self, places: Sequence[tuple[str, int, int]]) -> tuple[TileBank, Int64[np.ndarray, " k"]]:
        """A bank with the tiles of some places (building, row of its graph, variant), and their numbers in it."""
        if self.more is None or all(place[:2] in self.numbers for place in places):
            return self, np.array([self.tile(*place) for place in places], np.int64)
        mine: dict[str, list[int]] = {}
        for number, (scan, _, _) in enumerate(places):
            mine.setdefault(scan, []).append(number)
        parts = []
        for scan, numbers in mine.items():
            bank = self.more(scan)
            assert bank.labels is not None, "images are not streamed"
            parts.append(bank.labels.pick(np.array([bank.tile(*places[number]) for number in numbers])))
        tiles = join_label_tiles(parts)
        found = np.empty(len(places), np.int64)
        found[[number for numbers in mine.values() for number in numbers]] = np.arange(len(places))
        return TileBank({}, self.angles_rad, starts_of(tiles.counts), tiles.cells, tiles), found

    def tile(self, scan: str, row: int, variant: int = 0) -> int:
        """Number of a viewpoint's tile."""
        return variant * len(self.numbers) + self.numbers[scan, row]

    def gather(self, tiles: Int[np.ndarray, " k"]) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"]]:
        """All cells of the named tiles: which of them each belongs to, and its row in the bank."""
        return ragged_rows(self.starts, tiles)


def landmark_bank(
    source: LandmarkSource, scans: Iterable[str], cell_m: float, angles_rad: tuple[float, ...] = (0.0,)
) -> TileBank:
    """Tiles of landmarks for every included viewpoint of the given buildings, rotated by each of some angles."""
    places = [(scan, int(row)) for scan in scans for row in np.flatnonzero(source.root.graph(scan).included)]
    views = [source.observe(scan, source.root.graph(scan).ids[row]) for scan, row in places]
    vectors = torch.from_numpy(source.labels.vectors) if source.config.vectors else None
    tiles = label_tiles([view.rotated(angle) for angle in angles_rad for view in views], cell_m, vectors)
    numbers = {place: number for number, place in enumerate(places)}
    return TileBank(numbers, angles_rad, starts_of(tiles.counts), tiles.cells, tiles)


def stored_bank(stored: StoredTiles, rows: Mapping[str, Sequence[int]]) -> TileBank:
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
    return TileBank(numbers, (0.0,), starts_of(counts), stored.cells.numpy(), features=stored.features)
