"""One episode of one model with all that is drawn around it; most commands that draw start here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ghosts.view.inspector import Inspector
from ghosts.view.library import Library, require_models
from ghosts.view.paint import Painting
from ghosts.view.record import EpisodeRecord


@dataclass(frozen=True, eq=False)
class Opened:
    """An episode and where it came from."""

    library: Library
    world: str
    inspector: Inspector
    record: EpisodeRecord
    scene: dict[str, Any]

    def painting(self, step: int = -1) -> Painting:
        """The storey the agent is on at a step, painted from photos."""
        return self.library.painting_at(self.world, self.record.scan, self.record.walk[step])


def open_world(
    data: Path, runs: Sequence[Path], split: str, instr_id: str = "", *, baseline: bool = False
) -> tuple[Library, str, list[Inspector], str]:
    """Models on a data root: library, the root's name, the inspectors, and the split (an unseen one by default).

    Args:
        data: the data root.
        runs: folders of runs, or checkpoints.
        split: name, or empty for the one that holds the episode.
        instr_id: an episode that is to be shown, or empty.
        baseline: whether the hand-coded baseline comes last.

    Raises:
        GhostsError: a model cannot read this world.
    """
    require_models(runs)
    library = Library([data], runs, baseline=baseline)
    world = next(iter(library.roots))
    inspectors = [library.inspector(world, model) for model in library.models]
    return library, world, inspectors, library.split_of(inspectors[0], split, instr_id)


def open_episode(data: Path, run: Path, split: str = "", instr_id: str = "", *, fixed: bool = False) -> Opened:
    """An episode by name; the split's first by default.

    Args:
        data: the data root.
        run: folder of a run, a checkpoint or shipped weights; it walks by itself.
        split: an unseen one by default.
        instr_id: the split's first by default.
        fixed: on the evaluation's fixed walk instead.

    Raises:
        DataError: the split is empty.
        UnknownNameError: no such split or episode.
    """
    library, world, (inspector,), split = open_world(data, [run], split, instr_id)
    record = inspector.record(library.query(inspector, split, instr_id, fixed=fixed))
    return Opened(library, world, inspector, record, library.scene(world, record.scan))
