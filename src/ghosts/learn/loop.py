"""The training loop, on Lightning Fabric: CPU, one GPU, or several processes.

Everything random of iteration i (episodes, walks, symmetries, dropout) follows from the seed and i alone, so that a run
that was interrupted goes on as if it had not been, and a batch does not depend on how many processes share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from lightning.fabric import Fabric
from torch import Tensor, nn

from ghosts.config import to_dict
from ghosts.errors import ConfigError, DataError
from ghosts.files import remove_leftovers
from ghosts.learn.batches import Batch, Turn, pinned, prefetch
from ghosts.learn.checkpoint import (
    BEST,
    LAST,
    differences,
    load_checkpoint,
    optimiser_tensors,
    provenance,
    restore_optimiser,
    save_checkpoint,
)
from ghosts.learn.data import GoalData
from ghosts.learn.interrupt import StopRequest
from ghosts.learn.label_words import start_labels
from ghosts.learn.precision import network_type
from ghosts.learn.report import Report, reporting
from ghosts.learn.schedule import batch_numbers, learning_rate
from ghosts.learn.tasks import GoalTask
from ghosts.learn.trajectories import sample_walk
from ghosts.mapping.mapper import Masks
from ghosts.presets import GoalExperiment, TrainConfig

LOG = "log.jsonl"


@dataclass(frozen=True)
class Run:
    """One training run."""

    experiment: GoalExperiment
    data: GoalData
    out: Path
    score: Callable[[Any], dict[str, float]] | None = None
    """Evaluates a model during training, in every process with the same result; the result's first value chooses the
    best checkpoint (higher is better)."""
    threads: int = 2
    """That make batches."""
    tensorboard: bool = False
    """Also log for TensorBoard, in `<out>/tensorboard`."""


@dataclass(frozen=True)
class Job:
    """What a run trains, and on what."""

    make_task: Callable[[Run], nn.Module]
    """The model with its loss: `task(batch, stored, masks)`; it also has `draw_masks`."""
    make_batch: Callable[[Run, int, int, int], Any]
    """Run, iteration, process, processes → this process's share of the batch; called in threads."""
    prepare: Callable[[Run, Any, Tensor | None, torch.device], Callable[[Any], Any]] | None = None
    """Run, task, stored features, device → what is done to a batch before its loss, where that needs the weights."""


@dataclass
class _State:
    """How far a run has come."""

    iteration: int
    """Iterations done."""
    average: dict[str, Tensor]
    """Averaged weights; empty without averaging."""
    best: float
    """Best score so far."""
    losses: Float[Tensor, " n"]
    """Of the last iterations, which no row of the log covers yet."""


class _Inputs:
    """Hides a batch from Fabric, which would convert positions to half precision and refuses frozen dataclasses."""

    def __init__(self, batch: Any, stored: Float[Tensor, "n c"] | None, masks: Masks | None) -> None:
        self.batch, self.stored, self.masks = batch, stored, masks


class _Step(nn.Module):
    """What Fabric wraps: the task's loss of hidden inputs."""

    def __init__(self, task: nn.Module) -> None:
        super().__init__()
        self.task = task

    def forward(self, inputs: _Inputs) -> Float[Tensor, ""]:
        return self.task(inputs.batch, inputs.stored, inputs.masks)


def make_training_batch(run: Run, iteration: int, rank: int, world: int) -> Batch:
    """This process's share of an iteration's batch."""
    config, data = run.experiment.train, run.data
    chosen = batch_numbers(len(data.train), config, iteration)
    examples, walks, turns, unknown = [], [], [], []
    for position in range(rank, config.batch, world):
        random = np.random.default_rng([config.seed, 2, iteration, position])
        example = data.train[chosen[position]]
        graph = data.root.graph(example.scan)
        examples.append(example)
        walks.append(sample_walk(graph, example.start, example.goal, config.agent_steps, random))
        turns.append(draw_turn(run, random))
        unknown.append(random.random(80) < config.word_dropout)
    return data.builder.build(examples, walks, turns, np.stack(unknown))


def draw_turn(run: Run, random: np.random.Generator) -> Turn:
    """A symmetry for an episode."""
    config = run.experiment.train
    return Turn(
        mirrored=bool(random.random() < config.mirrored),
        quarters=int(random.integers(4)) if config.quarters else 0,
        variant=int(random.integers(len(run.data.builder.bank.angles_rad))),
    )


def make_goal_task(run: Run) -> GoalTask:
    """A row of Table 1, untrained."""
    labels = len(run.data.labels) if run.data.labels is not None else 0
    task = GoalTask(run.experiment.kind, run.experiment.model, run.experiment.baseline, labels)
    if run.experiment.kind != "hand-coded":
        start_labels(task.features, run.data.labels, run.experiment.landmarks.word_vectors, run.out)
    return task


