"""Train a model: `ghosts train goal|vln --preset NAME --data ROOT --out RUN`; the same command resumes an old run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from ghosts.cli import _vln
from ghosts.cli._launch import TrainOptions, launch
from ghosts.cli._out import check_out_folder
from ghosts.cli._preset import take_preset
from ghosts.errors import ConfigError, UnknownNameError
from ghosts.presets import PRESETS, VLN_PRESETS, GoalExperiment, preset

DEFAULT_PRESET = "houses-filter"


@dataclass(frozen=True, kw_only=True)
class TrainGoal(TrainOptions):
    """Train a goal predictor (a row of Table 1)."""

    experiment: Annotated[GoalExperiment, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path = Path("runs/goal")
    """Folder of the run: checkpoints and log."""


def main(arguments: list[str]) -> None:
    """Run `ghosts train`."""
    word = arguments[0] if arguments else "--help"
    if word in ("-h", "--help"):
        print("usage: ghosts train goal|vln --preset NAME --data ROOT --out RUN [options]")
        for kind, known in (("goal", PRESETS), ("vln", VLN_PRESETS)):
            print(f"\npresets of ghosts train {kind}:")
            print("\n".join(f"  {name:<24} {(make.__doc__ or '').splitlines()[0]}" for name, make in known.items()))
        return
    if word == "vln":
        _vln.train(arguments[1:])
        return
    if word.startswith("-"):
        asked, _ = take_preset(arguments, DEFAULT_PRESET)
        kind = "vln" if asked in VLN_PRESETS else "goal"
        raise ConfigError(f"name what to train, goal or vln, first: ghosts train {kind} {' '.join(arguments)}")
    if word != "goal":
        raise UnknownNameError("training", word, ["goal", "vln"])
    name, rest = take_preset(arguments[1:], DEFAULT_PRESET)
    options = tyro.cli(
        TrainGoal, default=TrainGoal(experiment=preset(name)), args=rest, prog=f"ghosts train goal --preset {name}"
    )
    check_out_folder(options.out)
    _train(options)


def _train(options: TrainGoal) -> None:
    data, chosen, fabric, precision = launch(options, options.experiment)
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.evaluate.goal import evaluate_goal
    from ghosts.learn.loop import Run, train_goal
    from ghosts.learn.tasks import GoalTask

    stored = data.stored.to(fabric.device) if data.stored is not None else None

    def score(task: GoalTask) -> dict[str, float]:
        scores = evaluate_goal(
            task,
            data.root,
            chosen,
            data.builder,
            stored=stored,
            device=fabric.device,
            threads=options.threads,
            precision=precision,
            fabric=fabric,
        )
        return {
            f"{options.select} success": float(scores.success.mean()),
            f"{options.select} error": float(scores.error_m.mean()),
        }

    run = Run(options.experiment, data, options.out, score, options.threads, options.tensorboard)
    train_goal(run, fabric)
