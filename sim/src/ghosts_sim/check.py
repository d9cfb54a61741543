"""Looks at a data root file by file: graphs, episodes, pictures, landmarks. Nothing is changed.

A finding is *wrong* (a file contradicts another, or cannot be used) or a *note* (something could be added, or is odd),
and names the file and the next command.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Episode
from ghosts_sim.errors import DataError, GhostsError
from ghosts_sim.graph import NavGraph
from ghosts_sim.images import read_skybox_depth, read_skybox_labels, read_skybox_rgb
from ghosts_sim.landmarks.format import load_scene
from ghosts_sim.remedy import PictureRecipe, landmarks_command

Part = Literal["connectivity", "r2r", "words", "houses", "images", "landmarks", "tiles", "disk"]
MOST_HOLES = 0.6
"""Share of a panorama without depth above which it is called wrong."""
_PATH_TOLERANCE_M = 0.5
_ODD_PATHS = 0.02
_LOW_DISK_BYTES = 1 << 30


@dataclass(frozen=True)
class Finding:
    """One thing worth saying."""

    level: Literal["wrong", "note"]
    part: Part
    where: str
    """File or folder."""
    problem: str
    next: str = ""
    """Command that helps."""


@dataclass(frozen=True)
class Inventory:
    """What a data root holds."""

    scans: tuple[str, ...]
    """With a usable navigation graph."""
    viewpoints: int
    splits: dict[str, int]
    """Usable splits and their paths."""
    used: frozenset[str]
    """Scans that paths run through."""
    pictured: frozenset[str]
    """Scans whose included viewpoints all have sound pictures."""
    damaged: frozenset[str]
    """Scans with pictures that are there but cannot be used."""
    landmarked: frozenset[str]
    face_px: int | None


def check_root(
    path: Path, *, sample: int = 0, report: Callable[[int, int], None] = lambda done, total: None
) -> tuple[Inventory, list[Finding]]:
    """Check a data root.

    Args:
        path: its folder.
        sample: panoramas of each scan whose pictures are decoded, evenly taken; 0 = all.
        report: told how many panoramas are done, of how many.

    Raises:
        DataError: the folder is no data root at all.
    """
    root = DataRoot(path)
    findings: list[Finding] = []
    graphs = _check_graphs(root, findings)
    splits, used = _check_episodes(root, graphs, findings)
    pictured, damaged, face_px = _check_images(root, graphs, used, sample, findings, report)
    landmarked = _check_landmarks(root, graphs, used, findings)
    _check_disk(path, findings)
    viewpoints = sum(int(graph.included.sum()) for graph in graphs.values())
    inventory = Inventory(tuple(graphs), viewpoints, splits, used, pictured, damaged, landmarked, face_px)
    return inventory, findings


def _problem(error: GhostsError) -> tuple[str, str]:
    """File and rest of an error's message."""
    if isinstance(error, DataError) and error.file is not None:
        said = str(error)[len(str(error.file)) :].lstrip(":, ")
        # The doctor gives its own advice, which knows where the file came from.
        return str(error.file), said[: -len(f"; {error.hint}")] if error.hint else said
    return "", str(error)


def _check_graphs(root: DataRoot, findings: list[Finding]) -> dict[str, NavGraph]:
    graphs = {}
    try:
        scans = root.scans
    except DataError as error:
        where, problem = _problem(error)
        findings.append(Finding("wrong", "connectivity", where, problem, "copy <scan>_connectivity.json files there"))
        return {}
    for scan in scans:
        try:
            graph = root.graph(scan)
        except GhostsError as error:
            where, problem = _problem(error)
            findings.append(Finding("wrong", "connectivity", where, problem, "take the released file again"))
            continue
        graphs[scan] = graph
        rows = np.flatnonzero(graph.included)
        apart = int((~np.isfinite(graph.distance_m[rows[:1]][:, rows])).sum()) if rows.size else 0
        where = str(root.path / "connectivity" / f"{scan}_connectivity.json")
        if not rows.size:
            findings.append(Finding("wrong", "connectivity", where, "no included viewpoint"))
        elif apart:
            problem = f"{apart} of {rows.size} included viewpoints cannot be reached from the first"
            findings.append(Finding("note", "connectivity", where, problem))
    return graphs


