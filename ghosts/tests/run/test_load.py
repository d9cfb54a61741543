from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from lightning_fabric import Fabric

from ghosts.agent.agent import GhostAgent
from ghosts.agent.baselines import HandCoded
from ghosts.config import NavigationConfig, PlannerConfig, VlnExperiment
from ghosts.presets import preset
from ghosts.run.load import load_run, untrained
from ghosts.train.goal import FilterTask
from ghosts.train.resume import resume
from ghosts.train.trainer import RunFiles, train
from ghosts.weights.checkpoint import BEST, LAST, load_checkpoint, save_checkpoint
from ghosts_sim.errors import ConfigError, DataError
from landmark_world import load, make_landmark_root, small_experiment


class ScoredTask(FilterTask):
    """Scored in no time."""

    def score(self, fabric: Fabric) -> dict[str, float]:
        return {"score": 1.0}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    experiment = small_experiment(iterations=2, ema=0.5)
    task = ScoredTask(experiment, load(make_landmark_root(folder / "root"), experiment))
    train(task, Fabric(accelerator="cpu", devices=1), RunFiles.of(folder / "run"))
    return folder / "run"


def test_a_checkpoint_holds_all_it_needs(run: Path) -> None:
    loaded = load_run(run)
    assert (loaded.name, loaded.iteration) == ("run", 2)
    assert loaded.experiment == small_experiment(iterations=2, ema=0.5)
    reading = loaded.reading
    assert reading.vocabulary is not None
    assert {"left", "right", "straight"} <= set(reading.vocabulary.words)
    assert reading.labels is not None
    assert reading.labels.object_id("chair") != reading.labels.object_id("no such thing")
    assert (reading.source, reading.tiles) == ("landmarks", None)
    assert not loaded.model.training
    stored = load_checkpoint(run / BEST)
    for name, value in loaded.model.state_dict().items():
        assert torch.equal(value, stored.part("model")[name])
    assert load_run(run / BEST).experiment == loaded.experiment


def test_who_acts_and_how(run: Path) -> None:
    """A goal predictor acts through the planner alone; a run that was trained to act, by its own settings."""
    predictor = load_run(run)
    assert not predictor.acts
    with pytest.raises(ConfigError, match="run predicts goals and was not trained to act; add --planner"):
        predictor.agent()
    planned = predictor.agent(planner=True)
    assert isinstance(planned, GhostAgent)
    assert planned.planner is not None
    navigation = NavigationConfig(step_limit=5, planner=PlannerConfig(sure=0.7))
    acting = replace(predictor, experiment=VlnExperiment(**vars(predictor.experiment), navigation=navigation))
    agent = acting.agent()
    assert isinstance(agent, GhostAgent)
    assert (agent.planner, agent.step_limit) == (None, 5)
    assert acting.planner().config.sure == 0.7
    circle = untrained(preset("hand-coded"))
    assert isinstance(circle.model, HandCoded)
    with pytest.raises(ConfigError, match="hand-coded has no filter to act on"):
        circle.agent(planner=True)


OFF = {
    "model": {"language": {"encoder": "lstm", "rooms": False, "progress": False, "layers": 2, "heads": 4}},
    "train": {"room_loss": 0.0, "progress_loss": 0.0, "distil": 0.0},
    "landmarks": {"word_vectors": "glove.txt"},
}
"""Settings of older versions, as a run that did not use them has them."""


def with_settings(run: Path, out: Path, more: dict[str, Any]) -> Path:
    """A copy of a run's last checkpoint with more settings."""

    def merged(old: Any, new: Any) -> Any:
        return {**old, **{name: merged(old.get(name), value) for name, value in new.items()}} if old else new

    stored = load_checkpoint(run / LAST)
    about = {**stored.about, "experiment": merged(stored.about["experiment"], more)}
    save_checkpoint(out / LAST, stored.tensors, about)
    return out / LAST


def test_runs_of_older_versions_load_and_resume(run: Path, tmp_path: Path) -> None:
    old = with_settings(run, tmp_path, OFF)
    assert load_run(old).experiment == load_run(run).experiment
    experiment = small_experiment(iterations=2, ema=0.5)
    task = ScoredTask(experiment, load(run.parent / "root", experiment))
    assert resume(task, torch.optim.AdamW(task.model.parameters()), old).iteration == 2


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"model": {"language": {"encoder": "transformer"}}}, "trained with the transformer encoder"),
        ({"model": {"language": {"rooms": True}}}, "trained to predict rooms from words"),
        ({"train": {"progress_loss": 3.0}}, "trained to predict the distance left from words"),
        ({"train": {"distil": 0.7}}, "trained with teachers"),
        ({"hidden_words": 0.15}, r"trained on words alone \(ghosts train words\)"),
    ],
)
def test_ideas_that_are_gone_are_refused(run: Path, tmp_path: Path, more: dict[str, Any], told: str) -> None:
    old = with_settings(run, tmp_path, more)
    line = rf"last\.safetensors.*: {told}, which this version has no more \(got .*; the git tag ideas-2026-11 reads it"
    with pytest.raises(DataError, match=line):
        load_run(old)
    task = ScoredTask(small_experiment(iterations=2, ema=0.5), load(run.parent / "root", small_experiment()))
    with pytest.raises(DataError, match=line):
        resume(task, torch.optim.AdamW(task.model.parameters()), old)


def test_the_last_checkpoint_gives_its_averaged_weights(run: Path) -> None:
    stored = load_checkpoint(run / LAST)
    for name, value in load_run(run / LAST).model.named_parameters():
        assert torch.equal(value, stored.part("ema")[name])


def test_bad_runs_are_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nowhere: no such run.*ghosts train goal"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no best\.safetensors.*ghosts train goal"):
        load_run(tmp_path)
    with pytest.raises(DataError, match=r"^landmark-agent: no such run; did you mean 'landmarks-agent'"):
        load_run(Path("landmark-agent"))
    with pytest.raises(DataError, match=r"^houses-backbone: a backbone, not a run; .*ghosts tiles"):
        load_run(Path("houses-backbone"))
    stored = load_checkpoint(run / BEST)
    save_checkpoint(tmp_path / LAST, stored.tensors, stored.about)
    with pytest.raises(DataError, match=r"not been scored yet; name .*last\.safetensors"):
        load_run(tmp_path)
    path = tmp_path / "x.safetensors"
    save_checkpoint(path, stored.tensors, {**stored.about, "experiment": {**stored.about["experiment"], "colour": 1}})
    with pytest.raises(DataError, match=r"does not know .*unknown field 'colour'.*another version"):
        load_run(path)
    save_checkpoint(path, stored.tensors, {key: value for key, value in stored.about.items() if key != "labels"})
    with pytest.raises(DataError, match=r"field 'labels': missing"):
        load_run(path)
    fewer = {name: value for name, value in stored.tensors.items() if "filter" not in name}
    save_checkpoint(path, fewer, stored.about)
    with pytest.raises(DataError, match="weights do not fit"):
        load_run(path)
