from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning.fabric import Fabric

from ghosts.errors import DataError
from ghosts.learn.checkpoint import BEST, LAST, load_checkpoint, save_checkpoint
from ghosts.learn.load import load_task
from ghosts.learn.loop import Run, train_goal
from ghosts.presets import preset
from landmark_world import load, make_landmark_root, small_experiment


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    experiment = small_experiment(iterations=2, ema=0.5)
    data = load(make_landmark_root(folder / "root"), experiment)
    settings = Run(experiment, data, folder / "run", lambda task: {"score": 1.0})
    train_goal(settings, Fabric(accelerator="cpu", devices=1))
    return folder / "run"


def test_a_checkpoint_holds_all_it_needs(run: Path) -> None:
    task, experiment, vocabulary, labels, tiles = load_task(run)
    assert experiment == small_experiment(iterations=2, ema=0.5)
    assert {"left", "right", "straight"} <= set(vocabulary.words)
    assert labels is not None
    assert labels.object_id("chair") != labels.object_id("no such thing")
    assert tiles is None
    assert not task.training
    stored = load_checkpoint(run / BEST)
    for name, value in task.state_dict().items():
        assert torch.equal(value, stored.part("model")[name])
    assert load_task(run / BEST).experiment == experiment


def test_the_last_checkpoint_gives_its_averaged_weights(run: Path) -> None:
    stored = load_checkpoint(run / LAST)
    for name, value in load_task(run / LAST).task.named_parameters():
        assert torch.equal(value, stored.part("ema")[name])


def test_bad_runs_are_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: no such run.*ghosts train goal"):
        load_task(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no best\.safetensors.*ghosts train goal"):
        load_task(tmp_path)
    with pytest.raises(DataError, match=r"^landmark-agent: no such run; did you mean 'landmarks-agent'"):
        load_task(Path("landmark-agent"))
    with pytest.raises(DataError, match=r"^houses-backbone: a backbone, not a run; .*ghosts tiles"):
        load_task(Path("houses-backbone"))
    stored = load_checkpoint(run / BEST)
    save_checkpoint(tmp_path / LAST, stored.tensors, stored.about)
    with pytest.raises(DataError, match=r"not been scored yet; name .*last\.safetensors"):
        load_task(tmp_path)
    path = tmp_path / "x.safetensors"
    save_checkpoint(path, stored.tensors, {**stored.about, "experiment": {**stored.about["experiment"], "colour": 1}})
    with pytest.raises(DataError, match=r"does not know .*unknown field 'colour'.*another version"):
        load_task(path)
    save_checkpoint(path, stored.tensors, {key: value for key, value in stored.about.items() if key != "labels"})
    with pytest.raises(DataError, match=r"field 'labels': missing"):
        load_task(path)
    fewer = {name: value for name, value in stored.tensors.items() if "filter" not in name}
    save_checkpoint(path, fewer, stored.about)
    with pytest.raises(DataError, match="weights do not fit"):
        load_task(path)


def test_presets_survive_json() -> None:
    from ghosts.config import from_dict, to_dict
    from ghosts.presets import PRESETS, GoalExperiment

    for name in PRESETS:
        experiment = preset(name)
        changed = replace(experiment, train=replace(experiment.train, seed=7))
        assert from_dict(GoalExperiment, to_dict(changed)) == changed
