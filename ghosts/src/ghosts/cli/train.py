"""Train a model: `ghosts train goal|vln|speaker --preset NAME --data ROOT --out RUN`; repeat it to resume."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import tyro

from ghosts.cli._launch import TrainOptions, launch, open_training
from ghosts.config import GoalExperiment, SpeakerExperiment, VlnExperiment
from ghosts.presets import KINDS, preset
from ghosts_sim.cli._options import parse_kind
from ghosts_sim.cli._out import check_out_folder

E = TypeVar("E", bound=GoalExperiment)
DEFAULTS = {"goal": "houses-filter", "vln": "landmarks-agent", "speaker": "landmarks-speaker"}


@dataclass(frozen=True, kw_only=True)
class Train(TrainOptions, Generic[E]):
    """Options of a kind of training, whose experiment starts from a preset."""

    preset: str
    """What the other options start from (`ghosts train --help` lists the presets)."""
    experiment: Annotated[E, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path
    """Folder of the run: checkpoints and log."""


@dataclass(frozen=True, kw_only=True)
class TrainGoal(Train[GoalExperiment]):
    """Train a goal predictor (a row of Table 1)."""

    warm_start: Path | None = None
    """Run or checkpoint from which training starts. If it had other data, words and labels are matched by name."""


@dataclass(frozen=True, kw_only=True)
class TrainVln(Train[VlnExperiment]):
    """Train an agent (a row of Table 2)."""

    warm_start: Path | None = None
    """Run or checkpoint with the filter from which training starts."""


class TrainSpeaker(Train[SpeakerExperiment]):
    """Train a speaker, which writes directions for paths."""


def main(arguments: list[str]) -> None:
    """Run `ghosts train`."""
    word = arguments[0] if arguments else ""
    # A preset is what the other options start from, so it is looked up before they are read.
    asked = _asked_preset(arguments)
    names = {kind: asked if word == kind and asked is not None else name for kind, name in DEFAULTS.items()}
    forms: dict[str, Any] = {"goal": TrainGoal, "vln": TrainVln, "speaker": TrainSpeaker}
    starts = {
        kind: forms[kind](preset=name, experiment=preset(name, kind), out=Path("runs") / kind)
        for kind, name in names.items()
    }
    kinds = {kind: Annotated[forms[kind], tyro.conf.subcommand(kind, default=starts[kind])] for kind in forms}
    likely = next((kind for kind, known in KINDS.items() if asked in known), "goal")
    options = parse_kind("train", "train", kinds, arguments, _presets(), likely)
    check_out_folder(options.out)
    _train(options)


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
    """All presets, for the help."""
    lines = [(__doc__ or "").strip()]
    for kind, known in KINDS.items():
        lines.append(f"\npresets of ghosts train {kind}:")
        lines += [f"  {name:<24} {(make.__doc__ or '').splitlines()[0]}" for name, make in known.items()]
    return "\n".join(lines)


def _train(options: TrainGoal | TrainVln | TrainSpeaker) -> None:
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.run.load import find_checkpoint
    from ghosts.train.goal import goal_task
    from ghosts.train.speaker import SpeakerTask
    from ghosts.train.task import Task
    from ghosts.train.trainer import RunFiles, train
    from ghosts.train.vln import check_start, navigation_task

    # Before the data is read, which takes longer.
    if isinstance(options, TrainGoal) and options.warm_start is not None:
        find_checkpoint(options.warm_start)
    if isinstance(options, TrainVln):
        check_start(options.experiment, options.out, options.warm_start)
    data, selection = open_training(options, options.experiment)
    fabric = launch(options.device, options.devices, options.experiment.train.precision)
    data = data.to(fabric.device)
    task: Task[Any, Any]
    if isinstance(options, TrainVln):
        task = navigation_task(options.experiment, data, selection, options.warm_start)
    elif isinstance(options, TrainSpeaker):
        task = SpeakerTask(options.experiment, data, selection)
    else:
        task = goal_task(options.experiment, data, selection, options.warm_start)
    train(task, fabric, RunFiles.of(options.out), threads=options.threads, tensorboard=options.tensorboard)
