"""Tiles that were made (`tile_maker`), checked against the data and the model before they are read."""

from __future__ import annotations

from collections.abc import Sequence

from ghosts.config import MapperConfig
from ghosts.data.bank import TileBank, stored_bank
from ghosts.data.reading import Reading
from ghosts.data.tile_store import FOLDER, JOINED, read_tiles, unchanged
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError


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
