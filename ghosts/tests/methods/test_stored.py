"""Experiments in checkpoints: those of versions before methods had names load and resume as what they are now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from crafted import write_checkpoint
from experiments import acting, lingunet_of, seq2seq_of, speaker_of, task_of
from ghosts.config import DataConfig, Experiment, LandmarkConfig, PlannerConfig, experiment_values
from ghosts.methods import methods
from ghosts.methods.lingunet.settings import HeatConfig
from ghosts.methods.seq2seq.settings import DecoderConfig
from ghosts.methods.speaker.settings import SpeakerConfig
from ghosts.run.load import load_run
from ghosts.train.resume import resume
from ghosts.weights import shipped
from ghosts.weights.checkpoint import BACKBONE, load_checkpoint
from ghosts_sim.errors import DataError
from landmark_world import load, small_experiment
from view_fixtures import save_untrained

SMALL = replace(small_experiment(iterations=2), data=DataConfig(landmarks=LandmarkConfig(sight_m=3.0)))
STORED: dict[str, Experiment] = {
    "goal": SMALL,
    "lingunet": lingunet_of(SMALL, HeatConfig(levels=2, channels=4, language=4, output=8, sigma_m=1.5)),
    "agent": acting(SMALL, step_limit=5, planner=PlannerConfig(sure=0.6), own_actions=0.75, freeze_filter=True),
    "seq2seq": seq2seq_of(SMALL, DecoderConfig(16, 4, 0.1), step_limit=6, own_actions=1.0),
    "speaker": speaker_of(SMALL, SpeakerConfig(hidden=16, encoded=16, rings_m=(1.5, 4.0))),
}
"""One of each kind that older versions could train, with settings that are not the usual ones."""


def as_of_format_3(experiment: Experiment) -> dict[str, Any]:
    """An experiment as versions up to format 3 described it: what a kind of model did not have was there all the same,
    and an agent's settings were in a part of their own."""
    new = experiment_values(experiment)
    model, train, filtering = dict(new["model"]), dict(new["train"]), experiment_values(small_experiment())
    regions = filtering["model"]["policy"]["regions"]
    acts = {"agent": "seq2seq" if new["method"] == "seq2seq" else "filter", "seq2seq": {"hidden": 256, "sectors": 12}}
    acts |= {"policy_weight": 0.1, "reward": 0.0, "true_beliefs": False, "freeze_filter": False, "fresh_policy": False}
    planner = {"regions": regions, "passing": 0.75, "metre_cost": 0.02, "sure": 0.7}
    acts |= {"step_limit": model.pop("step_limit", 12), "planner": model.pop("planner", planner)}
    acts["seq2seq"] = model.pop("decoder", acts["seq2seq"])
    acts |= {name: train.pop(name) for name in [*train] if name not in filtering["train"]}
    old = {
        "name": new["name"],
        "kind": "lingunet" if new["method"] == "lingunet" else "filter",
        "baseline": model.pop("heat", {"levels": 5, "channels": 48, "language": 24, "output": 128, "sigma_m": 2.0}),
        "landmarks": {**new["data"]["landmarks"], "word_vectors": ""},
        "observation": new["data"]["observation"],
    }
    if experiment.acts:
        old["navigation"] = acts
    if new["method"] == "speaker":
        old["speaker"] = model.pop("speaker")
    language = {**model["language"], "encoder": "lstm", "layers": 2, "heads": 4, "rooms": False, "progress": False}
    ideas = {"room_loss": 0.0, "progress_loss": 0.0, "distil": 0.0}
    return {**old, "model": {**filtering["model"], **model, "language": language}, "train": {**train, **ideas}}


@pytest.fixture(scope="module")
def rewritten(combs: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Experiment, Any], Path]:
    """Writes an untrained model of an experiment with another description, in format 3."""
    folder = tmp_path_factory.mktemp("runs")

    def write(experiment: Experiment, described: Any) -> Path:
        file = save_untrained(folder / "new.safetensors", combs, experiment, experiment.train.seed)
        stored = load_checkpoint(file)
        about = {**stored.about, "best": 0.0, "experiment": described}
        return write_checkpoint(folder / "old.safetensors", stored.tensors, about, format="3")

    return write


