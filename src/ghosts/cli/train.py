"""Train a model: `ghosts train goal|vln|speaker --preset NAME --data ROOT --out RUN`; repeat it to resume."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ghosts.cli._launch import TrainOptions, launch, open_training
from ghosts.cli._out import check_out_folder
from ghosts.cli._preset import take_preset
from ghosts.config import GoalExperiment, SpeakerExperiment, VlnExperiment
from ghosts.errors import ConfigError
from ghosts.presets import PRESETS, SPEAKER_PRESETS, VLN_PRESETS, preset, speaker_preset, vln_preset

DEFAULTS = {"goal": "houses-filter", "vln": "landmarks-agent", "speaker": "landmarks-speaker"}
KNOWN: dict[str, Mapping[str, Callable[[], GoalExperiment]]] = {
    "goal": PRESETS,
    "vln": VLN_PRESETS,
    "speaker": SPEAKER_PRESETS,
}


@dataclass(frozen=True, kw_only=True)
class TrainGoal(TrainOptions):
    """Train a goal predictor (a row of Table 1)."""

    experiment: Annotated[GoalExperiment, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path = Path("runs/goal")
    """Folder of the run: checkpoints and log."""


@dataclass(frozen=True, kw_only=True)
class TrainVln(TrainOptions):
    """Train an agent (a row of Table 2)."""

    experiment: Annotated[VlnExperiment, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path = Path("runs/vln")
    """Folder of the run: checkpoints and log."""
    warm_start: Path | None = None
    """Run or checkpoint of `ghosts train goal` whose filter training starts from."""


@dataclass(frozen=True, kw_only=True)
class TrainSpeaker(TrainOptions):
    """Train a speaker, which tells paths in words."""

    experiment: Annotated[SpeakerExperiment, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path = Path("runs/speaker")
    """Folder of the run: checkpoints and log."""


def main(arguments: list[str]) -> None:
    """Run `ghosts train`."""
    word = arguments[0] if arguments else "--help"
    if word.startswith("-") and word not in ("-h", "--help"):
        asked, _ = take_preset(arguments, DEFAULTS["goal"])
        kind = next((kind for kind, known in KNOWN.items() if asked in known), "goal")
        raise ConfigError(f"name what to train, goal, vln or speaker, first: ghosts train {kind} {' '.join(arguments)}")
    name, rest = take_preset(arguments or [word], DEFAULTS.get(word, ""))
    goal = TrainGoal(experiment=preset(name if word == "goal" else DEFAULTS["goal"]))
    vln = TrainVln(experiment=vln_preset(name if word == "vln" else DEFAULTS["vln"]))
    speaker = TrainSpeaker(experiment=speaker_preset(name if word == "speaker" else DEFAULTS["speaker"]))
    commands = (
        Annotated[TrainGoal, tyro.conf.subcommand("goal", default=goal)]
        | Annotated[TrainVln, tyro.conf.subcommand("vln", default=vln)]
        | Annotated[TrainSpeaker, tyro.conf.subcommand("speaker", default=speaker)]
    )
    # A preset decides what the other options start from, so it is taken before they are read.
    options = tyro.cli(commands, args=rest, prog="ghosts train", description=_presets())
    check_out_folder(options.out)
    _train(options)


def _presets() -> str:
    """All presets, for the help."""
    lines = [(__doc__ or "").strip()]
    for kind, known in KNOWN.items():
        lines.append(f"\npresets of ghosts train {kind}:")
        lines += [f"  {name:<24} {(make.__doc__ or '').splitlines()[0]}" for name, make in known.items()]
    return "\n".join(lines)


def _train(options: TrainGoal | TrainVln | TrainSpeaker) -> None:
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.learn.goal import goal_task
    from ghosts.learn.speaker import SpeakerTask
    from ghosts.learn.task import Task
    from ghosts.learn.trainer import RunFiles, train
    from ghosts.learn.vln import check_start, navigation_task

    if isinstance(options, TrainVln):
        # Before the data is read, which takes longer.
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
        task = goal_task(options.experiment, data, selection)
    train(task, fabric, RunFiles.of(options.out), threads=options.threads, tensorboard=options.tensorboard)
