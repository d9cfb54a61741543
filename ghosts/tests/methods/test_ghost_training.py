"""Agents trained by the one trainer: shared by processes, on a frozen filter, from a warm start."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from checks import unchecked
from crafted import respoilt, write_checkpoint
from experiments import task_of
from ghosts.config import Experiment
from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops
from ghosts.data.examples import TRAIN
from ghosts.data.symmetry import Symmetry
from ghosts.methods.ghost import METHOD
from ghosts.methods.ghost.act import Choices, NavBatch, NavigationTask
from ghosts.methods.ghost.presets import landmarks_agent, landmarks_improved
from ghosts.methods.seq2seq.presets import landmarks_seq2seq
from ghosts.run.load import find_checkpoint
from ghosts.run.rollout import GraphWalks
from ghosts.train.own_walks import WalkPlan
from ghosts.train.start import POLICY
from ghosts.train.task import Share
from ghosts.train.trainer import RunFiles, train
from ghosts.weights.checkpoint import LAST, load_checkpoint
from ghosts_sim.errors import ConfigError, DataError
from landmark_world import load, small_experiment
from trainings import agent_experiment, one_process, seq2seq_experiment

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def goal_run(combs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A goal predictor to start from."""
    goal, out = small_experiment(iterations=2, checkpoint_every=2), tmp_path_factory.mktemp("goal")
    train(task_of(goal, load(combs, goal)), one_process(), RunFiles.of(out), threads=0)
    return out / LAST


def trained(
    experiment: Experiment,
    data: Dataset,
    out: Path,
    warm_start: Path | None = None,
    score: Callable[[], dict[str, float]] | None = None,
) -> Any:
    """A task after training, scored by a function of its own."""
    task = task_of(experiment, data, warm_start=warm_start)
    if score is not None:
        task.score = lambda fabric: score()  # type: ignore[method-assign]
    train(task, one_process(), RunFiles.of(out), threads=0)
    return task


def losses(out: Path) -> list[float]:
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]


def frozen_and_joint(combs: Path) -> tuple[NavigationTask, NavigationTask, GraphWalks, WalkPlan]:
    """Two tasks of equal weights that walk as they are told, and a plan for both."""
    data = load(combs, agent_experiment())
    settings = ({"own_actions": 0.0, "freeze_filter": freeze} for freeze in (True, False))
    frozen, joint = (NavigationTask(agent_experiment(**train), data) for train in settings)
    joint.model.load_state_dict(frozen.model.state_dict())
    examples = data.examples(TRAIN)[::9]
    count = len(examples)
    draws = np.random.default_rng(0).random((count, 4, 2))
    plan = WalkPlan(examples, [Symmetry()] * count, Drops(np.zeros((count, 80), bool)), draws, None)
    frozen.eval(), joint.eval()
    return frozen, joint, GraphWalks(data, CPU), plan


def test_a_frozen_filters_loss_is_the_policys_part_of_the_whole(combs: Path) -> None:
    frozen, joint, world, plan = frozen_and_joint(combs)
    alone, whole = frozen.collect(world, plan), joint.collect(world, plan)
    assert isinstance(alone, Choices)
    assert isinstance(whole, NavBatch)
    assert len(alone.target) == int(whole.active.sum())
    parts = []
    for weight in (0.0, 1.0):
        joint.settings = replace(joint.settings, policy_weight=weight)
        parts.append(joint(whole).detach())
    torch.testing.assert_close(frozen(alone), parts[1] - parts[0], rtol=1e-4, atol=1e-4)


