"""One episode of one model, opened with all that is drawn around it: what the commands begin with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghosts.errors import DataError
from ghosts.view.library import Library
from ghosts.view.mind import Mind
from ghosts.view.paint import Painting
from ghosts.view.record import EpisodeRecord


@dataclass(frozen=True, eq=False)
class Opened:
    """An episode and where it came from."""

    library: Library
    world: str
    mind: Mind
    record: EpisodeRecord
    scene: dict[str, Any]

    def painting(self, step: int = -1) -> Painting:
        """The storey the agent is on at a step, painted from photos."""
        places = {point["id"]: point["s"] for point in self.scene["viewpoints"]}
        return self.library.painting(self.world, self.record.scan, places[self.record.walk[step]])


def open_world(data: Path, run: Path, split: str) -> tuple[Library, str, Mind, str]:
    """A model on a data root: library, the root's name, the mind, and the split (an unseen one by default)."""
    library = Library([data], [run])
    world = next(iter(library.roots))
    mind = library.mind(world, next(iter(library.models)))
    return library, world, mind, split or library.splits(mind)[0]


def open_episode(data: Path, run: Path, split: str = "", instr_id: str = "") -> Opened:
    """An episode by name; the split's first by default.

    Raises:
        DataError: the split is empty.
        UnknownNameError: no such split or episode.
    """
    library, world, mind, split = open_world(data, run, split)
    if not instr_id:
        listed = library.episodes(mind, split)
        if not listed:
            raise DataError(f"split {split} holds no episode", file=data)
        instr_id = listed[0].instr_id
    record = mind.record(library.question(mind, split, instr_id))
    return Opened(library, world, mind, record, library.scene(world, record.scan))
