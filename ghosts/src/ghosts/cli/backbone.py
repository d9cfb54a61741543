"""Train an image backbone on the labels of procedural houses; the same command resumes an interrupted run.

It uses only houses of `train` that no unseen or test split uses. Give the file it writes to `ghosts tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from ghosts.cli._launch import launch
from ghosts.config import BackboneConfig
from ghosts_sim.cli._options import parse
from ghosts_sim.cli._out import check_out_file
from ghosts_sim.errors import DataError


@dataclass(frozen=True)
class Options:
    data: Path
    """Data root of houses (with label images)."""
    out: Path
    """File to write (.safetensors). The log, and the state to resume from, lie beside it."""
    iterations: int | None = None
    """Short form of --train.iterations."""
    device: str = "auto"
    """cpu, cuda or auto."""
    train: BackboneConfig = field(default_factory=BackboneConfig)


def main(arguments: list[str]) -> None:
    """Run `ghosts backbone`."""
    options = parse(Options, "backbone", arguments, __doc__)
    check_out_file(options.out, "a backbone", (".safetensors",))
    if options.out.is_file():
        options.out.with_suffix(".state.safetensors").unlink(missing_ok=True)  # of a run that was killed at its end
        hint = "remove it to train again, or choose another --out"
        raise DataError("the file is there already", file=options.out, hint=hint)
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    from ghosts.train.backbone import BackboneTask, train_backbone
    from ghosts.train.labelled_views import load_labelled, training_houses
    from ghosts_sim.dataroot import DataRoot

    config = options.train if options.iterations is None else replace(options.train, iterations=options.iterations)
    root = DataRoot(options.data)
    fabric = launch(options.device, precision=config.precision)
    houses, held_out = training_houses(root)
    panoramas = load_labelled(root, houses, config.panoramas, fabric.device)
    scored = load_labelled(root, held_out, config.held_out_views, fabric.device)
    print(f"{len(panoramas)} panoramas of {len(houses)} houses, scored on {len(scored)} of {len(held_out)} others")
    train_backbone(BackboneTask(config, panoramas, scored, tuple(houses)), fabric, options.out)
    print(f"wrote {options.out} ({options.out.stat().st_size / 1e6:.1f} MB)")
