"""The paper's method: a Bayes filter that tracks the person who gave the directions, and a policy on its belief."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ghosts.methods.ghost import presets
from ghosts.methods.ghost.settings import AgentExperiment, FilterExperiment
from ghosts.methods.method import Method
from ghosts_sim.errors import ConfigError

if TYPE_CHECKING:
    from torch import nn

    from ghosts.agent.interface import FilterModel
    from ghosts.agent.loop import Agent
    from ghosts.data.dataset import Dataset
    from ghosts.data.examples import Selection
    from ghosts.train.task import EpisodeTask


class GhostMethod(Method):
    """Filter and agent. A variant can be a subclass with a `model` and presets of its own."""

    model = "ghosts.methods.ghost.model:GoalModel"
    trained_by = "ghosts.methods.ghost.goal:FilterTask"
    predicts = starts = True

    def check_start(self, experiment: FilterExperiment | AgentExperiment, out: Path, warm_start: Path | None) -> None:
        from ghosts.weights.checkpoint import LAST

        super().check_start(experiment, out, warm_start)
        if warm_start is None and isinstance(experiment, AgentExperiment):
            frozen = experiment.train.freeze_filter and not experiment.train.true_beliefs
            if frozen and not (out / LAST).is_file():
                raise ConfigError(
                    "train.freeze_filter keeps a trained filter; name one with --warm-start RUN, or train both "
                    "together with --train.no-freeze-filter"
                )

    def task(
        self,
        experiment: FilterExperiment | AgentExperiment,
        data: Dataset,
        selection: Selection | None = None,
        warm_start: Path | None = None,
    ) -> EpisodeTask[Any, Any]:
        from ghosts.methods.ghost.act import NavigationTask
        from ghosts.train.start import start_from
        from ghosts.weights import only_filter

        if isinstance(experiment, FilterExperiment):
            return super().task(experiment, data, selection, warm_start)
        task = NavigationTask(experiment, data, selection)
        if warm_start is not None:
            taken = not (only_filter(warm_start) or experiment.train.fresh_policy)
            start_from(task, warm_start, policy=taken)
        return task

    def filter(self, model: nn.Module) -> FilterModel | None:
        from ghosts.agent.interface import FilterModel

        return model if isinstance(model, FilterModel) else None

    def agent(
        self, name: str, model: nn.Module, experiment: FilterExperiment | AgentExperiment, *, planner: bool = False
    ) -> Agent[Any, Any, Any]:
        from ghosts.agent.ensemble import Ensemble, EnsembleAgent
        from ghosts.agent.interface import FilterModel
        from ghosts.agent.loop import GhostAgent
        from ghosts.agent.planner import Planner

        if not (experiment.acts or planner):
            raise ConfigError(f"{name} predicts goals and was not trained to act; add --planner")
        chooses = Planner(experiment.planner) if planner else None
        if isinstance(model, Ensemble):
            return EnsembleAgent(model, chooses, experiment.model.step_limit)
        assert isinstance(model, FilterModel), "a model of this method"
        return GhostAgent(model, chooses, experiment.model.step_limit)


METHOD = GhostMethod("ghost", "a filter", (*presets.GOAL, *presets.ACT))
