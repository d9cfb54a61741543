"""List the episodes that --episode can name: `ghosts episodes --data ROOT [--find WORDS]`."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghosts.config.values import CommandOptions, Whole
from ghosts_sim.cli._options import parse
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.episodes import Instruction, each_instruction
from ghosts_sim.errors import UnknownNameError


@dataclass(frozen=True)
class Options(CommandOptions):
    data: Path
    """Data root."""
    split: str = ""
    """List only this split."""
    scan: str = ""
    """List only this building."""
    find: str = ""
    """List only instructions with these words."""
    most: Whole = 20
    """Print at most this many lines; 0 = all."""
    json: bool = False
    """Print JSON instead of a table."""


def main(arguments: list[str]) -> None:
    """Run `ghosts episodes`."""
    options = parse(Options, "episodes", arguments, __doc__)
    root = DataRoot(options.data)
    if options.scan and options.scan not in root.scans:
        raise UnknownNameError("scan", options.scan, root.scans, str(root.path))
    found = [(split, item) for split in splits(root, options.split) for item in each_instruction(root.episodes(split))]
    words = options.find.lower().split()
    kept = [
        (split, item)
        for split, item in found
        if options.scan in ("", item.episode.scan) and all(word in item.text.lower() for word in words)
    ]
    shown = kept[: options.most or None]
    if options.json:
        print(json.dumps([as_json(split, item) for split, item in shown], indent=1))
        return
    room = shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 0
    print(f"{'episode':<9} {'split':<10} {'building':<12} {'path':>7}  instruction")
    for split, item in shown:
        print(line(split, item, room))
    left = len(kept) - (min(options.most, len(kept)) or len(kept))
    print(
        f"{len(kept)} of {len(found)} episodes" + (f", {left} of them not shown (--most 0 shows all)" if left else "")
    )


def splits(root: DataRoot, name: str) -> list[str]:
    """The split of that name, or all of them.

    Raises:
        UnknownNameError: no such split.
    """
    if name and name not in root.splits:
        raise UnknownNameError("split", name, root.splits, str(root.path))
    return [name] if name else root.splits


def as_json(split: str, item: Instruction) -> dict[str, Any]:
    """One episode as plain JSON values."""
    where = {"split": split, "building": item.episode.scan, "path_m": item.episode.distance_m}
    return {"episode": item.instr_id, **where, "instruction": item.text}


def line(split: str, item: Instruction, columns: int = 0) -> str:
    """One episode, in so many columns; 0 = whole."""
    length = "" if item.episode.distance_m is None else f"{item.episode.distance_m:.1f} m"
    head = f"{item.instr_id:<9} {split:<10} {item.episode.scan:<12} {length:>7}  "
    text = " ".join(item.text.split())
    room = max(20, columns - len(head))
    return head + (text if not columns or len(text) <= room else text[: room - 1] + "…")
