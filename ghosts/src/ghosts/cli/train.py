"""Train a model: `ghosts train goal|vln|speaker --preset NAME --data ROOT --out RUN`; repeat it to resume."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

import tyro

from ghosts.cli._launch import TrainOptions, launch, open_training
from ghosts.config import Experiment, Purpose
from ghosts.methods import PURPOSES, method_of, preset, presets
from ghosts_sim.cli._options import Hidden, parse_kind, settings_of
from ghosts_sim.cli._out import check_out_folder

E = TypeVar("E", bound=Experiment)
DEFAULTS: dict[Purpose, str] = {"goal": "houses-filter", "vln": "landmarks-agent", "speaker": "landmarks-speaker"}
ABOUT = {
    "goal": "Train a goal predictor (a row of Table 1).",
    "vln": "Train an agent (a row of Table 2).",
    "speaker": "Train a speaker, which writes directions for paths.",
}


@dataclass(frozen=True, kw_only=True)
class Train(TrainOptions, Generic[E]):
    """Options of a training, whose experiment starts from a preset."""

    preset: str
    """What the other options start from (`ghosts train --help` lists the presets)."""
    experiment: Annotated[E, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path
    """Folder of the run: checkpoints and log."""
    warm_start: Path | None = None
    """Run or checkpoint from which training starts: a filter, or an agent. For a goal predictor it may have had other
    data; words and labels are then matched by name."""


def main(arguments: list[str]) -> None:
    """Run `ghosts train`."""
    word = arguments[0] if arguments else ""
    # A preset is what the other options start from, so it is looked up before they are read.
    asked = _asked_preset(arguments)
    names = {kind: asked if word == kind and asked is not None else name for kind, name in DEFAULTS.items()}
    starts = {kind: preset(name, kind) for kind, name in names.items()}
    kinds: dict[str, Any] = {kind: _form(kind, experiment) for kind, experiment in starts.items()}
    hidden: dict[str, Hidden] = {kind: settings_of(type(one), one.unused) for kind, one in starts.items()}
    likely = next((kind for kind in PURPOSES if asked in presets(kind)), "goal")
    options = parse_kind("train", "train", kinds, arguments, _presets(), likely, hidden)
    check_out_folder(options.out)
    _train(options)


def _form(purpose: Purpose, experiment: Experiment) -> Any:
    """The options of an experiment of one method."""
    kind: Any = Train[type(experiment)]  # type: ignore[misc]
    start = kind(preset=experiment.name, experiment=experiment, out=Path("runs") / purpose)
    return Annotated[kind, tyro.conf.subcommand(purpose, default=start, description=ABOUT[purpose])]


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
    for purpose in PURPOSES:
        lines.append(f"\npresets of ghosts train {purpose}:")
        lines += [f"  {name:<24} {(make.__doc__ or '').splitlines()[0]}" for name, make in presets(purpose).items()]
    return "\n".join(lines)


def _train(options: Train[Any]) -> None:
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.train.trainer import RunFiles, train

    experiment = options.experiment
    method = method_of(experiment)
    method.check_start(experiment, options.out, options.warm_start)
    data, selection = open_training(options, experiment)
    fabric = launch(options.device, options.devices, experiment.train.precision)
    task = method.task(experiment, data.to(fabric.device), selection, options.warm_start)
    train(task, fabric, RunFiles.of(options.out), threads=options.threads, tensorboard=options.tensorboard)
