"""The policy over all viewpoints seen so far (paper, section 4.3), for ragged batches without loops over the batch.

The released code's features of a candidate: position relative to the start (3), graph distances from the start and from
the agent, visited, and the belief around it at each filter step. The paper lists the distance from the agent, visited
and the belief alone. Most of the belief lies beyond the frontier, where this policy does not see it, and masses span
orders of magnitude. With `policy.beyond` a candidate has the belief of the
region it leads to, in logarithms and relative to the best of its episode, and what else weighs for stopping
(`beyond_features`).
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from ghosts.agent.candidates import Candidates, Reach, belief_around, reach_mass, segment_log_softmax, segment_max
from ghosts.agent.reader import Reader, Scene, looked_at
from ghosts.belief.histogram import entropy, marginal
from ghosts.config import PolicyConfig
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid

PLACE_FEATURES = 6
BEYOND_FEATURES = 22
"""Beside three values a filter step; see `beyond_features`."""
FAINT = 1e-4
"""Masses below this count as none in logarithms."""


def candidate_features(candidates: Candidates, around: Float[Tensor, "k t1"]) -> Float[Tensor, "k f"]:
    """The policy's input: place (6), then belief at each of the T + 1 filter steps.

    Args:
        candidates: all viewpoints seen so far.
        around: belief in the neighbourhood of each at each filter step (`belief_around`).
    """
    place = [candidates.from_start_m, candidates.from_agent_m, candidates.visited.to(candidates.xyz_m.dtype)]
    return torch.cat([candidates.xyz_m, torch.stack(place, 1), around.to(candidates.xyz_m.dtype)], 1)


def beyond_features(
    candidates: Candidates, reach: Reach, around: Float[Tensor, "k t1"], goal: Float[Tensor, "b y x"]
) -> Float[Tensor, "k f"]:
    """The policy's input with `policy.beyond`: 3 · (T + 1) + 22 values, all of the order of 1.

    Args:
        candidates: all viewpoints seen so far.
        reach: what the belief says about each.
        around: belief in its neighbourhood at each filter step (`belief_around`).
        goal: belief about the goal of each episode, without headings.
    """
    episode, count, visited = candidates.episode.long(), len(goal), candidates.visited
    final, passing = reach.through[:, -1], reach.through[:, 1:].amax(1)
    stop = segment_max(torch.where(visited, reach.ending, 0.0), episode, count)[episode]
    way_on = torch.where(visited, 0.0, 0.25 * final + 0.75 * passing)
    way_on = segment_max(way_on, episode, count)[episode]
    looks = visited.new_zeros(count, dtype=final.dtype).index_add(0, episode, visited.to(final.dtype))
    nearest_m = -segment_max(-reach.goal_m, episode, count)[episode]
    compared = [_log(mass) for mass in (final, reach.ending, reach.nearby, passing, around[:, -1])]
    columns = [
        _log(reach.ending),
        _log(reach.nearby),
        4.0 * reach.ending,
        *(value - segment_max(value, episode, count)[episode] for value in compared),
        # What the episode is like: the same for all its candidates, but it weighs differently for stops and ways on.
        looks[episode] / 12.0,
        (candidates.from_agent_m == 0.0).to(final.dtype),
        entropy(goal[:, None])[episode] / 5.0,
        _log(stop),
        _log(way_on),
        4.0 * stop,
        4.0 * way_on,
        4.0 * (stop - way_on),
        reach.goal_m / 10.0,
        (reach.goal_m - nearest_m) / 10.0,
        torch.where(visited, reach.goal_m, 0.0) / 10.0,
        candidates.from_start_m / 10.0,
        candidates.from_agent_m / 10.0,
        visited.to(final.dtype),
    ]
    return torch.cat([_log(reach.through), _log(around), 4.0 * reach.through, torch.stack(columns, 1)], 1)


def _log(mass: Float[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Logarithm of a mass, scaled to about −1 (none) to 1 (all)."""
    return torch.log(mass + FAINT) / 4.6 + 1.0


