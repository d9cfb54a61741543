"""Goal prediction (Table 1): error, success, what was seen, and calibration, at every time step."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float
from lightning.fabric import Fabric
from torch import Tensor

from ghosts.config import Precision
from ghosts.errors import DataError
from ghosts.evaluate.bootstrap import confidence_bin
from ghosts.geometry import to_cells
from ghosts.learn.batches import Builder, prefetch
from ghosts.learn.examples import Example
from ghosts.learn.precision import networks_in
from ghosts.learn.tasks import GoalTask, Prediction
from ghosts.learn.trajectories import sample_walk, walk_seed
from ghosts.world.dataroot import DataRoot

SUCCESS_M = 3.0
TIME_STEPS = 8
WALK_SEED = 2019
"""Of the evaluation's walks: the same for every model, for good."""
CALIBRATION_BINS = 10


@dataclass(frozen=True, eq=False)
class GoalScores:
    """One row an instruction, one column a time step."""

    instr_ids: tuple[str, ...]
    error_m: Float[np.ndarray, "n s"]
    goal_seen: Bool[np.ndarray, "n s"]
    seen_m2: Float[np.ndarray, "n s"]
    nll: Float[np.ndarray, "n s"]
    """Negative log-likelihood (nats) of the goal's square metre."""
    confidence: Float[np.ndarray, "n s"]
    """Mass predicted within 3 m of the predicted goal: the model's own estimate of its success."""

    @property
    def success(self) -> Bool[np.ndarray, "n s"]:
        """Error below 3 m."""
        return self.error_m < SUCCESS_M

    def calibration_error(self, bins: int = CALIBRATION_BINS) -> float:
        """Expected calibration error of the confidence, over all time steps."""
        confidence, success = self.confidence.ravel(), self.success.ravel()
        which = confidence_bin(confidence, bins)
        counts = np.bincount(which, minlength=bins)
        gaps = np.abs(np.bincount(which, success, bins) - np.bincount(which, confidence, bins))
        return float(gaps.sum() / max(counts.sum(), 1))


def evenly(examples: Sequence[Example], count: int) -> Sequence[Example]:
    """At most `count` of the examples, evenly spaced."""
    count = min(count, len(examples))
    return [examples[number * len(examples) // count] for number in range(count)]


def evaluate_goal(
    task: GoalTask,
    root: DataRoot,
    examples: Sequence[Example],
    builder: Builder,
    *,
    stored: Float[Tensor, "n c"] | None,
    device: torch.device,
    steps: int = TIME_STEPS,
    batch: int = 64,
    threads: int = 2,
    precision: Precision = "32-true",
    fabric: Fabric | None = None,
) -> GoalScores:
    """Predict every instruction's goal at every time step of its fixed walk.

    Args:
        task: the model.
        root: graphs for the walks.
        examples: instructions.
        builder: makes batches.
        stored: the bank's features, where it has them.
        device: where to run.
        steps: time steps.
        batch: instructions at a time.
        threads: that make batches.
        precision: of the networks; the filter runs in float32.
        fabric: processes that share the batches; all of them get all scores, the same as one process alone.

    Raises:
        DataError: there is nothing to evaluate.
    """
    if not examples:
        raise DataError(
            "no instructions to evaluate",
            file=root.path,
            hint=f"choose another split (ghosts doctor {root.path} lists them)",
        )
    task.eval()
    walks = [
        sample_walk(
            root.graph(example.scan), example.start, example.goal, steps, walk_seed(WALK_SEED, example.instr_id)
        )
        for example in examples
    ]
    rank, world = (fabric.global_rank, fabric.world_size) if fabric is not None else (0, 1)
    # Whole batches are shared out, so that the numbers do not depend on how many share them.
    starts = list(range(0, len(examples), batch))[rank::world]
    columns = torch.zeros(5, len(examples), steps)
    with closing(
        prefetch(lambda at: builder.build(examples[at : at + batch], walks[at : at + batch]), starts, threads)
    ) as batches:
        for at, data in zip(starts, batches):
            moved = data.to(device)
            with networks_in(precision, device):
                prediction = task.predict(moved, stored)
            scores = score_goal(prediction, moved.path_xy_m[:, -1])
            found = torch.stack([item.float() for item in (*scores, moved.goal_seen, moved.seen_m2)])
            columns[:, at : at + batch] = found.cpu()
    if fabric is not None and world > 1:
        columns = torch.as_tensor(fabric.all_reduce(columns.to(fabric.device), reduce_op="sum")).cpu()
    error, nll, confidence, seen, area = columns.numpy()
    names = tuple(example.instr_id for example in examples)
    return GoalScores(names, error, seen > 0.5, area, nll, confidence)


def score_goal(
    prediction: Prediction, goal_xy_m: Float[Tensor, "b 2"]
) -> tuple[Float[Tensor, "b s"], Float[Tensor, "b s"], Float[Tensor, "b s"]]:
    """Error in metres, negative log-likelihood, and mass within 3 m of the prediction."""
    error = (prediction.goal_xy_m - goal_xy_m[:, None]).norm(dim=-1)
    grid, mass = prediction.grid, prediction.goal
    place = torch.floor(to_cells(goal_xy_m.clone(), grid) + 0.5).long()
    size = torch.tensor([grid.cols, grid.rows], device=place.device)
    inside = ((place >= 0) & (place < size)).all(-1)
    place = torch.where(inside[:, None], place, 0)
    there = mass[torch.arange(len(mass), device=mass.device), :, place[:, 1], place[:, 0]] * inside[:, None]
    nll = -torch.log(there.clamp(min=1e-8) / grid.cell_m**2)
    centre = to_cells(prediction.goal_xy_m.clone(), grid)
    rows = torch.arange(grid.rows, device=mass.device) - centre[..., 1, None]
    cols = torch.arange(grid.cols, device=mass.device) - centre[..., 0, None]
    near = torch.hypot(rows[..., :, None], cols[..., None, :]) * grid.cell_m < SUCCESS_M
    return error, nll, (mass * near).sum((-2, -1)).clamp(max=1.0)
