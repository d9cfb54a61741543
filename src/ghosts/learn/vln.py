"""Runs that learn to act, by the common loop: what is drawn, how a batch is walked, where weights start from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from lightning.fabric import Fabric
from torch import Tensor

from ghosts.config import to_dict
from ghosts.errors import ConfigError, DataError
from ghosts.language.tokens import Vocabulary
from ghosts.learn.checkpoint import LAST, differences, load_checkpoint, misfit
from ghosts.learn.label_words import start_labels
from ghosts.learn.load import described, find_checkpoint, load_weights
from ghosts.learn.loop import Job, Run, draw_turn, train
from ghosts.learn.navigate import NavigationTask, WalkPlan, plan_walks
from ghosts.learn.rollout import World
from ghosts.learn.schedule import batch_numbers
from ghosts.learn.seq2seq import Seq2SeqTask
from ghosts.presets import VlnExperiment
from ghosts.weights import only_filter
from ghosts.world.landmarks.labels import LabelSet

NavTask = NavigationTask | Seq2SeqTask
POLICY = "model.policy."


class LoadedAgent(NamedTuple):
    """A trained agent and what it was trained with."""

    task: NavTask
    """On the CPU, in evaluation mode."""
    experiment: VlnExperiment
    vocabulary: Vocabulary
    labels: LabelSet | None
    tiles: str | None
    iteration: int
    acts: bool
    """Whether its policy was trained; a goal predictor can only act through the planner."""


def load_agent(path: Path) -> LoadedAgent:
    """A trained agent, or a goal predictor's filter for the planner, from a checkpoint or a run's folder.

    Raises:
        DataError: the checkpoint is missing, damaged, of another version, or of a baseline without a filter.
    """
    file = find_checkpoint(path)
    checkpoint = load_checkpoint(file)
    found, vocabulary, labels = described(checkpoint, file)
    if found.kind != "filter":
        raise DataError(
            "this model has no filter to act on",
            file=file,
            field="kind",
            value=found.kind,
            hint="name a run of a filter",
        )
    acts = isinstance(found, VlnExperiment)
    experiment = found if isinstance(found, VlnExperiment) else VlnExperiment(**vars(found))
    task = make_navigation_task(experiment, len(labels) if labels is not None else 0)
    load_weights(task, checkpoint, file)
    iteration, tiles = int(checkpoint.about["iteration"]), checkpoint.about.get("tiles")
    return LoadedAgent(task, experiment, vocabulary, labels, tiles, iteration, acts)


def make_navigation_task(experiment: VlnExperiment, labels: int) -> NavTask:
    """The untrained task of an experiment."""
    kind = Seq2SeqTask if experiment.navigation.agent == "seq2seq" else NavigationTask
    return kind(experiment.model, experiment.navigation, labels)


def train_vln(run: Run, fabric: Fabric, warm_start: Path | None = None) -> NavTask:
    """Train an agent, or go on where a run in the same folder stopped; see `loop.train`.

    Args:
        run: its experiment is a `VlnExperiment`.
        fabric: the processes.
        warm_start: run, checkpoint or shipped weights to start from: the filter, and an agent's policy.
    """
    experiment = cast(VlnExperiment, run.experiment)
    check_start(experiment, run.out, warm_start)

    def make_task(run: Run) -> NavTask:
        task = make_navigation_task(experiment, len(run.data.labels) if run.data.labels is not None else 0)
        start_labels(task.features, run.data.labels, experiment.landmarks.word_vectors, run.out)
        if warm_start is not None:
            start_from(task, run, find_checkpoint(warm_start), policy=not only_filter(warm_start))
        return task

    return cast(NavTask, train(run, fabric, Job(make_task, make_walk_plan, partial(prepare_walks, fabric=fabric))))


def check_start(experiment: VlnExperiment, out: Path, warm_start: Path | None) -> None:
    """Whether training can begin with these weights, as far as that shows without the data.

    Raises:
        ConfigError: a filter that stays as it is has no weights, or there is no filter for them.
        DataError: there is no such run, or the checkpoint is no run's.
    """
    if warm_start is not None and experiment.navigation.agent == "seq2seq":
        raise ConfigError("a sequence-to-sequence agent has no filter to start from; leave out --warm-start")
    frozen = experiment.navigation.freeze_filter and not experiment.navigation.true_beliefs
    if frozen and warm_start is None and not (out / LAST).is_file():
        raise ConfigError(
            "navigation.freeze_filter keeps a trained filter; name one with --warm-start RUN, or train both together "
            "with --navigation.no-freeze-filter"
        )
    if warm_start is not None:
        file = find_checkpoint(warm_start)
        described(load_checkpoint(file), file)


def make_walk_plan(run: Run, iteration: int, rank: int, world: int) -> WalkPlan:
    """This process's share of what an iteration walks."""
    config, data = run.experiment.train, run.data
    chosen = batch_numbers(len(data.train), config, iteration)
    mine = range(rank, config.batch, world)
    randoms = [np.random.default_rng([config.seed, 3, iteration, position]) for position in mine]
    turns = [draw_turn(run, random) for random in randoms]
    examples = [data.train[chosen[position]] for position in mine]
    return plan_walks(examples, turns, randoms, config.agent_steps, config.word_dropout)


