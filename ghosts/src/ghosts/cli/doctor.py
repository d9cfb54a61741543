"""Say what can be run on a data root, what is wrong or missing, file by file, and the next command.

The exit status is 1 when something is wrong. Every picture is decoded; `--sample 5` decodes five of each scan. In a
world of houses, every instruction is compared with its house.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from ghosts.config.values import CommandOptions, Whole
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._progress import shown_progress

if TYPE_CHECKING:
    from ghosts.run.doctor import Diagnosis


@dataclass(frozen=True)
class Options(CommandOptions):
    data: Path
    """Data root."""
    sample: Whole = 0
    """Number of panoramas per building to decode, evenly spaced; 0 = all."""
    json: bool = False
    """Print JSON instead of tables."""
    most: int = 20
    """Print at most this many findings."""


def main(arguments: list[str]) -> None:
    """Run `ghosts doctor`."""
    options = parse(Options, "doctor", arguments, __doc__, sound=False)
    # Imported here: torch takes seconds, and `--help` should not wait for it.
    from ghosts.run.doctor import diagnose

    with shown_progress("panoramas", shown=not options.json) as report:
        diagnosis = diagnose(options.data, sample=options.sample, report=report)
    if options.json:
        print(json.dumps(diagnosis.to_dict(), indent=1))
    else:
        _print(diagnosis, options.most)
    if not diagnosis.healthy:
        raise SystemExit(1)


def _print(diagnosis: Diagnosis, most: int) -> None:
    console, found = Console(), diagnosis.inventory
    faces = f", faces of {found.face_px} px" if found.face_px else ""
    splits = ", ".join(f"{name} {count}" for name, count in found.splits.items()) or "none"
    console.print(f"{diagnosis.root}: {len(found.scans)} scans, {found.viewpoints} viewpoints", soft_wrap=True)
    console.print(f"pictures of {len(found.pictured)} scans{faces}; landmarks of {len(found.landmarked)}")
    console.print(f"paths: {splits}; {diagnosis.free_bytes / 1e9:.1f} GB free", soft_wrap=True)
    if diagnosis.read:
        console.print(f"instructions: {diagnosis.read} checked against their houses, {diagnosis.untrue} untrue")
    for task in diagnosis.tasks:
        if task.ready:
            line = f"ready: {task.name}: {task.command}"
        else:
            line = f"not ready: {task.name}: lacks {task.lacks}; next: {task.next}"
        console.print(line, soft_wrap=True, markup=False)
    for finding in sorted(diagnosis.findings, key=lambda item: item.level, reverse=True)[:most]:
        line = f"{finding.level}: {finding.where}: {finding.problem}"
        console.print(line + (f"; next: {finding.next}" if finding.next else ""), soft_wrap=True, markup=False)
    if len(diagnosis.findings) > most:
        console.print(f"… and {len(diagnosis.findings) - most} more (--most, --json)")
    console.print(diagnosis.verdict, soft_wrap=True, markup=False)