@pytest.mark.parametrize("kind", STORED)
def test_older_descriptions_load_and_resume(
    kind: str, combs: Path, rewritten: Callable[[Experiment, Any], Path]
) -> None:
    experiment = STORED[kind]
    old = rewritten(experiment, as_of_format_3(experiment))
    found = load_run(old)
    assert found.experiment == experiment
    assert type(found.experiment) is type(experiment)
    task = task_of(experiment, load(combs, experiment))
    for name, value in task.model.state_dict().items():
        assert torch.equal(found.model.state_dict()[name], value), name
    optimiser = torch.optim.AdamW(value for value in task.parameters() if value.requires_grad)
    assert resume(task, optimiser, old).iteration == 0
    other = replace(experiment, train=replace(experiment.train, batch=2))
    with pytest.raises(DataError, match=r"holds another run: train\.batch 4 → 2; choose another --out"):
        resume(task_of(other, load(combs, other)), optimiser, old)


@pytest.mark.parametrize(
    ("part", "more", "told"),
    [
        (("model", "language"), {"encoder": "transformer"}, "trained with the transformer encoder"),
        (("model", "language"), {"rooms": True}, "trained to predict rooms from words"),
        (("train",), {"progress_loss": 3.0}, "trained to predict the distance left from words"),
        (("train",), {"distil": 0.7}, "trained with teachers"),
        ((), {"hidden_words": 0.15}, r"trained on words alone \(ghosts train words\)"),
        ((), {"navigation": {"reward": 1.0}}, "trained with its success as a reward"),
    ],
)
def test_ideas_that_are_gone_are_refused(
    part: tuple[str, ...], more: dict[str, Any], told: str, combs: Path, rewritten: Callable[[Experiment, Any], Path]
) -> None:
    described = inner = as_of_format_3(SMALL)
    for name in part:
        inner = inner[name]
    inner.update(more)
    old = rewritten(SMALL, described)
    reads = r"the git (tag ideas-2026-11|commit eb01373) reads it"
    line = rf"old\.safetensors.*: {told}, which this version has no more \(got .*; {reads}"
    with pytest.raises(DataError, match=line):
        load_run(old)
    task = task_of(SMALL, load(combs, SMALL))
    with pytest.raises(DataError, match=line):
        resume(task, torch.optim.AdamW(task.model.parameters()), old)


def test_rewards_are_gone_from_todays_descriptions_too(rewritten: Callable[[Experiment, Any], Path]) -> None:
    agent = STORED["agent"]
    values = experiment_values(agent)
    values["train"] |= {"samples": 1, "reward": 0.0}
    assert load_run(rewritten(agent, values)).experiment == agent
    values["train"] |= {"samples": 4, "reward": 1.0}
    with pytest.raises(DataError, match=r"field 'train\.reward': trained with its success .*commit eb01373 reads it"):
        load_run(rewritten(agent, values))


@pytest.mark.parametrize("change", [{"kind": "hand-coded"}, {"kind": ["filter"]}, {"navigation": {"agent": "dog"}}])
def test_kinds_that_no_version_trained_are_refused(
    change: dict[str, Any], rewritten: Callable[[Experiment, Any], Path]
) -> None:
    with pytest.raises(DataError, match=r"field 'experiment': expected an object that names its method"):
        load_run(rewritten(SMALL, {**as_of_format_3(SMALL), **change}))


def test_a_method_that_is_not_installed_is_named(rewritten: Callable[[Experiment, Any], Path]) -> None:
    file = rewritten(SMALL, {**experiment_values(SMALL), "method": "particles"})
    with pytest.raises(DataError) as caught:
        load_run(file)
    assert str(caught.value) == (
        f"{file}, field 'method': a method that is not installed (got 'particles'); "
        f"install the package that brings it (installed: {', '.join(methods())})"
    )


def test_a_purpose_that_a_method_has_not_is_named(rewritten: Callable[[Experiment, Any], Path]) -> None:
    file = rewritten(SMALL, {**experiment_values(SMALL), "purpose": "speaker"})
    with pytest.raises(DataError, match=r"field 'purpose': expected goal or vln \(got 'speaker'\)"):
        load_run(file)


@pytest.mark.parametrize("name", sorted(shipped()))
def test_shipped_weights_are_what_their_names_say(name: str) -> None:
    file = shipped()[name]
    if load_checkpoint(file).about.get("kind") == BACKBONE:
        with pytest.raises(DataError, match="a backbone, not a run"):
            load_run(file)
        return
    run = load_run(name)
    # An agent's file also holds the goal predictor of its filter, under a second name.
    speaks = name.endswith("-speaker")
    assert (run.experiment.method, run.experiment.purpose) == (("speaker", "speaker") if speaks else ("ghost", "vln"))
    assert (run.filter is None, run.predictor is None, run.speaker is not None) == (speaks, speaks, speaks)
    assert run.experiment.name == file.stem
