"""A training run in a process of its own, for tests that kill it or share it: ROOT OUT PROCESSES, settings as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from lightning_fabric import Fabric

from ghosts.data.examples import Selection
from ghosts.evaluate.goal import Execution, evaluate_goal
from ghosts.learn.goal import FilterTask
from ghosts.learn.trainer import RunFiles, train
from landmark_world import load, small_experiment


class ScoredTask(FilterTask):
    """Scored on few time steps, in batches small enough that several processes share them."""

    def score(self, fabric: Fabric) -> dict[str, float]:
        """Success and error on the selection."""
        assert self.selection is not None
        scores = evaluate_goal(self.model, self.data, self.selection.examples, Execution(fabric, batch=5), steps=3)
        split = self.selection.split
        return {f"{split} success": float(scores.success.mean()), f"{split} error": float(scores.error_m.mean())}


def scored_task(root: Path, settings: dict[str, object], split: str = "val_seen") -> ScoredTask:
    """The small filter, scored on a split; `settings` change how it is trained."""
    experiment = small_experiment(**settings)
    data = load(root, experiment)
    return ScoredTask(experiment, data, Selection(split, data.examples(split)))


def main(root: str, out: str, processes: str, settings: str) -> None:
    torch.set_num_threads(1)
    strategy = "ddp_find_unused_parameters_true" if int(processes) > 1 else "auto"
    fabric = Fabric(accelerator="cpu", devices=int(processes), strategy=strategy)
    fabric.launch()
    train(scored_task(Path(root), json.loads(settings)), fabric, RunFiles.of(Path(out)), threads=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
