"""Train a model: `ghosts train goal|vln --preset NAME --data ROOT --out RUN`; the same command resumes an old run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ghosts.cli._kinds import parse_kind
from ghosts.cli._launch import TrainOptions, launch, open_training
from ghosts.cli._out import check_out_folder
from ghosts.config import GoalExperiment, VlnExperiment
from ghosts.presets import PRESETS, VLN_PRESETS, preset, vln_preset

DEFAULTS = {"goal": "houses-filter", "vln": "landmarks-agent"}


@dataclass(frozen=True, kw_only=True)
class TrainGoal(TrainOptions):
    """Train a goal predictor (a row of Table 1)."""

    preset: str
    """What the other options start from (`ghosts train --help` lists the presets)."""
    experiment: Annotated[GoalExperiment, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path = Path("runs/goal")
    """Folder of the run: checkpoints and log."""


@dataclass(frozen=True, kw_only=True)
class TrainVln(TrainOptions):
    """Train an agent (a row of Table 2)."""

    preset: str
    """What the other options start from (`ghosts train --help` lists the presets)."""
    experiment: Annotated[VlnExperiment, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path = Path("runs/vln")
    """Folder of the run: checkpoints and log."""
    warm_start: Path | None = None
    """Run or checkpoint of `ghosts train goal` whose filter training starts from."""


def main(arguments: list[str]) -> None:
    """Run `ghosts train`."""
    word = arguments[0] if arguments else ""
    # A preset is what the other options start from, so it is looked up before they are read.
    asked = _asked_preset(arguments)
    goal, vln = (asked if word == kind and asked is not None else name for kind, name in DEFAULTS.items())
    kinds = {
        "goal": TrainGoal(preset=goal, experiment=preset(goal)),
        "vln": TrainVln(preset=vln, experiment=vln_preset(vln)),
    }
    options = parse_kind(
        "train",
        "train",
        {kind: Annotated[type(start), tyro.conf.subcommand(kind, default=start)] for kind, start in kinds.items()},
        arguments,
        _presets(),
        likely="vln" if asked in VLN_PRESETS else "goal",
    )
    check_out_folder(options.out)
    if isinstance(options, TrainVln):
        _train_vln(options)
    else:
        _train_goal(options)


def _asked_preset(arguments: list[str]) -> str | None:
    """The last value of `--preset`."""
    asked, pending = None, iter(arguments)
    for word in pending:
        if word == "--preset":
            asked = next(pending, "")
        elif word.startswith("--preset="):
            asked = word.split("=", 1)[1]
    return asked


def _presets() -> str:
    """The presets of both, for the help."""
    lines = [(__doc__ or "").strip()]
    for kind, known in (("goal", PRESETS), ("vln", VLN_PRESETS)):
        lines.append(f"\npresets of ghosts train {kind}:")
        lines += [f"  {name:<24} {(make.__doc__ or '').splitlines()[0]}" for name, make in known.items()]
    return "\n".join(lines)


def _train_goal(options: TrainGoal) -> None:
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.learn.goal import goal_task
    from ghosts.learn.trainer import RunFiles, train

    data, selection = open_training(options, options.experiment)
    fabric = launch(options.device, options.devices, precision=options.experiment.train.precision)
    task = goal_task(options.experiment, data.to(fabric.device), selection)
    files = RunFiles.of(options.out)
    train(task, fabric, files, threads=options.threads, tensorboard=options.tensorboard)


def _train_vln(options: TrainVln) -> None:
    from ghosts.learn.trainer import RunFiles, train
    from ghosts.learn.vln import check_start, navigation_task

    # Before the data is read, which takes longer.
    check_start(options.experiment, options.out, options.warm_start)
    data, selection = open_training(options, options.experiment)
    fabric = launch(options.device, options.devices, precision=options.experiment.train.precision)
    task = navigation_task(options.experiment, data.to(fabric.device), selection, options.warm_start)
    files = RunFiles.of(options.out)
    train(task, fabric, files, threads=options.threads, tensorboard=options.tensorboard)
