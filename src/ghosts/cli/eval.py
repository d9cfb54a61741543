"""Evaluate models: `ghosts eval goal|vln --run RUN --data ROOT` prints Table 1 or 2, as text, JSON and Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from ghosts.cli import _vln
from ghosts.cli._launch import make_fabric
from ghosts.cli._out import check_out_folder
from ghosts.cli._runs import DataMemory, group_runs
from ghosts.config import require, to_dict
from ghosts.errors import ConfigError, UnknownNameError
from ghosts.presets import PRESETS, GoalExperiment, preset

if TYPE_CHECKING:
    from lightning.fabric import Fabric

    from ghosts.evaluate.goal import GoalScores
    from ghosts.evaluate.table import ScoredRun
    from ghosts.learn.data import GoalData
    from ghosts.learn.load import LoadedTask


@dataclass(frozen=True)
class EvalGoal:
    """Goal prediction (Table 1): error, success, what was seen and calibration at every time step."""

    run: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Folder of a run, or a checkpoint; repeat for more. Runs that differ in their seed alone become one row;
    of one seed, each has its own."""
    preset: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """A model that needs no training (hand-coded), by name."""
    data: Path = Path("data")
    """Data root."""
    splits: str = ""
    """Splits, separated by commas; all by default."""
    out: Path | None = None
    """Folder for goal.json and goal.md."""
    device: str = "auto"
    """cpu, cuda or auto."""
    devices: int = 1
    """Processes that share the work; under torchrun (several machines) its own numbers count."""
    examples: int = 0
    """Instructions of each split, evenly spaced; 0 = all."""
    batch: int = 64
    """Instructions at a time."""
    threads: int = 2
    """Threads that make batches."""
    half: bool = False
    """Networks in bfloat16, as in training; float32 by default."""


def main(arguments: list[str]) -> None:
    """Run `ghosts eval`."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: ghosts eval goal --run RUN [--run RUN …] [--preset hand-coded] --data ROOT [options]")
        print("       ghosts eval vln --run RUN [--run RUN …] [--planner] --data ROOT [options]")
        return
    if arguments[0] == "vln":
        _vln.evaluate(arguments[1:])
        return
    if arguments[0] != "goal":
        raise UnknownNameError("evaluation", arguments[0], ["goal", "vln"])
    options = tyro.cli(EvalGoal, args=arguments[1:], prog="ghosts eval goal")
    if not options.run and not options.preset:
        raise ConfigError("nothing to evaluate; name --run RUN, or --preset hand-coded")
    for name, value in (("batch", options.batch), ("devices", options.devices)):
        require(value >= 1, f"--{name} must be at least 1", value)
    require(options.examples >= 0, "--examples must not be negative", options.examples)
    if options.out is not None:
        check_out_folder(options.out)
    _evaluate(options)


def _evaluate(options: EvalGoal) -> None:
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.evaluate.table import markdown_table, summarise, text_table
    from ghosts.files import write_json, write_text
    from ghosts.learn.checkpoint import provenance

    loaded = _models(options)
    fabric = make_fabric(options.device, options.devices)
    fabric.launch()
    runs = _score(options, loaded, fabric)
    if not fabric.is_global_zero:
        return
    groups = group_runs(runs)
    summary = summarise({name: [run for _, run in group] for name, group in groups.items()})
    summary["experiments"] = {name: to_dict(group[0][0]) for name, group in groups.items()}
    summary["provenance"] = provenance()
    for split in summary["splits"]:
        print(text_table(summary, split), end="\n\n")
    if options.out is not None:
        write_json(options.out / "goal.json", summary, indent=1)
        tables = "\n\n".join(markdown_table(summary, split) for split in summary["splits"])
        write_text(options.out / "goal.md", f"`{_portable(summary['provenance']['command'])}`\n\n{tables}\n")
        print(f"written: {options.out / 'goal.json'}, {options.out / 'goal.md'}")


def _portable(command: str) -> str:
    """A command for a document: of absolute paths, which mean nothing elsewhere, the last part alone."""
    return " ".join(Path(word).name if word.startswith("/") else word for word in command.split())


def _models(options: EvalGoal) -> list[tuple[str, int | None, GoalExperiment, LoadedTask | None]]:
    """Name, iteration, experiment and weights of everything to evaluate."""
    from ghosts.learn.checkpoint import load_checkpoint
    from ghosts.learn.load import find_checkpoint, task_of

    found: list[tuple[str, int | None, GoalExperiment, LoadedTask | None]] = []
    for name in options.preset:
        experiment = preset(name)
        if experiment.kind != "hand-coded":
            free = [known for known, make in PRESETS.items() if make().kind == "hand-coded"]
            raise ConfigError(
                f"preset {name!r} needs training; run: ghosts train goal --preset {name}, then name --run "
                f"(without training: {', '.join(free)})"
            )
        found.append((name, None, experiment, None))
    for path in options.run:
        file = find_checkpoint(path)
        checkpoint = load_checkpoint(file)
        loaded = task_of(checkpoint, file)
        found.append((path.stem, int(checkpoint.about["iteration"]), loaded.experiment, loaded))
    return found


def _score(
    options: EvalGoal, models: list[tuple[str, int | None, GoalExperiment, LoadedTask | None]], fabric: Fabric
) -> list[tuple[GoalExperiment, ScoredRun]]:
    from ghosts.evaluate.table import ScoredRun
    from ghosts.learn.tasks import GoalTask
    from ghosts.world.dataroot import DataRoot

    root, memory = DataRoot(options.data), DataMemory()
    runs = []
    for name, iteration, experiment, loaded in models:
        data = memory.load(root, experiment, loaded)
        task = loaded.task if loaded else GoalTask(experiment.kind, experiment.model, experiment.baseline)
        splits = [split.strip() for split in options.splits.split(",") if split.strip()] or list(data.splits)
        if not splits:
            raise ConfigError(f"{root.path}: nothing but a training split; to score that, add --splits train")
        scores = {split: _split_scores(options, task, data, split, fabric) for split in splits}
        runs.append((experiment, ScoredRun(name, experiment.train.seed, iteration, scores)))
    return runs


def _split_scores(options: EvalGoal, task: Any, data: GoalData, split: str, fabric: Fabric) -> GoalScores:
    from ghosts.evaluate.goal import evaluate_goal, evenly
    from ghosts.learn.data import examples_of

    examples = examples_of(data, split)
    return evaluate_goal(
        task.to(fabric.device),
        data.root,
        evenly(examples, options.examples or len(examples)),
        data.builder,
        stored=data.stored.to(fabric.device) if data.stored is not None else None,
        device=fabric.device,
        batch=options.batch,
        threads=options.threads,
        precision="bf16-mixed" if options.half else "32-true",
        fabric=fabric,
    )
