"""Two processes train as one does: the filter, and agents with and without it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lightning_fabric import Fabric
from torch.testing import assert_close

from checks import unchecked
from experiments import task_of
from forked import Forked
from ghosts.cli._launch import launch
from ghosts.train.trainer import RunFiles, train
from ghosts.weights.checkpoint import LAST, load_checkpoint
from landmark_world import load, make_landmark_root, small_experiment
from trainings import agent_experiment, one_process, rows_of, scored_task

Train = Callable[[Fabric, Path], None]


def trainings(folder: Path, start: Path) -> dict[str, Train]:
    """The filter; an agent with its filter; one on a filter that stays as it is."""
    goal = small_experiment(iterations=2, checkpoint_every=2)
    train(task_of(goal, load(folder, goal)), one_process(), RunFiles.of(start), threads=0)
    settings = {"iterations": 3, "log_every": 1, "checkpoint_every": 3}

    def filtering(fabric: Fabric, out: Path) -> None:
        how: dict[str, Any] = {"iterations": 3, "log_every": 1, "evaluate_every": 3, "ema": 0.9}
        train(scored_task(folder, how), fabric, RunFiles.of(out), threads=1)

    def acting(fabric: Fabric, out: Path, freeze: bool, warm_start: Path | None = None) -> None:
        experiment = agent_experiment(freeze_filter=freeze, **settings)
        task = task_of(experiment, load(folder, experiment), warm_start=warm_start)
        train(task, fabric, RunFiles.of(out), threads=0)

    return {
        "filter": filtering,
        "together": partial(acting, freeze=False),
        "frozen": partial(acting, freeze=True, warm_start=start / LAST),
    }


class Second(Forked):
    """The process that Fabric starts beside its own: what it would run goes on from here instead."""

    def __init__(self, do: Callable[[], object], command: list[str], env: dict[str, str], cwd: None) -> None:
        super().__init__(do, **env)

    def poll(self) -> int | None:
        """As of a process that was started."""
        return None if self.running else self.end()


def train_by_two(kinds: dict[str, Train], out: Path) -> None:
    """All kinds, one after the other by the same two processes."""

    def share() -> None:
        fabric = launch("cpu", devices=2)
        for kind, do in kinds.items():
            do(fabric, out / kind)

    def first() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subprocess, "Popen", partial(Second, share))
            share()

    process = Forked(first, trains=True)
    assert process.end() == 0, process.errors()[-2000:]


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    with unchecked():
        kinds = trainings(make_landmark_root(tmp_path / "root"), tmp_path / "start")
        train_by_two(kinds, tmp_path / "two")
        for kind, do in kinds.items():
            do(one_process(), tmp_path / "one" / kind)
    # An agent's batch of 8, shared 4 + 4; walks are of unequal length. Sums are in another order: losses agree to 1e-5.
    for kind in ("together", "frozen"):
        runs = tmp_path / "one" / kind, tmp_path / "two" / kind
        one, two = ([row["loss"] for row in rows_of(out) if "loss" in row] for out in runs)
        assert len(one) == 3
        assert two == pytest.approx(one, rel=1e-5)
    # The filter's batch of 4, shared 2 + 2: weights agree to 1e-4.
    runs = tmp_path / "one" / "filter", tmp_path / "two" / "filter"
    rows = [rows_of(out) for out in runs]
    assert [row.keys() for row in rows[0]] == [row.keys() for row in rows[1]]
    for mine, theirs in zip(*rows):
        assert theirs == pytest.approx(mine, rel=1e-5)
    first, second = (load_checkpoint(out / LAST) for out in runs)
    for name, value in first.part("model").items():
        assert_close(second.part("model")[name], value, rtol=1e-4, atol=1e-4)
