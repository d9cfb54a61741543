"""Train the houses' image backbone on their semantic labels; the same command goes on with an interrupted run.

Only houses of `train` that no unseen or test split uses are looked at. The file can be given to `ghosts tiles`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ghosts.cli._out import check_out_file
from ghosts.errors import DataError
from ghosts.presets import BackboneConfig


@dataclass(frozen=True)
class Options:
    """Train the houses' image backbone on their semantic labels."""

    data: Path
    """Data root of houses (with label images)."""
    out: Path
    """File to write (.safetensors); log and resume state lie beside it."""
    iterations: int | None = None
    """Short for --train.iterations."""
    device: str = "auto"
    """cpu, cuda or auto."""
    train: BackboneConfig = field(default_factory=BackboneConfig)


def main(arguments: list[str]) -> None:
    """Run `ghosts backbone`."""
    options = tyro.cli(Options, args=arguments, prog="ghosts backbone", description=__doc__)
    check_out_file(options.out, "a backbone", (".safetensors",))
    if options.out.is_file():
        hint = "remove it to train again, or choose another --out"
        raise DataError("the file is there already", file=options.out, hint=hint)
    # Imported here: torch takes seconds, and wrong options should not wait for it.
    from ghosts.learn.backbone import BackboneRun, train_backbone
    from ghosts.learn.devices import choose_device
    from ghosts.learn.labelled_views import load_labelled, training_houses
    from ghosts.world.dataroot import DataRoot

    config = options.train if options.iterations is None else replace(options.train, iterations=options.iterations)
    console, device, root = Console(), choose_device(options.device), DataRoot(options.data)
    houses, held_out = training_houses(root)
    train = load_labelled(root, houses, config.panoramas, device)
    scored = load_labelled(root, held_out, config.held_out_views, device)
    console.print(f"{len(train)} panoramas of {len(houses)} houses, scored on {len(scored)} of {len(held_out)} others")
    columns = BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(TextColumn("{task.description}"), *columns, console=console) as progress:
        bar = progress.add_task("training", total=config.iterations)

        def report(row: dict[str, int | float]) -> None:
            if "loss" in row:
                progress.update(bar, completed=int(row["iteration"]), description=f"loss {row['loss']:.3f}")
            else:
                text = "  ".join(f"{name} {value:.3f}" for name, value in row.items() if name != "iteration")
                console.print(f"iteration {row['iteration']:.0f}: {text}")

        train_backbone(BackboneRun(config, train, scored, tuple(houses), options.out, report))
    console.print(f"wrote {options.out} ({options.out.stat().st_size / 1e6:.1f} MB)", soft_wrap=True)
