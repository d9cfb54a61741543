"""Place the objects and rooms of real buildings from public annotations, for training without images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_folder
from ghosts_sim.episodes import load_episodes
from ghosts_sim.errors import DataError, UnknownNameError
from ghosts_sim.files import listed, write_json
from ghosts_sim.graph import load_graph
from ghosts_sim.landmarks.build import Inputs, build_scene, summarise
from ghosts_sim.landmarks.captioners import build_captions, find_captions
from ghosts_sim.landmarks.captions import captions_file
from ghosts_sim.landmarks.format import read_landmarks
from ghosts_sim.landmarks.reverie import read_listings
from ghosts_sim.matterport.graphs import listed_scans, take_episodes, take_graphs

GRAPH = "_connectivity.json"
SUSPICIOUS_RESIDUAL_M = 0.1  # the right convention gives 0.02 m, a wrong one 0.3 m and more


@dataclass(frozen=True)
class Options:
    """Write <out>/landmarks/<scan>.json for every building. Buildings already made from the same files are kept."""

    connectivity: Path
    """Folder of navigation graphs: `<scan>_connectivity.json` (and scans.txt)."""
    bbox: Path
    """BBox folder of the data set REVERIE, or the BBox.tar.gz that holds it (read in place)."""
    regions: Path
    """Folder with `<scan>.panorama_to_region.txt`."""
    out: Path
    """Data root to write to."""
    r2r: Path | None = None
    """Folder with `R2R_<split>.json`. The paths and graphs of these buildings are copied to the data root."""
    captions: Path | None = None
    """Folder with what a captioner and a detector say about photographs: `<scan>.json.xz` as LangNav has them, or
    `<scan>.jsonl` with one view per line (docs/landmark-files.md)."""
    scan: tuple[str, ...] = ()
    """Make only this building; repeat for more."""


def main(arguments: list[str]) -> None:
    """Run `ghosts landmarks`."""
    options = parse(Options, "landmarks", arguments, Options.__doc__)
    check_out_folder(options.out)
    console = Console(markup=False)
    scans = chosen_scans(options)
    if options.r2r is not None:
        check_paths(options.r2r, scans)
    if options.captions is not None:
        for scan in scans:
            find_captions(options.captions, scan)  # says so before anything is made
    inputs = Inputs(options.connectivity, options.bbox, read_listings(options.bbox), options.regions)
    folder = options.out / "landmarks"
    written = 0
    with Progress(console=console, transient=True) as progress:
        for scan in progress.track(scans, description="buildings"):
            made = build_scene(scan, inputs, folder / f"{scan}.json")
            if options.captions is not None:
                graph = load_graph(options.connectivity / f"{scan}{GRAPH}")
                made |= build_captions(options.captions, graph, captions_file(options.out, scan))
            written += made
    if options.r2r is not None:
        take_graphs(options.connectivity, options.out, scans)
        take_episodes(options.r2r, options.out, listed_scans(options.out))
    summary = summarise([read_landmarks(folder / f"{scan}.json") for scan in scans])
    write_json(folder / "summary.json", summary, indent=2)
    console.print(table(summary))
    console.print(f"{written} buildings written, {len(scans) - written} were up to date: {folder}", soft_wrap=True)
    for line in advice(options, summary):
        console.print(line, soft_wrap=True)


def chosen_scans(options: Options) -> list[str]:
    """Buildings to work on: those asked for, else all with a connectivity file.

    Raises:
        DataError: there are none.
        UnknownNameError: one asked for has no connectivity file.
    """
    found = connected(options.connectivity)
    if not found:
        raise DataError(
            "no <scan>_connectivity.json here",
            file=options.connectivity,
            hint="give --connectivity the folder of the original simulator that holds them",
        )
    for scan in options.scan:
        if scan not in found:
            raise UnknownNameError("scan", scan, found, str(options.connectivity))
    return [scan for scan in found if scan in options.scan] if options.scan else found


def connected(folder: Path) -> list[str]:
    """Buildings with a connectivity file in a folder."""
    return [file.name[: -len(GRAPH)] for file in listed(folder, f"*{GRAPH}")]


def check_paths(folder: Path, scans: Sequence[str]) -> None:
    """Refuse paths of which a data root of these buildings could not be made.

    Raises:
        DataError: there are no files, or no training path leads through any of these buildings.
    """
    if not listed(folder, "R2R_*.json"):
        hint = "name the folder that holds them, or leave the option out"
        raise DataError("no R2R_*.json in this folder", file=folder, hint=hint)
    file = folder / "R2R_train.json"
    episodes = load_episodes(file)
    if not any(episode.scan in scans for episode in episodes):
        # Which buildings are unseen is known by the training split alone, so that every model needs one.
        hint = f"add a building with training paths, such as --scan {episodes[0].scan}"
        raise DataError(f"no path through {', '.join(scans[:5])}", file=file, hint=hint)


def table(summary: dict[str, Any]) -> Table:
    """The summary for people."""
    rows = Table(title=f"Landmarks of {summary['buildings']} buildings", title_justify="left")
    for heading in ("", "count", "median", "90 %"):
        rows.add_column(heading, justify="left" if not heading else "right")

    def add(name: str, count: int, quantiles: dict[str, float] | None = None) -> None:
        values = [f"{quantiles['median']:.3f} m", f"{quantiles['p90']:.3f} m"] if quantiles else ["", ""]
        rows.add_row(name, str(count), *values)

    add("viewpoints", summary["viewpoints"])
    add("object labels", summary["labels"])
    add("objects", summary["objects"])
    for name, part in summary["methods"].items():
        add(f"  {name}: uncertainty", part["objects"], part["uncertainty_m"])
    add("seen from ≥ 2 viewpoints: ray residual", summary["objects_seen_from_two_or_more"], summary["residual_m"])
    return rows


def advice(options: Options, summary: dict[str, Any]) -> list[str]:
    """What to do next, in one line per step."""
    lines = []
    residual = summary["residual_m"]
    if residual and residual["median"] > SUSPICIOUS_RESIDUAL_M:
        lines.append(
            f"Rays miss each other by {residual['median']:.2f} m (0.02 m is usual): do the boxes and the connectivity "
            "files belong together, and are views numbered heading + 12 × {down, level, up}?"
        )
    missing = [name for name in ("connectivity", "r2r") if not (options.out / name).is_dir()]
    if missing:
        sources = {"connectivity": f"{options.connectivity}/*", "r2r": "R2R_<split>.json files"}
        copies = " and ".join(f"{sources[name]} to {options.out / name}/" for name in missing)
        lines.append(f"Not a complete data root yet: copy {copies}, or run again with --r2r FOLDER.")
    return lines
