"""A whole release: shared out over processes and machines, resumable, with a summary that any process can write.

A panorama is the unit of work, and its bytes depend on nothing but its raw files and the settings. What is done is read
from the files themselves, so a run that was killed goes on with what is missing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Tuple

import cv2
import numpy as np

from ghosts_sim.errors import DataError, GhostsError, UnknownNameError
from ghosts_sim.files import read_bytes, read_json, write_json
from ghosts_sim.graph import NavGraph, load_graph
from ghosts_sim.images import check_whole
from ghosts_sim.locks import in_turn
from ghosts_sim.matterport.conf import Origin, Rig
from ghosts_sim.matterport.panorama import (
    PrepareConfig,
    Prepared,
    make_note,
    make_panorama,
    read_note,
    rig_rotation,
    write_panorama,
)
from ghosts_sim.matterport.raw import PARAMETERS, RawRelease
from ghosts_sim.store import PanoramaStore
from ghosts_sim.workers import pool_of

SUMMARY = "prepare.json"
BYTES_A_PIXEL = 2.0
"""Of both files together, for the estimate of space: 1.5 measured by `ghosts bench prepare`."""
_NO_IMAGES = (
    "in the navigation graph, but without raw images: download them, or take it out of the graph (included: false)"
)
WAITING = "not made yet"
"""The problem of a panorama that another process has to make, or has failed to."""
Unit = Tuple[str, str]
"""Scan and viewpoint."""


@dataclass(frozen=True)
class Plan:
    """What is to be done."""

    all: tuple[Unit, ...]
    """Every panorama asked for, of all processes."""
    todo: tuple[Unit, ...]
    """This process's share of what is not done."""
    incomplete: dict[Unit, str]
    """Panoramas that lack raw files, and which."""


def plan_release(
    release: RawRelease,
    root: Path,
    config: PrepareConfig,
    scans: Sequence[str] = (),
    share: tuple[int, int] = (0, 1),
    *,
    again: bool = False,
) -> Plan:
    """Look at what is there.

    Args:
        release: the raw data.
        root: data root to write.
        config: settings.
        scans: scans asked for; all by default.
        share: number of this process and how many share the work (`ranks`).
        again: make what is done already once more: files may be damaged.

    Raises:
        UnknownNameError: a scan is not in the raw data.
    """
    for scan in scans:
        if scan not in release.scans:
            raise UnknownNameError("scan", scan, release.scans, str(release.sources[0]))
    chosen = sorted(set(scans)) or release.scans
    units = [(scan, viewpoint) for scan in chosen for viewpoint in release.viewpoints(scan)]
    incomplete = {}
    for scan, viewpoint in units:
        missing = release.missing(scan, viewpoint, config.colour == "undistorted")
        if f"{scan}.conf" not in release.names(scan, PARAMETERS):
            missing.insert(0, f"{PARAMETERS}/{scan}.conf")
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            incomplete[scan, viewpoint] = f"{missing[0]}{more} missing"
    whole = [unit for unit in units[share[0] :: share[1]] if unit not in incomplete]
    todo = [unit for unit in whole if again or find_prepared(root, *unit, config) is None or _damaged(root, *unit)]
    return Plan(tuple(units), tuple(todo), incomplete)


def find_prepared(root: Path, scan: str, viewpoint: str, config: PrepareConfig) -> Prepared | None:
    """What is known about a finished panorama; None when it is missing or was made otherwise."""
    colour, depth, _ = PanoramaStore(root / "scans").paths(scan, viewpoint)
    return read_note(depth, config) if colour.is_file() else None


