"""Score models: `ghosts eval goal|vln|ce --run RUN --data ROOT` prints the paper's Table 1 or 2, or driving scores."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

import tyro

from ghosts.cli._continuous import EvalCe, evaluate_ce
from ghosts.cli._launch import launch
from ghosts.cli._runs import EvalOptions, HeldOut, PragmaticOptions, group_runs, names_of_runs
from ghosts.config import Experiment, LanguageConfig, experiment_values
from ghosts.config.values import Whole
from ghosts.methods import method_of, preset, presets
from ghosts_sim.cli._options import names_of, parse_kind
from ghosts_sim.cli._progress import shown_progress
from ghosts_sim.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from lightning_fabric import Fabric

    from ghosts.data.dataset import Dataset
    from ghosts.data.examples import Example
    from ghosts.evaluate.text_table import Table
    from ghosts.run.load import Run
    from ghosts.run.pragmatic import Pragmatist
    from ghosts_sim.dataroot import DataRoot
    from ghosts_sim.metrics import NavScores


@dataclass(frozen=True, kw_only=True)
class EvalGoal(EvalOptions):
    """Score goal prediction (Table 1): error, success, how much was seen, and calibration at every time step. Writes
    goal.json and goal.md to --out."""

    preset: tuple[str, ...] = ()
    """Name of a model that needs no training: hand-coded."""
    threads: Whole = 2
    """Threads that make batches."""

    def __post_init__(self) -> None:
        if not self.run and not self.preset:
            raise ConfigError("nothing to evaluate; name --run RUN, or --preset hand-coded")
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class EvalVln(EvalOptions, PragmaticOptions):
    """Score navigation (Table 2): TL, NE, OS, SR, SPL, nDTW, SDTW and CLS with intervals, on R2R beside the published
    rows. Writes vln.json (the same bytes every time), vln.md and speed.json (timings) to --out."""

    planner: bool = False
    """Also let the planner, which is not trained, act on the filter of each run. Runs of `ghosts train goal` can act
    only this way."""
    baseline: tuple[str, ...] = ()
    """Walker without a model: random, stop, shortest, or `none`; repeat for more. All by default."""

    def __post_init__(self) -> None:
        if not self.run and not self.walkers:
            raise ConfigError("nothing to evaluate; name --run RUN or --baseline random")
        super().__post_init__()

    @property
    def walkers(self) -> list[str]:
        """Names of the baselines."""
        return names_of(self.baseline, ("random", "stop", "shortest"))


def main(arguments: list[str]) -> None:
    """Run `ghosts eval`."""
    kinds = {
        "goal": Annotated[EvalGoal, tyro.conf.subcommand("goal")],
        "vln": Annotated[EvalVln, tyro.conf.subcommand("vln")],
        "ce": Annotated[EvalCe, tyro.conf.subcommand("ce")],
    }
    options = parse_kind("eval", "evaluate", kinds, arguments, __doc__ or "")
    if isinstance(options, EvalCe):
        evaluate_ce(options)
    elif isinstance(options, EvalVln):
        _evaluate_vln(options)
    else:
        _evaluate_goal(options)


def _evaluate_goal(options: EvalGoal) -> None:
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.data.dataset import DataShelf
    from ghosts.evaluate.goal import evaluate_goal
    from ghosts.evaluate.table import ScoredRun, goal_table, summarise
    from ghosts.weights.checkpoint import provenance
    from ghosts_sim.dataroot import DataRoot

    runs = _goal_runs(options)
    fabric = launch(options.device, options.devices)
    root, shelf, scored = DataRoot(options.data), DataShelf(1), []
    held_out = options.held_out(runs, root)
    for run in runs:
        predictor = run.predictor
        assert predictor is not None, "checked with the runs"
        # What needs no training is scored on the splits of what was trained.
        needs_none = run.iteration is None
        data = shelf.get(root, replace(run.reading, hold_out=held_out.every) if needs_none else run.reading)
        scores = {}
        for split, examples in options.chosen(data.splits, root, held_out).items():
            with shown_progress(f"{run.name} on {split}", shown=fabric.is_global_zero) as report:
                how = options.execution(fabric, report, options.threads)
                scores[split] = evaluate_goal(predictor, data, examples, how)
        experiment = replace(run.experiment, name=", ".join([run.experiment.name, *options.worlds]))
        scored.append((experiment, ScoredRun(run.name, experiment.train.seed, run.iteration, scores)))
    if not fabric.is_global_zero:
        return
    groups = group_runs(scored)
    summary = summarise({name: [run for _, run in group] for name, group in groups.items()})
    summary["experiments"] = {name: experiment_values(group[0][0]) for name, group in groups.items()}
    summary["provenance"] = provenance()
    notes = options.notes(runs, data.splits, root, held_out)
    command = f"`{_portable(summary['provenance']['command'])}`"
    tables = [goal_table(summary, split) for split in summary["splits"]]
    _publish(options.out, tables, notes, [command], {"goal": summary})


def _goal_runs(options: EvalGoal) -> list[Run]:
    """Everything to evaluate: presets that need no training, then runs."""
    from ghosts.run.load import load_run, untrained

    found = []
    for name in options.preset:
        experiment = preset(name)
        if method_of(experiment).needs_training:
            free = [known for known, make in presets("goal").items() if not method_of(make()).needs_training]
            raise ConfigError(
                f"preset {name!r} needs training; run: ghosts train goal --preset {name}, then name --run "
                f"(without training: {', '.join(free)})"
            )
        found.append(untrained(experiment))
    names = names_of_runs(options.run, options.preset)
    runs = [replace(load_run(path), name=name) for path, name in zip(options.run, names)]
    for path, run in zip(options.run, runs):
        if run.predictor is None:
            raise ConfigError(f"{path} predicts no goals; score how it acts with: ghosts eval vln --run {path}")
    return [*found, *options.together(runs)]


def _portable(command: str) -> str:
    """A command for a document. Absolute paths mean nothing elsewhere, so only their last part is kept."""
    return " ".join(Path(word).name if word.startswith("/") else word for word in command.split())


class VlnRun(NamedTuple):
    """A run's scores by split."""

    name: str
    scores: dict[str, NavScores]
    seconds: dict[str, float]
    """Seconds that walking took, by split."""


