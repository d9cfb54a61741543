from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric

import ghosts_benchmarks.growth
from experiments import task_of
from ghosts.config import DataConfig, Experiment
from ghosts.data.batches import Batch
from ghosts.data.dataset import Dataset
from ghosts.data.examples import TRAIN
from ghosts.methods.ghost.presets import tiny
from ghosts.train.goal_task import GoalTask
from ghosts.train.task import Share
from ghosts_benchmarks.growth import AXES, Point, Ranges, measure_growth, restrict
from ghosts_benchmarks.growth_plot import draw_growth
from ghosts_benchmarks.synthetic import synthetic_data
from landmark_world import make_landmark_root, small_experiment

RANGES = Ranges(batch=(2, 4), map=(16, 32), headings=(1, 4), houses=(1, 2))
MODEL = replace(small_experiment().model, language=replace(small_experiment().model.language, vocabulary=600))
SMALL = replace(small_experiment(), model=MODEL)


def one_process() -> Fabric:
    fabric = Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    return fabric


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return synthetic_data(tiny(), 3, tmp_path_factory.mktemp("synthetic") / "root")


def batch_of(experiment: Experiment, data: Dataset) -> Batch:
    return task_of(experiment, data).draw(0, Share())


def test_made_up_data_has_the_sizes_of_real_data(data: Dataset) -> None:
    """Seed 0. R2R: tiles of about 57 entries (docs/landmarks.md), instructions of 29 words, paths of 5 moves."""
    assert len({example.scan for example in data.examples(TRAIN)}) == 3
    assert data.bank.labels is not None
    assert 40 < len(data.bank.labels.weight) / len(data.bank.numbers) < 75
    batch = batch_of(tiny(), data)
    assert len(data.vocabulary) > 300
    assert 15 < batch.briefing.lengths.float().mean() < 45
    moved = (batch.path_xy_m[:, -1] - batch.briefing.start_xy_m).norm(dim=-1)
    assert 2.0 < moved.mean() < 11.0


def test_made_up_images_have_features_on_every_cell_around(tmp_path: Path) -> None:
    experiment = replace(tiny(), data=DataConfig("images"))
    data = synthetic_data(experiment, 1, tmp_path / "root")
    assert data.labels is None
    assert data.bank.features is not None
    assert data.bank.features.shape[1] == experiment.model.mapper.features
    batch = batch_of(experiment, data)
    assert batch.seen.cells.labels is None
    assert batch.rows is not None
    assert len(data.bank.features) / len(data.bank.numbers) == pytest.approx(0.02 * 96 * 96, rel=0.1)


def test_fewer_buildings_give_the_same_batches_from_a_smaller_bank(data: Dataset) -> None:
    scans = sorted({example.scan for example in data.examples(TRAIN)})
    part = restrict(data, scans[1:2])
    assert {example.scan for example in part.examples(TRAIN)} == {scans[1]}
    assert len(part.bank.numbers) == len(data.bank.numbers) // 4  # three for training, one held out
    assert len(part.bank.cells) < len(data.bank.cells)
    same = replace(data, splits=part.splits)
    first, second = (batch_of(tiny(), item).seen.cells for item in (part, same))
    for name in ("step", "item", "row", "col"):
        assert torch.equal(getattr(first, name), getattr(second, name))
    for name in ("cell", "label", "weight"):
        assert torch.equal(getattr(first.labels, name), getattr(second.labels, name))


def test_every_axis_is_varied_around_the_preset() -> None:
    points = list(measure_growth(SMALL, RANGES, one_process(), iterations=1, threads=1))
    values = {axis: [point.value for point in points if point.axis == axis] for axis in AXES}
    assert values == {"batch": [2, 4], "map": [16, 32], "headings": [1, 4], "houses": [1, 2]}
    shared = [point for point in points if point.base]
    assert [point.value for point in shared] == [4, 32, 4, 2]
    assert len({point.iteration_ms for point in shared}) == 1  # measured once
    for point in points:
        assert point.problem is None
        assert point.iteration_ms is not None
        assert point.episodes_per_s is not None
        batch = point.value if point.axis == "batch" else 4
        assert point.iteration_ms * point.episodes_per_s == pytest.approx(1e3 * batch)
        assert point.waiting is not None
        assert 0.0 <= point.waiting < 1.0


def test_a_data_root_has_the_buildings_it_has(tmp_path: Path) -> None:
    root = make_landmark_root(tmp_path / "root")
    ranges = Ranges(batch=(), map=(), headings=(), houses=(2, 64))
    points = list(measure_growth(small_experiment(), ranges, one_process(), data=root, iterations=1))
    assert [(point.axis, point.value) for point in points] == [
        *(("batch", 4), ("map", 32), ("headings", 4), ("houses", 2), ("houses", 4)),
    ]


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("CUDA out of memory"), RuntimeError("you tried to allocate memory: 7 bytes")]
)
def test_out_of_memory_is_a_result(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    real = ghosts_benchmarks.growth.train

    def picky(task: GoalTask, *arguments: Any, **settings: Any) -> None:
        if task.config.batch == 2:
            raise error
        real(task, *arguments, **settings)

    monkeypatch.setattr(ghosts_benchmarks.growth, "train", picky)
    ranges = Ranges(batch=(2,), map=(), headings=(), houses=(1,))
    first, second, *_ = measure_growth(SMALL, ranges, one_process(), iterations=1, threads=0)
    assert (first.value, first.problem, first.episodes_per_s) == (2, "out of memory", None)
    assert (second.value, second.problem) == (4, None)


def test_picture(tmp_path: Path) -> None:
    points = [Point(axis, value, value == 4, 8.0, 500.0, 0.02) for axis in AXES for value in (1, 4)]
    points.append(Point("batch", 64, False, None, None, None, "out of memory"))
    for name in ("growth.svg", "growth.png"):
        draw_growth(points, "training tiny", tmp_path / name)
    picture = (tmp_path / "growth.svg").read_text(encoding="utf-8")
    for text in ("training tiny", "64: out of memory", "8 ms", "waits 2%", "heading bins", "no dependence"):
        assert f"<!-- {text} -->" in picture
    assert (tmp_path / "growth.png").read_bytes()[:4] == b"\x89PNG"
