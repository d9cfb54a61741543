"""The one trainer for all tasks, on Lightning Fabric: on a CPU, one GPU, or several processes.

Everything random of iteration i (episodes, walks, symmetries, dropout) follows from the seed and i alone. So no
random state has to be saved, and an interrupted run ends with exactly the weights it would have had. A batch does not
depend on how many processes share it.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import torch
from jaxtyping import Float
from lightning_fabric import Fabric
from lightning_fabric.wrappers import _FabricOptimizer
from torch import Tensor, nn

from ghosts.config import OptimiserConfig
from ghosts.data.prefetch import prefetch
from ghosts.devices import pinned
from ghosts.precision import network_type
from ghosts.train.log import Log, logging
from ghosts.train.resume import Progress, resume
from ghosts.train.task import Share, Task
from ghosts.weights.checkpoint import BEST, LAST, LOG, provenance, save_checkpoint
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.locks import locked


@dataclass(frozen=True)
class RunFiles:
    """Where a run is kept."""

    last: Path
    """All that is needed to go on."""
    log: Path
    """One JSON object per line."""
    best: Path | None = None
    """The best weights so far; None where nothing is chosen."""

    @classmethod
    def of(cls, folder: Path) -> RunFiles:
        """The files of a run's folder."""
        return cls(folder / LAST, folder / LOG, folder / BEST)


class _Hidden:
    """Hides a batch from Fabric, which would convert positions to half precision and refuses frozen dataclasses."""

    def __init__(self, batch: object) -> None:
        self.batch = batch


class _Step(nn.Module):
    """What Fabric wraps: the task's loss of a hidden batch."""

    def __init__(self, task: Task[Any, Any]) -> None:
        super().__init__()
        self.task = task

    def forward(self, hidden: _Hidden) -> Float[Tensor, ""]:
        return self.task(hidden.batch)


SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """While entered, the first SIGINT or SIGTERM sets `asked`; the second one raises `KeyboardInterrupt` at once.

    Outside the main thread signals cannot be caught, and nothing changes.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopRequest:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print("stopping after this iteration; once more stops at once, without saving", file=sys.stderr)


def train(
    task: Task[Any, Any], fabric: Fabric, files: RunFiles, *, threads: int = 2, tensorboard: bool = False
) -> None:
    """Train, or go on where a run in the same place stopped; the task's model ends with the averaged weights, where
    the config asks for them.

    The first Ctrl-C or SIGTERM ends the iteration, saves, and raises `KeyboardInterrupt`.

    Args:
        task: what is trained, on the CPU.
        fabric: the processes, launched.
        files: where the run is kept.
        threads: that make batches.
        tensorboard: also log for TensorBoard, in `tensorboard/` beside the log.

    Raises:
        ConfigError: the batch cannot be shared out evenly.
        DataError: the files hold another run, or a damaged one.
    """
    if task.config.batch % fabric.world_size:
        raise ConfigError(
            f"train.batch {task.config.batch} cannot be shared by {fabric.world_size} processes; "
            f"use a multiple of {fabric.world_size}"
        )
    with _alone(files, fabric):
        _train(task, fabric, files, threads=threads, tensorboard=tensorboard)


@contextmanager
def _alone(files: RunFiles, fabric: Fabric) -> Iterator[None]:
    """Lock the run's folder. If another run trains there, all processes raise the error together."""
    with ExitStack() as stack:
        refused: DataError | None = None
        if fabric.is_global_zero:
            try:
                stack.enter_context(locked(files.last.parent, "ghosts train", part=f"-{files.last.stem}"))
            except DataError as error:
                refused = error
        refused = fabric.broadcast(refused)
        if refused is not None:
            raise refused
        yield


