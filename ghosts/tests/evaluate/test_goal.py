from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import nn

from experiments import hand_coded_of, task_of
from ghosts.agent.interface import Briefing, Prediction, mean_prediction
from ghosts.belief.histogram import pose_belief
from ghosts.evaluate.goal import Execution, GoalScores, evaluate_goal, score_goal
from ghosts.mapping.observations import Observations
from ghosts.methods.ghost.settings import FilterExperiment
from ghosts.methods.hand_coded.model import HandCoded
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.types import Grid
from landmark_world import load, small_experiment

GRID = Grid(5, 4, 1.0)  # cell (row r, column c) is centred at x = c − 1.5, y = r − 2


def prediction(mass: np.ndarray, xy_m: tuple[float, float]) -> Prediction:
    at = torch.tensor([[xy_m]])
    return Prediction(at, at, torch.from_numpy(mass).float()[None, None], GRID)


def test_scores_by_hand() -> None:
    mass = np.zeros((5, 4))
    mass[4, 3], mass[0, 0], mass[2, 2] = 0.5, 0.3, 0.2
    # Predicted at cell (4, 3): x = 1.5, y = 2. The goal lies in cell (0, 0), 3-4-5 away.
    error, nll, confidence = score_goal(prediction(mass, (1.5, 2.0)), torch.tensor([[-1.5, -2.0]]))
    assert error.item() == pytest.approx(5.0)
    assert nll.item() == pytest.approx(-math.log(0.3), rel=1e-5)
    # Within 3 m of the prediction: itself and cell (2, 2), √5 away, where mass counts 1.7 % less.
    assert confidence.item() == pytest.approx(0.7, abs=0.005)


def test_likelihood_is_that_of_a_square_metre() -> None:
    coarse, fine = Grid(4, 4, 1.0), Grid(8, 8, 0.5)
    values = [
        score_goal(
            mean_prediction([torch.full((1, 1, grid.rows, grid.cols), 1.0 / (grid.rows * grid.cols))], grid),
            torch.tensor([[0.2, 0.2]]),
        )[1].item()
        for grid in (coarse, fine)
    ]
    assert values == pytest.approx([math.log(16.0)] * 2, rel=1e-5)


def test_a_goal_off_the_map_or_without_mass_costs_the_floor() -> None:
    mass = np.zeros((5, 4))
    mass[2, 2] = 1.0
    for goal in ((90.0, 0.0), (-1.5, -2.0)):
        error, nll, _ = score_goal(prediction(mass, (0.5, 0.0)), torch.tensor([goal]))
        assert nll.item() == pytest.approx(-math.log(1e-8), rel=1e-5)
        assert error.item() == pytest.approx(math.dist(goal, (0.5, 0.0)), rel=1e-5)


def test_a_goal_on_an_edge_belongs_to_the_cell_above() -> None:
    mass = np.zeros((5, 4))
    mass[3, 2], mass[2, 2] = 0.6, 0.4
    _, nll, _ = score_goal(prediction(mass, (0.5, 0.0)), torch.tensor([[0.5, 0.5]]))  # between rows 2 and 3
    assert nll.item() == pytest.approx(-math.log(0.6), rel=1e-5)


def scores(error: list[float], confidence: list[float]) -> GoalScores:
    shape = (len(error), 1)
    blank = np.zeros(shape)
    names = tuple(f"{k}_0" for k in range(len(error)))
    errors = np.array(error).reshape(shape)
    return GoalScores(names, errors, blank > 0, blank, blank, np.array(confidence).reshape(shape), errors[::-1])


def test_success_is_below_three_metres() -> None:
    found = scores([2.999, 3.0, 3.001], [0.5] * 3)
    assert found.success.ravel().tolist() == [True, False, False]
    assert found.peak_success.ravel().tolist() == [False, False, True]


def test_calibration_error_by_hand() -> None:
    # Bin 0.2–0.3: confidences 0.25, 0.21, one of two right: |1 − 0.46|. Last bin: 0.95 and 1.0, none right: 1.95.
    values = scores([1.0, 9.0, 9.0, 9.0], [0.25, 0.21, 0.95, 1.0])
    assert values.calibration_error() == pytest.approx((0.54 + 1.95) / 4)
    assert scores([1.0, 9.0], [1.0, 0.0]).calibration_error() == 0.0


