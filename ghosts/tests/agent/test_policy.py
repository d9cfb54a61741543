from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.testing import assert_close

from ghosts.agent.candidates import Candidates, belief_around, reach_mass, segment_log_softmax, segment_max
from ghosts.agent.policy import BEYOND_FEATURES, Policy, policy_loss
from ghosts.belief.histogram import gaussian
from ghosts.config import PolicyConfig, RegionConfig
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid

GRID = Grid(12, 10, 1.0)
EPISODE = torch.tensor([0, 1, 0, 0, 2, 1])


def candidates(episode: Tensor = EPISODE, seed: int = 0) -> Candidates:
    generator = torch.Generator().manual_seed(seed)
    count = len(episode)
    return Candidates(
        episode=episode,
        xyz_m=torch.randn(count, 3, generator=generator) * 3,
        from_start_m=torch.rand(count, generator=generator) * 8,
        from_agent_m=torch.rand(count, generator=generator) * 8,
        visited=torch.rand(count, generator=generator) < 0.5,
    )


def beliefs(batch: int, steps: int, seed: int = 1) -> Tensor:
    weights = torch.rand(batch, steps, 4, GRID.rows, GRID.cols, generator=torch.Generator().manual_seed(seed))
    return weights / weights.sum((-3, -2, -1), keepdim=True)


def test_segment_log_softmax_equals_one_softmax_a_segment() -> None:
    logits = torch.tensor([1.0, -2.0, 3.0, 0.5, 700.0, 4.0])
    result = segment_log_softmax(logits, EPISODE, 4)  # episode 3 has no candidates
    for episode in range(3):
        mine = episode == EPISODE
        assert_close(result[mine], logits[mine].log_softmax(0))


def test_belief_around_a_position_is_metric_and_centred() -> None:
    """Mass in the cell whose centre is the position counts most; the released code is half a cell off."""
    grid = Grid(32, 30, 1.0)
    belief = torch.zeros(1, 1, 4, 32, 30)
    belief[0, 0, 2, 17, 16] = 1.0  # centre at (1.5, 1.5) m
    offsets = torch.tensor([[1.5, 1.5], [2.5, 1.5], [0.5, 1.5], [1.5, 2.5], [1.5, 0.5], [1.5, 3.5]])
    values = belief_around(belief, offsets, torch.zeros(6, dtype=torch.long), grid, 1.0)[:, 0]
    assert_close(values[1:5], values[1:2].expand(4), rtol=1e-4, atol=0)
    assert float(values[0] / values[1]) == pytest.approx(math.exp(0.5), rel=1e-3)
    assert float(values[0] / values[5]) == pytest.approx(math.exp(2.0), rel=1e-2)


def test_belief_around_equals_the_sum_written_out() -> None:
    """On a map with room all around it, whose cells beyond the edge are empty."""
    belief, xy_m = beliefs(3, 2), torch.randn(6, 2, generator=torch.Generator().manual_seed(3)) * 3
    result = belief_around(belief, xy_m, EPISODE, GRID, 1.3)
    wide, around = Grid(GRID.rows + 40, GRID.cols + 40, 1.0), F.pad(belief.sum(2), (20, 20, 20, 20))
    for k in range(6):
        expected = (around[EPISODE[k]] * gaussian(xy_m[k], wide, 1.3)).sum((-2, -1))
        assert_close(result[k], expected, rtol=1e-2, atol=1e-5)


def test_nothing_lies_off_the_map() -> None:
    """Candidates 30 m off it, and on its very edge, where half of the neighbourhood is empty."""
    belief, centre = torch.full((1, 1, 1, 40, 40), 1.0 / 1600.0), torch.zeros(1, dtype=torch.long)
    grid = Grid(40, 40, 1.0)
    for far in ([50.0, 0.0], [0.0, -50.0], [-50.0, 50.0]):
        assert float(belief_around(belief, torch.tensor([far]), centre, grid, 1.0)) == 0.0
    middle, edge, corner = (
        float(belief_around(belief, torch.tensor([place]), centre, grid, 1.0))
        for place in ([0.0, 0.0], [20.0, 0.0], [20.0, 20.0])
    )
    assert [1600.0 * middle, 1600.0 * edge, 1600.0 * corner] == pytest.approx([1.0, 0.5, 0.25], rel=1e-3)


def test_features_in_their_order() -> None:
    seen, belief = candidates(), beliefs(3, 4)
    start = torch.tensor([[0.2, -0.3], [0.0, 0.1], [0.4, 0.4]])
    features = Policy(PolicyConfig(), 3).features(seen, belief, start, GRID)
    assert features.shape == (6, 6 + 4)
    assert_close(features[:, :3], seen.xyz_m)
    assert_close(features[:, 3], seen.from_start_m)
    assert_close(features[:, 4], seen.from_agent_m)
    assert_close(features[:, 5], seen.visited.float())
    assert_close(features[:, 6:], belief_around(belief, seen.xyz_m[:, :2] + start[EPISODE], EPISODE, GRID, 1.0))


