"""The training loop, on Lightning Fabric: CPU, one GPU, or several processes.

Everything random of iteration i (episodes, walks, symmetries, dropout) follows from the seed and i alone, so that a run
that was interrupted goes on as if it had not been, and a batch does not depend on how many processes share it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from lightning.fabric import Fabric
from rich.progress import Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from torch import Tensor

from ghosts.config import to_dict
from ghosts.errors import ConfigError, DataError
from ghosts.learn.batches import Batch, Turn, prefetch
from ghosts.learn.checkpoint import (
    load_checkpoint,
    optimiser_tensors,
    provenance,
    restore_optimiser,
    save_checkpoint,
)
from ghosts.learn.data import GoalData
from ghosts.learn.tasks import GoalTask
from ghosts.learn.trajectories import sample_walk
from ghosts.mapping.mapper import Masks
from ghosts.presets import GoalExperiment, TrainConfig

LAST, BEST, LOG = "last.safetensors", "best.safetensors", "log.jsonl"


@dataclass(frozen=True)
class Run:
    """One training run."""

    experiment: GoalExperiment
    data: GoalData
    out: Path
    score: Callable[[GoalTask], dict[str, float]] | None = None
    """Evaluates a model during training; the result's first value chooses the best checkpoint (higher is better)."""
    threads: int = 2
    """That make batches."""


def learning_rate(config: TrainConfig, iteration: int) -> float:
    """Learning rate of an iteration."""
    if config.schedule == "constant":
        return config.learning_rate
    warm = max(1, round(0.05 * config.iterations))
    if iteration < warm:
        return config.learning_rate * (iteration + 1) / warm
    progress = (iteration - warm) / max(1, config.iterations - warm)
    return config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))


