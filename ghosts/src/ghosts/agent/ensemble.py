"""Several models as one: their beliefs are averaged, and so are their policies' choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.agent.agent import STEP_LIMIT, Action, Carry, Choose, GhostAgent, Percept, Thought, act, choose_best
from ghosts.agent.known import KnownGraph
from ghosts.agent.model import Briefing, GoalModel, Prediction, mean_prediction
from ghosts.agent.planner import Planner
from ghosts.mapping.observations import Observations


class Ensemble(nn.Module):
    """A goal predictor of several.

    Args:
        models: with beliefs of one shape.
    """

    def __init__(self, models: Sequence[GoalModel]) -> None:
        super().__init__()
        self.config, self.models = models[0].config, nn.ModuleList(models)

    @property
    def members(self) -> list[GoalModel]:
        """The models."""
        return list(self.models)  # type: ignore[arg-type]

    @torch.no_grad()
    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        """See `act.model.Predictor`."""
        predictions = [model.predict(briefing, seen) for model in self.members]
        return mean_prediction([one.goal for one in predictions], predictions[0].grid)


@dataclass(frozen=True)
class EnsembleCarry:
    """What each member knows; where they stand is the same for all."""

    members: tuple[Carry, ...]

    @property
    def known(self) -> KnownGraph:
        """The graph seen so far."""
        return self.members[0].known

    @property
    def stopped(self) -> Bool[np.ndarray, " b"]:
        """Walkers that have stopped."""
        return self.members[0].stopped


class EnsembleAgent:
    """Acts on the mean belief of several models, by the mean of their policies' log-probabilities.

    Args:
        ensemble: the models.
        planner: chooses instead of the policies.
        step_limit: see `GhostAgent`.
    """

    def __init__(self, ensemble: Ensemble, planner: Planner | None = None, step_limit: int = STEP_LIMIT) -> None:
        self.agents = [GhostAgent(model, planner, step_limit) for model in ensemble.members]

    def start(
        self,
        briefing: Briefing,
        viewpoint: Int[np.ndarray, " b"],
        beliefs: Float[Tensor, "b t1 c y x"] | None = None,
    ) -> EnsembleCarry:
        """Read the instructions; see `GhostAgent.start`."""
        return EnsembleCarry(tuple(agent.start(briefing, viewpoint, beliefs) for agent in self.agents))

    def step(
        self, carry: EnsembleCarry, percept: Percept, choose: Choose = choose_best
    ) -> tuple[EnsembleCarry, Action, Thought]:
        """Look, think, move; the thought is the first member's, on the mean belief."""
        looked = [agent.look(one, percept) for agent, one in zip(self.agents, carry.members)]
        mean = torch.stack([agent.beliefs(one) for agent, one in zip(self.agents, looked)]).mean(0)
        thoughts = [agent.think(replace(one, beliefs=mean)) for agent, one in zip(self.agents, looked)]
        table = np.mean([thought.table for thought in thoughts], 0)
        thought = replace(thoughts[0], table=table)
        known = looked[0].known
        moved, action = act(known, choose(known, table, thought.active), carry.stopped)
        after = tuple(replace(one, known=moved, stopped=action.stopped) for one in looked)
        return EnsembleCarry(after), action, thought
