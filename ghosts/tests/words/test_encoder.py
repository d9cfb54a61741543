"""Encoder: equal to torch's own bi-directional LSTM on each row alone; padding and order of the batch do not matter."""

from __future__ import annotations

import torch
from torch import nn

from ghosts.config import LanguageConfig
from ghosts.words.encoder import Encoder

CONFIG = LanguageConfig(vocabulary=20, embedding=6, hidden=5)
TOKENS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 2, 0, 0], [10, 0, 0, 0, 0]])
LENGTHS = torch.tensor([5, 3, 1])


def make() -> Encoder:
    torch.manual_seed(1)
    return Encoder(CONFIG).eval()


def test_equals_bidirectional_lstm_row_by_row() -> None:
    encoder = make()
    both = nn.LSTM(CONFIG.embedding, CONFIG.hidden, batch_first=True, bidirectional=True)
    names = [name for name, _ in encoder.states.forwards.named_parameters()]
    with torch.no_grad():
        for name in names:
            getattr(both, name).copy_(getattr(encoder.states.forwards, name))
            getattr(both, f"{name}_reverse").copy_(getattr(encoder.states.backwards, name))
    encoded = encoder(TOKENS, LENGTHS)
    for row, length in enumerate(LENGTHS.tolist()):
        states, (hidden, _) = both(encoder.embedding(TOKENS[row : row + 1, :length]))
        torch.testing.assert_close(encoded.states[row, :length], states[0])
        torch.testing.assert_close(encoded.sentence[row], hidden[:, 0].reshape(-1))
        assert (encoded.states[row, length:] == 0).all()
        assert encoded.mask[row].tolist() == [i < length for i in range(5)]


def test_no_gradient_from_padding() -> None:
    encoder = make()
    encoded = encoder(TOKENS, LENGTHS)
    (encoded.states.square().sum() + encoded.sentence.sum()).backward()
    assert (encoder.embedding.weight.grad[0] == 0).all()
    assert (encoder.embedding.weight.grad[[3, 8, 10]].abs().sum(1) > 0).all()
