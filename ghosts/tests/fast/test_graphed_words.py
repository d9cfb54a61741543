"""The captured instruction model: equal to the model itself (on a CUDA device), refused elsewhere."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from ghosts.config import LanguageConfig
from ghosts.fast.graphed_words import graph_instructions
from ghosts.words.decoder import InstructionModel
from ghosts_sim.errors import ConfigError

CONFIG = LanguageConfig(vocabulary=20, embedding=6, hidden=4, position=8, steps=3)


def test_refused_without_cuda() -> None:
    with pytest.raises(ConfigError, match=r"only a model on a CUDA device.*on cpu"):
        graph_instructions(InstructionModel(CONFIG), 2, 5)


# TF32 in cuDNN would round the two runs, which have different padding, differently.
@torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
@pytest.mark.gpu
def test_equal_values_and_gradients() -> None:
    torch.manual_seed(0)
    model = InstructionModel(CONFIG).cuda().eval()
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
            torch.testing.assert_close(getattr(latents, item.name), getattr(expected, item.name))
        parameters = list(model.parameters())
        theirs = torch.autograd.grad((expected.observations + expected.actions).square().sum(), parameters)
        ours = torch.autograd.grad((latents.observations + latents.actions).square().sum(), parameters)
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
    with pytest.raises(ConfigError, match="captured for 2 × 9 words, got 2 × 12"):
        captured(torch.zeros(2, 12, dtype=torch.long).cuda(), counts)
