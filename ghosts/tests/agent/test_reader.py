from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from ghosts.agent.candidates import Candidates
from ghosts.agent.policy import Policy
from ghosts.agent.reader import UNSURE, Scene, looked_at, seen_at
from ghosts.belief.histogram import pose_belief
from ghosts.config import PolicyConfig
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid

GRID = Grid(12, 12, 1.0)


def candidates() -> Candidates:
    return Candidates(
        episode=torch.tensor([0, 0, 0, 1, 1]),
        xyz_m=torch.tensor([[0.0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 0], [-2, 1, 0]]),
        from_start_m=torch.tensor([0.0, 2, 3, 0, 2.2]),
        from_agent_m=torch.tensor([0.0, 2, 3, 0, 2.2]),
        visited=torch.tensor([True, False, False, True, False]),
    )


def scene(seed: int = 0) -> Scene:
    random = torch.Generator().manual_seed(seed)
    return Scene(torch.randn(2, 5, 12, 12, generator=random), torch.randn(2, 6, 8, generator=random))


def beliefs() -> torch.Tensor:
    return pose_belief(torch.zeros(2, 7, 2), torch.zeros(2, 7), GRID, 1.0, 4)


def policy(**settings: object) -> Policy:
    torch.manual_seed(0)
    config = PolicyConfig(beyond=True, reads=True, reader=16, **settings)  # type: ignore[arg-type]
    return Policy(config, 6, channels=5, words=8).eval()


def test_the_map_is_read_around_a_place():
    maps = torch.zeros(1, 2, 12, 12)
    maps[0, 0, 6, 6], maps[0, 1, 7, 7] = 9.0, 18.0
    found = seen_at(maps, torch.tensor([[0.5, 0.5], [9.0, 0.0]]), torch.tensor([0, 0]), GRID)
    assert torch.allclose(found, torch.tensor([[1.0, 2.0], [0.0, 0.0]]))


def test_beyond_is_farther_from_the_agent():
    maps = torch.zeros(2, 1, 12, 12)
    maps[0, 0, 6, 10] = 9.0  # 4.5 m east of the start of the first episode
    found = looked_at(candidates(), maps, torch.zeros(2, 2), GRID, 2.0)
    assert found[1].tolist() == [0.0, 1.0]
    assert not found[0].any()


def test_probabilities_are_normalised_and_follow_their_candidates():
    reads, some = policy(), candidates()
    told = reads(some, beliefs(), torch.zeros(2, 2), GRID, scene())
    for episode in (0, 1):
        assert told[some.episode == episode].exp().sum().item() == pytest.approx(1.0)
    order = torch.tensor([4, 2, 0, 3, 1])
    mixed = Candidates(*(getattr(some, name)[order] for name in Candidates.__dataclass_fields__))
    assert torch.allclose(reads(mixed, beliefs(), torch.zeros(2, 2), GRID, scene()), told[order], atol=1e-6)


def test_a_closed_gate_leaves_the_belief_alone():
    reads = policy()
    assert reads.reader is not None
    told = reads(candidates(), beliefs(), torch.zeros(2, 2), GRID, scene())
    assert not torch.allclose(told, reads(candidates(), beliefs(), torch.zeros(2, 2), GRID, scene(1)))
    torch.nn.init.constant_(reads.reader.gate.bias, -100.0)
    shut = [reads(candidates(), beliefs(), torch.zeros(2, 2), GRID, scene(seed)) for seed in (0, 1)]
    assert torch.equal(*shut)


def test_the_share_of_what_was_read_is_told():
    reads, some = policy(), candidates()
    features = reads.features(some, beliefs(), torch.zeros(2, 2), GRID, scene())
    _, shares = reads.choose(features, some.episode, 2, scene().words)
    assert shares is not None
    assert torch.allclose(shares, torch.sigmoid(torch.full((2,), UNSURE)))  # before training


def test_words_of_other_episodes_play_no_part():
    reads, first = policy(), scene()
    other = replace(first, words=torch.cat([first.words[:1], torch.randn(1, 6, 8)]))
    told = [reads(candidates(), beliefs(), torch.zeros(2, 2), GRID, one)[:3] for one in (first, other)]
    assert torch.allclose(*told, atol=1e-6)


def test_a_reader_needs_the_belief_of_regions():
    with pytest.raises(ConfigError, match=r"needs policy\.beyond"):
        PolicyConfig(reads=True)
