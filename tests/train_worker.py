"""A training run in a process of its own, for tests that kill it or share it: ROOT OUT PROCESSES, settings as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from lightning.fabric import Fabric

from ghosts.evaluate.goal import evaluate_goal
from ghosts.learn.data import GoalData
from ghosts.learn.loop import Run, train_goal
from ghosts.learn.tasks import GoalTask
from landmark_world import load, small_experiment


def scorer(data: GoalData, fabric: Fabric, split: str = "val_seen", batch: int = 5):
    """Success and error on a split, shared by the processes."""

    def score(task: GoalTask) -> dict[str, float]:
        settings = {"stored": None, "device": fabric.device, "batch": batch, "fabric": fabric, "steps": 3}
        scores = evaluate_goal(task, data.root, data.splits[split], data.builder, **settings)
        return {f"{split} success": float(scores.success.mean()), f"{split} error": float(scores.error_m.mean())}

    return score


def main(root: str, out: str, processes: str, settings: str) -> None:
    torch.set_num_threads(1)
    experiment = small_experiment(**json.loads(settings))
    data = load(Path(root), experiment)
    strategy = "ddp_find_unused_parameters_true" if int(processes) > 1 else "auto"
    fabric = Fabric(accelerator="cpu", devices=int(processes), strategy=strategy)
    fabric.launch()
    train_goal(Run(experiment, data, Path(out), scorer(data, fabric), threads=1), fabric)


if __name__ == "__main__":
    main(*sys.argv[1:])
