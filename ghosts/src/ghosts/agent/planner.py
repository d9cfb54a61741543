"""Choosing where to go from the belief alone, without learning: a baseline, and a policy for robots that have none.

Every cell's mass belongs to the candidate through which the demonstrator would have reached it, so that mass beyond the
frontier counts for the frontier viewpoint that leads there (`candidates.reach_mass`). Going to an unvisited candidate
is worth the mass of its region: the goal's, and that of passing through it at any step of the trajectory posterior.
Stopping at a visited one is worth the goal's mass around it. Walking costs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from ghosts.agent.candidates import Candidates, reach_mass
from ghosts.config import PlannerConfig
from ghosts_sim.types import Grid


@dataclass(frozen=True)
class Planner:
    """Scores candidates; called as the policy is (`policy.Policy.forward`), with smoothed beliefs."""

    config: PlannerConfig = field(default_factory=PlannerConfig)

    def __call__(
        self,
        candidates: Candidates,
        beliefs: Float[Tensor, "b t1 c y x"],
        start_xy_m: Float[Tensor, "b 2"],
        grid: Grid,
    ) -> Float[Tensor, " k"]:
        """What choosing each candidate is worth, as a probability of success less the cost of walking."""
        settings, episode = self.config, candidates.episode.long()
        reach = reach_mass(candidates, beliefs, start_xy_m, grid, settings.regions)
        through, ending = reach.through, reach.ending
        passing = through[:, 1:].amax(1)
        exploring = (1.0 - settings.passing) * through[:, -1] + settings.passing * passing
        worth = torch.where(candidates.visited, ending, exploring) - settings.metre_cost * candidates.from_agent_m
        surest = worth.new_zeros(len(beliefs)).scatter_reduce(
            0, episode, torch.where(candidates.visited, ending, 0.0), "amax"
        )
        # Sure enough: whatever lies beyond the frontier is not looked at any more.
        done = (surest >= settings.sure).index_select(0, episode)
        return torch.where(done & candidates.visited, worth + 1.0, worth)
