"""Captured language and filter: equal to the model's own (on a CUDA device), refused elsewhere."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch.testing import assert_close

from agent.makers import random_points, seen_from, small_model
from ghosts.agent.interface import Briefing
from ghosts.belief.filter import build_filter
from ghosts.belief.histogram import pose_belief
from ghosts.config import FilterConfig, LanguageConfig, LingUNetConfig, MotionConfig
from ghosts.fast.graphs import Captured, capture, graph_filter, graph_instructions
from ghosts.words.decoder import InstructionModel
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid

WORDS = LanguageConfig(vocabulary=20, embedding=6, hidden=4, position=8, steps=3)
FILTER = FilterConfig(
    motion=MotionConfig(hidden=4, branch=3, language=8, dropout=0.0),
    observation=LingUNetConfig(channels=6, language=4, output=8),
)


def inputs(device: str, seed: int = 0) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(seed)
    maps, latents = torch.randn(2, 3, 6, 12, 12), torch.randn(2, 4, 8)
    start = pose_belief(torch.randn(2, 2), torch.randn(2), Grid(12, 12, 1.0), 0.5, 4)
    return tuple(value.to(device) for value in (maps, latents, latents.flip(0), start))


def test_nothing_on_the_cpu_can_be_captured() -> None:
    model = small_model()
    with pytest.raises(ConfigError, match=r"only a model on a CUDA device.*on cpu"):
        capture(model.language, model.filter, model.config, 2, 3, torch.float32)
    with pytest.raises(ConfigError, match="these maps are on cpu"):
        graph_filter(build_filter(6, 8, FILTER), *inputs("cpu"), torch.float32)


def test_a_model_calls_what_it_is_given_and_keeps_nothing() -> None:
    model, calls = small_model().eval(), []

    def read(*words: torch.Tensor):
        calls.append("read")
        return model.language(*words)

    def track(*latents: torch.Tensor):
        calls.append("track")
        return model.filter(*latents)

    briefing = Briefing(torch.ones(1, 2, dtype=torch.long), torch.tensor([2]), torch.zeros(1, 2), torch.zeros(1))
    seen = seen_from(random_points(2, 9, 8), 2, torch.zeros(1, 2).numpy(), model.config)
    given = model(briefing, seen, captured=Captured(read, track))
    assert calls == ["read", "track"]
    assert_close(model(briefing, seen).filter.posteriors, given.filter.posteriors)
    assert calls == ["read", "track"]


# TF32 in cuDNN would round the two runs, which have different padding, differently.
@torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
@pytest.mark.gpu
def test_captured_instructions_have_equal_values_and_gradients() -> None:
    torch.manual_seed(0)
    model = InstructionModel(WORDS).cuda().eval()
    # cuDNN computes gradients of its recurrent layers in training mode alone.
    for layer in model.encoder.modules():
        if isinstance(layer, torch.nn.LSTM):
            layer.train()
    captured = graph_instructions(model, 2, 9)
    for seed, lengths in ((1, [5, 2]), (2, [3, 5])):
        tokens = torch.randint(0, 20, (2, 5), generator=torch.Generator().manual_seed(seed)).cuda()
        counts = torch.tensor(lengths).cuda()
        expected, latents = model(tokens, counts), captured(tokens, counts)
        for item in dataclasses.fields(expected):
            assert_close(getattr(latents, item.name), getattr(expected, item.name))
        parameters = list(model.parameters())
        theirs = torch.autograd.grad((expected.observations + expected.actions).square().sum(), parameters)
        ours = torch.autograd.grad((latents.observations + latents.actions).square().sum(), parameters)
        for one, other in zip(ours, theirs, strict=True):
            assert_close(one, other, rtol=1e-4, atol=1e-5)
    with pytest.raises(ConfigError, match="captured for 2 × 9 words, got 2 × 12"):
        captured(torch.zeros(2, 12, dtype=torch.long).cuda(), counts)


@pytest.mark.gpu
def test_the_captured_filter_equals_the_filter() -> None:
    torch.manual_seed(0)
    bayes = build_filter(6, 8, FILTER).cuda()
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
        assert_close(moved, trace.predictions[:, :, 0].flatten(0, 1), rtol=1e-4, atol=1e-6)
    for expected, got in zip(*gradients):
        assert_close(got, expected, rtol=1e-4, atol=1e-6)
    with pytest.raises(ConfigError, match="capture it again"):
        captured(maps[:1], actions[:1], observations[:1], start[:1])