def prepare_walks(
    run: Run, task: NavTask, stored: Tensor | None, device: torch.device, fabric: Fabric | None = None
) -> Callable[[WalkPlan], Any]:
    """Walks plans with the present weights, without dropout.

    Losses are means over looks, and walks of several processes (`fabric`) are of unequal length: each batch gets the
    share by which its loss counts, so that the mean over processes is the mean over all looks.
    """
    scans = sorted({example.scan for example in run.data.train})
    world = World(run.data.root, run.data.builder, scans, task.features, stored, device)

    def walk(plan: WalkPlan) -> Any:
        task.eval()
        try:
            batch = task.collect(world, plan)
        finally:
            task.train()
        if fabric is None or fabric.world_size == 1:
            return batch
        looks = batch.active.sum().float()
        everyone = torch.as_tensor(fabric.all_reduce(looks.clone(), reduce_op="mean"))
        return replace(batch, share=looks / everyone.clamp(min=1.0))

    return walk


def start_from(task: NavTask, run: Run, path: Path, *, policy: bool = True) -> None:
    """Load another model's weights into a task.

    Args:
        task: what is to be trained.
        run: its run.
        path: checkpoint.
        policy: whether an agent's policy is taken as well; goal prediction does not train one.

    Raises:
        DataError: the checkpoint was trained on other words, labels or tiles, or has other sizes.
    """
    stored = load_checkpoint(path)
    labels = run.data.labels
    mine = {
        "vocabulary": list(run.data.builder.vocabulary.words),
        "labels": labels.to_list() if labels is not None else None,
        "tiles": run.data.tiles,
    }
    for name, value in mine.items():
        if stored.about.get(name) != value:
            hint = "train both on the same data root"
            raise DataError(f"--warm-start: trained on other data (another {name})", file=path, hint=hint)
    # Read as settings, so that what an older version did not know has its default.
    before, _, _ = described(stored, path)
    # Equal labels can still be shown from nearer or farther.
    seen = to_dict(before.landmarks), to_dict(run.experiment.landmarks)
    shown = differences(*seen, "landmarks") if labels else []
    if shown:
        hint = "use the same --landmarks options"
        raise DataError(f"--warm-start: trained on other landmarks: {'; '.join(shown)}", file=path, hint=hint)
    acts = policy and isinstance(before, VlnExperiment)
    weights = {**stored.part("model"), **stored.part("ema")}
    weights = {name: value for name, value in weights.items() if acts or not name.startswith(POLICY)}
    own = task.state_dict()
    wrong = [name for name, value in own.items() if name in weights and weights[name].shape != value.shape]
    missing = [name for name in own if name not in weights and not name.startswith(POLICY)]
    if wrong or missing:
        first = {name: value for name, value in own.items() if name in (wrong or missing)}
        problem = f"--warm-start: a model of other sizes ({misfit(first, weights)})"
        raise DataError(problem, file=path, hint="use the same --model settings")
    task.load_state_dict(weights, strict=False)
