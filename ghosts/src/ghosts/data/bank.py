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

from ghosts.config import MapperConfig
from ghosts.data.reading import Reading
from ghosts.data.tile_store import FOLDER, JOINED, StoredTiles, read_tiles, unchanged
from ghosts.mapping.cells import ragged_rows, starts_of
from ghosts.mapping.label_tiles import LabelTiles, join_label_tiles, label_tiles
from ghosts.mapping.landmark_views import LandmarkSource
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError


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


def load_tile_bank(root: DataRoot, scans: Sequence[str], reading: Reading) -> tuple[TileBank, str]:
    """The stored tiles of some buildings, memory-mapped. Nothing is made here.

    Args:
        root: the data.
        scans: buildings that must be there, up to date and undamaged.
        reading: what the tiles must fit.

    Returns:
        The bank (its features are one float16 tensor over the file), and the tiles' fingerprint.

    Raises:
        DataError: tiles are missing, damaged or out of date; names the command that makes them.
        ConfigError: they do not fit the model.
    """
    if len(reading.rotations) > 1:
        raise ConfigError(
            f"train.variants is {len(reading.rotations)}, but images cannot be rotated by any angle; "
            "use --train.variants 1 (and --train.quarters for quarter rotations)"
        )
    path = root.path / FOLDER / JOINED
    command = _command(root, reading)
    if not path.is_file():
        raise DataError(
            "no tiles of this data root",
            file=path,
            hint=f"make them with: {command} (for houses, FILE is houses-backbone)",
        )
    stored = read_tiles(path)
    settings, cell_m = stored.settings, reading.grid.cell_m
    if (settings.cell_m, settings.height_clip_m) != (cell_m, reading.height_clip_m):
        made, wanted = (
            f"{side:g} m, cut {clip:g} m above the camera"
            for side, clip in ((settings.cell_m, settings.height_clip_m), (cell_m, reading.height_clip_m))
        )
        raise ConfigError(f"{path}: tiles have cells of {made}; the model expects cells of {wanted}; run: {command}")
    if reading.channels is not None and settings.channels != reading.channels:
        raise ConfigError(
            f"{path}: tiles have {settings.channels} channels, the model expects {reading.channels}; make tiles with "
            f"another backbone ({command}) or set --model.mapper.features {settings.channels}"
        )
    if reading.channels is not None and reading.tiles not in (None, settings.fingerprint):
        raise ConfigError(
            f"{path}: the model was trained on tiles of another backbone or camera; run: {command} (with its FILE)"
        )
    entries = {building.scan: building for building in stored.buildings}
    for scan in scans:
        if scan not in entries:
            raise DataError(f"no tiles of building {scan}", file=path, hint=f"make them with: {command}")
        if not unchanged(root, entries[scan]):
            hint = f"make its tiles again with: {command}"
            raise DataError(f"the pictures of building {scan} have changed since its tiles", file=path, hint=hint)
    try:
        stored.verify(scans)
    except DataError as error:
        raise DataError(error.problem, file=path, record=error.record, hint=f"repair with: {command}") from None
    rows = {
        building.scan: [root.graph(building.scan).index(name) for name in building.viewpoints]
        for building in stored.buildings
        if building.scan in set(root.scans)
    }
    return stored_bank(stored, rows), settings.fingerprint


def _command(root: DataRoot, reading: Reading) -> str:
    """The command that makes the tiles a model needs."""
    clip_m = reading.height_clip_m
    words = f"ghosts tiles --data {root.path} --backbone FILE --cell-m {reading.grid.cell_m:g}"
    return words + (f" --height-clip-m {clip_m:g}" if clip_m != MapperConfig.height_clip_m else "")
