from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from ghosts.belief.filter import build_filter
from ghosts.belief.histogram import pose_belief
from ghosts.config import FilterConfig, LingUNetConfig, MotionConfig
from ghosts.fast.graphed_filter import graph_filter
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid

CONFIG = FilterConfig(
    motion=MotionConfig(hidden=4, branch=3, language=8, dropout=0.0),
    observation=LingUNetConfig(channels=6, language=4, output=8),
)


def inputs(device: str, seed: int = 0) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(seed)
    maps, latents = torch.randn(2, 3, 6, 12, 12), torch.randn(2, 4, 8)
    start = pose_belief(torch.randn(2, 2), torch.randn(2), Grid(12, 12, 1.0), 0.5, 4)
    return tuple(value.to(device) for value in (maps, latents, latents.flip(0), start))


def test_a_filter_on_the_cpu_cannot_be_captured() -> None:
    with pytest.raises(ConfigError, match="these maps are on cpu"):
        graph_filter(build_filter(6, 8, CONFIG), *inputs("cpu"), torch.float32)


@pytest.mark.gpu
def test_the_captured_filter_equals_the_filter() -> None:
    torch.manual_seed(0)
    bayes = build_filter(6, 8, CONFIG).cuda()
    captured = graph_filter(bayes, *inputs("cuda"), torch.float32)
    maps, actions, observations, start = inputs("cuda", seed=1)
    gradients = []
    for run in (bayes, captured):
        leaf = maps.clone().requires_grad_()
        bayes.zero_grad()
        trace = run(leaf, actions, observations, start)
        trace.goal.square().sum().backward()
        assert leaf.grad is not None
        weight = bayes.observation.lingunet.last.weight.grad
        gradients.append((trace.posteriors.detach().clone(), leaf.grad.clone(), weight.clone()))
        moved = trace.kernel_at(0).propagate(start.repeat_interleave(3, 0))
        assert_close(moved, trace.predictions[:, :, 0].flatten(0, 1))
    for expected, got in zip(*gradients):
        assert_close(got, expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(ConfigError, match="capture it again"):
        captured(maps[:1], actions[:1], observations[:1], start[:1])
