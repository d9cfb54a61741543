from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from ghosts.act.baselines import hand_coded_heat
from ghosts.errors import ConfigError
from ghosts.learn.batches import Batch
from ghosts.learn.data import GoalData
from ghosts.learn.tasks import CellFeatures, GoalTask
from ghosts.mapping.cells import maps_from_cells
from landmark_world import load, make_landmark_root, small_experiment

EXPERIMENT = small_experiment()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> GoalData:
    return load(make_landmark_root(tmp_path_factory.mktemp("world") / "root"), EXPERIMENT)


@pytest.fixture(scope="module")
def batch(data: GoalData) -> Batch:
    examples = data.train[::9][:3]
    return data.builder.build(examples, [[item.start, item.start, item.goal] for item in examples])


def test_label_features_are_weighted_sums(data: GoalData, batch: Batch) -> None:
    assert data.labels is not None
    assert batch.labels is not None
    torch.manual_seed(0)
    features = CellFeatures(8, len(data.labels))
    assert features.embedding is not None
    cells = features(batch, None)
    expected = torch.zeros(len(batch.rows), 8)
    for cell, label, weight in zip(batch.labels.cell.tolist(), batch.labels.label.tolist(), batch.labels.weight):
        expected[cell] += weight * features.embedding.weight[label]
    assert_close(cells.features, expected)


def test_stored_features_are_looked_up(data: GoalData, batch: Batch) -> None:
    stored = torch.arange(len(data.builder.bank.cells)).float()[:, None].expand(-1, 2) % 1000
    cells = CellFeatures(2, 0)(replace(batch, labels=None), stored.half())
    assert torch.equal(cells.features, stored[batch.rows])


def test_the_wrong_world_is_refused(data: GoalData, batch: Batch) -> None:
    with pytest.raises(ConfigError, match="this model reads tiles of images, but the data has landmarks"):
        CellFeatures(2, 0)(batch, None)
    with pytest.raises(ConfigError, match="this model reads landmarks, but the data has tiles of images"):
        CellFeatures(2, 5)(replace(batch, labels=None), torch.zeros(3, 2))


@pytest.mark.parametrize("kind", ["filter", "lingunet"])
def test_predictions_are_distributions_and_loss_has_gradients(data: GoalData, batch: Batch, kind: str) -> None:
    assert data.labels is not None
    torch.manual_seed(0)
    baseline = replace(EXPERIMENT.baseline, levels=2, channels=4, language=4, output=8)
    task = GoalTask(kind, EXPERIMENT.model, baseline, len(data.labels))
    prediction = task.eval().predict(batch, None)
    grid = EXPERIMENT.model.belief_grid if kind == "filter" else EXPERIMENT.model.mapper.grid
    assert prediction.grid == grid
    assert prediction.goal.shape == (3, 3, grid.rows, grid.cols)
    assert_close(prediction.goal.sum((-2, -1)), torch.ones(3, 3))
    assert bool((prediction.goal >= 0).all())
    half_m = grid.rows * grid.cell_m / 2
    assert float(prediction.goal_xy_m.abs().max()) <= half_m
    # Standing still shows nothing new, so the map and what follows from it may change, but what was seen does not.
    loss = task.train()(batch, None, task.draw_masks(3, torch.Generator().manual_seed(0)))
    loss.backward()
    gradient = task.features.embedding.weight.grad
    assert batch.labels is not None
    seen = torch.zeros(len(data.labels), dtype=torch.bool)
    seen[batch.labels.label] = True
    assert bool((gradient[seen].abs().sum(1) > 0).any())
    assert float(gradient[~seen].abs().sum()) == 0.0


def test_heat_without_anything_positive_is_uniform(data: GoalData, batch: Batch) -> None:
    from ghosts.learn.tasks import _from_heat
    from ghosts.types import Grid

    heat = torch.full((1, 2, 4, 5), -1.0)
    heat[0, 1, 2, 3], heat[0, 1, 0, 0] = 3.0, 1.0
    found = _from_heat(heat, Grid(4, 5, 1.0))
    assert_close(found.goal[0, 0], torch.full((4, 5), 0.05))
    assert found.goal[0, 1, 2, 3] == 0.75
    assert found.goal_xy_m[0, 1].tolist() == [1.0, 0.5]


def test_hand_coded_sees_what_was_seen_by_each_step(data: GoalData, batch: Batch) -> None:
    task = GoalTask("hand-coded", EXPERIMENT.model)
    assert list(task.parameters()) == []
    assert task.draw_masks(3, torch.Generator()) is None
    prediction = task.predict(batch, None)
    grid = EXPERIMENT.model.mapper.grid
    _, observed = maps_from_cells(replace(batch.cells, features=torch.zeros(len(batch.rows), 1)))
    for step in range(3):
        seen = observed[:, : step + 1].any(1)
        heat = hand_coded_heat(seen, batch.start_xy_m, grid)
        assert_close(prediction.goal[:, step], heat / heat.sum((-2, -1), keepdim=True))
        best = heat.flatten(1).argmax(1).numpy()
        xy = np.stack([(best % 32 - 15.5) * 0.5, (best // 32 - 15.5) * 0.5], 1)
        np.testing.assert_allclose(prediction.goal_xy_m[:, step].numpy(), xy)
    assert torch.equal(prediction.goal[:, 0], prediction.goal[:, 1])  # standing still shows nothing new
    assert not torch.equal(prediction.goal[:, 1], prediction.goal[:, 2])
