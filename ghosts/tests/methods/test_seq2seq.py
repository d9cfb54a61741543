from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from agent.worlds import Comb, make_comb
from experiments import seq2seq_of
from ghosts.agent.known import KnownGraph, Neighbours, start_graph, visit, walk_to
from ghosts.config import LanguageConfig, MapperConfig
from ghosts.data.drops import Drops
from ghosts.data.symmetry import Symmetry
from ghosts.methods.seq2seq.model import Seq2Seq, Seq2SeqAgent, heading_after, option_mask, option_numbers, options_of
from ghosts.methods.seq2seq.settings import DecoderConfig, Seq2SeqModelConfig
from ghosts.methods.seq2seq.task import next_slots
from ghosts.run.rollout import walk_episodes
from ghosts.train.own_walks import WalkPlan, mixed_choice
from landmark_world import small_experiment

DECODER = DecoderConfig(16, 4, 0.0)


@pytest.fixture(scope="module")
def comb(tmp_path_factory: pytest.TempPathFactory) -> Comb:
    return make_comb(tmp_path_factory.mktemp("comb"), seq2seq_of(small_experiment(), DECODER, 6, own_actions=0.0))


def crossing() -> KnownGraph:
    """At 0, with 1 to the east (3 m) and 2 to the north (4 m, 3 m higher); 0 was reached from nowhere."""
    known = start_graph(np.array([0]))
    places = np.array([[3.0, 0.0, 0.0], [0.0, 4.0, 3.0]])
    return visit(known, np.array([True]), Neighbours(np.array([0, 0]), np.array([1, 2]), places))


def test_options_are_neighbours_and_stopping() -> None:
    known = crossing()
    options = options_of(known, np.array([True]), np.array([math.pi / 2]), 4)  # looking east
    assert options.episode.tolist() == [0, 0, 0]
    assert options.sector.tolist() == [-1, 0, 1]
    turn = torch.atan2(options.place[:, 0], options.place[:, 1])
    torch.testing.assert_close(turn, torch.tensor([0.0, 0.0, -math.pi / 2]), atol=1e-6, rtol=0)
    torch.testing.assert_close(options.place[:, 2], torch.tensor([0.0, 0.6, 1.0]))
    torch.testing.assert_close(options.place[2, 3], torch.tensor(math.atan2(3.0, 4.0)))
    assert options.place[:, 5].tolist() == [1.0, 0.0, 0.0]
    assert option_numbers(option_mask(known, np.array([True])), np.array([2]), np.array([True])).tolist() == [2]


def test_only_neighbours_of_where_one_stands_are_options() -> None:
    known, _ = walk_to(crossing(), np.array([1]))
    known = visit(known, np.array([True]), Neighbours(np.array([0]), np.array([0]), np.zeros((1, 3))))
    assert option_mask(known, np.array([True])).tolist() == [[True, True, False]]
    assert not option_mask(known, np.array([False])).any()


def test_heading_follows_the_move() -> None:
    known = crossing()
    assert heading_after(known, np.array([1]), np.array([0.3]))[0] == pytest.approx(math.pi / 2)
    assert heading_after(known, np.array([2]), np.array([0.3]))[0] == pytest.approx(0.0)
    assert heading_after(known, np.array([0]), np.array([0.3]))[0] == 0.3


def test_probabilities_sum_to_one_and_remember_what_was_taken() -> None:
    torch.manual_seed(0)
    language, mapper = LanguageConfig(20, 8, 8, 4, 3, dropout=0.0), MapperConfig(features=5)
    model = Seq2Seq(Seq2SeqModelConfig(language, mapper, DECODER)).eval()
    encoded = model.encoder(torch.tensor([[3, 4, 5]]), torch.tensor([3]))
    options = options_of(crossing(), np.array([True]), np.zeros(1), 4)
    seen = torch.rand(1, 4, 5, generator=torch.Generator().manual_seed(1))
    state, scores, attention = model(model.begin(encoded), encoded, seen, options)
    torch.testing.assert_close(scores.exp().sum(), torch.tensor(1.0))
    torch.testing.assert_close(attention.sum(), torch.tensor(1.0))
    east, north = (model.take(state, seen, options, torch.tensor([k])) for k in (1, 2))
    again = [model(item, encoded, seen, options)[1] for item in (east, north)]
    assert not torch.allclose(*again)
    kept = model.take(east, seen, options, torch.tensor([-1]))
    torch.testing.assert_close(kept.previous, east.previous)


def test_walks_along_edges_until_it_stops(comb: Comb) -> None:
    random = np.random.default_rng(0)

    def anything(known: KnownGraph, table: np.ndarray, active: np.ndarray) -> np.ndarray:
        return np.where(np.isfinite(table), random.random(table.shape), -1.0).argmax(1)

    rollout = walk_episodes(comb.run.agent(), comb.world, comb.world.begin(comb.examples), choose=anything)
    assert len(rollout.steps) <= 6
    graph = comb.data.root.graph(comb.examples[0].scan)
    for path in rollout.paths:
        assert all(graph.adjacent[here, there] for here, there in itertools.pairwise(path))


def test_a_visited_neighbour_is_a_move_not_a_stop(comb: Comb) -> None:
    def back_and_forth(known: KnownGraph, table: np.ndarray, active: np.ndarray) -> np.ndarray:
        away = np.where(np.arange(table.shape[1]) == known.here[:, None], -1.0, 1.0)
        return np.where(np.isfinite(table), away, -2.0).argmax(1)

    agent = Seq2SeqAgent(comb.task.model, 4)
    rollout = walk_episodes(agent, comb.world, comb.world.begin(comb.examples[:2]), choose=back_and_forth)
    assert [len(path) for path in rollout.paths] == [4, 4]  # three moves, then the limit stops it
    assert all(path[0] == path[2] for path in rollout.paths)


def test_loss_equals_the_agents_own_scores(comb: Comb) -> None:
    """Teacher forcing: the loss is the mean negative log-probability that the agent gave the expert's moves."""
    examples = comb.examples
    draws = np.random.default_rng(0).random((len(examples), 6, 2))
    plan = WalkPlan(examples, [Symmetry()] * len(examples), Drops(np.zeros((len(examples), 80), bool)), draws, None)
    with torch.no_grad():
        loss = comb.task(comb.task.collect(comb.world, plan))
    episodes = comb.world.begin(examples)
    to_goal = comb.world.goal_distances(episodes)
    choose = mixed_choice(lambda known: next_slots(known, episodes.first, to_goal), draws, 0.0)
    agent = Seq2SeqAgent(comb.task.model, 7)
    rollout = walk_episodes(agent, comb.world, episodes, choose=choose, most=6, keep=True)
    costs = [
        -step.action.table[number, step.chosen[number]]
        for step in rollout.steps
        for number in np.flatnonzero(step.active)
    ]
    assert float(loss) == pytest.approx(float(np.mean(costs)), rel=1e-4)
    assert [path[-1] for path in rollout.paths] == [example.goal for example in examples]
