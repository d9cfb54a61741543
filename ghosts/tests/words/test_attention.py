"""Attention: values by hand, weights that sum to 1, padding that does not exist."""

from __future__ import annotations

import math

import pytest
import torch

from ghosts.words.attention import Attention, additive_scores, attend, dot_scores, padding_penalty


def test_dot_attention_by_hand() -> None:
    keys = torch.tensor([[[1.0, 0.0], [0.0, 2.0], [5.0, 5.0]]])
    query = torch.tensor([[[[1.0, 0.5]]]])
    scores = dot_scores(query, keys[:, None])
    assert scores.tolist() == [[[[1.0, 1.0, 7.5]]]]
    attended, weights = attend(scores, keys, padding_penalty(torch.tensor([[True, True, False]])))
    assert weights.tolist() == [[[[0.5, 0.5, 0.0]]]]
    assert attended.tolist() == [[[[0.5, 1.0]]]]


def test_additive_scores_by_hand() -> None:
    query = torch.tensor([[[[0.1, 0.2]], [[0.0, 0.0]]]])
    keys = torch.tensor([[[[0.3, -0.2], [0.0, 1.0]], [[1.0, 0.0], [0.0, 0.5]]]])
    scores = additive_scores(query, keys, torch.tensor([[2.0, -1.0], [1.0, 3.0]]))
    first = [2 * math.tanh(0.4), 2 * math.tanh(0.1) - math.tanh(1.2)]
    second = [math.tanh(1.0), 3 * math.tanh(0.5)]
    torch.testing.assert_close(scores[0, :, 0], torch.tensor([first, second]))


def test_dot_module_projects_the_query_for_each_head() -> None:
    attention = Attention(2, 2, "dot", heads=2)
    with torch.no_grad():
        attention.query.weight.copy_(torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
    values = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    penalty = padding_penalty(torch.ones(1, 2, dtype=torch.bool))
    _, weights = attention(torch.tensor([[[0.0, 3.0]]]), attention.keys(values), values, penalty)
    torch.testing.assert_close(weights[0, 0, 0], torch.tensor([3.0, 0.0]).softmax(0))
    torch.testing.assert_close(weights[0, 1, 0], torch.tensor([0.0, 3.0]).softmax(0))


@pytest.mark.parametrize("kind", ["dot", "additive"])
def test_weights_sum_to_one_and_vanish_on_padding(kind: str) -> None:
    torch.manual_seed(3)
    attention = Attention(4, 6, kind, heads=3)
    values, query = torch.randn(3, 5, 6), torch.randn(3, 2, 4)
    mask = torch.arange(5) < torch.tensor([[5], [1], [3]])
    attended, weights = attention(query, attention.keys(values), values, padding_penalty(mask))
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 3, 2))
    assert (weights.permute(0, 3, 1, 2)[~mask] == 0).all()
    torch.testing.assert_close(attended[1], values[1, :1].expand(3, 2, -1))
