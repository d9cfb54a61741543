"""List the models that --run can name: shipped weights and your own runs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghosts.methods.stored import modernised
from ghosts.weights import FILTERS, read_about, shipped
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_folder
from ghosts_sim.errors import DataError


@dataclass(frozen=True)
class Options:
    folder: Path = Path("runs")
    """Folder in which to look for runs."""
    json: bool = False
    """Print JSON instead of a table."""


def main(arguments: list[str]) -> None:
    """Run `ghosts runs`."""
    options = parse(Options, "runs", arguments, __doc__)
    if options.folder != Options.folder:
        check_folder(options.folder, "--folder")
    damaged = []
    head, rows = ("--run", "what", "does", "sees", "iteration"), list[tuple[str, str, str, str, str]]()
    rows += [row(name, file, read_about(file) or {}, name in FILTERS) for name, file in shipped().items()]
    for file in sorted(options.folder.rglob("*.safetensors")):
        if file.stem in ("best", "last"):
            # A folder alone means its best checkpoint.
            name, about = str(file.parent if file.stem == "best" else file), _about(file)
            damaged += [file] if about is None else []
            rows.append((name, "damaged", "", "", "") if about is None else row(name, file, about))
    backbones = [cells for cells in rows if cells[1] == BACKBONE]
    models = [cells for cells in rows if cells[1] != BACKBONE]
    if options.json:
        names = ("name", *head[1:])
        print(json.dumps([dict(zip(names, cells)) for cells in rows], indent=1))
    else:
        _print([head, *models])
        print()
        _print([("--backbone", "", "does", "sees", ""), *((name, "", *more) for name, _, *more in backbones)])
    if len(rows) == len(shipped()) and not options.json:
        print(f"no runs in {options.folder}/ yet; train one with: ghosts train goal --out {options.folder}/NAME")
    if damaged:
        hint = "copy it again, or remove it"
        raise DataError("no checkpoint, or a damaged one", file=damaged[0], hint=hint)


def _print(rows: Sequence[tuple[str, ...]]) -> None:
    """A table; where the terminal is too narrow for it, the first cell has a line of its own."""
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(rows[0]))]
    wide = sum(widths) + 2 * len(widths) <= shutil.get_terminal_size((100, 24)).columns
    for first, *rest in rows:
        more = "  ".join(cell.ljust(width if wide else 0) for cell, width in zip(rest, widths[1:]) if width)
        print((f"{first.ljust(widths[0])}  {more}" if wide else f"{first}\n  {more}").rstrip())


def _about(file: Path) -> dict[str, Any] | None:
    """What a run's checkpoint says of itself; None where no training wrote it."""
    about = read_about(file) or {}
    experiment = about.get("experiment", {})
    named = isinstance(experiment, dict) and isinstance(experiment.get("name", ""), str)
    return about if named and isinstance(about.get("iteration"), int) else None


BACKBONE = "backbone"
DOES = {"goal": "predicts goals", "vln": "walks by itself", "speaker": "puts walks into words"}


def row(name: str, file: Path, about: dict[str, Any], only_filter: bool = False) -> tuple[str, str, str, str, str]:
    """One model, by what its file says of itself; its name may mean the filter of an agent's file."""
    try:
        experiment = modernised(about.get("experiment") or {}, file)
    except DataError:
        return name, str(about["experiment"].get("name", "?")), "needs an older version", "", ""
    if "model" not in experiment:
        return name, BACKBONE, "for ghosts tiles", "images", ""
    does = DOES["goal"] if only_filter else DOES.get(experiment.get("purpose"), "?")
    sees = "images" if about.get("labels") is None else "landmarks"
    return name, str(experiment.get("name", "?")), does, sees, str(about.get("iteration", ""))
