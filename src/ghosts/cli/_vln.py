"""Navigation for `ghosts train vln`, `ghosts eval vln` and `ghosts submit`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args

import tyro

from ghosts.cli._launch import TrainOptions, launch, make_fabric
from ghosts.cli._out import check_out_folder
from ghosts.cli._preset import take_preset
from ghosts.cli._runs import DataMemory, group_runs
from ghosts.config import to_dict
from ghosts.errors import ConfigError, DataError, UnknownNameError
from ghosts.presets import VlnExperiment, vln_preset

if TYPE_CHECKING:
    from lightning.fabric import Fabric

    from ghosts.evaluate.navigation import NavScores
    from ghosts.learn.data import GoalData
    from ghosts.learn.examples import Example
    from ghosts.learn.vln import LoadedAgent
    from ghosts.world.dataroot import DataRoot

DEFAULT_PRESET = "landmarks-agent"


@dataclass(frozen=True, kw_only=True)
class TrainVln(TrainOptions):
    """Train an agent (a row of Table 2)."""

    experiment: Annotated[VlnExperiment, tyro.conf.arg(name="")]
    """Everything that defines the run; starts from the preset."""
    out: Path = Path("runs/vln")
    """Folder of the run: checkpoints and log."""
    warm_start: Path | None = None
    """Run or checkpoint of `ghosts train goal` whose filter training starts from."""


def train(arguments: list[str]) -> None:
    """Run `ghosts train vln`."""
    name, rest = take_preset(arguments, DEFAULT_PRESET)
    prog = f"ghosts train vln --preset {name}"
    options = tyro.cli(TrainVln, default=TrainVln(experiment=vln_preset(name)), args=rest, prog=prog)
    check_out_folder(options.out)
    _train(options)


def _train(options: TrainVln) -> None:
    # Imported here: torch and Lightning take seconds, and `--help` should not wait for them.
    from ghosts.learn.loop import Run
    from ghosts.learn.vln import NavTask, check_start, train_vln

    # Before the data is read, which takes longer.
    check_start(options.experiment, options.out, options.warm_start)
    data, chosen, fabric, precision = launch(options, options.experiment)

    def score(task: NavTask) -> dict[str, float]:
        means = _scores(task, data, options.select, chosen, fabric, precision=precision).means()
        return {f"{options.select} {metric}": means[metric] for metric in ("SPL", "SR", "OS", "NE", "TL")}

    run = Run(options.experiment, data, options.out, score, options.threads, options.tensorboard)
    train_vln(run, fabric, options.warm_start)


@dataclass(frozen=True)
class EvalVln:
    """Navigation (Table 2): TL, NE, OS, SR, SPL, nDTW, SDTW, CLS with intervals; on R2R beside the published rows."""

    run: tyro.conf.UseAppendAction[tuple[Path, ...]] = ()
    """Folder of a run, or a checkpoint; repeat for more. Runs that differ in their seed alone become one row;
    of one seed, each has its own."""
    planner: bool = False
    """Also act with the planner on each run's filter; the only way for runs of `ghosts train goal`."""
    baselines: str = "random,stop,shortest"
    """Baselines without a model, separated by commas."""
    data: Path = Path("data")
    """Data root."""
    splits: str = ""
    """Splits, separated by commas; all by default."""
    out: Path | None = None
    """Folder for vln.json (the same at every run), vln.md, and speed.json (seconds)."""
    device: str = "auto"
    """cpu, cuda or auto."""
    devices: int = 1
    """Processes that share the work; under torchrun (several machines) its own numbers count."""
    examples: int = 0
    """Instructions of each split, evenly spaced; 0 = all."""
    batch: int = 128
    """Instructions at a time."""
    half: bool = False
    """Networks in bfloat16, as in training; float32 by default."""


class VlnRun(NamedTuple):
    """A run's scores by split."""

    name: str
    seed: int
    scores: dict[str, NavScores]
    seconds: dict[str, float]
    """That walking took."""


def evaluate(arguments: list[str]) -> None:
    """Run `ghosts eval vln`."""
    repeatable_products()
    options = tyro.cli(EvalVln, args=arguments, prog="ghosts eval vln")
    names = [name.strip() for name in options.baselines.split(",") if name.strip()]
    if not options.run and not names:
        raise ConfigError("nothing to evaluate; name --run RUN or --baselines random,stop,shortest")
    for name, value in (("batch", options.batch), ("devices", options.devices)):
        if value < 1:
            raise ConfigError(f"--{name} must be at least 1, got {value}")
    if options.examples < 0:
        raise ConfigError(f"--examples must not be negative, got {options.examples}")
    if options.out is not None:
        check_out_folder(options.out)
    _evaluate(options, names)


