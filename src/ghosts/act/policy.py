"""The policy over all viewpoints seen so far (paper, section 3.3), for ragged batches without loops over the batch.

Candidates of all episodes are laid one after the other; `episode` says whose each is. Features of a candidate: position
relative to the start (3), graph distances from the start and from the agent, visited, and the belief around it after
each filter step. Most of the belief lies beyond the frontier, where the paper's policy does not see it; with
`policy.beyond` a candidate also has the belief of the region it leads to.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.belief.histogram import cell_centres_m, gaussian_axes, marginal
from ghosts.config import PolicyConfig, RegionConfig
from ghosts.errors import ConfigError
from ghosts.types import Grid

PLACE_FEATURES = 6


@dataclass(frozen=True)
class Candidates:
    """Viewpoints seen so far in each of b episodes, flat."""

    episode: Int[Tensor, " k"]
    """Which episode each belongs to, in [0, b)."""
    xyz_m: Float[Tensor, "k 3"]
    """Position relative to the episode's start."""
    from_start_m: Float[Tensor, " k"]
    """Length of the shortest known path from the start."""
    from_agent_m: Float[Tensor, " k"]
    """Length of the shortest known path from the agent."""
    visited: Bool[Tensor, " k"]
    """Choosing a visited viewpoint means stop."""


def segment_log_softmax(logits: Float[Tensor, " k"], segment: Int[Tensor, " k"], count: int) -> Float[Tensor, " k"]:
    """Log-softmax within each of `count` segments of a flat array; empty segments are allowed."""
    index = segment.long()
    peak = logits.detach().new_full((count,), -torch.inf).scatter_reduce(0, index, logits.detach(), "amax")
    shifted = logits - peak[index]
    total = logits.new_zeros(count).index_add(0, index, shifted.exp())
    return shifted - total.log()[index]


def segment_arg_max(values: Float[Tensor, " k"], segment: Int[Tensor, " k"], count: int) -> Int[Tensor, " n"]:
    """Flat index of each segment's largest value, the first of equals; −1 for an empty segment."""
    index = segment.long()
    peak = values.new_full((count,), -torch.inf).scatter_reduce(0, index, values, "amax")
    place = torch.arange(len(values), device=values.device)
    place = torch.where(values == peak[index], place, len(values))
    first = torch.full((count,), len(values), device=values.device).scatter_reduce(0, index, place, "amin")
    return torch.where(first == len(values), -1, first)


def belief_around(
    beliefs: Float[Tensor, "b t1 c y x"],
    xy_m: Float[Tensor, "k 2"],
    episode: Int[Tensor, " k"],
    grid: Grid,
    sigma_m: float,
) -> Float[Tensor, "k t1"]:
    """Belief at each filter step in a Gaussian neighbourhood of each position.

    Args:
        beliefs: of each episode, the first one included.
        xy_m: positions, metres from the origin of their episode's map.
        episode: which episode each belongs to.
        grid: the belief's grid.
        sigma_m: of the neighbourhood.

    Returns:
        The mean mass a cell under the Gaussian's weights; differentiable in beliefs and positions.
    """
    columns, rows = gaussian_axes(xy_m.to(beliefs.dtype), grid, sigma_m)
    return weigh((rows[:, :, None] * columns[:, None, :]).flatten(1), marginal(beliefs).flatten(2), episode)


def weigh(
    weights: Float[Tensor, "k cells"], mass: Float[Tensor, "b t1 cells"], episode: Int[Tensor, " k"]
) -> Float[Tensor, "k t1"]:
    """Sum of each candidate's weights times its episode's mass, at each filter step.

    One matrix product an episode: a copy of the mass for each candidate would be t1 times as large as the weights.
    """
    place, rank, most = _ranks(episode, len(mass))
    padded = weights.new_zeros(len(mass), most, weights.shape[1]).index_put((place, rank), weights)
    return (padded @ mass.transpose(1, 2))[place, rank]


def _ranks(episode: Int[Tensor, " k"], count: int) -> tuple[Int[Tensor, " k"], Int[Tensor, " k"], int]:
    """Each candidate's episode and its number among that episode's candidates, and the most an episode has."""
    place = episode.long()
    order = torch.argsort(place, stable=True)
    sizes = torch.bincount(place, minlength=count)
    first = torch.cumsum(sizes, 0) - sizes
    rank = torch.empty_like(place)
    rank[order] = torch.arange(len(place), device=place.device) - first[place[order]]
    return place, rank, int(sizes.max())


def candidate_features(
    candidates: Candidates,
    beliefs: Float[Tensor, "b t1 c y x"],
    start_xy_m: Float[Tensor, "b 2"],
    grid: Grid,
    sigma_m: float,
) -> Float[Tensor, "k f"]:
    """The policy's input: place (6), then belief at each of the T + 1 filter steps.

    Args:
        candidates: all viewpoints seen so far.
        beliefs: of each episode at the present agent step.
        start_xy_m: each episode's start, metres from its map's origin.
        grid: the belief's grid.
        sigma_m: of the neighbourhood.
    """
    xy_m = candidates.xyz_m[:, :2] + start_xy_m.index_select(0, candidates.episode.long())
    around = belief_around(beliefs, xy_m, candidates.episode, grid, sigma_m)
    place = [candidates.from_start_m, candidates.from_agent_m, candidates.visited.to(candidates.xyz_m.dtype)]
    return torch.cat([candidates.xyz_m, torch.stack(place, 1), around.to(candidates.xyz_m.dtype)], 1)


