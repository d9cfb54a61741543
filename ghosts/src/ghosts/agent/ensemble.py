"""Several models as one: their beliefs are averaged, and so are their policies' choices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ghosts.agent.interface import Briefing, FilterModel, Prediction, mean_prediction
from ghosts.agent.loop import (
    Action,
    Belief,
    Carry,
    Choose,
    GhostAgent,
    Observation,
    P,
    Score,
    choose_best,
    decide,
    looked_at,
)
from ghosts.config import STEP_LIMIT
from ghosts.mapping.observations import Observations


class Ensemble(nn.Module):
    """A goal predictor of several.

    Args:
        models: with beliefs of one shape.
    """

    def __init__(self, models: Sequence[FilterModel]) -> None:
        super().__init__()
        self.config, self.models = models[0].config, nn.ModuleList(models)

    @property
    def members(self) -> list[FilterModel]:
        """The models."""
        return list(self.models)  # type: ignore[arg-type]

    @torch.no_grad()
    def predict(self, briefing: Briefing, seen: Observations) -> Prediction:
        predictions = [model.predict(briefing, seen) for model in self.members]
        attended = [one.attention for one in predictions if one.attention is not None]
        attention = torch.stack(attended).mean(0) if len(attended) == len(predictions) else None
        return mean_prediction([one.goal for one in predictions], predictions[0].grid, attention)


@dataclass(frozen=True)
class EnsembleCarry(Generic[P]):
    """What each member knows; where they stand is the same for all."""

    members: tuple[Carry[P], ...]

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

    def __init__(self, ensemble: Ensemble, planner: Score | None = None, step_limit: int = STEP_LIMIT) -> None:
        self.agents = [GhostAgent(model, planner, step_limit) for model in ensemble.members]

    def start(self, briefing: Briefing, beliefs: Float[Tensor, "b t1 c y x"] | None = None) -> EnsembleCarry[P]:
        """Read the instructions, each member for itself."""
        return EnsembleCarry(tuple(agent.start(briefing, beliefs) for agent in self.agents))

    def look(self, carry: EnsembleCarry[P], observation: Observation[P]) -> EnsembleCarry[P]:
        """Add what is observed to each member's map."""
        return EnsembleCarry(tuple(agent.look(one, observation) for agent, one in zip(self.agents, carry.members)))

    def think(self, carry: EnsembleCarry[P]) -> Belief:
        """The mean belief."""
        beliefs = [agent.think(one) for agent, one in zip(self.agents, carry.members)]
        return replace(beliefs[0], trace=None, mass=torch.stack([belief.mass for belief in beliefs]).mean(0))

    def act(
        self, carry: EnsembleCarry[P], belief: Belief, choose: Choose[P] = choose_best
    ) -> tuple[EnsembleCarry[P], Action[P]]:
        """Choose by the mean of the members' scores."""
        scored = [agent.score(one, belief) for agent, one in zip(self.agents, carry.members)]
        table = np.mean([table for _, table in scored], 0)
        action = decide(looked_at(carry.members[0].places), carry.stopped, table, choose, scored[0][0])
        return EnsembleCarry(tuple(replace(one, stopped=action.stopped) for one in carry.members)), action
