"""Decoder: shapes of the latents, values of the position code, paper's and released code's input, padding."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from ghosts.config import LanguageConfig
from ghosts.words.decoder import Decoder, InstructionModel, positional_encoding
from ghosts.words.encoder import Encoded

KINDS = [(kind, context) for kind in ("dot", "additive") for context in (False, True)]
TOKENS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 2, 0, 0], [10, 0, 0, 0, 0]])
LENGTHS = torch.tensor([5, 3, 1])


def config(kind: str = "dot", context: bool = False) -> LanguageConfig:
    return LanguageConfig(
        vocabulary=20, embedding=6, hidden=4, position=8, steps=3, attention=kind, decoder_context=context
    )


def fields(latents: object) -> dict[str, torch.Tensor]:
    return {item.name: getattr(latents, item.name) for item in dataclasses.fields(latents)}


def test_positional_encoding_values() -> None:
    code = positional_encoding(7, 4)
    assert code[0].tolist() == [0.0, 1.0, 0.0, 1.0]
    expected = [math.sin(5), math.cos(5), math.sin(0.05), math.cos(0.05)]
    torch.testing.assert_close(code[5], torch.tensor(expected))


@pytest.mark.parametrize(("kind", "context"), KINDS)
def test_latents(kind: str, context: bool) -> None:
    torch.manual_seed(0)
    model = InstructionModel(config(kind, context)).eval()
    latents = model(TOKENS, LENGTHS)
    states = model.encoder(TOKENS, LENGTHS).states
    assert latents.observations.shape == latents.actions.shape == (3, 3, 12)
    assert latents.sentence.shape == (3, 8)
    for vectors, weights in (
        (latents.observations, latents.observation_attention),
        (latents.actions, latents.action_attention),
    ):
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 3))
        assert (weights[1, :, 3:] == 0).all()
        assert (weights[2, :, 1:] == 0).all()
        torch.testing.assert_close(vectors[..., :8], weights @ states)
    # Both end with the same decoder state; the two attentions have their own weights.
    assert torch.equal(latents.observations[..., 8:], latents.actions[..., 8:])
    assert not torch.allclose(latents.observation_attention[0], latents.action_attention[0])


@pytest.mark.parametrize(("kind", "context"), KINDS)
def test_padding_and_batch_order(kind: str, context: bool) -> None:
    torch.manual_seed(0)
    model = InstructionModel(config(kind, context)).eval()
    latents = fields(model(TOKENS, LENGTHS))
    order = torch.tensor([2, 0, 1])
    padded = torch.cat([TOKENS, torch.full((3, 6), 11)], 1)[order]
    for name, values in fields(model(padded, LENGTHS[order])).items():
        values = values[..., :5] if name.endswith("attention") else values
        torch.testing.assert_close(values, latents[name][order])


def test_first_context_averages_over_words_only() -> None:
    torch.manual_seed(0)
    decoder = Decoder(config("dot", True))
    states, mask = torch.randn(1, 2, 8), torch.tensor([[True, False]])
    states = states * mask[..., None]
    sentence = torch.randn(1, 8)
    hidden, cell = torch.tanh(decoder.start(sentence)).chunk(2, -1)
    context = torch.cat([decoder.position[0], states[0, 0], states[0, 0]])
    expected, _ = decoder.cell(context[None], (hidden, cell))
    latents = decoder(Encoded(states, mask, sentence))
    torch.testing.assert_close(latents.observations[0, 0, 8:], expected[0])