def check_space(root: Path, panoramas: int, config: PrepareConfig) -> None:
    """Refuse to start what cannot be finished.

    Raises:
        DataError: the disk is too full.
    """
    needed = panoramas * 6 * config.faces**2 * BYTES_A_PIXEL
    existing = next(path for path in (root, *root.absolute().parents) if path.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        problem = f"{panoramas} panoramas need about {needed / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free"
        raise DataError(problem, file=root, hint="choose another folder with --out, or smaller --faces")


def prepare_release(
    sources: Sequence[Path],
    root: Path,
    config: PrepareConfig,
    todo: Sequence[Unit],
    workers: int = 1,
    report: Callable[[Unit], None] = lambda unit: None,
) -> dict[Unit, str]:
    """Make panoramas of a raw release in several processes (1 works in this one) and report each.

    Returns:
        What could not be made, and why; everything else is on disk.
    """
    failed = {}
    for unit, problem in _results(tuple(sources), root, config, todo, workers):
        if problem is not None:
            failed[unit] = problem
        report(unit)
    return failed


def _results(
    sources: tuple[Path, ...], root: Path, config: PrepareConfig, todo: Sequence[Unit], workers: int
) -> Iterator[tuple[Unit, str | None]]:
    if workers <= 1 or len(todo) <= 1:
        yield from ((unit, _make(sources, root, config, unit)) for unit in todo)
        return
    with pool_of(min(workers, len(todo)), _start_worker) as pool:
        futures = {pool.submit(_make, sources, root, config, unit): unit for unit in todo}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            hint = "the same command goes on where it stopped; use fewer --workers if memory ran out"
            raise DataError("a worker process died", file=root, hint=hint) from None


def _start_worker() -> None:
    cv2.setNumThreads(1)


def _make(sources: tuple[Path, ...], root: Path, config: PrepareConfig, unit: Unit) -> str | None:
    """Make one panorama; the problem when it cannot be made."""
    scan, viewpoint = unit
    try:
        rigs = _rigs(sources, scan, config.origin)
        if viewpoint not in rigs:
            return f"not in {scan}.conf"
        rgb, depth, found = make_panorama(_release(sources), scan, viewpoint, rigs[viewpoint], config)
        colour_path, depth_path, _ = PanoramaStore(root / "scans").paths(scan, viewpoint)
        write_panorama(colour_path, depth_path, rgb, depth, make_note(config, found))
    except GhostsError as error:
        return str(error)
    return None


@lru_cache(maxsize=1)
def _release(sources: tuple[Path, ...]) -> RawRelease:
    return RawRelease(sources)


@lru_cache(maxsize=2)
def _rigs(sources: tuple[Path, ...], scan: str, origin: Origin) -> dict[str, Rig]:
    return _release(sources).cameras(scan, origin)


def _damaged(root: Path, scan: str, viewpoint: str) -> bool:
    """Whether a finished panorama's files are no longer whole, by their checksums; the doctor looks at the pixels."""
    colour, depth, _ = PanoramaStore(root / "scans").paths(scan, viewpoint)
    try:
        for path in (colour, depth):
            check_whole(path, read_bytes(path))
    except DataError:
        return True
    return False


def summarise(
    release: RawRelease, root: Path, config: PrepareConfig, plan: Plan, failed: dict[Unit, str] | None = None
) -> dict[str, Any]:
    """Figures of every scan, from the files; the same whoever writes them.

    Returns:
        `{"scans": {scan: {...}}, "missing": {"scan/viewpoint": problem}}` as plain JSON values.
    """
    problems = {**plan.incomplete, **(failed or {})}
    scans: dict[str, Any] = {}
    missing: dict[str, str] = {}
    for scan in sorted({scan for scan, _ in plan.all}):
        views = [viewpoint for name, viewpoint in plan.all if name == scan]
        found = {viewpoint: find_prepared(root, scan, viewpoint, config) for viewpoint in views}
        done = [item for item in found.values() if item is not None]
        scans[scan] = {"panoramas": len(views), "prepared": len(done), **_figures(done)}
        graph = _graph(root, scan)
        if graph is not None:
            scans[scan] |= _against_graph(release, graph, scan, config)
            standing = [graph.ids[row] for row in np.flatnonzero(graph.included)]
            missing |= {f"{scan}/{name}": _NO_IMAGES for name in standing if name not in found}
        for viewpoint, item in found.items():
            if item is None:
                missing[f"{scan}/{viewpoint}"] = problems.get((scan, viewpoint), WAITING)
    return {"config": asdict(config), "scans": scans, "missing": missing}


def write_summary(root: Path, summary: dict[str, Any]) -> Path:
    """Write `prepare.json`; what it says of other scans stays, and why another process could not make a panorama."""
    with in_turn(root, "summary"):
        before = _summary_before(root / SUMMARY)
        scans, missing = summary["scans"], summary["missing"]
        other = {name: problem for name, problem in before["missing"].items() if name.split("/")[0] not in scans}
        mine = {name: before["missing"].get(name, WAITING) for name, problem in missing.items() if problem == WAITING}
        merged = {
            "config": summary["config"],
            "scans": {**before["scans"], **scans},
            "missing": {**other, **missing, **mine},
        }
        write_json(root / SUMMARY, merged, indent=1)
    return root / SUMMARY


def _summary_before(path: Path) -> dict[str, dict[str, Any]]:
    """Scans and problems of an earlier summary; none where there is none that can be read."""
    try:
        before = read_json(path)
    except DataError:
        before = {}
    found = before if isinstance(before, dict) else {}
    return {part: value if isinstance(value := found.get(part), dict) else {} for part in ("scans", "missing")}


def _figures(done: list[Prepared]) -> dict[str, float]:
    if not done:
        return {}
    mean = {
        name: round(float(np.mean([getattr(item, name) for item in done])), 6)
        for name in ("holes_before", "holes_after", "overlap", "agreement")
    }
    lowest = min(item.agreement for item in done)
    return mean | {"lowest_agreement": lowest, "offset_m": max(item.offset_m for item in done)}


def _graph(root: Path, scan: str) -> NavGraph | None:
    """The navigation graph of a scan, where the root has a sound one."""
    path = root / "connectivity" / f"{scan}_connectivity.json"
    try:
        return load_graph(path) if path.is_file() else None
    except DataError:
        return None  # the doctor says what is wrong with it


def _against_graph(release: RawRelease, graph: NavGraph, scan: str, config: PrepareConfig) -> dict[str, Any]:
    """How far cameras and navigation graph disagree on where a panorama stands and how it is turned."""
    try:
        rigs = release.cameras(scan, config.origin)
    except DataError:
        return {}  # none of its panoramas could be made, each with this problem
    turn, shift = [0.0], [0.0]
    for row in np.flatnonzero(graph.included):
        rig = rigs.get(graph.ids[row])
        if rig is None or (1, 5) not in rig:
            continue
        between = rig_rotation(rig).T @ graph.rotation[row]
        turn.append(float(np.degrees(np.arccos(np.clip((np.trace(between) - 1.0) / 2.0, -1.0, 1.0)))))
        centre = np.mean([camera.position_m for camera in rig.values()], 0)
        shift.append(float(np.linalg.norm(centre - graph.position_m[row])))
    return {"graph_turn_deg": round(max(turn), 3), "graph_shift_m": round(max(shift), 4)}


def ranks() -> tuple[int, int]:
    """Number of this process and how many share the work, as torchrun sets them."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
