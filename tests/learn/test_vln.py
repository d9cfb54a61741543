"""Agents trained by the common loop: shared by processes, on a frozen filter, from a warm start."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.fabric import Fabric

from ghosts.errors import ConfigError, DataError
from ghosts.learn.batches import Turn
from ghosts.learn.checkpoint import LAST, load_checkpoint
from ghosts.learn.loop import Run, train_goal
from ghosts.learn.navigate import Choices, NavBatch, NavigationTask, plan_walks
from ghosts.learn.rollout import World
from ghosts.learn.vln import POLICY, train_vln
from ghosts.presets import NavigationConfig, landmarks_agent, landmarks_improved, landmarks_seq2seq
from landmark_world import load, make_landmark_root, small_experiment
from vln_worker import train_shared, vln_experiment

TESTS = Path(__file__).parents[1]
CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_landmark_root(tmp_path_factory.mktemp("vln") / "root")


@pytest.fixture(scope="module")
def goal_run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A goal predictor to start from."""
    goal, out = small_experiment(iterations=2, checkpoint_every=2), tmp_path_factory.mktemp("goal")
    train_goal(Run(goal, load(folder, goal), out, threads=0), fabric())
    return out / LAST


def fabric() -> Fabric:
    return Fabric(accelerator="cpu", devices=1)


def losses(out: Path) -> list[float]:
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [row["loss"] for row in rows if "loss" in row]


def kinds(goal_run: Path) -> dict[str, Any]:
    """Settings of trainings of both kinds."""
    train = {"iterations": 4, "log_every": 1, "checkpoint_every": 4}
    frozen = {"navigation": {"freeze_filter": True}, "train": train, "warm_start": str(goal_run)}
    return {"together": {"navigation": {"freeze_filter": False}, "train": train}, "frozen": frozen}


