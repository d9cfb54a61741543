"""Sparse and masked convolution: by hand, against brute force, gradcheck."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from reference.convolution import masked_conv2d, sparse_conv2d


def test_average_of_observed_neighbours_by_hand() -> None:
    values = torch.zeros(1, 1, 3, 4)
    values[0, 0, 1, 1], values[0, 0, 1, 2], values[0, 0, 0, 0] = 4.0, 2.0, 100.0
    observed = torch.zeros(1, 1, 3, 4, dtype=torch.bool)
    observed[0, 0, 1, 1:3] = True
    result, mask = sparse_conv2d(values, observed, torch.ones(1, 1, 3, 3), torch.tensor([0.5]))
    assert result[0, 0].tolist() == [[4.5, 3.5, 3.5, 2.5]] * 3
    assert mask.all()
    result, mask = sparse_conv2d(values, observed, torch.ones(1, 1, 1, 1), torch.tensor([0.5]))
    assert result[0, 0].tolist() == [[0.5] * 4, [0.5, 4.5, 2.5, 0.5], [0.5] * 4]
    assert torch.equal(mask, observed)


def test_full_mask_is_the_plain_convolution_over_the_count() -> None:
    torch.manual_seed(4)
    values, weight, bias = torch.randn(2, 3, 6, 5), torch.randn(4, 3, 3, 3), torch.randn(4)
    everywhere = torch.ones(2, 1, 6, 5, dtype=torch.bool)
    result, _ = sparse_conv2d(values, everywhere, weight, bias)
    plain = F.conv2d(values, weight)
    torch.testing.assert_close(result[..., 1:-1, 1:-1], plain / 9 + bias[:, None, None])


def test_mask_is_max_pooled() -> None:
    torch.manual_seed(4)
    observed = torch.rand(2, 1, 9, 9) < 0.1
    _, mask = sparse_conv2d(torch.zeros(2, 1, 9, 9), observed, torch.ones(1, 1, 3, 3))
    assert torch.equal(mask.float(), F.max_pool2d(observed.float(), 3, 1, 1))


def test_masked_convolution_is_zero_off_the_mask() -> None:
    torch.manual_seed(4)
    observed = torch.rand(1, 1, 5, 5) < 0.5
    values, weight, bias = torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3), torch.randn(3)
    result, mask = masked_conv2d(values, observed, weight, bias)
    assert mask is observed
    assert (result.masked_select(~observed) == 0).all()
    plain = F.conv2d(values, weight, bias, padding=1)
    assert torch.equal(result.masked_select(observed), plain.masked_select(observed))


@pytest.mark.parametrize("convolution", [sparse_conv2d, masked_conv2d])
def test_gradcheck(convolution: object) -> None:
    torch.manual_seed(0)
    observed = torch.rand(2, 1, 4, 3) < 0.5
    inputs = [
        torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 2, 4, 3), (3, 2, 3, 3), (3,))
    ]
    assert torch.autograd.gradcheck(lambda v, w, b: convolution(v, observed, w, b)[0], inputs)