def train_goal(run: Run, fabric: Fabric) -> GoalTask:
    """Train a goal predictor; see `train`."""
    return train(run, fabric, Job(make_goal_task, make_training_batch))


def train(run: Run, fabric: Fabric, job: Job) -> Any:
    """Train, or go on where a run in the same folder stopped.

    The first Ctrl-C or SIGTERM ends the iteration, saves, and raises `KeyboardInterrupt`.

    Returns:
        The trained task, with averaged weights where the config asks for them.

    Raises:
        ConfigError: there is nothing to train, or the batch cannot be shared out evenly.
        DataError: the folder holds another experiment's run, or a damaged one.
    """
    config = run.experiment.train
    _check(run, fabric)
    torch.manual_seed(config.seed)
    task: Any = job.make_task(run)
    kind = torch.optim.Adam if config.optimiser == "adam" else torch.optim.AdamW
    optimiser = kind(
        task.parameters(), config.learning_rate, weight_decay=config.weight_decay, fused=fabric.device.type == "cuda"
    )
    module, optimiser = fabric.setup(_Step(task), optimiser)
    state = _resume(run, task, optimiser, fabric)
    if 0 < config.iterations <= state.iteration:
        fabric.print(
            f"{run.out}: finished already, at iteration {state.iteration}; choose another --out to train again"
        )
        return _averaged(task, state)
    # Several processes exchange gradients while they are computed, which a graph would not wait for.
    if config.capture and fabric.device.type == "cuda" and fabric.world_size == 1 and hasattr(task, "capture"):
        task.train()
        task.capture(config.batch, config.agent_steps, network_type(config.precision, fabric.device))
    stored = run.data.stored.to(fabric.device) if run.data.stored is not None else None
    prepare = job.prepare(run, task, stored, fabric.device) if job.prepare is not None else None
    numbers = range(state.iteration, config.iterations)
    with (
        reporting(config, fabric, run.out / LOG, state.iteration, state.losses, tensorboard=run.tensorboard) as report,
        StopRequest() as stop,
        closing(
            prefetch(
                lambda number: _make(run, job, number, fabric),
                numbers,
                run.threads,
            )
        ) as batches,
    ):
        for iteration, batch in zip(numbers, report.timed(batches)):
            rate = learning_rate(config, iteration)
            for group in optimiser.param_groups:
                group["lr"] = rate
            torch.manual_seed((config.seed * 1_000_003 + iteration) * 1009 + fabric.global_rank)
            module.train()
            masks = _share_masks(task, config, iteration, fabric)
            batch = batch.to(fabric.device)
            if prepare is not None:
                with fabric.autocast():
                    batch = prepare(batch)
            loss = module(_Inputs(batch, stored, masks))
            optimiser.zero_grad()
            fabric.backward(loss)
            # Checking the norm here would make the GPU wait; a norm that is not finite shows in the log's loss.
            norm = fabric.clip_gradients(
                module, optimiser, max_norm=config.gradient_norm or math.inf, error_if_nonfinite=False
            )
            optimiser.step()
            update_average(state.average, dict(task.named_parameters()), config.ema, iteration)
            report.add(iteration, loss.detach() + 0.0 * torch.as_tensor(norm), rate)
            state.iteration = iteration + 1
            last = state.iteration == config.iterations
            if run.score is not None and (state.iteration % config.evaluate_every == 0 or last):
                _score(run, task, state, fabric, report)
            stopping = _agreed(stop, state.iteration, config, fabric)
            if stopping or last or state.iteration % config.checkpoint_every == 0:
                state.losses = report.pending()
                _save(run, task, optimiser, state, fabric)
            if stopping and not last:
                raise KeyboardInterrupt
    return _averaged(task, state)


def _averaged(task: Any, state: _State) -> Any:
    """The task with averaged weights, where there are any."""
    if state.average:
        task.load_state_dict(state.average, strict=False)
    return task


def _make(run: Run, job: Job, iteration: int, fabric: Fabric) -> Any:
    batch = job.make_batch(run, iteration, fabric.global_rank, fabric.world_size)
    return pinned(batch) if fabric.device.type == "cuda" else batch


def _check(run: Run, fabric: Fabric) -> None:
    config = run.experiment.train
    if run.experiment.kind == "hand-coded":
        raise ConfigError(
            f"preset {run.experiment.name!r} has nothing to train; run: ghosts eval goal --preset {run.experiment.name}"
        )
    if config.batch % fabric.world_size:
        raise ConfigError(
            f"train.batch {config.batch} cannot be shared by {fabric.world_size} processes; "
            f"use a multiple of {fabric.world_size}"
        )