class Policy(nn.Module):
    """MLP over candidates, then a softmax over each episode's. The released features go through a batch-norm first;
    those of `policy.beyond` have their scale already, so that nothing depends on what else is in a batch.

    Args:
        config: sizes and features.
        steps: filter steps T.
        channels: of the map, for a policy that reads.
        words: size of a filter step's latent vectors, for a policy that reads.
    """

    def __init__(self, config: PolicyConfig, steps: int, channels: int = 0, words: int = 0) -> None:
        super().__init__()
        self.sigma_m, self.regions = config.sigma_m, config.regions if config.beyond else None
        features = 3 * (steps + 1) + BEYOND_FEATURES if config.beyond else PLACE_FEATURES + steps + 1
        self.norm = nn.Identity() if config.beyond else nn.BatchNorm1d(features)
        self.hidden = nn.Linear(features, config.hidden)
        self.deeper = nn.ModuleList(nn.Linear(config.hidden, config.hidden) for _ in range(config.layers - 1))
        self.logit = nn.Linear(config.hidden, 1)
        self.believed, self.beyond_m = features, config.reader_beyond_m
        self.reader = Reader(config, features, 2 * channels, words) if config.reads else None

    def forward(
        self,
        candidates: Candidates,
        beliefs: Float[Tensor, "b t1 c y x"],
        start_xy_m: Float[Tensor, "b 2"],
        grid: Grid,
        scene: Scene | None = None,
    ) -> Float[Tensor, " k"]:
        """Log-probability of choosing each candidate, normalised over each episode's candidates."""
        features = self.features(candidates, beliefs, start_xy_m, grid, scene)
        words = scene.words if scene is not None else None
        return self.choose(features, candidates.episode, len(beliefs), words)[0]

    def features(
        self,
        candidates: Candidates,
        beliefs: Float[Tensor, "b t1 c y x"],
        start_xy_m: Float[Tensor, "b 2"],
        grid: Grid,
        scene: Scene | None = None,
    ) -> Float[Tensor, "k f"]:
        """What is read of each candidate; nothing here is learned. A policy that reads needs the scene."""
        xy_m = candidates.xyz_m[:, :2] + start_xy_m.index_select(0, candidates.episode.long())
        around = belief_around(beliefs, xy_m, candidates.episode, grid, self.sigma_m)
        if self.regions is None:
            believed = candidate_features(candidates, around)
        else:
            reach = reach_mass(candidates, beliefs, start_xy_m, grid, self.regions)
            believed = beyond_features(candidates, reach, around, marginal(beliefs[:, -1]))
        if self.reader is None:
            return believed
        assert scene is not None, "a policy that reads looks at the map"
        seen = looked_at(candidates, scene.maps.to(believed.dtype), start_xy_m, grid, self.beyond_m)
        return torch.cat([believed, seen], 1)

    def choose(
        self,
        features: Float[Tensor, "k f"],
        episode: Int[Tensor, " k"],
        count: int,
        words: Float[Tensor, "b t d"] | None = None,
        owner: Int[Tensor, " n"] | None = None,
    ) -> tuple[Float[Tensor, " k"], Float[Tensor, " n"] | None]:
        """Log-probabilities from features, normalised over the candidates of each of `count` episodes; and for a
        policy that reads, the share of the reader in each episode's.

        Args:
            features: of each candidate.
            episode: which each belongs to.
            count: episodes.
            words: for a policy that reads (`reader.words_of`).
            owner: row of the words of each episode; by default its own.
        """
        if self.training and self.regions is None and len(episode) < 2:
            raise ConfigError(
                "the policy's batch-norm needs at least 2 candidates in training, got 1; use a larger --train.batch"
            )
        hidden = torch.relu(self.hidden(self.norm(features[:, : self.believed])))
        for layer in self.deeper:
            hidden = torch.relu(layer(hidden))
        logits, gate = self.logit(hidden)[:, 0], None
        if self.reader is not None:
            assert words is not None, "a policy that reads knows the words"
            owner = torch.arange(count, device=words.device) if owner is None else owner
            read, gate = self.reader(features, words.to(features.dtype), owner, episode)
            share = gate[episode.long()]
            logits = (1.0 - share) * logits + share * read
        return segment_log_softmax(logits, episode, count), gate


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
