"""Goal prediction (Table 1): error, success, what was seen, and calibration, at every time step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ghosts.agent.evidence import fit, labels_by_walker, names_in, presence
from ghosts.agent.interface import Prediction, Predictor, mean_prediction
from ghosts.belief.histogram import NOT_FINITE, mass_near
from ghosts.config import Precision
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.data.drops import shown_alone
from ghosts.data.examples import Example
from ghosts.data.prefetch import prefetch
from ghosts.data.symmetry import SYMMETRIES
from ghosts.data.walks import walk_seed
from ghosts.evaluate.bootstrap import confidence_bin
from ghosts.mapping.cells import MapCells
from ghosts.precision import networks_in
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.geometry import from_cells, map_cells, on_map
from ghosts_sim.senses import EVERYTHING, Shown
from ghosts_sim.types import SUCCESS_M

if TYPE_CHECKING:  # a second and a half, which pages and films that score an episode need not wait for
    from lightning_fabric import Fabric

TIME_STEPS = 8
WALK_SEED = 2019
"""Seed of the evaluation's walks: the same for every model and version."""
CALIBRATION_BINS = 10


@dataclass(frozen=True, eq=False)
class GoalScores:
    """One row per instruction, one column per time step."""

    instr_ids: tuple[str, ...]
    error_m: Float[np.ndarray, "n s"]
    goal_seen: Bool[np.ndarray, "n s"]
    seen_m2: Float[np.ndarray, "n s"]
    nll: Float[np.ndarray, "n s"]
    """Negative log-likelihood (nats) of the goal's square metre."""
    confidence: Float[np.ndarray, "n s"]
    """The model's own estimate of its success (`confidence_of`)."""
    peak_error_m: Float[np.ndarray, "n s"]
    """Error of the peak, which the paper takes for the goal."""

    @property
    def success(self) -> Bool[np.ndarray, "n s"]:
        """Error below 3 m."""
        return self.error_m < SUCCESS_M

    @property
    def peak_success(self) -> Bool[np.ndarray, "n s"]:
        """Error of the peak below 3 m."""
        return self.peak_error_m < SUCCESS_M

    def calibration_error(self) -> float:
        """Expected calibration error of the confidence, over all time steps."""
        confidence, success, bins = self.confidence.ravel(), self.success.ravel(), CALIBRATION_BINS
        which = confidence_bin(confidence, bins)
        counts = np.bincount(which, minlength=bins)
        gaps = np.abs(np.bincount(which, success, bins) - np.bincount(which, confidence, bins))
        return float(gaps.sum() / max(counts.sum(), 1))


@dataclass(frozen=True)
class Execution:
    """How an evaluation runs; the scores do not depend on how many processes share it."""

    fabric: Fabric | None = None
    """Processes that share the batches; all of them get all results. The CPU by default."""
    batch: int | None = None
    """Instructions at a time. By default few on a CPU: more take memory and no less time."""
    threads: int = 2
    """That make batches of goal prediction."""
    precision: Precision = "32-true"
    """Of the networks; the filter's recursion runs in float32."""
    report: Callable[[int, int], None] = lambda done, total: None
    """Called with the instructions done by now, and with all of them."""
    shown: Shown = EVERYTHING
    """Senses that are shown, of those the data has and the model reads."""
    symmetries: int = 1
    """Worlds in which each instruction is followed, the first of `data.symmetry.SYMMETRIES`; what the model says in
    them is averaged."""

    @property
    def device(self) -> torch.device:
        """Where the model runs."""
        return self.fabric.device if self.fabric is not None else torch.device("cpu")

    @property
    def size(self) -> int:
        """Of a batch: how many instructions at a time."""
        return self.batch or (16 if self.device.type == "cpu" else 64)

    @property
    def shared(self) -> bool:
        """Whether several processes share the batches."""
        return self.fabric is not None and self.fabric.world_size > 1

    def starts(self, count: int) -> list[int]:
        """First instructions of the batches of this process, of `count` instructions.

        Whole batches are shared out, so that results do not depend on how many processes share them.
        """
        rank, world = (self.fabric.global_rank, self.fabric.world_size) if self.fabric is not None else (0, 1)
        return list(range(0, count, self.size))[rank::world]

    def summed(self, part: Tensor) -> Tensor:
        """The sum of all processes' parts, on the CPU."""
        if self.fabric is None or not self.shared:
            return part
        return torch.as_tensor(self.fabric.all_reduce(part.to(self.device), reduce_op="sum")).cpu()


