"""Two processes train as one does: the filter, and agents with and without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lightning_fabric import Fabric
from torch.testing import assert_close

from ghosts.learn.goal import goal_task
from ghosts.learn.trainer import RunFiles, train
from ghosts.weights.checkpoint import LAST, load_checkpoint
from landmark_world import load, make_landmark_root, small_experiment
from vln_worker import train_shared

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_landmark_root(tmp_path_factory.mktemp("processes") / "root")


@pytest.fixture(scope="module")
def kinds(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Settings of trainings: the filter; an agent with its filter; one on a filter that stays as it is."""
    goal, start = small_experiment(iterations=2, checkpoint_every=2), tmp_path_factory.mktemp("start")
    train(goal_task(goal, load(folder, goal)), alone(), RunFiles.of(start), threads=0)
    settings = {"iterations": 4, "log_every": 1, "checkpoint_every": 4}
    frozen = {"navigation": {"freeze_filter": True}, "train": settings, "warm_start": str(start / LAST)}
    return {
        "filter": {"goal": {"iterations": 5, "log_every": 1, "evaluate_every": 5, "ema": 0.9}},
        "together": {"navigation": {"freeze_filter": False}, "train": settings},
        "frozen": frozen,
    }


def alone() -> Fabric:
    return Fabric(accelerator="cpu", devices=1)


@pytest.fixture(scope="module")
def shared(folder: Path, kinds: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All kinds, trained one after the other by the same two processes: starting them takes longer than training."""
    out = tmp_path_factory.mktemp("two")
    arguments = [sys.executable, str(TESTS / "vln_worker.py"), str(folder), str(out), "2", json.dumps(kinds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    return out


def rows_of(out: Path) -> list[dict[str, float]]:
    """The log without what depends on the clock."""
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{name: row[name] for name in row if name not in ("episodes_per_s", "waiting")} for row in rows]


@pytest.mark.parametrize("kind", ["together", "frozen"])
def test_agents(kind: str, folder: Path, kinds: dict[str, Any], shared: Path, tmp_path: Path) -> None:
    """A batch of 8, shared 4 + 4; walks are of unequal length. Sums are in another order: losses agree to 1e-5."""
    train_shared(folder, tmp_path, alone(), kinds[kind])
    one, two = ([row["loss"] for row in rows_of(out) if "loss" in row] for out in (tmp_path, shared / kind))
    assert len(one) == 4
    assert two == pytest.approx(one, rel=1e-5)


def test_the_filter(folder: Path, kinds: dict[str, Any], shared: Path, tmp_path: Path) -> None:
    """Same batch of 4, shared 2 + 2. Sums are in another order, so losses agree to 1e-5, weights to 1e-4."""
    train_shared(folder, tmp_path, alone(), kinds["filter"])
    one, two = rows_of(tmp_path), rows_of(shared / "filter")
    assert [row.keys() for row in one] == [row.keys() for row in two]
    for mine, theirs in zip(one, two):
        assert theirs == pytest.approx(mine, rel=1e-5)
    first, second = load_checkpoint(tmp_path / LAST), load_checkpoint(shared / "filter" / LAST)
    for name, value in first.part("model").items():
        assert_close(second.part("model")[name], value, rtol=1e-4, atol=1e-4)