def repeatable_products() -> None:
    """Ask cuBLAS for equal results in every run; it reads this when it is first used."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def _evaluate_vln(options: EvalVln) -> None:
    repeatable_products()
    from ghosts.agent.walkers import WalkerName
    from ghosts.data.dataset import DataShelf
    from ghosts.data.examples import load_splits
    from ghosts.evaluate.vln_table import summarise_vln, vln_table
    from ghosts.run.load import load_run
    from ghosts.weights.checkpoint import provenance
    from ghosts_sim.dataroot import DataRoot

    for name in options.walkers:
        if name not in get_args(WalkerName):
            raise UnknownNameError("baseline", name, get_args(WalkerName))
    names = names_of_runs(options.run, options.walkers)
    runs = options.together([replace(load_run(path), name=name) for path, name in zip(options.run, names)])
    for run in runs:
        for planner in _ways(options, run):
            run.agent(planner=planner)  # says so before the data is read where it cannot act
    options.check_pragmatic(runs, options.planner)
    fabric = launch(options.device, options.devices)
    root, shelf = DataRoot(options.data), DataShelf(1)
    speaker = options.pragmatist(root, fabric.device)
    held_out, runs_scores = options.held_out(runs, root), []
    for run in runs:
        runs_scores += _score_run(options, run, shelf.get(root, run.reading), held_out, fabric, speaker)
    models: dict[str, dict[str, list[NavScores]]] = {}
    taken: dict[str, dict[str, float]] = {}
    for name, group in group_runs(runs_scores, options.walkers).items():
        models[name] = {split: [run.scores[split] for _, run in group] for split in group[0][1].scores}
        taken[name] = {split: sum(run.seconds[split] for _, run in group) for split in models[name]}
    steps = runs[0].reading.steps if runs else LanguageConfig.steps
    splits = load_splits(root, steps, held_out.every)
    for name in options.walkers:
        models[name], taken[name] = _score_baseline(name, root, options.chosen(splits, root, held_out))
    summary = summarise_vln(models, published=not (root.path / "world.json").is_file())  # which houses have
    seconds = {split: {name: taken[name][split] for name in models} for split in summary["splits"]}
    summary["experiments"] = {run.name: experiment_values(run.experiment) for run in runs}
    summary["provenance"] = provenance()
    if not fabric.is_global_zero:
        return
    tables = [vln_table(summary, split, seconds) for split in summary["splits"]]
    speed = {"device": str(fabric.device), "seconds": seconds}
    notes = options.notes(runs, splits, root, held_out)
    _publish(options.out, tables, notes, [], {"vln": summary, "speed": speed})


def _publish(
    out: Path | None, tables: list[Table], notes: list[str], above: list[str], values: dict[str, dict[str, Any]]
) -> None:
    """Print tables and notes; write them to a folder as Markdown, with values as JSON, under the first one's name."""
    from ghosts_sim.files import write_json, write_text

    print("".join(f"{table.text()}\n\n" for table in tables) + "".join(f"{note}\n" for note in notes), end="")
    if out is None:
        return
    page = out / f"{next(iter(values))}.md"
    write_text(page, "\n\n".join([*above, *(table.markdown() for table in tables), *notes]) + "\n")
    for name, value in values.items():
        write_json(out / f"{name}.json", value, indent=1)
    print(f"written: {', '.join(str(file) for file in (*(out / f'{name}.json' for name in values), page))}")


