"""Small trainings that several tests share: a filter with a score, agents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from lightning_fabric import Fabric

from experiments import acting, seq2seq_of
from ghosts.data.examples import Selection
from ghosts.evaluate.goal import Execution, evaluate_goal
from ghosts.methods.ghost.goal import FilterTask
from ghosts.methods.ghost.settings import AgentExperiment
from ghosts.methods.seq2seq.settings import DecoderConfig, Seq2SeqExperiment
from ghosts.weights.checkpoint import LOG
from landmark_world import load, small_experiment


class ScoredTask(FilterTask):
    """Scored on few time steps, in batches small enough that several processes share them."""

    def score(self, fabric: Fabric) -> dict[str, float]:
        """Success and error on the selection."""
        assert self.selection is not None
        scores = evaluate_goal(self.model, self.data, self.selection.examples, Execution(fabric, batch=5), steps=3)
        split = self.selection.split
        return {f"{split} success": float(scores.success.mean()), f"{split} error": float(scores.error_m.mean())}


def scored_task(root: Path, settings: dict[str, Any], split: str = "val_seen") -> ScoredTask:
    """The small filter, scored on an instruction of each path of a split; `settings` change how it is trained."""
    experiment = small_experiment(**settings)
    data = load(root, experiment)
    return ScoredTask(experiment, data, Selection(split, data.examples(split)[::3]))


def agent_experiment(**train: Any) -> AgentExperiment:
    """A small agent that reads the regions beyond its candidates; `train` changes how it is trained."""
    base = small_experiment(agent_steps=4, batch=8)
    model = replace(base.model, policy=replace(base.model.policy, beyond=True))
    return acting(base, model, step_limit=8, **train)


def seq2seq_experiment(**train: Any) -> Seq2SeqExperiment:
    """A small sequence-to-sequence agent; `train` changes how it is trained."""
    return seq2seq_of(small_experiment(agent_steps=4, batch=8), DecoderConfig(16, 4, 0.0), **train)


def one_process() -> Fabric:
    """A CPU."""
    return Fabric(accelerator="cpu", devices=1)


def rows_of(out: Path) -> list[dict[str, float]]:
    """The log of a run's folder, or beside a backbone's file, without what depends on the clock."""
    log = out / LOG if out.is_dir() else out.with_suffix(".log.jsonl")
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    return [{name: row[name] for name in row if name not in ("episodes_per_s", "waiting")} for row in rows]


def small_options(iterations: int = 2, log_every: int = 2) -> list[str]:
    """Of `ghosts train goal`: little of everything."""
    return [
        *("--preset", "tiny", "--device", "cpu", "--model.mapper.rows", "32", "--model.mapper.cols", "32"),
        *("--model.mapper.features", "8", "--model.mapper.channels", "8", "--train.batch", "4"),
        *("--train.iterations", str(iterations), "--train.log-every", str(log_every), "--train.evaluate-every", "2"),
        *("--select-examples", "4"),
    ]