def reach_mass(
    candidates: Candidates,
    beliefs: Float[Tensor, "b t1 c y x"],
    start_xy_m: Float[Tensor, "b 2"],
    grid: Grid,
    settings: RegionConfig,
) -> tuple[Float[Tensor, "k t1"], Float[Tensor, " k"]]:
    """Mass that is reached through each candidate at each filter step, and final mass around it.

    A cell belongs to the candidate through which the demonstrator would have reached it: the one with the shortest walk
    from the start, known edges first and then straight on, where a metre off the known graph costs more. Over an
    episode's candidates the mass reached sums to 1.

    Args:
        candidates: all viewpoints seen so far.
        beliefs: of each episode, the first one included.
        start_xy_m: each episode's start, metres from its map's origin.
        grid: the belief's grid.
        settings: how ways are compared.
    """
    mass = marginal(beliefs).flatten(2)
    xy_m = candidates.xyz_m[:, :2] + start_xy_m.index_select(0, candidates.episode.long())
    x_m, y_m = cell_centres_m(grid, device=xy_m.device, dtype=xy_m.dtype)
    away_m = torch.hypot(x_m[None, None] - xy_m[:, 0, None, None], y_m[None, :, None] - xy_m[:, 1, None, None])
    beyond = torch.where(candidates.visited, settings.visited_cost - settings.unseen_cost, 0.0)[:, None, None]
    straight = settings.unseen_cost * away_m + beyond * (away_m - settings.own_m).clamp(min=0.0)
    way = candidates.from_start_m[:, None, None] + straight
    place, rank, most = _ranks(candidates.episode, len(beliefs))
    # Finite, since an episode without candidates would get a softmax of nothing.
    closeness = way.new_full((len(beliefs), most, way[0].numel()), torch.finfo(way.dtype).min)
    closeness = closeness.index_put((place, rank), -way.flatten(1) / settings.softness_m)
    through = (closeness.softmax(1).to(mass.dtype) @ mass.transpose(1, 2))[place, rank]
    near = (away_m < settings.radius_m).flatten(1).to(mass.dtype)
    return through, weigh(near, mass[:, -1:], candidates.episode)[:, 0]


class Policy(nn.Module):
    """MLP over candidates: batch-norm → hidden → 1, then a softmax over each episode's candidates.

    Args:
        config: hidden size and neighbourhood.
        steps: filter steps T.
    """

    def __init__(self, config: PolicyConfig, steps: int) -> None:
        super().__init__()
        self.sigma_m, self.regions = config.sigma_m, config.regions if config.beyond else None
        features = PLACE_FEATURES + steps + 1 + (steps + 2 if config.beyond else 0)
        self.norm = nn.BatchNorm1d(features)
        self.hidden = nn.Linear(features, config.hidden)
        self.logit = nn.Linear(config.hidden, 1)

    def forward(
        self,
        candidates: Candidates,
        beliefs: Float[Tensor, "b t1 c y x"],
        start_xy_m: Float[Tensor, "b 2"],
        grid: Grid,
    ) -> Float[Tensor, " k"]:
        """Log-probability of choosing each candidate, normalised over each episode's candidates."""
        return self.choose(self.features(candidates, beliefs, start_xy_m, grid), candidates.episode, len(beliefs))

    def features(
        self,
        candidates: Candidates,
        beliefs: Float[Tensor, "b t1 c y x"],
        start_xy_m: Float[Tensor, "b 2"],
        grid: Grid,
    ) -> Float[Tensor, "k f"]:
        """What is read of each candidate; nothing here is learned."""
        features = candidate_features(candidates, beliefs, start_xy_m, grid, self.sigma_m)
        if self.regions is None:
            return features
        through, around = reach_mass(candidates, beliefs, start_xy_m, grid, self.regions)
        return torch.cat([features, through, around[:, None]], 1)

    def choose(self, features: Float[Tensor, "k f"], episode: Int[Tensor, " k"], count: int) -> Float[Tensor, " k"]:
        """Log-probabilities from features, normalised over the candidates of each of `count` episodes."""
        if self.training and len(episode) < 2:
            raise ConfigError(
                "the policy's batch-norm needs at least 2 candidates in training, got 1; use a larger batch"
            )
        logits = self.logit(torch.relu(self.hidden(self.norm(features))))[:, 0]
        return segment_log_softmax(logits, episode, count)


def policy_loss(
    log_probabilities: Float[Tensor, " k"], target: Int[Tensor, " b"], active: Bool[Tensor, " b"] | None = None
) -> Float[Tensor, ""]:
    """Cross entropy to the target candidate, averaged over the episodes that go on.

    Args:
        log_probabilities: of all candidates, flat.
        target: flat index of each episode's target.
        active: episodes that have not stopped; all by default.
    """
    costs = -log_probabilities.index_select(0, target.clamp(min=0).long())
    if active is None:
        return costs.mean()
    return torch.where(active, costs, 0.0).sum() / active.sum().clamp(min=1)
