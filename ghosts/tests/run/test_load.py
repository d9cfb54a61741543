from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from lightning_fabric import Fabric

from experiments import acting
from ghosts.agent.loop import GhostAgent
from ghosts.config import PlannerConfig
from ghosts.methods import preset
from ghosts.methods.ghost.goal import FilterTask
from ghosts.methods.hand_coded.model import HandCoded
from ghosts.run.load import load_run, untrained
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
    assert not predictor.experiment.acts
    with pytest.raises(ConfigError, match="run predicts goals and was not trained to act; add --planner"):
        predictor.agent()
    planned = predictor.agent(planner=True)
    assert isinstance(planned, GhostAgent)
    assert planned.planner is not None
    experiment = acting(predictor.experiment, step_limit=5, planner=PlannerConfig(sure=0.7))
    actor = replace(predictor, experiment=experiment)
    agent = actor.agent()
    assert isinstance(agent, GhostAgent)
    assert (agent.planner, agent.step_limit) == (None, 5)
    assert actor.planner().config.sure == 0.7
    circle = untrained(preset("hand-coded"))
    assert isinstance(circle.model, HandCoded)
    with pytest.raises(ConfigError, match="hand-coded has no filter to act on"):
        circle.agent(planner=True)


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