def evaluate_goal(
    model: Predictor,
    data: Dataset,
    examples: Sequence[Example],
    how: Execution = Execution(),
    *,
    steps: int = TIME_STEPS,
) -> GoalScores:
    """Predict every instruction's goal at every time step of its fixed walk.

    Args:
        model: a row of Table 1; it is moved to the device, and left in evaluation mode.
        data: what it reads.
        examples: instructions.
        how: the evaluation runs.
        steps: time steps.

    Raises:
        DataError: there is nothing to evaluate, or a belief is not finite.
        ConfigError: several symmetries, but a map that is not square.
    """
    check_any(data, examples)
    grid = data.reading.grid
    if how.symmetries > 1 and grid.rows != grid.cols:
        raise ConfigError(
            f"--symmetries needs square maps, this model has {grid.rows} × {grid.cols} cells; leave it out"
        )
    device, batch = how.device, how.size
    data = data.to(device)
    if isinstance(model, nn.Module):
        model.to(device).eval()
    walks = [data.walk(example, steps, walk_seed(WALK_SEED, example.instr_id)) for example in examples]
    symmetries = SYMMETRIES[: how.symmetries]
    columns = torch.zeros(6, len(examples), steps)

    def draw(at: int) -> list[Batch]:
        chosen = examples[at : at + batch]
        drops = shown_alone(how.shown, len(chosen))
        return [data.batch(chosen, walks[at : at + batch], [symmetry] * len(chosen), drops) for symmetry in symmetries]

    starts = how.starts(len(examples))
    with closing(prefetch(draw, starts, how.threads)) as batches:
        for at, drawn in zip(starts, batches):
            loaded = [data.load(one, device) for one in drawn]
            with networks_in(how.precision, device):
                predictions = [model.predict(one.briefing, one.seen) for one in loaded]
            seen, prediction = loaded[0], predictions[0]
            if len(symmetries) > 1:
                goals = [symmetry.undo(one.goal) for symmetry, one in zip(symmetries, predictions)]
                prediction = mean_prediction(goals, prediction.grid, prediction.attention)
            goal = seen.path_xy_m[:, -1]
            scores, peak = score_goal(prediction, goal), _away_m(prediction.peak_xy_m, goal)
            found = torch.stack([item.float() for item in (*scores, seen.goal_seen, seen.seen_m2, peak)]).cpu()
            texts = [example.text for example in examples[at : at + batch]]
            found[2] = torch.from_numpy(confidence_of(prediction, found[2].numpy(), texts, seen.seen.cells))
            columns[:, at : at + batch] = found
            how.report(min(at + batch, len(examples)), len(examples))
    columns = how.summed(columns)
    lost = int((~columns.isfinite()).any(0).any(1).sum())
    if lost:
        problem = f"the belief is not finite for {lost} of {len(examples)} instructions"
        raise DataError(problem, file=data.root.path, hint=NOT_FINITE)
    error, nll, confidence, seen_goal, area, peak_error = columns.numpy()
    names = tuple(example.instr_id for example in examples)
    return GoalScores(names, error, seen_goal > 0.5, area, nll, confidence, peak_error)


def check_any(data: Dataset, examples: Sequence[Example]) -> None:
    """Raise `DataError` where there is nothing to evaluate."""
    if not examples:
        path = data.root.path
        hint = f"choose another split (ghosts doctor --data {path} lists them)"
        raise DataError("no instructions to evaluate", file=path, hint=hint)


def score_goal(
    prediction: Prediction, goal_xy_m: Float[Tensor, "b 2"]
) -> tuple[Float[Tensor, "b s"], Float[Tensor, "b s"], Float[Tensor, "b s"]]:
    """Error in metres, negative log-likelihood, and mass within 3 m of the prediction."""
    error = _away_m(prediction.goal_xy_m, goal_xy_m)
    grid, mass = prediction.grid, prediction.goal
    place = map_cells(goal_xy_m, grid)
    inside = on_map(place, grid)
    place = torch.where(inside[:, None], place, 0)
    there = mass[torch.arange(len(mass), device=mass.device), :, place[:, 1], place[:, 0]] * inside[:, None]
    nll = -torch.log(there.clamp(min=1e-8) / grid.cell_m**2)
    away_m = prediction.goal_xy_m - from_cells(torch.zeros_like(goal_xy_m[:1]), grid)
    return error, nll, mass_near(mass, away_m[:, :, None], grid, SUCCESS_M)[..., 0].to(mass.dtype)


def confidence_of(
    prediction: Prediction, mass: Float[np.ndarray, "b s"], texts: Sequence[str], cells: MapCells
) -> Float[np.ndarray, "b s"]:
    """How likely each guess is right: the mass near it, less where nothing seen fits the words (`agent.evidence`).

    Args:
        prediction: for all agent steps, or for the last ones.
        mass: of the belief near each guess (`score_goal`).
        texts: the instructions.
        cells: all that was observed.
    """
    seen = labels_by_walker(cells)
    if prediction.attention is None or seen is None:
        return mass
    steps = range(cells.steps - mass.shape[1], cells.steps)
    told = zip(texts, prediction.attention.double().cpu().numpy(), seen)
    fits = [fit(names_in(text), attention, own, steps) for text, attention, own in told]
    return mass * presence(np.stack(fits))


def _away_m(predicted_xy_m: Float[Tensor, "b s 2"], goal_xy_m: Float[Tensor, "b 2"]) -> Float[Tensor, "b s"]:
    return (predicted_xy_m - goal_xy_m[:, None]).norm(dim=-1)
