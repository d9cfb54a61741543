"""Goal prediction as it is trained: batches, losses, and what every kind of model predicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch.testing import assert_close

from checks import unchecked
from ghosts.agent.baselines import HandCoded, _from_heat, hand_coded_heat
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.data.examples import TRAIN, Selection
from ghosts.mapping.mapper import draw_masks
from ghosts.train.goal import FilterTask, LingUNetTask, goal_task
from ghosts.train.task import Share
from ghosts.weights.checkpoint import save_checkpoint
from ghosts_sim.errors import ConfigError
from ghosts_sim.landmarks.regions import ROOM_NAMES
from ghosts_sim.types import Grid
from landmark_world import load, make_landmark_root, small_experiment
from reference.maps import maps_from_cells

EXPERIMENT = replace(
    small_experiment(), baseline=replace(small_experiment().baseline, levels=2, channels=4, language=4, output=8)
)


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
    task = goal_task(replace(EXPERIMENT, kind=kind), data)
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
    found = _from_heat(heat, Grid(4, 5, 1.0))
    assert_close(found.goal[0, 0], torch.full((4, 5), 0.05))
    assert found.goal[0, 1, 2, 3] == 0.75
    assert found.goal_xy_m[0, 1].tolist() == [1.0, 0.5]


def test_hand_coded_sees_what_was_seen_by_each_step(batch: Batch) -> None:
    model, cells = HandCoded(EXPERIMENT.model), batch.seen.cells
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


def test_a_batch_does_not_depend_on_how_many_processes_share_it(data: Dataset) -> None:
    model = replace(EXPERIMENT.model, mapper=replace(EXPERIMENT.model.mapper, dropout=0.3))
    task = goal_task(replace(EXPERIMENT, model=model), data)
    whole, halves = task.draw(5, Share()), [task.draw(5, Share(rank, 2)) for rank in range(2)]
    assert whole.masks is not None
    assert len(whole.masks.input) == 4
    for rank, half in enumerate(halves):
        assert half.masks is not None
        assert torch.equal(half.masks.input, whole.masks.input[rank::2])
        assert torch.equal(half.path_xy_m, whole.path_xy_m[rank::2])
        assert torch.equal(half.seen_m2, whole.seen_m2[rank::2])
        words = half.briefing.tokens
        assert torch.equal(words, whole.briefing.tokens[rank::2, : words.shape[1]])
    assert not torch.equal(task.draw(6, Share()).path_xy_m, whole.path_xy_m)


def test_nothing_is_scored_without_a_selection(data: Dataset) -> None:
    fabric = Fabric(accelerator="cpu", devices=1)
    assert goal_task(EXPERIMENT, data).score(fabric) == {}
    scored = goal_task(EXPERIMENT, data, Selection("val_seen", data.examples("val_seen")[:3])).score(fabric)
    assert list(scored) == ["val_seen success", "val_seen error"]
    assert 0.0 <= scored["val_seen success"] <= 1.0 < scored["val_seen error"]


def test_some_steps_of_an_episode_are_supervised(data: Dataset) -> None:
    """Drawn anew in every iteration, the same in every process; the loss is that of their maps alone."""
    task = goal_task(replace(EXPERIMENT, train=replace(EXPERIMENT.train, supervised=2)), data)
    drawn = [task.draw(iteration, Share()).supervised for iteration in range(8)]
    assert {*drawn} == {(0, 1), (0, 2), (1, 2)}
    assert task.draw(3, Share(1, 2)).supervised == drawn[3]
    assert goal_task(EXPERIMENT, data).draw(0, Share()).supervised is None
    assert isinstance(task, FilterTask)
    task.eval()
    batch = replace(task.draw(0, Share()), masks=None)
    each = [task(replace(batch, supervised=(step,))) for step in range(3)]
    assert_close(task(replace(batch, supervised=(0, 2))), (each[0] + each[2]) / 2.0, rtol=1e-4, atol=1e-4)
    assert_close(task(replace(batch, supervised=None)), sum(each) / 3.0, rtol=1e-4, atol=1e-4)


def test_rooms_are_told_from_the_words(data: Dataset) -> None:
    """Path 0, 1, 2, 6: three viewpoints of the corridor, then a bedroom."""
    language = replace(EXPERIMENT.model.language, rooms=True)
    settings = replace(EXPERIMENT.train, room_loss=0.5)
    task = goal_task(replace(EXPERIMENT, model=replace(EXPERIMENT.model, language=language), train=settings), data)
    letters = list(ROOM_NAMES)
    wanted = [[letters.index(letter) for letter in "hhbb"]]
    assert data.rooms(data.examples(TRAIN)[:1]).tolist() == wanted
    batch = task.draw(0, Share())
    assert batch.rooms is not None
    assert batch.rooms.shape == (4, 4)
    assert goal_task(EXPERIMENT, data).draw(0, Share()).rooms is None
    assert isinstance(task, FilterTask)
    task.eval()
    unknown = torch.where(torch.arange(4) < 2, batch.rooms, -1)  # what is not known does not count
    plain = task(replace(batch, rooms=None))
    for rooms in (batch.rooms, unknown):
        heard = task.model.read(batch.briefing).latents
        assert task.model.rooms is not None
        scores = task.model.rooms(torch.cat([heard.observations, heard.actions], -1)).log_softmax(-1)
        known = rooms >= 0
        right = scores.gather(2, rooms.clamp(min=0)[..., None])[..., 0][known]
        assert_close(task(replace(batch, rooms=rooms)) - plain, -0.5 * right.mean(), rtol=1e-3, atol=1e-4)


def test_progress_is_told_from_the_words(data: Dataset) -> None:
    """Path 0, 1, 2, 6 in steps of 2.3 m; the fourth filter step stays at the goal."""
    language = replace(EXPERIMENT.model.language, progress=True)
    settings = replace(EXPERIMENT.train, progress_loss=0.5, batch=16)
    task = goal_task(replace(EXPERIMENT, model=replace(EXPERIMENT.model, language=language), train=settings), data)
    assert_close(data.left_m(data.examples(TRAIN)[:1]), torch.tensor([[4.6, 2.3, 0.0, 0.0]]))
    assert goal_task(EXPERIMENT, data).draw(0, Share()).left_m is None
    assert isinstance(task, FilterTask)
    batch = task.draw(0, Share())
    assert batch.left_m is not None

    def told() -> torch.Tensor:
        heard = task.model.read(batch.briefing).latents
        assert task.model.progress is not None
        return task.model.progress(torch.cat([heard.observations, heard.actions], -1))[..., 0]

    few = replace(batch, supervised=(0,))
    off = (told() - batch.left_m / 10.0).abs().mean()
    assert_close(task(few) - task(replace(few, left_m=None)), 0.5 * off, rtol=1e-3, atol=1e-4)
    # A guess that knows the filter step alone is off by this much; the words tell more.
    blind = (batch.left_m - batch.left_m.median(0).values).abs().mean() / 10.0
    optimiser = torch.optim.Adam(task.model.parameters(), 2e-2)
    with unchecked():
        for _ in range(60):
            loss = task._told_loss(task.model.read(batch.briefing).latents, batch)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    assert (told() - batch.left_m / 10.0).abs().mean().item() < 0.6 * blind.item() < off.item()


def test_losses_of_parts_that_are_not_there(data: Dataset) -> None:
    for loss, part in (("room_loss", "rooms"), ("progress_loss", "progress")):
        experiment = replace(EXPERIMENT, train=replace(EXPERIMENT.train, **{loss: 0.5}))
        with pytest.raises(ConfigError) as caught:
            goal_task(experiment, data)
        line = f"train.{loss} needs a model with language.{part}; "
        assert str(caught.value) == f"{line}add --model.language.{part}"
        with pytest.raises(ConfigError) as caught:
            goal_task(replace(experiment, kind="lingunet"), data)
        assert str(caught.value) == f"{line}only a filter has it"


def test_a_part_for_a_loss_is_taken_where_both_models_have_it(data: Dataset, tmp_path: Path) -> None:
    language = replace(EXPERIMENT.model.language, progress=True)
    more = replace(EXPERIMENT, model=replace(EXPERIMENT.model, language=language))
    first = replace(EXPERIMENT.train, seed=5)
    for start in (replace(EXPERIMENT, train=first), replace(more, train=first)):
        task = goal_task(start, data)
        old = task.model.state_dict()
        file = tmp_path / f"{len(old)}.safetensors"
        save_checkpoint(file, {f"model/{name}": value for name, value in old.items()}, {"iteration": 0, **task.about()})
        for wanted in (EXPERIMENT, more):
            new = goal_task(wanted, data, warm_start=file).model.state_dict()
            for name in new.keys() & old.keys():
                # Of words that the data lacks nothing is taken, and goal prediction trains no policy.
                rows = len(data.vocabulary) if "embedding" in name else None
                assert name.startswith("policy.") or torch.equal(new[name][:rows], old[name][:rows]), name
            assert (wanted is more) == ("progress.weight" in new)


def test_teachers_are_learned_from(data: Dataset, tmp_path: Path) -> None:
    """Two teachers of random weights; a quarter of the loss is their mean belief's, and they stay as they are."""
    taught = replace(EXPERIMENT, train=replace(EXPERIMENT.train, distil=0.25))
    files = []
    for seed in (5, 6):
        task = goal_task(replace(EXPERIMENT, train=replace(EXPERIMENT.train, seed=seed)), data)
        weights = {f"model/{name}": value for name, value in task.model.state_dict().items()}
        files.append(tmp_path / f"{seed}.safetensors")
        save_checkpoint(files[-1], weights, {"iteration": 0, **task.about()})
    alone, task = goal_task(EXPERIMENT, data), goal_task(taught, data, teachers=files)
    assert isinstance(task, FilterTask)
    assert {name for name, _ in task.named_parameters()} == {name for name, _ in alone.named_parameters()}
    fabric = Fabric(accelerator="cpu", devices=1)
    batch = task.ready(task.draw(0, Share()), fabric)
    models = [task.model, *task.teachers]
    own, *told = (model(batch.briefing, batch.seen).filter.posteriors for model in models)
    mean = (told[0] + told[1]) / 2.0
    apart = (mean * (mean.clamp(min=1e-8) / own.clamp(min=1e-8)).log()).sum((2, 3, 4, 5)).mean()
    loss = task(replace(batch, masks=None))
    assert_close(loss, 0.75 * alone(replace(batch, masks=None)) + 0.25 * apart, rtol=1e-4, atol=1e-4)
    loss.backward()
    assert all(value.grad is None for teacher in task.teachers for value in teacher.parameters())


def test_teachers_that_read_otherwise_are_named(data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"belong together; use --teacher RUN and --train.distil 0.5"):
        goal_task(EXPERIMENT, data, teachers=[tmp_path])
    taught = replace(EXPERIMENT, train=replace(EXPERIMENT.train, distil=0.5))
    with pytest.raises(ConfigError, match="belong together"):
        goal_task(taught, data)
    with pytest.raises(ConfigError, match="landmarks-agent cannot teach this model: it reads other vocabulary"):
        goal_task(taught, data, teachers=[Path("landmarks-agent")])
    with pytest.raises(ConfigError, match="has no filter that could be taught"):
        goal_task(replace(taught, kind="lingunet"), data, teachers=[Path("landmarks-agent")])