def _share_masks(task: Any, config: TrainConfig, iteration: int, fabric: Fabric) -> Masks | None:
    """This process's part of the batch's dropout masks, drawn for the whole batch so that they do not depend on it."""
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + iteration)
    masks = task.draw_masks(config.batch, generator)
    if masks is None:
        return None
    mine = slice(fabric.global_rank, None, fabric.world_size)
    return Masks(input=masks.input[mine], state=masks.state[mine])


def update_average(average: dict[str, Tensor], weights: dict[str, Any], decay: float, iteration: int) -> None:
    """Move averaged weights towards the present ones, in place.

    Args:
        average: averaged weights by name; nothing happens when it is empty.
        weights: present ones, the same names or more.
        decay: share of the average that stays.
        iteration: from 0; the memory is short at first, or the random start would linger.
    """
    if not average:
        return
    decay = min(decay, (1.0 + iteration) / (10.0 + iteration))
    torch._foreach_lerp_(list(average.values()), [weights[name].detach() for name in average], 1.0 - decay)


def _agreed(stop: StopRequest, iteration: int, config: TrainConfig, fabric: Fabric) -> bool:
    """Whether to stop now. Several processes stop together, or some would wait for the others for ever."""
    if fabric.world_size == 1:
        return stop.asked
    if iteration % config.log_every:  # asking costs a message between all processes
        return False
    asked = torch.tensor(float(stop.asked), device=fabric.device)
    return bool(torch.as_tensor(fabric.all_reduce(asked, reduce_op="sum")) > 0)


def _resume(run: Run, task: Any, optimiser: Any, fabric: Fabric) -> _State:
    """Load the folder's last checkpoint into task and optimiser; the optimiser is on its device by now."""
    average = (
        {name: value.detach().clone() for name, value in task.named_parameters()} if run.experiment.train.ema else {}
    )
    path = run.out / LAST
    if not path.is_file():
        return _State(0, average, -math.inf, torch.zeros(0))
    if fabric.is_global_zero:
        for name in (LAST, BEST):
            remove_leftovers(run.out / name)
    stored = load_checkpoint(path)
    changed = differences(stored.about["experiment"], to_dict(run.experiment))
    hint = "choose another --out, or remove the folder"
    if changed:
        raise DataError(f"the folder holds another run: {'; '.join(changed[:4])}", file=path, hint=hint)
    for name, value in _data_identity(run).items():
        if stored.about[name] != value:
            raise DataError(f"the folder holds a run on other data (another {name})", file=path, hint=hint)
    task.load_state_dict(stored.part("model"))
    restore_optimiser(optimiser.optimizer, stored.part("optimiser"))
    for name, value in stored.part("ema").items():
        average[name].copy_(value)
    return _State(
        int(stored.about["iteration"]),
        average,
        float(stored.about["best"]),
        stored.tensors.get("losses", torch.zeros(0)),
    )


def _data_identity(run: Run) -> dict[str, Any]:
    labels = run.data.labels
    return {
        "vocabulary": list(run.data.builder.vocabulary.words),
        "labels": labels.to_list() if labels is not None else None,
        "tiles": run.data.tiles,
    }


def about(run: Run, iteration: int, best: float) -> dict[str, Any]:
    """What a checkpoint says of itself; enough to load it without the data it was trained on."""
    return {
        "iteration": iteration,
        "best": best,
        "experiment": to_dict(run.experiment),
        **_data_identity(run),
        **provenance(),
    }


def _save(run: Run, task: Any, optimiser: Any, state: _State, fabric: Fabric) -> None:
    if not fabric.is_global_zero:
        return
    tensors = {f"model/{name}": value for name, value in task.state_dict().items()}
    tensors |= {f"ema/{name}": value for name, value in state.average.items()}
    tensors |= {f"optimiser/{name}": value for name, value in optimiser_tensors(optimiser).items()}
    tensors["losses"] = state.losses
    save_checkpoint(run.out / LAST, tensors, about(run, state.iteration, state.best))


def _score(run: Run, task: Any, state: _State, fabric: Fabric, report: Report) -> None:
    """Evaluate; keep the weights when they are the best so far."""
    assert run.score is not None
    with _weights(task, state.average):
        scores = run.score(task)
        report.scored(state.iteration, scores)
        value = next(iter(scores.values()))
        if value > state.best:
            state.best = value
            if fabric.is_global_zero:
                tensors = {f"model/{name}": tensor for name, tensor in task.state_dict().items()}
                save_checkpoint(run.out / BEST, tensors, {**about(run, state.iteration, value), "scores": scores})
    fabric.barrier()


@contextmanager
def _weights(task: Any, weights: dict[str, Tensor]) -> Iterator[None]:
    """Use other weights for a while."""
    kept = {name: value.detach().clone() for name, value in task.named_parameters() if name in weights}
    task.load_state_dict(weights, strict=False)
    try:
        yield
    finally:
        task.load_state_dict(kept, strict=False)