def _check_episodes(
    root: DataRoot, graphs: dict[str, NavGraph], findings: list[Finding]
) -> tuple[dict[str, int], frozenset[str]]:
    splits, used = {}, set()
    if not root.splits:
        hint = "ghosts prepare … --r2r FOLDER, or copy R2R_<split>.json there"
        findings.append(Finding("note", "r2r", str(root.path / "r2r"), "no R2R_<split>.json", hint))
    for split in root.splits:
        where = str(root.path / "r2r" / f"R2R_{split}.json")
        try:
            episodes = root.episodes(split)
        except GhostsError as error:
            file, problem = _problem(error)
            if file == where:  # else a graph is at fault, which was reported above
                hint = "take the released file again (ghosts prepare … --r2r FOLDER keeps the paths of its scans)"
                findings.append(Finding("wrong", "r2r", where, problem, hint))
            continue
        splits[split] = len(episodes)
        used |= {episode.scan for episode in episodes}
        off = [episode for episode in episodes if not _length_fits(episode, graphs)]
        if off:
            problem = f"{len(off)} of {len(episodes)} paths are not as long as they say, first path {off[0].path_id}"
            # One path of the released val_seen is: only many mean that graphs and episodes do not belong together.
            level: Literal["wrong", "note"] = "wrong" if len(off) > _ODD_PATHS * len(episodes) else "note"
            findings.append(Finding(level, "r2r", where, problem))
    return splits, frozenset(used)


def _length_fits(episode: Episode, graphs: dict[str, NavGraph]) -> bool:
    if episode.distance_m is None or episode.scan not in graphs:
        return True
    graph = graphs[episode.scan]
    rows = [graph.index(viewpoint) for viewpoint in episode.path]
    length = np.linalg.norm(np.diff(graph.position_m[rows], axis=0), axis=-1).sum()
    return abs(float(length) - episode.distance_m) <= _PATH_TOLERANCE_M


