"""Goal prediction as it is trained: batches, losses, and what every kind of model predicts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch.testing import assert_close

from experiments import hand_coded_of, lingunet_of, task_of
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.data.examples import TRAIN, Selection
from ghosts.mapping.mapper import draw_masks
from ghosts.methods.ghost.goal import FilterTask
from ghosts.methods.hand_coded.model import HandCoded, hand_coded_heat
from ghosts.methods.lingunet.model import prediction_of
from ghosts.methods.lingunet.settings import HeatConfig
from ghosts.methods.lingunet.task import LingUNetTask
from ghosts.train.task import Share
from ghosts_sim.types import Grid
from landmark_world import load, make_landmark_root, small_experiment
from mapping.whole_maps import maps_from_cells

EXPERIMENT = small_experiment()
LINGUNET = lingunet_of(EXPERIMENT, HeatConfig(levels=2, channels=4, language=4, output=8))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load(make_landmark_root(tmp_path_factory.mktemp("world") / "root"), EXPERIMENT)


@pytest.fixture(scope="module")
def batch(data: Dataset) -> Batch:
    examples = data.examples(TRAIN)[::9][:3]
    return data.batch(examples, [[item.start, item.start, item.goal] for item in examples])


@pytest.mark.parametrize("kind", ["filter", "lingunet"])
def test_predictions_are_distributions_and_loss_has_gradients(data: Dataset, batch: Batch, kind: str) -> None:
    assert data.labels is not None
    assert batch.seen.cells.labels is not None
    task = task_of(EXPERIMENT if kind == "filter" else LINGUNET, data)
    assert isinstance(task, FilterTask if kind == "filter" else LingUNetTask)
    prediction = task.model.eval().predict(batch.briefing, batch.seen)
    grid = EXPERIMENT.model.belief_grid if kind == "filter" else EXPERIMENT.model.mapper.grid
    assert prediction.grid == grid
    assert prediction.goal.shape == (3, 3, grid.rows, grid.cols)
    assert_close(prediction.goal.sum((-2, -1)), torch.ones(3, 3))
    assert bool((prediction.goal >= 0).all())
    half_m = grid.rows * grid.cell_m / 2
    assert float(prediction.goal_xy_m.abs().max()) <= half_m
    # Labels that nobody saw do not learn.
    masks = draw_masks(EXPERIMENT.model.mapper, 3, torch.Generator().manual_seed(0))
    task.train()(replace(batch, masks=masks)).backward()
    embedding = task.model.features.embedding
    assert embedding is not None
    assert embedding.weight.grad is not None
    seen = torch.zeros(len(data.labels), dtype=torch.bool)
    seen[batch.seen.cells.labels.label] = True
    assert bool((embedding.weight.grad[seen].abs().sum(1) > 0).any())
    assert float(embedding.weight.grad[~seen].abs().sum()) == 0.0


def test_heat_without_anything_positive_is_uniform() -> None:
    heat = torch.full((1, 2, 4, 5), -1.0)
    heat[0, 1, 2, 3], heat[0, 1, 0, 0] = 3.0, 1.0
    found = prediction_of(heat, Grid(4, 5, 1.0))
    assert_close(found.goal[0, 0], torch.full((4, 5), 0.05))
    assert found.goal[0, 1, 2, 3] == 0.75
    assert found.goal_xy_m[0, 1].tolist() == [1.0, 0.5]


def test_hand_coded_sees_what_was_seen_by_each_step(batch: Batch) -> None:
    model, cells = HandCoded(hand_coded_of(EXPERIMENT).model), batch.seen.cells
    assert list(model.parameters()) == []
    prediction = model.predict(batch.briefing, batch.seen)
    grid = EXPERIMENT.model.mapper.grid
    _, observed = maps_from_cells(replace(cells, features=torch.zeros(len(cells.item), 1)))
    for step in range(3):
        seen = observed[:, : step + 1].any(1)
        heat = hand_coded_heat(seen, batch.briefing.start_xy_m, grid)
        assert_close(prediction.goal[:, step], heat / heat.sum((-2, -1), keepdim=True))
        best = heat.flatten(1).argmax(1).numpy()
        xy = np.stack([(best % 32 - 15.5) * 0.5, (best // 32 - 15.5) * 0.5], 1)
        np.testing.assert_allclose(prediction.goal_xy_m[:, step].numpy(), xy)
    assert torch.equal(prediction.goal[:, 0], prediction.goal[:, 1])  # standing still shows nothing new
    assert not torch.equal(prediction.goal[:, 1], prediction.goal[:, 2])


def test_nothing_is_scored_without_a_selection(data: Dataset) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    assert task_of(EXPERIMENT, data).score(fabric) == {}
    scored = task_of(EXPERIMENT, data, Selection("val_seen", data.examples("val_seen")[:3])).score(fabric)
    assert list(scored) == ["val_seen success", "val_seen error"]
    assert 0.0 <= scored["val_seen success"] <= 1.0 < scored["val_seen error"]


def test_some_steps_of_an_episode_are_supervised(data: Dataset) -> None:
    """Drawn anew in every iteration, the same in every process; the loss is that of their maps alone."""
    task = task_of(replace(EXPERIMENT, train=replace(EXPERIMENT.train, supervised=2)), data)
    drawn = [task.draw(iteration, Share()).supervised for iteration in range(8)]
    assert {*drawn} == {(0, 1), (0, 2), (1, 2)}
    assert task.draw(3, Share(1, 2)).supervised == drawn[3]
    assert task_of(EXPERIMENT, data).draw(0, Share()).supervised is None
    assert isinstance(task, FilterTask)
    task.eval()
    batch = replace(task.draw(0, Share()), masks=None)
    each = [task(replace(batch, supervised=(step,))) for step in range(3)]
    assert_close(task(replace(batch, supervised=(0, 2))), (each[0] + each[2]) / 2.0, rtol=1e-4, atol=1e-4)
    assert_close(task(replace(batch, supervised=None)), sum(each) / 3.0, rtol=1e-4, atol=1e-4)
