"""Resuming a run: loads its last checkpoint into task and optimiser, or says why that is not possible."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.config import differences
from ghosts.methods.stored import modernised
from ghosts.train.task import Task
from ghosts.weights.checkpoint import Checkpoint, check_fit, load_checkpoint, put_weights
from ghosts_sim.errors import DataError
from ghosts_sim.files import is_finite

_HINT = "choose another --out, or remove this file"


@dataclass
class Progress:
    """How far a run has come."""

    iteration: int
    """Iterations done."""
    average: dict[str, Tensor]
    """Averaged weights; empty without averaging."""
    best: float
    """Best score so far."""
    losses: Float[Tensor, " n"]
    """Of the last iterations, which no row of the log covers yet."""


def resume(task: Task[Any, Any], optimiser: torch.optim.Optimizer, last: Path) -> Progress:
    """Load the last checkpoint into task and optimiser, which is on its device by now; a new run where there is none.

    Raises:
        DataError: the checkpoint is another run's, or damaged.
    """
    weights = task.model.named_parameters() if task.config.ema else ()
    average = {name: value.detach().clone() for name, value in weights}
    if not last.exists() and not last.is_symlink():
        return Progress(0, average, -math.inf, torch.zeros(0))
    if not last.is_file():
        raise DataError("not a file, or a link to one that is missing", file=last, hint=_HINT)
    stored = load_checkpoint(last)
    _check_same(task, stored, last)
    iteration, best, losses = _numbers(stored, last)
    put_weights(task.model, stored.part("model"), last)
    _restore(optimiser, stored.part("optimiser"), last)
    averaged = stored.part("ema")
    check_fit(average, averaged, last, "averaged weights")
    for name, value in averaged.items():
        average[name].copy_(value)
    return Progress(iteration, average, best, losses)


def _check_same(task: Task[Any, Any], stored: Checkpoint, path: Path) -> None:
    """Refuse to resume from another run's checkpoint."""
    for name, value in task.about().items():
        before = stored.about.get(name)
        before = modernised(before, path) if name == "experiment" else before
        if isinstance(value, dict) and isinstance(before, dict):
            changed = differences(before, value, "" if name == "experiment" else name)
            if changed:
                raise DataError(f"holds another run: {'; '.join(changed[:4])}", file=path, hint=_HINT)
        elif before != value:
            raise DataError(f"holds a run on other data (another {name})", file=path, hint=_HINT)


def _numbers(stored: Checkpoint, path: Path) -> tuple[int, float, Float[Tensor, " n"]]:
    """Iterations done, best score, and losses that the log does not cover."""
    iteration, best = stored.about.get("iteration"), stored.about.get("best")
    if type(iteration) is not int or iteration < 0:
        raise DataError("expected a whole number", file=path, field="iteration", value=iteration, hint=_HINT)
    if not is_finite(best) and best != -math.inf:  # which is the best score of a run without scores
        raise DataError("expected a score", file=path, field="best", value=best, hint=_HINT)
    losses = stored.tensors.get("losses", torch.zeros(0))
    if losses.ndim != 1 or not losses.is_floating_point() or len(losses) > iteration:
        raise DataError("expected the losses of the last iterations", file=path, field="losses", hint=_HINT)
    return iteration, float(best), losses


def _restore(optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor], path: Path) -> None:
    """Put flat tensors ("<parameter number>/<name>") back into an optimiser of the same parameters."""
    groups = optimiser.state_dict()["param_groups"]
    parameters = {
        number: parameter
        for group, own in zip(optimiser.param_groups, groups)
        for number, parameter in zip(own["params"], group["params"])
    }
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        number, _, name = key.partition("/")
        known = number.isascii() and number.isdigit() and len(number) < 9 and int(number) in parameters
        shape = parameters[int(number)].shape if known and name in ("exp_avg", "exp_avg_sq") else torch.Size()
        if not known or name not in _KEPT or value.shape != shape or not value.is_floating_point():
            raise DataError("not what the optimiser keeps", file=path, field=f"optimiser/{key}", hint=_HINT)
        state.setdefault(int(number), {})[name] = value
    for which, kept in state.items():
        if kept.keys() != _KEPT:
            raise DataError("the optimiser's state is incomplete", file=path, field=f"optimiser/{which}", hint=_HINT)
    optimiser.load_state_dict({"state": state, "param_groups": groups})


_KEPT = {"step", "exp_avg", "exp_avg_sq"}
"""What Adam keeps of each parameter."""