def _check_images(
    root: DataRoot,
    graphs: dict[str, NavGraph],
    used: frozenset[str],
    sample: int,
    findings: list[Finding],
    report: Callable[[int, int], None],
) -> tuple[frozenset[str], frozenset[str], int | None]:
    """Scans with sound pictures, scans with damaged ones, and the side of a face."""
    made = PictureRecipe.of(root.path)
    if not root.has_images:
        findings.append(Finding("note", "images", str(root.path / "scans"), "no pictures", made.command()))
        return frozenset(), frozenset(), None
    sound, damaged = set(), set()
    work = []
    for scan, graph in graphs.items():
        names = [graph.ids[row] for row in np.flatnonzero(graph.included)]
        if not (root.path / "scans" / scan).is_dir():
            level: Literal["wrong", "note"] = "wrong" if scan in used else "note"
            problem = f"no pictures of scan {scan}" + (", which paths run through" if scan in used else "")
            findings.append(Finding(level, "images", str(root.path / "scans" / scan), problem, made.command(scan)))
            continue
        sound.add(scan)
        step = max(1, len(names) // sample) if sample else 1
        lost = _lost_files(root, scan, names, made, findings)
        sound -= {scan} if lost else set()
        work += [(scan, name) for name in names[::step] if name not in lost]
    sizes: dict[int, list[tuple[str, str]]] = defaultdict(list)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, ((scan, name), result) in enumerate(zip(work, pool.map(lambda unit: _picture(root, *unit), work)), 1):
            report(done, len(work))
            face_px, problems = result
            for path, problem in problems:
                findings.append(Finding("wrong", "images", str(path), problem, made.command(scan, again=True)))
                damaged.add(scan)
            if face_px is not None:
                sizes[face_px].append((scan, name))
    if len(sizes) > 1:
        text = ", ".join(f"{size} px ({'/'.join(units[0])})" for size, units in sorted(sizes.items()))
        odd = sorted({scan for size, units in sizes.items() if size != made.config.faces for scan, _ in units})
        where, hint = str(root.path / "scans" / odd[0]), made.command(*odd, again=True)
        findings.append(Finding("wrong", "images", where, f"faces of different sizes: {text}", hint))
    return frozenset(sound - damaged), frozenset(damaged), min(sizes, default=None)


def _lost_files(root: DataRoot, scan: str, names: list[str], made: PictureRecipe, findings: list[Finding]) -> set[str]:
    """Viewpoints that lack a file; one finding per kind of file."""
    store = root.panoramas()
    lost: set[str] = set()
    for kind, number in (("colour", 0), ("depth", 1)):
        gone = [name for name in names if not store.paths(scan, name)[number].is_file()]
        if gone:
            first = store.paths(scan, gone[0])[number]
            problem = f"no such file ({kind} of {len(gone)} of {len(names)} viewpoints of scan {scan})"
            findings.append(Finding("wrong", "images", str(first), problem, made.command(scan)))
            lost |= set(gone)
    return lost


def _picture(root: DataRoot, scan: str, name: str) -> tuple[int | None, list[tuple[Path, str]]]:
    """Side of a face, and what is wrong with a panorama's files; only houses have labels."""
    colour_path, depth_path, label_path = root.panoramas().paths(scan, name)
    readers: dict[Path, Callable[[Path], np.ndarray]] = {colour_path: read_skybox_rgb, depth_path: read_skybox_depth}
    if os.path.lexists(label_path):
        readers[label_path] = read_skybox_labels
    problems: list[tuple[Path, str]] = []
    sizes: dict[Path, int] = {}
    for path, read in readers.items():
        try:
            strip = read(path)
        except DataError as error:
            problems.append((path, _problem(error)[1]))
            continue
        sizes[path] = strip.shape[0]
        first = next(iter(sizes.values()))
        if path == colour_path and strip.max() == strip.min():
            problems.append((path, f"every pixel has the same colour {strip[0, 0].tolist()}"))
        if path == depth_path:
            problems += [(path, problem) for problem in depth_problems(strip)]
        if strip.shape[0] != first:
            problems.append((path, f"faces of {strip.shape[0]} px, colour has {first} px"))
    return sizes[colour_path] if {colour_path, depth_path} <= sizes.keys() else None, problems


def depth_problems(depth: np.ndarray) -> Iterator[str]:
    """What makes a depth strip unusable."""
    holes = float((depth == 0).mean())
    if holes == 1.0:
        yield "no depth reading at all"
    elif int(depth.max()) == int(depth[depth > 0].min()):
        yield f"every reading is the same ({int(depth.max())})"
    elif holes > MOST_HOLES:
        yield f"{100 * holes:.0f} % of the pixels have no reading"


def _check_landmarks(
    root: DataRoot, graphs: dict[str, NavGraph], used: frozenset[str], findings: list[Finding]
) -> frozenset[str]:
    if not root.has_landmarks:
        if (root.path / "world.json").is_file():  # procedural houses have pictures instead
            return frozenset()
        hint = landmarks_command(root.path)
        findings.append(Finding("note", "landmarks", str(root.path / "landmarks"), "no landmarks", hint))
        return frozenset()
    good = set()
    for scan in graphs:
        path = root.path / "landmarks" / f"{scan}.json"
        if not path.is_file() and scan not in used:
            findings.append(Finding("note", "landmarks", str(path), f"no landmarks of scan {scan}"))
            continue
        try:
            load_scene(root, scan)
            good.add(scan)
        except GhostsError as error:
            hint = landmarks_command(root.path)
            findings.append(Finding("wrong", "landmarks", str(path), _problem(error)[1], hint))
    return frozenset(good)


def _check_disk(path: Path, findings: list[Finding]) -> None:
    free = shutil.disk_usage(path).free
    if free < _LOW_DISK_BYTES:
        problem = f"{free / 1e9:.2f} GB are free; checkpoints and tiles need more"
        findings.append(Finding("wrong", "disk", str(path), problem, "free some space"))
