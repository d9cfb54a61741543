"""Navigation graphs and R2R episodes taken into a data root, restricted to the scans it has.

A root can grow scan by scan: what it has of other scans stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ghosts_sim.dataroot import check_path
from ghosts_sim.episodes import parse_episodes
from ghosts_sim.errors import DataError
from ghosts_sim.files import listed, read_json, read_text, read_words, write_json, write_text
from ghosts_sim.graph import load_graph
from ghosts_sim.locks import in_turn


def take_graphs(source: Path, root: Path, scans: Sequence[str]) -> list[str]:
    """Copy the graphs of some scans, checked, to a data root, and add them to its `connectivity/scans.txt`.

    Returns:
        Scans that have no graph in the folder; they are left out.

    Raises:
        DataError: the folder has none of them, or a graph is malformed.
    """
    there = [scan for scan in scans if (source / f"{scan}_connectivity.json").is_file()]
    if not there:
        hint = "give --connectivity the folder of <scan>_connectivity.json files (of the original simulator)"
        raise DataError("no navigation graph of these scans", file=source, hint=hint)
    for scan in there:
        path = source / f"{scan}_connectivity.json"
        load_graph(path)
        write_text(root / "connectivity" / path.name, read_text(path))
    with in_turn(root, "scans"):
        listed = sorted({*there, *listed_scans(root)})
        write_text(root / "connectivity" / "scans.txt", "".join(f"{scan}\n" for scan in listed))
    return [scan for scan in scans if scan not in set(there)]


def listed_scans(root: Path) -> list[str]:
    """Scans whose graphs a data root has."""
    path = root / "connectivity" / "scans.txt"
    listed = read_words(path) if path.is_file() else []
    return [scan for scan in listed if (path.parent / f"{scan}_connectivity.json").is_file()]


def take_episodes(source: Path, root: Path, scans: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Copy a folder's `R2R_<split>.json` files to a data root, with the paths of its scans; no empty split is written.

    Returns:
        For each split, paths taken and paths in the file.

    Raises:
        DataError: there are no such files, or one is malformed or does not fit the graphs.
    """
    taken = {}
    known, graph_of = set(scans), lru_cache(maxsize=None)(load_graph)
    for path in listed(source, "R2R_*.json"):
        records = read_json(path)
        for episode in parse_episodes(records, path):
            graph = root / "connectivity" / f"{episode.scan}_connectivity.json"
            if episode.scan in known and graph.is_file():
                check_path(episode, graph_of(graph), path)
        kept = [item for item in records if item["scan"] in known]
        taken[path.stem[len("R2R_") :]] = len(kept), len(records)
        target = root / "r2r" / path.name
        if target.resolve() == path.resolve():
            continue
        if len(kept) == len(records):
            write_text(target, read_text(path))
        elif kept:
            write_json(target, kept, indent=1)
        else:
            target.unlink(missing_ok=True)
    if not taken:
        raise DataError("no R2R_<split>.json here", file=source, hint="give --r2r the folder that holds them")
    return taken
