"""What can be run on a data root, what is missing, and the next command."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ghosts.data.examples import split_buildings
from ghosts.data.tile_store import FOLDER, JOINED, PARTS, StoredTiles, read_tiles, unchanged
from ghosts.methods import preset
from ghosts_houses.check import check_words
from ghosts_houses.index import MORE_HOUSES
from ghosts_sim.check import Finding, Inventory, check_root
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.files import listed, read_json, read_object
from ghosts_sim.matterport.prepare import SUMMARY
from ghosts_sim.matterport.raw import RawRelease
from ghosts_sim.remedy import PictureRecipe, landmarks_command

TILE_BYTES = 1_000_000
"""Size of a viewpoint's tile with 768 channels, to estimate space. `ghosts tiles` measures it before it starts."""
FEWEST_AGREE = 0.9
"""Cameras that agree on a smaller share of overlaps have misread parameters (right: 0.99, wrong: 0.5)."""
MOST_DEG = 1.0
"""Cameras and a navigation graph that differ by a larger angle do not belong together."""


@dataclass(frozen=True)
class Use:
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
    tasks: tuple[Use, ...]
    findings: tuple[Finding, ...]
    free_bytes: int
    read: int = 0
    """Instructions compared with the geometry of their house; 0 where the geometry is not known."""

    @property
    def untrue(self) -> int:
        """Instructions that contradict their house."""
        return sum(finding.part == "words" and finding.level == "wrong" for finding in self.findings)

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; a missing part is not wrong."""
        return not any(finding.level == "wrong" for finding in self.findings)

    @property
    def verdict(self) -> str:
        """In a line."""
        if not self.healthy:
            return "something is wrong"
        if any(task.ready for task in self.tasks):
            return "healthy"
        return f"nothing is wrong, but nothing can be run yet; next: {self.tasks[0].next}"

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        value = asdict(self) | {"healthy": self.healthy, "untrue": self.untrue}
        for name in ("used", "pictured", "damaged", "landmarked"):
            value["inventory"][name] = sorted(value["inventory"][name])
        return value


def diagnose(
    path: Path, *, sample: int = 0, report: Callable[[int, int], None] = lambda done, total: None
) -> Diagnosis:
    """Check a data root (`check_root`) and say what it is good for.

    Raises:
        DataError: the folder is no data root at all.
    """
    _check_folder(path)
    inventory, findings = check_root(path, sample=sample, report=report)
    root = DataRoot(path)
    made = PictureRecipe.of(path)
    findings += [*_check_prepared(made), *_check_world(made)]
    read, untrue = check_words(root, made.command())
    findings += untrue
    tiles, stale = _check_tiles(root, inventory, findings)
    free = shutil.disk_usage(path).free
    tasks = _tasks(root, made, inventory, tiles, stale)
    needed = 2 * TILE_BYTES * inventory.viewpoints
    if inventory.pictured and tiles is None and free < needed:
        problem = f"tiles of all viewpoints may need {needed / 1e9:.1f} GB, {free / 1e9:.1f} GB are free"
        findings.append(Finding("note", "disk", str(path), problem, "ghosts tiles --out on another disk"))
    return Diagnosis(str(path), inventory, tasks, tuple(findings), free, read)


def _check_folder(path: Path) -> None:
    """If a folder is no data root, say what it is, or how to make it one.

    Raises:
        DataError: there is no navigation graph.
    """
    if not path.is_dir() or (path / "connectivity").is_dir():
        return  # the first is told by `DataRoot`
    if (path / "scans").is_dir() or (path / "r2r").is_dir():
        hint = f"next: ghosts prepare --raw SCANS --out {path} --connectivity FOLDER --r2r FOLDER"
        raise DataError("a data root without its navigation graphs (connectivity/)", file=path, hint=hint)
    inside = sorted(child for child in path.iterdir() if (child / "connectivity").is_dir())
    if inside:
        hint = f"next: ghosts doctor --data {inside[0]}"
        raise DataError(
            f"no data root, but the folder of {_names([item.name for item in inside])}", file=path, hint=hint
        )
    try:
        scans = RawRelease([path]).scans
    except DataError:
        given = "--connectivity FOLDER --r2r FOLDER"
        hint = (
            f"next: ghosts world --out {path} (procedural houses), "
            f"ghosts landmarks --bbox FOLDER --regions FOLDER {given} --out {path} (labels instead of images), "
            f"or ghosts prepare --raw SCANS {given} --out {path} (Matterport3D)"
        )
        what = "an empty folder" if not any(path.iterdir()) else "no data root (no connectivity/, scans/ or r2r/)"
        raise DataError(what, file=path, hint=hint) from None
    hint = f"next: ghosts prepare --raw {path} --out ROOT --connectivity FOLDER --r2r FOLDER"
    raise DataError(
        f"the raw Matterport3D release ({len(scans)} scan{'s' if len(scans) > 1 else ''}), not a data root",
        file=path,
        hint=hint,
    )


def _check_world(made: PictureRecipe) -> Iterator[Finding]:
    """What procedural houses are made again from."""
    try:
        if made.houses:
            read_object(made.path / "world.json")
    except DataError as error:
        hint = "run the command again that made this world; it writes the file anew"
        yield Finding("wrong", "houses", str(error.file), error.problem, hint)


def _check_prepared(made: PictureRecipe) -> Iterator[Finding]:
    """What `ghosts prepare` found out: panoramas it could not make, cameras that disagree."""
    file = made.path / SUMMARY
    if not file.is_file():
        return
    try:
        summary = read_json(file)
        scans, missing = summary["scans"], summary["missing"]
        # Of its worst panorama: one of a hundred hardly shows in their mean.
        agreement = {
            scan: row.get("lowest_agreement", row["agreement"]) for scan, row in scans.items() if row["prepared"]
        }
        odd = {scan: share for scan, share in agreement.items() if share < FEWEST_AGREE}
        turned = {
            scan: row["graph_turn_deg"] for scan, row in scans.items() if row.get("graph_turn_deg", 0.0) > MOST_DEG
        }
        first = next(iter(missing.items()), None)
    except (DataError, KeyError, TypeError, AttributeError):
        yield Finding("wrong", "images", str(file), "not a summary of ghosts prepare", made.command())
        return
    if first is not None:
        problem = f"{len(missing)} panoramas could not be made, first {first[0]}: {first[1]}"
        yield Finding("note", "images", str(file), problem, f"{made.command()} (after downloading what is missing)")
    for scan, share in odd.items():
        problem = f"cameras of a panorama of {scan} agree on only {100 * share:.0f} % of what two of them see"
        hint = f"{made.command(scan, origin=False)} (without --origin)"
        yield Finding("wrong", "images", str(file), problem, hint)
    for scan, degrees in turned.items():
        problem = f"cameras and navigation graph of {scan} are turned against each other by {degrees:.1f}°"
        yield Finding("wrong", "connectivity", str(file), problem, "take the released graph of this scan")


def _check_tiles(
    root: DataRoot, inventory: Inventory, findings: list[Finding]
) -> tuple[StoredTiles | None, frozenset[str]]:
    """Sound tiles, and the scans whose pictures have changed since."""
    path = root.path / FOLDER / JOINED
    make = f"ghosts tiles --data {root.path} --backbone FILE"
    if not path.is_file():
        if inventory.pictured:
            parts = len(listed(root.path / FOLDER / PARTS, "*.safetensors"))
            problem = f"no tiles yet ({parts} scans are done)" if parts else "no tiles"
            findings.append(Finding("note", "tiles", str(path), problem, make))
        return None, frozenset()
    try:
        stored = read_tiles(path)
        stored.verify(building.scan for building in stored.buildings)
    except DataError as error:
        findings.append(Finding("wrong", "tiles", str(path), error.problem, make))
        return None, frozenset()
    known, stale = {building.scan: building for building in stored.buildings}, set()
    for scan in sorted(inventory.pictured):
        try:
            fresh = scan in known and unchanged(root, known[scan])
        except DataError:
            fresh = False
        if scan not in known:
            findings.append(Finding("note", "tiles", str(path), f"no tiles of {scan}", make))
        elif not fresh:
            findings.append(Finding("wrong", "tiles", str(path), f"the pictures of {scan} have changed", make))
            stale.add(scan)
    return stored, frozenset(stale)


def _tasks(
    root: DataRoot, made: PictureRecipe, inventory: Inventory, tiles: StoredTiles | None, stale: frozenset[str]
) -> tuple[Use, ...]:
    path = root.path
    paths = _lacks_paths(root, made, inventory)
    select = "" if paths[0] else _select(root, inventory)
    lacks = {"landmarks-filter": _lacks_landmarks(path, inventory)}
    lacks |= {name: _lacks_images(made, inventory, tiles, stale, name) for name in ("houses-filter", "paper")}
    goals = tuple(_train(path, name, paths if paths[0] else lack, select) for name, lack in lacks.items())
    command = f"ghosts train vln --preset paper-agent --data {path} --out runs/paper-agent{select}"
    navigation = replace(goals[-1], name="navigation, paper-agent", command=command)
    shipped = _shipped(path, made, inventory, tiles, stale)
    return tuple(sorted((*shipped, _simulate(made, inventory), *goals, navigation), key=lambda use: not use.ready))


def _shipped(
    path: Path, made: PictureRecipe, inventory: Inventory, tiles: StoredTiles | None, stale: frozenset[str]
) -> Iterator[Use]:
    """What the shipped agents can be tried with: no training path is needed."""
    pictured = bool(inventory.pictured) or not inventory.landmarked
    run = "houses-agent" if pictured else "landmarks-agent"
    lack = (
        _lacks_images(made, inventory, tiles, stale, "houses-filter") if pictured else _lacks_landmarks(path, inventory)
    )
    if not inventory.splits:
        lack = ("any split of instructions", made.command())
    split = next((name for name in ("val_unseen", "val_seen") if name in inventory.splits), "train")
    for name, command in (
        ("viewer", f"ghosts view --data {path} --run {run}"),
        ("report", f"ghosts report --data {path} --run {run}"),
        ("evaluation", f"ghosts eval vln --data {path} --run {run} --split {split}"),
    ):
        yield Use(f"{name}, {run}", command, not lack[0], *lack)


def _simulate(made: PictureRecipe, inventory: Inventory) -> Use:
    name, command = "simulator with pictures", f"ghosts_sim.mattersim: setDatasetPath('{made.path / 'scans'}')"
    if not inventory.scans:
        return Use(name, command, False, "a usable navigation graph", "ghosts prepare … --connectivity FOLDER")
    if not inventory.pictured:
        again = made.command(*sorted(inventory.damaged), again=bool(inventory.damaged))
        return Use(name, command, False, "a scan with sound pictures", again)
    return Use(name, command, True)


def _train(path: Path, name: str, lack: tuple[str, str], select: str) -> Use:
    command = f"ghosts train goal --preset {name} --data {path} --out runs/{name}{select}"
    return Use(f"training, {name}", command, not lack[0], *lack)


def _lacks_paths(root: DataRoot, made: PictureRecipe, inventory: Inventory) -> tuple[str, str]:
    """What stands in the way of any training: no path to train on."""
    if "train" in inventory.splits:
        return "", ""
    # `ghosts prepare` leaves out a split that has no path in the scans it prepared.
    elsewhere = inventory.splits and "train" not in root.splits
    if elsewhere and (root.path / "world.json").is_file():
        return "a training path (one house alone is unseen)", MORE_HOUSES
    if elsewhere or ("train" in root.splits and _holds_none(root)):
        more = f"{made.command()} --connectivity FOLDER --r2r FOLDER (with more scans in SCANS)"
        return "a training path (none lies in the scans of this root)", more
    return "a usable R2R_train.json", "ghosts prepare … --r2r FOLDER"


def _holds_none(root: DataRoot) -> bool:
    """Whether the training file is a list of paths, none of which lies in the scans of the root."""
    try:
        records = read_json(root.path / "r2r" / "R2R_train.json")
        return isinstance(records, list) and not {record["scan"] for record in records} & set(root.scans)
    except (DataError, KeyError, TypeError):
        return False


def _select(root: DataRoot, inventory: Inventory) -> str:
    """The option that names a split to choose the best checkpoint on, where the usual `dev_unseen` cannot be made."""
    if split_buildings(root)[1]:
        return ""
    known = [split for split in ("val_seen", "val_unseen") if inventory.splits.get(split)]
    return f" --select {(known or ['train'])[0]}"


def _lacks_landmarks(path: Path, inventory: Inventory) -> tuple[str, str]:
    lost = sorted(inventory.used - inventory.landmarked)
    return (f"landmarks of {_names(lost)}", landmarks_command(path)) if lost else ("", "")


def _lacks_images(
    made: PictureRecipe, inventory: Inventory, tiles: StoredTiles | None, stale: frozenset[str], name: str
) -> tuple[str, str]:
    lost = sorted(inventory.used - inventory.pictured)
    if lost:
        named = lost if inventory.pictured or inventory.damaged else ()
        again = made.command(*named, again=not inventory.damaged.isdisjoint(lost))
        return f"sound pictures of {_names(lost)}", again
    channels = preset(name).model.mapper.features
    source = "FILE (the file of ghosts weights)" if name == "paper" else "houses-backbone"
    make = f"ghosts tiles --data {made.path} --backbone {source}"
    if tiles is None:
        return f"tiles with {channels} channels", make
    if tiles.settings.channels != channels:
        return f"tiles with {channels} channels (there are some with {tiles.settings.channels})", make
    lost = sorted(inventory.used - ({building.scan for building in tiles.buildings} - stale))
    return (f"tiles of {_names(lost)} as the pictures are now", make) if lost else ("", "")


def _names(scans: list[str]) -> str:
    return ", ".join(scans[:3]) + (f" and {len(scans) - 3} more" if len(scans) > 3 else "")
