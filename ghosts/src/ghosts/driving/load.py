"""A driving agent from trained weights."""

from __future__ import annotations

from pathlib import Path

from ghosts.driving.agent import ContinuousAgent
from ghosts.run.load import load_run
from ghosts.run.tracker import load_tracker
from ghosts_sim.errors import ConfigError


def make_agent(run: Path, backbone: Path, *, planner: bool = False) -> ContinuousAgent:
    """The agent that drives on a run's belief, by its policy or by the planner, with the backbone it was trained on.

    Raises:
        ConfigError: the run was not trained to act, and no planner is asked for.
    """
    loaded = load_run(run)
    if not (loaded.experiment.acts or planner):
        raise ConfigError(f"{run} predicts goals and was not trained to act; add --planner")
    return ContinuousAgent(load_tracker(run, backbone), loaded.planner() if planner else None)
