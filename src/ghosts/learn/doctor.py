"""What can be run on a data root, what is missing, and the next command."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ghosts.errors import DataError
from ghosts.learn.image_tiles import FOLDER
from ghosts.mapping.tile_store import JOINED, PARTS, StoredTiles, read_tiles, unchanged
from ghosts.presets import preset
from ghosts.world.check import Finding, Inventory, check_root
from ghosts.world.dataroot import DataRoot

TILE_BYTES = 1_000_000
"""Of a viewpoint's tile with 768 channels, for the estimate of space; `ghosts tiles` measures before it starts."""


@dataclass(frozen=True)
class Task:
    """Something one may want to run."""

    name: str
    command: str
    ready: bool
    lacks: str = ""
    """What stands in the way."""
    next: str = ""
    """Command that helps."""


@dataclass(frozen=True)
class Diagnosis:
    """Everything found."""

    root: str
    inventory: Inventory
    tasks: tuple[Task, ...]
    findings: tuple[Finding, ...]
    free_bytes: int

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; missing parts are no illness."""
        return not any(finding.level == "wrong" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        value = asdict(self) | {"healthy": self.healthy}
        for name in ("used", "pictured", "landmarked"):
            value["inventory"][name] = sorted(value["inventory"][name])
        return value


def diagnose(
    path: Path, *, sample: int = 0, report: Callable[[int, int], None] = lambda done, total: None
) -> Diagnosis:
    """Check a data root and say what it is good for.

    Args:
        path: the folder.
        sample: see `check_root`.
        report: see `check_root`.

    Raises:
        DataError: the folder is no data root at all.
    """
    inventory, findings = check_root(path, sample=sample, report=report)
    root = DataRoot(path)
    tiles = _check_tiles(root, inventory, findings)
    free = shutil.disk_usage(path).free
    tasks = _tasks(path, inventory, tiles)
    needed = 2 * TILE_BYTES * inventory.viewpoints
    if inventory.pictured and tiles is None and free < needed:
        problem = f"tiles of all viewpoints may need {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free"
        findings.append(Finding("note", "disk", str(path), problem, "ghosts tiles --out on another disk"))
    return Diagnosis(str(path), inventory, tasks, tuple(findings), free)


def _check_tiles(root: DataRoot, inventory: Inventory, findings: list[Finding]) -> StoredTiles | None:
    path = root.path / FOLDER / JOINED
    make = f"ghosts tiles --data {root.path} --backbone FILE"
    if not path.is_file():
        if inventory.pictured:
            parts = len(list((root.path / FOLDER / PARTS).glob("[!.]*.safetensors")))
            problem = f"no tiles yet ({parts} scans are done)" if parts else "no tiles"
            findings.append(Finding("note", "tiles", str(path), problem, make))
        return None
    try:
        stored = read_tiles(path)
        stored.verify(building.scan for building in stored.buildings)
    except DataError as error:
        findings.append(Finding("wrong", "tiles", str(path), error.problem, make))
        return None
    known = {building.scan: building for building in stored.buildings}
    for scan in sorted(inventory.pictured):
        try:
            fresh = scan in known and unchanged(root, known[scan])
        except DataError:
            fresh = False
        if not fresh:
            problem = f"the pictures of {scan} have changed" if scan in known else f"no tiles of {scan}"
            findings.append(Finding("wrong" if scan in known else "note", "tiles", str(path), problem, make))
    return stored


def _tasks(path: Path, inventory: Inventory, tiles: StoredTiles | None) -> tuple[Task, ...]:
    return (
        _simulate(path, inventory),
        _train(path, inventory, "landmarks-filter", _lacks_landmarks(path, inventory)),
        *(
            _train(path, inventory, name, _lacks_images(path, inventory, tiles, name))
            for name in ("houses-filter", "paper")
        ),
    )


def _simulate(path: Path, inventory: Inventory) -> Task:
    name, command = "simulator with pictures", f"ghosts.mattersim: setDatasetPath('{path / 'scans'}')"
    if not inventory.scans:
        return Task(name, command, False, "a usable navigation graph", "ghosts prepare … --connectivity FOLDER")
    if not inventory.pictured:
        return Task(name, command, False, "a scan with sound pictures", f"ghosts prepare --raw SCANS --out {path}")
    return Task(name, command, True)


def _train(path: Path, inventory: Inventory, name: str, lack: tuple[str, str]) -> Task:
    command = f"ghosts train goal --preset {name} --data {path} --out runs/{name}"
    if "train" not in inventory.splits:
        return Task(f"training, {name}", command, False, "a usable R2R_train.json", "ghosts prepare … --r2r FOLDER")
    return Task(f"training, {name}", command, not lack[0], *lack)


def _lacks_landmarks(path: Path, inventory: Inventory) -> tuple[str, str]:
    lost = sorted(inventory.used - inventory.landmarked)
    return (f"landmarks of {_names(lost)}", f"ghosts landmarks --out {path}") if lost else ("", "")


def _lacks_images(path: Path, inventory: Inventory, tiles: StoredTiles | None, name: str) -> tuple[str, str]:
    lost = sorted(inventory.used - inventory.pictured)
    if lost:
        return f"sound pictures of {_names(lost)}", f"ghosts prepare --raw SCANS --out {path}"
    channels = preset(name).model.mapper.features
    source = "the file of ghosts weights" if name == "paper" else "the file of ghosts backbone"
    make = f"ghosts tiles --data {path} --backbone FILE ({source})"
    if tiles is None:
        return f"tiles with {channels} channels", make
    if tiles.settings.channels != channels:
        return f"tiles with {channels} channels (there are some with {tiles.settings.channels})", make
    lost = sorted(inventory.used - {building.scan for building in tiles.buildings})
    return (f"tiles of {_names(lost)}", make) if lost else ("", "")


def _names(scans: list[str]) -> str:
    return ", ".join(scans[:3]) + (f" and {len(scans) - 3} more" if len(scans) > 3 else "")
