from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from ghosts.belief.loss import PROBABILITY_FLOOR, filter_loss
from ghosts.equations import divergence


def distributions(*shape: int, seed: int) -> torch.Tensor:
    weights = torch.rand(*shape, generator=torch.Generator().manual_seed(seed))
    return weights / weights.sum((-3, -2, -1), keepdim=True)


def test_target_where_the_prediction_is_zero_does_cost() -> None:
    target, belief = torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2)
    target[..., 0, 0], belief[..., 1, 1] = 1.0, 1.0
    assert float(filter_loss(belief[None, None], target[None])) == pytest.approx(-math.log(1e-8), rel=1e-6)


@pytest.mark.parametrize(("share", "cost", "slope"), [(0.0, 18.42, 0.0), (1e-12, 18.42, 0.0), (1e-6, 13.82, -1e6)])
def test_below_the_floor_a_belief_costs_the_same_and_has_no_gradient(share: float, cost: float, slope: float) -> None:
    """In the released code a belief of 1e-12 costs 27.6 nats, and one of 0 nothing."""
    target, belief = torch.zeros(1, 1, 2, 2), torch.tensor([[[[share, 1.0 - share], [0.0, 0.0]]]], requires_grad=True)
    target[..., 0, 0] = 1.0
    loss = filter_loss(belief[None, None], target[None])
    loss.backward()
    assert float(loss.detach()) == pytest.approx(cost, abs=0.01)
    assert belief.grad is not None
    assert belief.grad.flatten().tolist() == pytest.approx([slope, 0.0, 0.0, 0.0], rel=1e-4)


def test_filter_loss_sums_filter_steps_and_averages_maps() -> None:
    posteriors, targets = distributions(2, 3, 4, 1, 5, 5, seed=2), distributions(2, 4, 1, 5, 5, seed=3)
    table = torch.stack(
        [
            torch.stack([divergence(targets[b], posteriors[b, s], PROBABILITY_FLOOR).sum() for s in range(3)])
            for b in range(2)
        ]
    )
    assert_close(filter_loss(posteriors, targets), table.mean())
    valid = torch.tensor([[True, False, True], [True, False, False]])
    assert_close(filter_loss(posteriors, targets, valid), table[valid].mean())
    assert float(filter_loss(posteriors, targets, torch.zeros_like(valid))) == 0.0
    assert_close(filter_loss(targets[:, None], targets), torch.tensor(0.0), rtol=0, atol=3e-5)