def test_a_frozen_filter_stays_as_it_is(combs: Path, goal_run: Path, tmp_path: Path) -> None:
    experiment = agent_experiment(freeze_filter=True, iterations=3, checkpoint_every=3, ema=0.5)
    data = load(combs, experiment)
    task = trained(experiment, data, tmp_path, goal_run)
    before, after = load_checkpoint(goal_run).part("model"), task.model.state_dict()
    for name, value in after.items():
        if not name.startswith(POLICY):
            torch.testing.assert_close(value, before[name], rtol=0, atol=0)
    assert task.draw(0, Share()).masks is None
    optimised = {name.split("/")[0] for name in load_checkpoint(tmp_path / LAST).part("optimiser")}
    assert len(optimised) == sum(1 for value in task.parameters() if value.requires_grad)
    METHOD.check_start(experiment, tmp_path, None)
    again = trained(experiment, data, tmp_path).model.state_dict()  # done already: the filter is in the checkpoint
    for name, value in after.items():
        torch.testing.assert_close(again[name], value, rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["together", "frozen", "seq2seq"])
def test_resume_goes_on_bit_for_bit(kind: str, combs: Path, goal_run: Path, tmp_path: Path) -> None:
    settings = {"iterations": 4, "checkpoint_every": 2, "evaluate_every": 1, "ema": 0.5}
    agents = {"frozen": agent_experiment(freeze_filter=True, **settings), "seq2seq": seq2seq_experiment(**settings)}
    experiment = agents.get(kind, agent_experiment(**settings))
    data, warm, calls = load(combs, experiment), goal_run if kind == "frozen" else None, []

    def steady() -> dict[str, float]:
        return {"score": 0.0}

    def interrupted() -> dict[str, float]:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return {"score": 0.0}

    whole = trained(experiment, data, tmp_path / "whole", warm, steady).model.state_dict()
    with unchecked():
        with pytest.raises(KeyboardInterrupt):
            trained(experiment, data, tmp_path / "half", warm, interrupted)
        resumed = trained(experiment, data, tmp_path / "half", warm, steady).model.state_dict()
    for name, value in whole.items():
        torch.testing.assert_close(resumed[name], value, rtol=0, atol=0)
    assert losses(tmp_path / "half") == losses(tmp_path / "whole")


def test_a_frozen_filter_needs_a_start(tmp_path: Path) -> None:
    experiment = agent_experiment(freeze_filter=True, iterations=1)
    with pytest.raises(ConfigError, match="name one with --warm-start RUN"):
        METHOD.check_start(experiment, tmp_path, None)


def test_landmark_presets_see_what_the_shipped_filter_sees() -> None:
    shown = landmarks_improved().data.landmarks
    assert landmarks_seq2seq().data.landmarks == shown
    assert landmarks_agent().data.landmarks == replace(shown, captions=True, detections=True)
    assert (shown.sight_m, shown.vectors, shown.lines, shown.doors) == (12.0, True, True, True)


def test_warm_start_refuses_what_was_trained_on_other_data(combs: Path, goal_run: Path) -> None:
    experiment = agent_experiment(iterations=0)
    data = load(combs, experiment)
    words = replace(data.vocabulary, words=(*data.vocabulary.words[:-1], "elsewhere"))
    other = replace(data, reading=replace(data.reading, vocabulary=words))
    with pytest.raises(DataError, match=r"other data \(another vocabulary\).*train both on the same data root"):
        task_of(experiment, other, warm_start=goal_run)


def test_warm_start_refuses_weights_of_another_kind(combs: Path, goal_run: Path, tmp_path: Path) -> None:
    experiment = agent_experiment(iterations=0)
    data, file = load(combs, experiment), find_checkpoint(goal_run)
    whole = respoilt(file, tmp_path / "x.safetensors", lambda name, value: value.int() if "mapper" in name else value)
    with pytest.raises(DataError, match=r"a model of other sizes .*whole numbers, expected numbers with a fraction"):
        task_of(experiment, data, warm_start=whole)
    stored = load_checkpoint(file)
    more = write_checkpoint(tmp_path / "y.safetensors", stored.tensors | {"model/other": torch.ones(1)}, stored.about)
    with pytest.raises(DataError, match="the model has no other"):
        task_of(experiment, data, warm_start=more)