def test_scores_do_not_depend_on_batches_or_order(combs: Path) -> None:
    experiment = small_experiment()
    data = load(combs, experiment)
    model, examples = task_of(experiment, data).model, data.examples("val_seen")
    whole = evaluate_goal(model, data, examples, steps=3)
    assert not model.training
    parts = evaluate_goal(model, data, examples[::-1], Execution(batch=5, threads=0), steps=3)
    assert whole.instr_ids == parts.instr_ids[::-1]
    np.testing.assert_array_equal(whole.goal_seen, parts.goal_seen[::-1])
    np.testing.assert_array_equal(whole.seen_m2, parts.seen_m2[::-1])
    np.testing.assert_allclose(whole.error_m, parts.error_m[::-1], atol=1e-3)
    np.testing.assert_allclose(whole.nll, parts.nll[::-1], atol=1e-4)
    np.testing.assert_allclose(whole.confidence, parts.confidence[::-1], atol=1e-4)
    # A fixed walk's first steps do not depend on how many follow, and what was seen stays seen.
    longer = evaluate_goal(model, data, examples, steps=5)
    np.testing.assert_array_equal(whole.goal_seen, longer.goal_seen[:, :3])
    assert (np.diff(longer.seen_m2, axis=1) >= 0).all()
    with pytest.raises(DataError, match="no instructions"):
        evaluate_goal(model, data, [], steps=3)


class Spot(nn.Module):
    """Says that the goal lies 6 m from the start: ahead of the walker, or to the east."""

    def __init__(self, experiment: FilterExperiment, *, ahead: bool) -> None:
        super().__init__()
        self.config, self.ahead = experiment.model, ahead

    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        grid, heading = self.config.belief_grid, briefing.start_heading_rad
        way = torch.stack([heading.sin(), heading.cos()], -1) if self.ahead else torch.tensor([[1.0, 0.0]])
        goal = pose_belief(briefing.start_xy_m + 6.0 * way, heading, grid, 0.3, 1)
        return mean_prediction([goal.expand(-1, seen.cells.steps, -1, -1)], grid)


def test_symmetric_worlds_have_one_say_together(combs: Path) -> None:
    experiment = small_experiment()
    data = load(combs, experiment)
    examples = data.examples("val_seen")[:7]

    def scored(ahead: bool, symmetries: int) -> GoalScores:
        model = Spot(experiment, ahead=ahead)
        return evaluate_goal(model, data, examples, Execution(batch=4, symmetries=symmetries), steps=2)

    # What does not depend on how the world lies stays as it is.
    alone, together = scored(True, 1), scored(True, 8)
    np.testing.assert_allclose(alone.error_m, together.error_m, atol=1e-4)
    np.testing.assert_allclose(alone.nll, together.nll, atol=1e-3)
    np.testing.assert_array_equal(alone.seen_m2, together.seen_m2)
    # East is another place in each rotated world: a quarter of the mass for each.
    assert scored(False, 1).confidence.min() > 0.99
    np.testing.assert_allclose(scored(False, 4).confidence, 0.25, atol=0.01)
    oblong = replace(experiment, model=replace(experiment.model, mapper=replace(experiment.model.mapper, cols=64)))
    with pytest.raises(ConfigError, match=r"square maps, this model has \d+ × 64 cells"):
        evaluate_goal(Spot(oblong, ahead=True), load(combs, oblong), examples, Execution(symmetries=4))


def test_processes_share_batches(combs: Path) -> None:
    """Each of three processes scores its batches; their sum is what one process alone finds, bit for bit."""
    experiment = hand_coded_of(small_experiment())
    data, model = load(combs, experiment), HandCoded(experiment.model)
    examples = data.examples("dev_unseen")

    class Shared(Fabric):
        rank = 0
        parts: list[torch.Tensor] = []  # noqa: RUF012

        @property
        def world_size(self) -> int:
            return 3

        @property
        def global_rank(self) -> int:
            return self.rank

        def all_reduce(self, data: torch.Tensor, group: object = None, reduce_op: str = "mean") -> torch.Tensor:  # type: ignore[override]
            assert reduce_op == "sum"
            self.parts.append(data)
            return torch.stack(self.parts).sum(0)

    fabric = Shared(accelerator="cpu", devices=1)
    alone = evaluate_goal(model, data, examples, Execution(batch=5), steps=3)
    for rank in range(3):
        fabric.rank = rank
        together = evaluate_goal(model, data, examples, Execution(fabric, batch=5), steps=3)
    for name in ("error_m", "goal_seen", "seen_m2", "nll", "confidence"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))
