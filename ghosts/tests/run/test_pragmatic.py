"""Pragmatic choice: a speaker whose answer is known decides where walkers stop, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from agent.worlds import Comb, make_comb
from ghosts.agent.known import KnownGraph
from ghosts.evaluate.vln import walk_split
from ghosts.methods.build import build_model
from ghosts.methods.speaker.model import Speaker, WalkedPaths
from ghosts.methods.speaker.paths import make_batch
from ghosts.run.load import Run
from ghosts.run.pragmatic import Pragmatist, visited_ways
from ghosts_sim.errors import ConfigError
from landmark_world import load
from methods.test_speaker import speaker_experiment


class Known(Speaker):
    """Says how likely any words are by a rule of the test."""

    def __init__(self, rule: Callable[[WalkedPaths], Tensor]) -> None:
        nn.Module.__init__(self)
        self.rule = rule

    def log_likelihood(self, paths: WalkedPaths, tokens: Tensor) -> Tensor:
        assert tokens.shape[0] == len(paths.stops)
        return self.rule(paths)


@pytest.fixture(scope="module")
def comb(tmp_path_factory: pytest.TempPathFactory) -> Comb:
    return make_comb(tmp_path_factory.mktemp("pragmatic"))


def knowing(comb: Comb, rule: Callable[[WalkedPaths], Tensor]) -> Run:
    return replace(comb.run, experiment=speaker_experiment(), model=Known(rule))


def walked(comb: Comb, rule: Callable[[WalkedPaths], Tensor] | None, weight: float = 1.0) -> list[list[int]]:
    speaker = None
    if rule is not None:
        speaker = Pragmatist(knowing(comb, rule), comb.data, weight)
    return walk_split(comb.run, comb.data, comb.examples[:4], pragmatic=speaker)


def moves(paths: WalkedPaths) -> Tensor:
    return paths.stops.sum(1).float() - 1.0


def test_walkers_stop_where_the_speaker_says(comb: Comb) -> None:
    plain = walked(comb, None)
    assert walked(comb, moves, weight=0.0) == plain
    assert walked(comb, lambda paths: -moves(paths), weight=1e-9) == plain  # hardly an opinion
    # One that likes short ways sends everybody back to the start, another as far as they have been.
    home, far = walked(comb, lambda paths: -1e6 * moves(paths)), walked(comb, lambda paths: 1e6 * moves(paths))
    assert any(path[-1] != path[0] for path in plain)
    for example, before, back, away in zip(comb.examples, plain, home, far):
        graph = comb.data.root.graph(example.scan)
        visited = set(before)
        hops = {row: len(graph.path(example.start, row)) - 1 for row in visited}
        assert back[-1] == example.start
        assert hops[away[-1]] == max(hops.values())
        # What is walked until the choice is the same.
        for path in (back, away):
            shared = next((k for k, (a, b) in enumerate(zip(before, path)) if a != b), min(len(before), len(path)))
            assert set(path[shared:]) <= visited


def test_ways_go_through_visited_viewpoints_alone() -> None:
    """Slots 0, 1 and 3 visited in a row; the short cut from 0 to 3 through 2 was only seen."""
    edge = np.full((1, 5, 5), np.inf)
    for a, b, length in ((0, 1, 2.0), (1, 3, 2.0), (0, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)):
        edge[0, a, b] = edge[0, b, a] = length
    known = KnownGraph(
        viewpoint=np.array([[10, 11, 12, 13, 14]]),
        xyz_m=np.zeros((1, 5, 3)),
        visited=np.array([[True, True, False, True, False]]),
        edge_m=edge,
        distance_m=edge,
        here=np.array([3]),
    )
    ways = {slot: rows.tolist() for slot, rows in visited_ways(known, 0).items()}
    assert ways == {0: [10], 1: [10, 11], 3: [10, 11, 13]}


def test_the_speaker_hears_the_instruction_and_sees_the_way(comb: Comb) -> None:
    """By a real speaker: an example's own path is as likely here as where it was learned."""
    data = load(comb.data.root.path, speaker_experiment())
    torch.manual_seed(0)
    model = build_model(speaker_experiment(), data.vocabulary, data.labels)
    assert isinstance(model, Speaker)
    examples = data.examples("dev_unseen")[:4]
    batch = make_batch(data, examples)
    expected = model.eval().log_likelihood(batch.paths, batch.tokens).detach().double().numpy()
    found = Pragmatist(Run("speaker", speaker_experiment(), model, data.reading), data).likelihoods(examples)
    assert np.allclose(found, expected, atol=1e-4)
    assert len(set(found.round(3).tolist())) == 4


def test_what_does_not_speak_is_refused(comb: Comb) -> None:
    with pytest.raises(ConfigError, match="comb does not speak"):
        Pragmatist(comb.run, comb.data)
    with pytest.raises(ConfigError, match="--pragmatic-weight must not be negative"):
        Pragmatist(knowing(comb, moves), comb.data, -1.0)