@pytest.fixture(scope="module")
def shared(folder: Path, goal_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both kinds, trained one after the other by the same two processes: starting them takes longer than training."""
    out = tmp_path_factory.mktemp("two")
    arguments = [sys.executable, str(TESTS / "vln_worker.py"), str(folder), str(out), "2", json.dumps(kinds(goal_run))]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    return out


@pytest.mark.parametrize("kind", ["together", "frozen"])
def test_two_processes_give_the_losses_of_one(
    kind: str, folder: Path, goal_run: Path, shared: Path, tmp_path: Path
) -> None:
    """A batch of 8, shared 4 + 4; walks are of unequal length. Sums are in another order: losses agree to 1e-5."""
    train_shared(folder, tmp_path, fabric(), kinds(goal_run)[kind])
    assert len(losses(tmp_path)) == 4
    assert losses(shared / kind) == pytest.approx(losses(tmp_path), rel=1e-5)


def frozen_and_joint(folder: Path) -> tuple[NavigationTask, NavigationTask, World, Any]:
    experiment = vln_experiment({}, {})
    data = load(folder, experiment)
    assert data.labels is not None
    torch.manual_seed(0)
    settings = (NavigationConfig(own_actions=0.0, freeze_filter=freeze) for freeze in (True, False))
    frozen, joint = (NavigationTask(experiment.model, navigation, len(data.labels)) for navigation in settings)
    joint.load_state_dict(frozen.state_dict())
    world = World(data.root, data.builder, data.root.scans, frozen.features, None, CPU)
    examples = data.train[::9]
    randoms = [np.random.default_rng(k) for k in range(len(examples))]
    plan = plan_walks(examples, [Turn()] * len(examples), randoms, 4, 0.0)
    return frozen.eval(), joint.eval(), world, plan


def test_a_frozen_filters_loss_is_the_policys_part_of_the_whole(folder: Path) -> None:
    frozen, joint, world, plan = frozen_and_joint(folder)
    alone, whole = frozen.collect(world, plan), joint.collect(world, plan)
    assert isinstance(alone, Choices)
    assert isinstance(whole, NavBatch)
    assert len(alone.target) == int(whole.active.sum())
    weights = [replace(joint.navigation, policy_weight=weight) for weight in (0.0, 1.0)]
    parts = []
    for navigation in weights:
        joint.navigation = navigation
        parts.append(joint(whole, None, None).detach())
    torch.testing.assert_close(frozen(alone, None, None), parts[1] - parts[0], rtol=1e-4, atol=1e-4)


def test_a_frozen_filter_stays_as_it_is(folder: Path, goal_run: Path, tmp_path: Path) -> None:
    experiment = vln_experiment({"freeze_filter": True}, {"iterations": 3, "checkpoint_every": 3, "ema": 0.5})
    run = Run(experiment, load(folder, experiment), tmp_path, threads=0)
    task = train_vln(run, fabric(), goal_run)
    before = load_checkpoint(goal_run).part("model")
    for name, value in task.state_dict().items():
        if not name.startswith(POLICY):
            torch.testing.assert_close(value, before[name], rtol=0, atol=0)
    assert task.draw_masks(8, torch.Generator()) is None
    optimised = {name.split("/")[0] for name in load_checkpoint(tmp_path / LAST).part("optimiser")}
    assert len(optimised) == sum(1 for value in task.parameters() if value.requires_grad)
    again = train_vln(run, fabric())  # done already: the filter comes from the checkpoint
    for name, value in task.state_dict().items():
        torch.testing.assert_close(again.state_dict()[name], value, rtol=0, atol=0)


@pytest.mark.parametrize("kind", ["together", "frozen", "seq2seq"])
def test_resume_goes_on_bit_for_bit(kind: str, folder: Path, goal_run: Path, tmp_path: Path) -> None:
    navigation = {"agent": "seq2seq"} if kind == "seq2seq" else {"freeze_filter": kind == "frozen"}
    experiment = vln_experiment(navigation, {"iterations": 4, "checkpoint_every": 2, "evaluate_every": 1, "ema": 0.5})
    data, warm, calls = load(folder, experiment), goal_run if kind == "frozen" else None, []

    def steady(_: Any) -> dict[str, float]:
        return {"score": 0.0}

    def interrupted(_: Any) -> dict[str, float]:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return {"score": 0.0}

    whole = train_vln(Run(experiment, data, tmp_path / "whole", steady, threads=0), fabric(), warm)
    with pytest.raises(KeyboardInterrupt):
        train_vln(Run(experiment, data, tmp_path / "half", interrupted, threads=0), fabric(), warm)
    resumed = train_vln(Run(experiment, data, tmp_path / "half", steady, threads=0), fabric(), warm)
    for name, value in whole.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], value, rtol=0, atol=0)
    assert losses(tmp_path / "half") == losses(tmp_path / "whole")


def test_a_frozen_filter_needs_a_start(folder: Path, tmp_path: Path) -> None:
    experiment = vln_experiment({"freeze_filter": True}, {"iterations": 1})
    with pytest.raises(ConfigError, match="name one with --warm-start RUN"):
        train_vln(Run(experiment, load(folder, experiment), tmp_path, threads=0), fabric())
    with pytest.raises(ConfigError, match=r"navigation.freeze_filter needs navigation.agent filter, got 'seq2seq'"):
        vln_experiment({"freeze_filter": True, "agent": "seq2seq"}, {})


def test_landmark_presets_see_what_the_shipped_filter_sees() -> None:
    shown = landmarks_improved().landmarks
    assert landmarks_agent().landmarks == landmarks_seq2seq().landmarks == shown
    assert shown.sight_m == 5.0


def test_warm_start_refuses_what_was_trained_on_other_data(folder: Path, goal_run: Path, tmp_path: Path) -> None:
    experiment = vln_experiment({}, {"iterations": 0})
    data = load(folder, experiment)
    words = replace(data.builder.vocabulary, words=(*data.builder.vocabulary.words[:-1], "elsewhere"))
    other = replace(data, builder=replace(data.builder, vocabulary=words))
    with pytest.raises(DataError, match=r"other data \(another vocabulary\).*train both on the same data root"):
        train_vln(Run(experiment, other, tmp_path, threads=0), fabric(), goal_run)