def _train(task: Task[Any, Any], fabric: Fabric, files: RunFiles, *, threads: int, tensorboard: bool) -> None:
    config, share = task.config, Share(fabric.global_rank, fabric.world_size)
    kind = torch.optim.Adam if config.optimiser == "adam" else torch.optim.AdamW
    on_gpu = fabric.device.type == "cuda"
    optimiser = kind(task.parameters(), config.learning_rate, weight_decay=config.weight_decay, fused=on_gpu)
    module, optimiser = fabric.setup(_Step(task), optimiser)
    state = resume(task, optimiser.optimizer, files.last)
    if 0 < config.iterations <= state.iteration:
        fabric.print(
            f"{files.last}: finished already, at iteration {state.iteration}; choose another --out to train again"
        )
        task.model.load_state_dict(state.average, strict=False)
        return
    if state.iteration:
        fabric.print(f"{files.last}: resuming at iteration {state.iteration} of {config.iterations}")
    # Several processes exchange gradients while they are computed, which a graph would not wait for.
    if on_gpu and share.world == 1:
        task.train()
        task.capture(network_type(config.precision, fabric.device))
    numbers = range(state.iteration, config.iterations)

    def draw(iteration: int) -> object:
        drawn = task.draw(iteration, share)
        return pinned(drawn) if on_gpu else drawn

    with (
        logging(config, fabric, files.log, state.iteration, state.losses, tensorboard=tensorboard) as log,
        StopRequest() as stop,
        closing(prefetch(draw, numbers, threads)) as batches,
    ):
        for iteration, drawn in zip(numbers, log.timed(batches)):
            rate = learning_rate(config, iteration)
            for group in optimiser.param_groups:
                group["lr"] = rate
            torch.manual_seed((config.seed * 1_000_003 + iteration) * 1009 + share.rank)
            module.train()
            try:
                with fabric.autocast():
                    batch = task.ready(drawn, fabric)
            except DataError:
                log.check(iteration, rate)  # walks with weights that are not finite end first; the log says why
                raise
            loss = module(_Hidden(batch))
            optimiser.zero_grad()
            fabric.backward(loss)
            # Checking the norm here would make the GPU wait; a norm that is not finite shows in the log's loss.
            norm = fabric.clip_gradients(
                module, optimiser, max_norm=config.gradient_norm or math.inf, error_if_nonfinite=False
            )
            optimiser.step()
            update_average(state.average, dict(task.model.named_parameters()), config.ema, iteration)
            log.add(iteration, loss.detach() + 0.0 * torch.as_tensor(norm), rate)
            state.iteration = iteration + 1
            last = state.iteration == config.iterations
            if state.iteration % config.evaluate_every == 0 or last:
                _score(task, state, files, fabric, log)
            stopping = _agreed(stop, state.iteration, config, fabric)
            if stopping or last or state.iteration % config.checkpoint_every == 0:
                state.losses = log.check(state.iteration, rate)
                _save(task, optimiser, state, files, fabric)
            if stopping and not last:
                raise KeyboardInterrupt
    task.model.load_state_dict(state.average, strict=False)


def learning_rate(config: OptimiserConfig, iteration: int) -> float:
    """Learning rate of an iteration."""
    if config.schedule == "constant":
        return config.learning_rate
    warm = max(1, round(0.05 * config.iterations))
    if iteration < warm:
        return config.learning_rate * (iteration + 1) / warm
    progress = (iteration - warm) / max(1, config.iterations - warm)
    return config.learning_rate * 0.5 * (1.0 + math.cos(math.pi * progress))


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


def _agreed(stop: StopRequest, iteration: int, config: OptimiserConfig, fabric: Fabric) -> bool:
    """Whether to stop now. Several processes stop together, or some would wait for the others for ever."""
    if fabric.world_size == 1:
        return stop.asked
    if iteration % config.log_every:  # asking costs a message between all processes
        return False
    asked = torch.tensor(float(stop.asked), device=fabric.device)
    return bool(torch.as_tensor(fabric.all_reduce(asked, reduce_op="sum")) > 0)


def _save(task: Task[Any, Any], optimiser: _FabricOptimizer, state: Progress, files: RunFiles, fabric: Fabric) -> None:
    if not fabric.is_global_zero:
        return
    steps: Any = optimiser.state_dict()["state"]
    tensors = {f"model/{name}": value for name, value in task.model.state_dict().items()}
    tensors |= {f"ema/{name}": value for name, value in state.average.items()}
    tensors |= {
        f"optimiser/{number}/{name}": torch.as_tensor(value)
        for number, values in steps.items()
        for name, value in values.items()
    }
    tensors["losses"] = state.losses
    save_checkpoint(files.last, tensors, _about(task, state.iteration, state.best))


def _about(task: Task[Any, Any], iteration: int, best: float) -> dict[str, Any]:
    return {"iteration": iteration, "best": best, **task.about(), **provenance()}


def _score(task: Task[Any, Any], state: Progress, files: RunFiles, fabric: Fabric, log: Log) -> None:
    """Evaluate; keep the weights when they are the best so far."""
    with _weights(task.model, state.average):
        scores = task.score(fabric)
        if scores:
            log.scored(state.iteration, scores)
            value = next(iter(scores.values()))
            if value > state.best:
                state.best = value
                if fabric.is_global_zero and files.best is not None:
                    tensors = {f"model/{name}": tensor for name, tensor in task.model.state_dict().items()}
                    save_checkpoint(files.best, tensors, {**_about(task, state.iteration, value), "scores": scores})
    fabric.barrier()


@contextmanager
def _weights(model: nn.Module, weights: dict[str, Tensor]) -> Iterator[None]:
    """Use other weights for a while."""
    kept = {name: value.detach().clone() for name, value in model.named_parameters() if name in weights}
    model.load_state_dict(weights, strict=False)
    try:
        yield
    finally:
        model.load_state_dict(kept, strict=False)