def test_policy_treats_episodes_separately() -> None:
    torch.manual_seed(0)
    policy, belief, start = Policy(PolicyConfig(hidden=7), steps=3).eval(), beliefs(3, 4), torch.zeros(3, 2)
    seen = candidates()
    together = policy(seen, belief, start, GRID)
    for episode in range(3):
        mine = episode == EPISODE
        assert_close(together[mine].exp().sum(), torch.tensor(1.0))
        alone = Candidates(
            episode=torch.zeros(int(mine.sum()), dtype=torch.long),
            xyz_m=seen.xyz_m[mine],
            from_start_m=seen.from_start_m[mine],
            from_agent_m=seen.from_agent_m[mine],
            visited=seen.visited[mine],
        )
        assert_close(together[mine], policy(alone, belief[episode : episode + 1], start[:1], GRID))


def test_loss_is_the_cross_entropy_of_the_target() -> None:
    log_probabilities = torch.tensor([0.5, 0.9, 0.3, 0.2, 1.0, 0.1]).log()
    target = torch.tensor([2, 1, 4])
    expected = -(math.log(0.3) + math.log(0.9)) / 3
    assert float(policy_loss(log_probabilities, target)) == pytest.approx(expected, rel=1e-5)
    active = torch.tensor([True, False, False])
    assert float(policy_loss(log_probabilities, target, active)) == pytest.approx(-math.log(0.3), rel=1e-5)


@pytest.mark.parametrize("config", [PolicyConfig(), PolicyConfig(beyond=True, layers=2)], ids=["paper", "beyond"])
def test_loss_reaches_the_belief(config: PolicyConfig) -> None:
    """Also where the filter cannot have come: cells without any mass once gave infinite gradients."""
    torch.manual_seed(0)
    belief = beliefs(3, 4)
    belief[..., :3, :] = 0.0
    policy, belief = Policy(config, steps=3), belief.requires_grad_()
    policy_loss(policy(candidates(), belief, torch.zeros(3, 2), GRID), torch.tensor([0, 1, 4])).backward()
    assert belief.grad is not None
    assert bool(belief.grad.isfinite().all())
    assert bool((belief.grad[:2].abs().amax((-3, -2, -1)) > 0).all())  # episode 2 has one candidate: nothing to choose


def test_one_candidate_cannot_be_batch_normalised() -> None:
    policy = Policy(PolicyConfig(), steps=3)
    with pytest.raises(ConfigError, match="at least 2 candidates"):
        policy(candidates(torch.zeros(1, dtype=torch.long)), beliefs(1, 4), torch.zeros(1, 2), GRID)


def test_beyond_reads_three_values_a_step_and_what_weighs_for_stopping() -> None:
    seen, belief, start = candidates(), beliefs(3, 4), torch.zeros(3, 2)
    policy = Policy(PolicyConfig(hidden=7, layers=3, beyond=True), steps=3).eval()
    features = policy.features(seen, belief, start, GRID)
    assert features.shape == (6, 3 * 4 + BEYOND_FEATURES)
    reach = reach_mass(seen, belief, start, GRID, RegionConfig())
    assert_close(features[:, 8:12], 4.0 * reach.through)
    assert_close(features[:, :4], torch.log(reach.through + 1e-4) / 4.6 + 1.0)
    looks = torch.tensor([float((seen.visited & (number == EPISODE)).sum()) for number in range(3)])
    assert_close(features[:, 20], looks[EPISODE] / 12.0)
    assert_close(features[:, -1], seen.visited.float())
    assert [len(policy.deeper), policy.hidden.out_features] == [2, 7]
    best = segment_max(features[:, 15], EPISODE, 3)  # relative to the episode's best candidate
    assert_close(best, torch.zeros(3))
    total = torch.zeros(3).index_add(0, EPISODE, policy.choose(features, EPISODE, 3)[0].exp())
    assert_close(total, torch.ones(3))


def test_expected_distance_is_the_mean_over_the_belief() -> None:
    spot = gaussian(torch.tensor([1.0, -2.0]), GRID, 0.3)[None, None, None].expand(1, 2, 1, -1, -1)
    seen = candidates(torch.zeros(4, dtype=torch.long))
    reach = reach_mass(seen, spot, torch.zeros(1, 2), GRID, RegionConfig())
    straight = torch.linalg.norm(seen.xyz_m[:, :2] - torch.tensor([1.0, -2.0]), dim=1)
    assert_close(reach.goal_m, straight, atol=0.3, rtol=0.1)
    assert bool((reach.nearby >= reach.ending).all())


def test_beyond_needs_no_other_candidates() -> None:
    """No batch-norm: a candidate's logit does not depend on what else is in the batch, in training neither."""
    torch.manual_seed(0)
    policy = Policy(PolicyConfig(hidden=7, layers=2, beyond=True), steps=3).train()
    alone = policy(candidates(torch.zeros(1, dtype=torch.long)), beliefs(1, 4), torch.zeros(1, 2), GRID)
    assert_close(alone, torch.zeros(1))
    seen, belief = candidates(), beliefs(3, 4)
    first = Candidates(
        *(value[EPISODE == 0] for value in (seen.episode, seen.xyz_m, seen.from_start_m)),
        seen.from_agent_m[EPISODE == 0],
        seen.visited[EPISODE == 0],
    )
    together, single = policy(seen, belief, torch.zeros(3, 2), GRID), policy(first, belief[:1], torch.zeros(1, 2), GRID)
    assert_close(together[EPISODE == 0], single)
