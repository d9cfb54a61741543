"""Embeddings from vectors: what an id starts as, what it learns, and ids that training never met."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from ghosts.config import LanguageConfig
from ghosts.words.embedding import OpenEmbedding
from ghosts.words.encoder import Encoder
from ghosts_sim.errors import ConfigError


def vectors(count: int, dimension: int) -> torch.Tensor:
    """Random ones; id 0 has none."""
    found = torch.randn(count, dimension, generator=torch.Generator().manual_seed(0))
    found[0] = 0.0
    return found


@pytest.mark.parametrize(("size", "dimension"), [(6, 6), (10, 4), (4, 10)])
def test_ids_with_a_vector_start_from_it_alone(size: int, dimension: int) -> None:
    torch.manual_seed(1)
    embedding, known = OpenEmbedding(3, size, dimension), vectors(5, dimension)
    embedding.start(known)
    table = embedding.table(known)
    assert_close(table[1:], embedding.project(known[1:]))
    assert_close(table[0], embedding.own.weight[0])
    assert float(table[0].detach().abs().sum()) > 0.0
    # Orthogonal: cosines stay where there is room for them, and numbers keep a variance of 1.
    weight = embedding.project.weight.detach()
    narrow = weight @ weight.T if size <= dimension else weight.T @ weight
    assert_close(narrow, torch.eye(min(size, dimension)) * max(1.0, size / dimension), atol=1e-5, rtol=0)
    many = torch.randn(4000, dimension, generator=torch.Generator().manual_seed(2))
    assert float(embedding.project(many).detach().var()) == pytest.approx(1.0, abs=0.05)


def test_ids_that_training_never_met_learn_with_the_others() -> None:
    embedding, known = OpenEmbedding(2, 4, 3), vectors(5, 3)
    embedding.start(known)
    ids = torch.tensor([[0, 1], [4, 2]])
    found = embedding(ids, known)
    assert_close(found, embedding.table(known)[ids])
    embedding(torch.tensor([4]), known).sum().backward()
    assert embedding.own.weight.grad is not None
    assert not embedding.own.weight.grad.any()
    assert embedding.project.weight.grad is not None
    assert_close(embedding.project.weight.grad, known[4].expand(4, 3))
    before = embedding(ids, known).detach()
    with torch.no_grad():
        embedding.own.weight[1] += 1.0
    after = embedding(ids, known).detach()
    assert_close(after - before, torch.tensor([[0.0, 1.0], [0.0, 0.0]])[..., None].expand(2, 2, 4))


def test_an_encoder_reads_ids_beyond_its_vocabulary() -> None:
    torch.manual_seed(1)
    config = LanguageConfig(vocabulary=4, embedding=6, hidden=5, vectors=True, dropout=0.0)
    known = vectors(9, 3)
    known[8] = known[3]
    encoder = Encoder(config, known).eval()
    lengths = torch.tensor([3])
    met, listed = (encoder(torch.tensor([[2, word, 1]]), lengths) for word in (8, 3))
    assert_close(met.states, listed.states)  # of equal meaning, before anything was learned of the listed one
    with torch.no_grad():
        encoder.embedding.own.weight[3] += 1.0
    assert_close(encoder(torch.tensor([[2, 8, 1]]), lengths).states, met.states)
    assert not torch.allclose(encoder(torch.tensor([[2, 3, 1]]), lengths).states, listed.states)
    assert "vectors" not in encoder.state_dict()
    with pytest.raises(ConfigError) as caught:
        Encoder(config)
    assert str(caught.value) == "language.vectors needs the vectors of the vocabulary's words; make the model anew"
    assert Encoder(replace(config, vectors=False), known).vectors is None
