"""Trainings in processes of their own, for tests: ROOT OUT PROCESSES, settings by name as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric

from ghosts.config import NavigationConfig, Seq2SeqConfig, VlnExperiment
from ghosts.learn.trainer import RunFiles, train
from ghosts.learn.vln import navigation_task
from ghosts.presets import tiny_agent
from landmark_world import load, small_experiment
from train_worker import scored_task


def vln_experiment(navigation: dict[str, Any], train: dict[str, Any]) -> VlnExperiment:
    """A small agent that reads the regions beyond its candidates."""
    base = small_experiment(agent_steps=4, batch=8, **train)
    model = replace(base.model, policy=replace(base.model.policy, beyond=True))
    settings = NavigationConfig(step_limit=8, seq2seq=Seq2SeqConfig(16, 4, 0.0), **navigation)
    return replace(tiny_agent(), model=model, train=base.train, navigation=settings)


def start(processes: int) -> Fabric:
    """As many processes as Fabric is told."""
    strategy = "ddp_find_unused_parameters_true" if processes > 1 else "auto"
    fabric = Fabric(accelerator="cpu", devices=processes, strategy=strategy)
    fabric.launch()
    return fabric


def train_shared(root: Path, out: Path, fabric: Fabric, settings: dict[str, Any]) -> None:
    """Train in as many processes as there are; a warm start is named in the settings. `goal` alone: no agent."""
    if "goal" in settings:
        train(scored_task(root, settings["goal"]), fabric, RunFiles.of(out), threads=1)
        return
    experiment = vln_experiment(settings["navigation"], settings["train"])
    warm = settings.get("warm_start")
    task = navigation_task(experiment, load(root, experiment), warm_start=Path(warm) if warm else None)
    train(task, fabric, RunFiles.of(out), threads=0)


def main(root: str, out: str, processes: str, runs: str) -> None:
    torch.set_num_threads(1)
    fabric = start(int(processes))
    for name, settings in json.loads(runs).items():
        train_shared(Path(root), Path(out) / name, fabric, settings)


if __name__ == "__main__":
    main(*sys.argv[1:])
