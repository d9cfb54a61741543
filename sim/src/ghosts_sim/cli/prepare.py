"""Make a data root from the raw Matterport3D release: skyboxes and depth for the simulator, graphs, episodes.

`ghosts prepare --raw SCANS --out ROOT --connectivity DIR --r2r DIR` reads folders or zip files as downloaded, resumes
an interrupted run, and says what is missing. Several machines share the work by RANK and WORLD_SIZE (torchrun).
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table

from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_folder
from ghosts_sim.cli._progress import columns
from ghosts_sim.errors import ConfigError, MissingExtraError
from ghosts_sim.values import require

if TYPE_CHECKING:
    from ghosts_sim.matterport.conf import Origin
    from ghosts_sim.matterport.prepare import Plan
    from ghosts_sim.matterport.raw import RawRelease


@dataclass(frozen=True)
class Options:
    raw: tuple[Path, ...] = ()
    """Folder that holds the scans, or a zip file of the release; repeat for more."""
    out: Path = Path("data")
    """Data root to write."""
    scan: tuple[str, ...] = ()
    """Make only this building; repeat for more."""
    connectivity: Path | None = None
    """Folder of navigation graphs to copy into the root."""
    r2r: Path | None = None
    """Folder of `R2R_<split>.json` files to copy into the root."""
    faces: int = 512
    """Side of a skybox face in pixels."""
    colour: Literal["skybox", "undistorted"] = "skybox"
    """Source of colour: the skyboxes, or the undistorted images, which are better aligned with depth."""
    origin: Literal["auto", "bottom-left", "top-left"] = "auto"
    """Corner from which the camera file measures the optical centre; auto decides by overlapping images
    (docs/matterport.md)."""
    parallax: bool = True
    """Correct depth for the distance of the cameras from their middle (see docs/matterport.md)."""
    again: bool = False
    """Make again panoramas that are already there (`ghosts doctor` says when)."""
    workers: int = 0
    """Processes; 0 = one per core."""

    def __post_init__(self) -> None:
        require(self.workers >= 0, "--workers must not be negative", self.workers)


def main(arguments: list[str]) -> None:
    """Run `ghosts prepare`."""
    options = parse(Options, "prepare", arguments, __doc__)
    if not options.raw:
        raise ConfigError("nothing to prepare; name --raw FOLDER (or a zip file)")
    check_out_folder(options.out)
    for package, name in (("OpenCV", "cv2"), ("SciPy", "scipy")):
        if importlib.util.find_spec(name) is None:
            raise MissingExtraError(package, "ghosts-sim[prepare]", "ghosts prepare")
    if not _prepare(options):
        raise SystemExit(1)


def _prepare(options: Options) -> bool:
    from ghosts_sim.matterport.panorama import PrepareConfig
    from ghosts_sim.matterport.prepare import check_space, plan_release, prepare_release, ranks, summarise
    from ghosts_sim.matterport.raw import RawRelease

    rank, world = ranks()
    console = Console(quiet=rank > 0, markup=False)
    config = PrepareConfig(options.faces, options.colour, parallax=options.parallax)
    release = RawRelease(options.raw)
    for scan in options.scan:
        release.viewpoints(scan)  # an unknown one is told before anything is read
    config = replace(config, origin=_origin(options, release, console))
    plan = plan_release(release, options.out, config, options.scan, (rank, world), again=options.again)
    scans = sorted({scan for scan, _ in plan.all})
    check_space(options.out, len(plan.todo), config)
    if rank == 0:
        _take(options, scans, console)
    _warn(release, plan, console)
    workers = options.workers or os.cpu_count() or 1
    console.print(
        f"{len(plan.all)} panoramas of {len(scans)} scans, {len(plan.todo)} to make here "
        f"({workers} process{'es' if workers > 1 else ''}, part {rank + 1} of {world})"
    )
    begin = time.perf_counter()
    with Progress(*columns(), console=console) as progress:
        bar = progress.add_task("panoramas", total=len(plan.todo))
        failed = prepare_release(
            options.raw, options.out, config, plan.todo, workers, lambda unit: progress.advance(bar)
        )
    seconds = time.perf_counter() - begin
    if plan.todo:
        made = len(plan.todo) - len(failed)
        console.print(f"{made} panoramas in {seconds:.0f} s ({made / seconds:.2f} per second)")
    summary = summarise(release, options.out, config, plan, failed)
    complete = _report(options.out, summary, failed, console if rank == 0 else None)
    # torchrun ends all processes when one fails; what could not be made is in the summary, and the doctor tells.
    return world > 1 or (complete and not release.damaged)


def _origin(options: Options, release: RawRelease, console: Console) -> Origin:
    """Where `cy` is measured from: checked on a few panoramas, the same for every process."""
    from ghosts_sim.matterport.conventions import DEFAULT, check_origin

    check = check_origin(release, [scan for scan in release.scans if scan in options.scan or not options.scan])
    console.print(check.summary, soft_wrap=True)
    if options.origin == "auto":
        return check.fits or DEFAULT
    if check.fits not in (None, options.origin):
        console.print(f"warning: --origin {options.origin} contradicts the images; leave it out", soft_wrap=True)
    return options.origin


def _take(options: Options, scans: list[str], console: Console) -> None:
    from ghosts_sim.matterport.graphs import listed_scans, take_episodes, take_graphs

    if options.connectivity is not None:
        lost = take_graphs(options.connectivity, options.out, scans)
        console.print(f"{len(scans) - len(lost)} navigation graphs taken from {options.connectivity}", soft_wrap=True)
        if lost:
            console.print(f"no navigation graph of {', '.join(lost)}: left out", soft_wrap=True)
        scans = [scan for scan in scans if scan not in set(lost)]
    if options.r2r is not None:
        known = sorted({*scans, *listed_scans(options.out)})
        for split, (kept, total) in take_episodes(options.r2r, options.out, known).items():
            console.print(f"R2R {split}: {kept} of {total} paths lie in the root's scans")


def _warn(release: RawRelease, plan: Plan, console: Console) -> None:
    """Say before hours of work what will be missing after them."""
    for problem in release.damaged.values():
        console.print(f"left out: {problem}", soft_wrap=True, markup=False)
    if plan.incomplete:
        (scan, viewpoint), problem = next(iter(plan.incomplete.items()))
        count = f"{len(plan.incomplete)} of {len(plan.all)} panoramas cannot be made"
        console.print(f"{count}, the first {scan}/{viewpoint}: {problem}", soft_wrap=True, markup=False)


def _report(root: Path, summary: dict[str, Any], failed: dict[Any, str], console: Console | None) -> bool:
    """Write the summary and print it, where there is a console, or else only this process's failures.

    Returns:
        Whether all panoramas are there.
    """
    from ghosts_sim.matterport.prepare import WAITING, write_summary

    path = write_summary(root, summary)
    if console is None:
        for (scan, viewpoint), problem in failed.items():
            print(f"missing {scan}/{viewpoint}: {problem}", file=sys.stderr)
        return not failed
    console.print(holes_table(summary["scans"]))
    waiting = sum(problem == WAITING for problem in summary["missing"].values())
    problems = [(name, problem) for name, problem in summary["missing"].items() if problem != WAITING]
    for name, problem in problems[:20]:
        console.print(f"missing {name}: {problem}", soft_wrap=True, markup=False)
    if len(problems) > 20:
        console.print(f"… and {len(problems) - 20} more in the summary")
    if waiting:
        console.print(f"{waiting} panoramas of other processes are not made yet")
    console.print(f"summary: {path}; next: ghosts doctor --data {root}", soft_wrap=True)
    return not summary["missing"]


def holes_table(scans: dict[str, Any]) -> Table:
    """Holes before and after, and what hints at wrong cameras."""
    name = Column("scan", no_wrap=True, min_width=11)
    table = Table(name, "panoramas", "holes before", "after", "cameras agree, at least", "offset", "against graph")
    for scan, row in scans.items():
        counts = f"{row['prepared']}/{row['panoramas']}"
        if not row["prepared"]:
            table.add_row(scan, counts, *[""] * 5)
            continue
        graph = f"{row['graph_turn_deg']:.2f}°, {row['graph_shift_m']:.3f} m" if "graph_turn_deg" in row else ""
        shares = (f"{100 * row[name]:.2f} %" for name in ("holes_before", "holes_after", "lowest_agreement"))
        table.add_row(scan, counts, *shares, f"{row['offset_m']:.3f} m", graph)
    return table
