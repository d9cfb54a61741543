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


def kinds_of_training(folder: Path, start: Path) -> dict[str, Any]:
    """Settings of trainings: the filter; an agent with its filter; one on a filter that stays as it is."""
    goal = small_experiment(iterations=2, checkpoint_every=2)
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


def train_by_two(folder: Path, kinds: dict[str, Any], out: Path) -> Path:
    """All kinds, trained one after the other by the same two processes: starting them takes longer than training."""
    arguments = [sys.executable, str(TESTS / "vln_worker.py"), str(folder), str(out), "2", json.dumps(kinds)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr[-2000:]
    return out


def rows_of(out: Path) -> list[dict[str, float]]:
    """The log without what depends on the clock."""
    rows = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [{name: row[name] for name in row if name not in ("episodes_per_s", "waiting")} for row in rows]


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    """One test: several could meet in several workers, and each would start the two processes again."""
    folder = make_landmark_root(tmp_path / "root")
    kinds = kinds_of_training(folder, tmp_path / "start")
    shared = train_by_two(folder, kinds, tmp_path / "two")
    for kind in kinds:
        train_shared(folder, tmp_path / "one" / kind, alone(), kinds[kind])
    # An agent's batch of 8, shared 4 + 4; walks are of unequal length. Sums are in another order: losses agree to 1e-5.
    for kind in ("together", "frozen"):
        runs = tmp_path / "one" / kind, shared / kind
        one, two = ([row["loss"] for row in rows_of(out) if "loss" in row] for out in runs)
        assert len(one) == 4
        assert two == pytest.approx(one, rel=1e-5)
    # The filter's batch of 4, shared 2 + 2: weights agree to 1e-4.
    rows = [rows_of(out) for out in (tmp_path / "one" / "filter", shared / "filter")]
    assert [row.keys() for row in rows[0]] == [row.keys() for row in rows[1]]
    for mine, theirs in zip(*rows):
        assert theirs == pytest.approx(mine, rel=1e-5)
    first, second = (load_checkpoint(out / "filter" / LAST) for out in (tmp_path / "one", shared))
    for name, value in first.part("model").items():
        assert_close(second.part("model")[name], value, rtol=1e-4, atol=1e-4)