def batch_numbers(count: int, config: TrainConfig, iteration: int) -> np.ndarray:
    """Which examples an iteration trains on: an epoch is a permutation that depends on its number alone."""
    first = iteration * config.batch
    numbers = np.arange(first, first + config.batch)
    epochs = {
        int(epoch): np.random.default_rng([config.seed, 1, int(epoch)]).permutation(count) for epoch in numbers // count
    }
    return np.array([epochs[int(number // count)][number % count] for number in numbers])


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
        turns.append(
            Turn(
                mirrored=bool(random.random() < config.mirrored),
                quarters=int(random.integers(4)) if config.quarters else 0,
                variant=int(random.integers(len(data.builder.bank.angles_rad))),
            )
        )
        unknown.append(random.random(80) < config.word_dropout)
    return data.builder.build(examples, walks, turns, np.stack(unknown))


def train_goal(run: Run, fabric: Fabric) -> GoalTask:
    """Train, or go on where a run in the same folder stopped.

    Returns:
        The trained task, with averaged weights where the config asks for them.

    Raises:
        ConfigError: the batch cannot be shared out evenly.
        DataError: the folder holds another experiment's run.
    """
    config = run.experiment.train
    if config.batch % fabric.world_size:
        raise ConfigError(
            f"train.batch {config.batch} cannot be shared by {fabric.world_size} processes; choose a multiple"
        )
    torch.manual_seed(config.seed)
    labels = len(run.data.labels) if run.data.labels is not None else 0
    task = GoalTask(run.experiment.kind, run.experiment.model, run.experiment.baseline, labels)
    optimiser = torch.optim.AdamW(
        task.parameters(), config.learning_rate, weight_decay=config.weight_decay, fused=fabric.device.type == "cuda"
    )
    start, average, best = _resume(run, task, optimiser)
    module, optimiser = fabric.setup(task, optimiser)
    average = {name: value.to(fabric.device) for name, value in average.items()}
    stored = run.data.stored.to(fabric.device) if run.data.stored is not None else None
    iteration = start
    with _progress(run, fabric, start) as report:
        batches = prefetch(
            lambda number: make_training_batch(run, number, fabric.global_rank, fabric.world_size),
            range(start, config.iterations),
            run.threads,
        )
        try:
            for iteration, batch in enumerate(_timed(batches, report), start):
                for group in optimiser.param_groups:
                    group["lr"] = learning_rate(config, iteration)
                torch.manual_seed((config.seed * 1_000_003 + iteration) * 1009 + fabric.global_rank)
                module.train()
                masks = _share_masks(task, config, iteration, fabric)
                loss = module(batch.to(fabric.device), stored, masks)
                optimiser.zero_grad()
                fabric.backward(loss)
                if config.gradient_norm > 0.0:
                    fabric.clip_gradients(module, optimiser, max_norm=config.gradient_norm)
                optimiser.step()
                _update_average(average, task, config.ema, iteration)
                report.add(iteration, loss, learning_rate(config, iteration))
                done = iteration + 1
                if run.score is not None and (done % config.evaluate_every == 0 or done == config.iterations):
                    best = _score(run, task, average, done, best, fabric, report)
                if done % config.checkpoint_every == 0 or done == config.iterations:
                    _save(run, task, optimiser, average, done, best, fabric)
        except KeyboardInterrupt:
            _save(run, task, optimiser, average, iteration, best, fabric)
            raise
    if average:
        task.load_state_dict(average, strict=False)
    return task


def _share_masks(task: GoalTask, config: TrainConfig, iteration: int, fabric: Fabric) -> Masks | None:
    """This process's part of the batch's dropout masks, drawn for the whole batch so that they do not depend on it."""
    generator = torch.Generator().manual_seed(config.seed * 1_000_003 + iteration)
    masks = task.draw_masks(config.batch, generator)
    if masks is None:
        return None
    mine = slice(fabric.global_rank, None, fabric.world_size)
    return Masks(input=masks.input[mine], state=masks.state[mine])


def _update_average(average: dict[str, Tensor], task: GoalTask, decay: float, iteration: int) -> None:
    if not average:
        return
    # A short memory at first, or the random start would linger.
    decay = min(decay, (1.0 + iteration) / (10.0 + iteration))
    now = dict(task.named_parameters())
    torch._foreach_lerp_(list(average.values()), [now[name].detach() for name in average], 1.0 - decay)


def _resume(run: Run, task: GoalTask, optimiser: torch.optim.Optimizer) -> tuple[int, dict[str, Tensor], float]:
    average = (
        {name: value.detach().clone() for name, value in task.named_parameters()} if run.experiment.train.ema else {}
    )
    path = run.out / LAST
    if not path.is_file():
        return 0, average, -math.inf
    stored = load_checkpoint(path)
    if stored.about["experiment"] != to_dict(run.experiment):
        raise DataError("the folder holds another run", file=path, hint="choose another --out, or remove the folder")
    task.load_state_dict(stored.part("model"))
    restore_optimiser(optimiser, stored.part("optimiser"))
    return int(stored.about["iteration"]), stored.part("ema") or average, float(stored.about["best"])


def about(run: Run, iteration: int, best: float) -> dict[str, Any]:
    """What a checkpoint says of itself; enough to load it without the data it was trained on."""
    return {
        "iteration": iteration,
        "best": best,
        "experiment": to_dict(run.experiment),
        "vocabulary": list(run.data.builder.vocabulary.words),
        "labels": run.data.labels.to_list() if run.data.labels is not None else None,
        **provenance(),
    }


def _save(
    run: Run,
    task: GoalTask,
    optimiser: Any,
    average: dict[str, Tensor],
    iteration: int,
    best: float,
    fabric: Fabric,
) -> None:
    if not fabric.is_global_zero:
        return
    tensors = {f"model/{name}": value for name, value in task.state_dict().items()}
    tensors |= {f"ema/{name}": value for name, value in average.items()}
    tensors |= {f"optimiser/{name}": value for name, value in optimiser_tensors(optimiser).items()}
    save_checkpoint(run.out / LAST, tensors, about(run, iteration, best))


def _score(
    run: Run,
    task: GoalTask,
    average: dict[str, Tensor],
    iteration: int,
    best: float,
    fabric: Fabric,
    report: _Report,
) -> float:
    """Evaluate on the first process; keep the weights when they are the best so far."""
    assert run.score is not None
    if fabric.is_global_zero:
        with _weights(task, average):
            scores = run.score(task)
            report.scored(iteration, scores)
            value = next(iter(scores.values()))
            if value > best:
                best = value
                tensors = {f"model/{name}": tensor for name, tensor in task.state_dict().items()}
                save_checkpoint(run.out / BEST, tensors, {**about(run, iteration, best), "scores": scores})
    fabric.barrier()
    return best


@contextmanager
def _weights(task: GoalTask, weights: dict[str, Tensor]) -> Any:
    """Use other weights for a while."""
    kept = {name: value.detach().clone() for name, value in task.named_parameters() if name in weights}
    task.load_state_dict(weights, strict=False)
    try:
        yield
    finally:
        task.load_state_dict(kept, strict=False)


class _Report:
    """The progress line and the log."""

    def __init__(self, run: Run, bar: Progress | None, start: int) -> None:
        self._run, self._bar = run, bar
        self._line = bar.add_task("training", total=run.experiment.train.iterations, completed=start) if bar else None
        self._losses: list[Float[Tensor, ""]] = []
        self._since, self.waited_s = time.perf_counter(), 0.0

    def add(self, iteration: int, loss: Float[Tensor, ""], rate: float) -> None:
        """Count an iteration; the loss stays on its device until the line is due."""
        self._losses.append(loss.detach())
        config = self._run.experiment.train
        if (iteration + 1) % config.log_every and iteration + 1 != config.iterations:
            return
        mean = float(torch.stack(self._losses).mean())
        elapsed = time.perf_counter() - self._since
        row = {
            "iteration": iteration + 1,
            "loss": mean,
            "learning_rate": rate,
            "episodes_per_s": len(self._losses) * config.batch / elapsed,
            "waiting": self.waited_s / elapsed,
        }
        self._write(row)
        if self._bar is not None and self._line is not None:
            text = f"loss {mean:7.3f}  {row['episodes_per_s']:6.0f} episodes/s"
            self._bar.update(self._line, completed=iteration + 1, description=text)
        self._losses, self._since, self.waited_s = [], time.perf_counter(), 0.0
        if not math.isfinite(mean):
            raise DataError(f"the loss became {mean} at iteration {iteration + 1}", hint="lower --train.learning-rate")

    def scored(self, iteration: int, scores: dict[str, float]) -> None:
        """Log an evaluation; its time does not count as training."""
        self._write({"iteration": iteration, **scores})
        if self._bar is not None:
            text = "  ".join(f"{name} {value:.3f}" for name, value in scores.items())
            self._bar.console.print(f"iteration {iteration}: {text}")
        self._since = time.perf_counter()

    def _write(self, row: dict[str, Any]) -> None:
        if self._bar is not None:
            self._run.out.mkdir(parents=True, exist_ok=True)
            with open(self._run.out / LOG, "a", encoding="utf-8") as log:
                log.write(json.dumps(row) + "\n")


@contextmanager
def _progress(run: Run, fabric: Fabric, start: int) -> Any:
    bar = None
    if fabric.is_global_zero:
        bar = Progress(
            TextColumn("{task.description}"),
            *Progress.get_default_columns()[1:2],
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
    holder: AbstractContextManager[Any] = bar if bar is not None else nullcontext()
    with holder:
        yield _Report(run, bar, start)


def _timed(batches: Any, report: _Report) -> Any:
    """Hand batches on, counting the time spent waiting for them."""
    source = iter(batches)
    while True:
        begin = time.perf_counter()
        batch = next(source, None)
        report.waited_s += time.perf_counter() - begin
        if batch is None:
            return
        yield batch