def repeatable_products() -> None:
    """Ask cuBLAS for equal results in every run; it reads this when it is first used."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def _evaluate(options: EvalVln, baselines: list[str]) -> None:
    from ghosts.act.walkers import WalkerName
    from ghosts.evaluate.vln_table import summarise_vln, vln_markdown, vln_text
    from ghosts.files import write_json, write_text
    from ghosts.learn.checkpoint import provenance
    from ghosts.learn.vln import load_agent
    from ghosts.world.dataroot import DataRoot

    for name in baselines:
        if name not in get_args(WalkerName):
            raise UnknownNameError("baseline", name, get_args(WalkerName))
    agents = [(path, load_agent(path)) for path in options.run]
    fabric = make_fabric(options.device, options.devices)
    fabric.launch()
    root = DataRoot(options.data)
    models: dict[str, dict[str, list[NavScores]]] = {}
    taken: dict[str, dict[str, float]] = {}
    runs = _score_agents(options, root, agents, fabric)
    for name, group in group_runs(runs).items():
        models[name] = {split: [run.scores[split] for _, run in group] for split in group[0][1].scores}
        taken[name] = {split: sum(run.seconds[split] for _, run in group) for split in models[name]}
    for name in baselines:
        models[name], taken[name] = _score_baseline(options, root, name, agents)
    summary = summarise_vln(models, published=not (root.path / "world.json").is_file())  # which houses have
    seconds = {split: {name: taken[name][split] for name in models} for split in summary["splits"]}
    summary["experiments"] = {path.stem: to_dict(agent.experiment) for path, agent in agents}
    summary["provenance"] = provenance()
    if not fabric.is_global_zero:
        return
    for split in summary["splits"]:
        print(vln_text(summary, split, seconds), end="\n\n")
    if options.out is not None:
        tables = "\n\n".join(vln_markdown(summary, split, seconds) for split in summary["splits"])
        write_json(options.out / "vln.json", summary, indent=1)
        write_json(options.out / "speed.json", {"device": str(fabric.device), "seconds": seconds}, indent=1)
        write_text(options.out / "vln.md", f"{tables}\n")
        print(f"written: {', '.join(str(options.out / name) for name in ('vln.json', 'vln.md', 'speed.json'))}")


def _score_agents(
    options: EvalVln, root: DataRoot, agents: Sequence[tuple[Path, LoadedAgent]], fabric: Fabric
) -> list[tuple[VlnExperiment, VlnRun]]:
    """Every agent with its policy, and with the planner where that is asked for."""
    import dataclasses

    from ghosts.act.planner import Planner

    memory, runs = DataMemory(), []
    precision = "bf16-mixed" if options.half else "32-true"
    for path, agent in agents:
        if not (agent.acts or options.planner):
            raise ConfigError(f"{path} predicts goals and was not trained to act; add --planner")
        if options.planner and agent.experiment.navigation.agent == "seq2seq" and len(agents) == 1:
            raise ConfigError("a sequence-to-sequence agent has no belief for the planner; leave out --planner")
        data = memory.load(root, agent.experiment, agent)
        planners: list[Planner | None] = [None] if agent.acts else []
        if options.planner and agent.experiment.navigation.agent == "filter":
            planners.append(Planner(agent.experiment.navigation.planner))
        for planner in planners:
            scores, seconds = {}, {}
            for split in _splits(options.splits, data):
                examples, since = _chosen(data, split, options.examples), time.perf_counter()
                scores[split] = _scores(
                    agent.task, data, split, examples, fabric, planner=planner, batch=options.batch, precision=precision
                )
                seconds[split] = time.perf_counter() - since
            how = ["planner"] if planner else []
            how += ["true beliefs"] if agent.experiment.navigation.true_beliefs else []
            experiment = dataclasses.replace(agent.experiment, name=", ".join([agent.experiment.name, *how]))
            runs.append((experiment, VlnRun(path.stem, agent.experiment.train.seed, scores, seconds)))
    return runs


def _score_baseline(
    options: EvalVln, root: DataRoot, name: str, agents: Sequence[tuple[Path, LoadedAgent]]
) -> tuple[dict[str, list[NavScores]], dict[str, float]]:
    """A baseline on the splits the agents are evaluated on, and the seconds it took; it needs no tiles."""
    from ghosts.evaluate.vln import score_walks, walk_split_baseline
    from ghosts.learn.data import load_splits

    _, splits = load_splits(root, agents[0][1].experiment.model.language.steps if agents else 6)
    scores, seconds = {}, {}
    for split in _named(options.splits, list(splits), root):
        examples, since = _evenly(splits[split], options.examples), time.perf_counter()
        paths = walk_split_baseline(name, root, examples)  # type: ignore[arg-type]
        scores[split] = [score_walks(root, _file(split), examples, paths)]
        seconds[split] = time.perf_counter() - since
    return scores, seconds


def _scores(
    task: Any, data: GoalData, split: str, examples: Sequence[Example], fabric: Fabric, **how: Any
) -> NavScores:
    """Walk and score some instructions of a split."""
    from ghosts.evaluate.vln import score_walks, walk_split

    stored = data.stored.to(fabric.device) if data.stored is not None else None
    paths = walk_split(
        task.to(fabric.device),
        data.root,
        examples,
        data.builder,
        stored=stored,
        device=fabric.device,
        fabric=fabric,
        **how,
    )
    return score_walks(data.root, _file(split), examples, paths)


def _file(split: str) -> str:
    """The R2R file a split's paths are in."""
    from ghosts.learn.data import DEV_UNSEEN

    return "train" if split == DEV_UNSEEN else split


def _splits(wanted: str, data: GoalData) -> list[str]:
    return _named(wanted, list(data.splits), data.root)


def _named(wanted: str, known: list[str], root: DataRoot) -> list[str]:
    names = [split.strip() for split in wanted.split(",") if split.strip()] or known
    if not names:
        raise DataError("nothing but a training split", file=root.path, hint="add an R2R_<split>.json of other paths")
    for name in names:
        if name not in known:
            raise UnknownNameError("split", name, known, str(root.path))
    return names


def _chosen(data: GoalData, split: str, count: int) -> Sequence[Example]:
    return _evenly(data.splits[split], count)


def _evenly(examples: Sequence[Example], count: int) -> Sequence[Example]:
    from ghosts.evaluate.goal import evenly

    return evenly(examples, count or len(examples))