def _ways(options: EvalVln, run: Run) -> list[bool]:
    """Ways in which a run acts: with its policy (False), with the planner (True), or both."""
    # A run without a policy says so when it is asked to act.
    ways = [False] if run.experiment.acts or not options.planner else []
    if options.planner and not (run.filter is None and len(options.run) > 1):
        ways.append(True)
    return ways


def _score_run(
    options: EvalVln, run: Run, data: Dataset, held_out: HeldOut, fabric: Fabric, speaker: Pragmatist | None
) -> list[tuple[Experiment, VlnRun]]:
    """A run with its policy, and with the planner where that is asked for."""
    from ghosts.evaluate.vln import score_walks, walk_split

    found = []
    for planner in _ways(options, run):
        scores, seconds = {}, {}
        for split, examples in options.chosen(data.splits, data.root, held_out).items():
            since = time.perf_counter()
            with shown_progress(f"{run.name} walks {split}", shown=fabric.is_global_zero) as report:
                how = options.execution(fabric, report)
                paths = walk_split(run, data, examples, how, planner=planner, pragmatic=speaker)
                scores[split] = score_walks(data.root, examples, paths)
            seconds[split] = time.perf_counter() - since
        ways = ["planner"] * planner + ["true beliefs"] * run.experiment.on_true_beliefs
        ways += ["pragmatic"] * (speaker is not None)
        experiment = replace(run.experiment, name=", ".join([run.experiment.name, *ways, *options.worlds]))
        found.append((experiment, VlnRun(run.name, scores, seconds)))
    return found


def _score_baseline(
    name: str, root: DataRoot, chosen: dict[str, list[Example]]
) -> tuple[dict[str, list[NavScores]], dict[str, float]]:
    """A baseline's scores and the seconds it took; it needs no tiles."""
    from ghosts.evaluate.vln import score_walks, walk_split_baseline

    scores, seconds = {}, {}
    for split, examples in chosen.items():
        since = time.perf_counter()
        paths = walk_split_baseline(name, root, examples)  # type: ignore[arg-type]
        scores[split] = [score_walks(root, examples, paths)]
        seconds[split] = time.perf_counter() - since
    return scores, seconds
