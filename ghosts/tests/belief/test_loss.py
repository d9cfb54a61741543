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


def test_empty_states_have_finite_gradients() -> None:
    target, belief = torch.zeros(1, 1, 2, 2), torch.zeros(1, 1, 2, 2, requires_grad=True)
    target[..., 0, 0] = 1.0
    filter_loss(belief[None, None], target[None]).backward()
    assert belief.grad is not None
    assert bool(belief.grad.isfinite().all())


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
