"""The agent follows the rules of its world, whatever its weights say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

from agent.worlds import Comb, make_comb
from ghosts.agent.candidates import on_slots
from ghosts.agent.known import KnownGraph, Neighbours, start_graph, visit, walk_to
from ghosts.agent.loop import TOGETHER, GhostAgent, choose_best, decide, thinkers
from ghosts.data.examples import DEV_UNSEEN, TRAIN
from ghosts.data.symmetry import Symmetry
from ghosts.run.rollout import walk_episodes
from landmark_world import EDGES, STEP_M


@pytest.fixture(scope="module")
def comb(tmp_path_factory: pytest.TempPathFactory) -> Comb:
    return make_comb(tmp_path_factory.mktemp("comb"))


def see(known: KnownGraph, neighbours: list[tuple[int, int, tuple[float, float]]]) -> KnownGraph:
    """Look around: (walker, viewpoint, xy) of each neighbour."""
    walker = np.array([item[0] for item in neighbours])
    viewpoint = np.array([item[1] for item in neighbours])
    xyz = np.array([(*item[2], 0.0) for item in neighbours])
    return visit(known, np.ones(len(known.here), bool), Neighbours(walker, viewpoint, xyz))


# A square 0 (0, 0), 1 (3, 0), 2 (3, 4), 3 (0, 4): every side is an edge; and a walker elsewhere that sees only 7 and 8.
@pytest.fixture
def square() -> KnownGraph:
    known = start_graph(np.array([0, 7]))
    return see(known, [(0, 1, (3.0, 0.0)), (0, 3, (0.0, 4.0)), (1, 8, (1.0, 0.0))])


def test_known_graph_knows_neighbours_of_visited_viewpoints_only(square: KnownGraph) -> None:
    assert square.viewpoint.tolist() == [[0, 1, 3], [7, 8, -1]]
    assert square.visited.tolist() == [[True, False, False], [True, False, False]]
    # The edge 1 – 2 was not seen; 1 and 3 are joined through 0.
    assert square.distance_m[0, 1, 2] == 7.0
    assert square.distance_m[1, 0, 1] == 1.0
    assert square.edge_m[0, 1, 2] == np.inf


def test_distances_are_relaxed_when_edges_are_learned(square: KnownGraph) -> None:
    known, walked = walk_to(square, np.array([1, 0]))
    assert walked.tolist() == [[1], [-1]]
    active = np.array([True, False])
    places = np.array([[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]])
    known = visit(known, active, Neighbours(np.array([0, 0]), np.array([0, 2]), places))
    known, _ = walk_to(known, np.array([3, 0]))  # slot 3 is viewpoint 2
    places = np.array([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    known = visit(known, active, Neighbours(np.array([0, 0]), np.array([1, 3]), places))
    slots = {int(name): slot for slot, name in enumerate(known.viewpoint[0])}
    distance = known.distance_m[0][np.ix_(*[[slots[k] for k in range(4)]] * 2)]
    expected = np.array([[0, 3, 7, 4], [3, 0, 4, 7], [7, 4, 0, 3], [4, 7, 3, 0]], float)
    np.testing.assert_allclose(distance, expected)
    assert known.viewpoint[1].tolist()[:2] == [7, 8]
    assert known.visited[1].sum() == 1


def test_walk_pauses_at_the_first_unvisited_viewpoint() -> None:
    # A line 0 - 1 - 2 - 3; 0 and 1 visited, 3 known from nowhere but 2 is: the walk to 3 is not known.
    known = see(start_graph(np.array([0])), [(0, 1, (2.0, 0.0))])
    known, _ = walk_to(known, np.array([1]))
    known = see(known, [(0, 0, (0.0, 0.0)), (0, 2, (4.0, 0.0))])
    back, walked = walk_to(known, np.array([0]))
    assert walked.tolist() == [[0]]
    known, walked = walk_to(back, np.array([2]))  # past 1, which was visited, to 2
    assert walked.tolist() == [[1, 2]]
    # Now pretend 1 had not been visited: the walk pauses there.
    forgotten = replace(back, visited=np.array([[True, False, False]]))
    paused, walked = walk_to(forgotten, np.array([2]))
    assert walked.tolist() == [[1]]
    assert paused.here.tolist() == [1]


def test_viewpoints_at_one_place_do_not_trap_the_walker() -> None:
    known = see(start_graph(np.array([0])), [(0, 1, (0.0, 0.0))])
    known, walked = walk_to(known, np.array([1]))
    assert walked.tolist() == [[1]]


def test_choosing_a_visited_viewpoint_stops(square: KnownGraph) -> None:
    action = decide(square, np.array([False, False]), np.eye(3)[:2], choose_best)
    assert action.stopped.tolist() == [True, False]
    moved, moves = walk_to(square, action.chosen)
    assert moves.tolist() == [[-1], [8]]
    later = decide(moved, action.stopped, np.eye(3)[[2, 0]], choose_best)
    assert later.chosen.tolist() == [-1, 0]
    assert walk_to(moved, later.chosen)[1].tolist() == [[-1], [7]]
    assert later.stopped.tolist() == [True, True]


def test_scores_go_back_to_their_slots(square: KnownGraph) -> None:
    active = np.array([True, True])
    candidates = square.candidates(active, torch.device("cpu"))
    assert candidates.episode.tolist() == [0, 0, 0, 1, 1]
    assert candidates.from_agent_m.tolist() == [0.0, 3.0, 4.0, 0.0, 1.0]
    table = on_slots(square.filled, torch.arange(5.0))
    assert table.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, -np.inf]]
    assert choose_best(square, table, active).tolist() == [2, 1]


@pytest.mark.parametrize("seed", range(3))
def test_rules_hold_for_any_choices(comb: Comb, seed: int) -> None:
    """Random choices: every path follows edges, pauses only at new viewpoints, and ends on a visited one."""
    random = np.random.default_rng(seed)

    def anything(known: KnownGraph, table: np.ndarray, active: np.ndarray) -> np.ndarray:
        odds = np.where(np.isfinite(table), random.random(table.shape), -1.0)
        return odds.argmax(1)

    examples = comb.examples
    agent = comb.run.agent()
    rollout = walk_episodes(agent, comb.world, comb.world.begin(examples), choose=anything, keep=True)
    edges = {frozenset(edge) for edge in EDGES}
    for number, (example, path) in enumerate(zip(examples, rollout.paths)):
        assert path[0] == example.start
        assert all(frozenset(pair) in edges for pair in pairwise(path))
        rows = [int(step.row[number]) for step in rollout.steps if step.active[number]]
        assert len(rows) == len(set(rows)) <= 8  # a panorama is never looked at twice
        last = rollout.steps[len(rows) - 1]
        assert path[-1] in rows
        chosen = last.known.viewpoint[number, last.chosen[number]]
        assert last.known.visited[number, last.chosen[number]]
        assert int(chosen) % 11 == path[-1]  # viewpoints are numbered through buildings of 11


def test_step_limit_goes_back_to_the_best_visited_viewpoint(comb: Comb) -> None:
    def away(known: KnownGraph, table: np.ndarray, active: np.ndarray) -> np.ndarray:
        # Unvisited while that is allowed.
        return np.where(np.isfinite(table), ~known.visited * 1.0, -1.0).argmax(1)

    agent = GhostAgent(comb.task.model, step_limit=3)
    rollout = walk_episodes(agent, comb.world, comb.world.begin(comb.examples), choose=away, keep=True)
    assert len(rollout.steps) == 3
    last = rollout.steps[-1]
    assert (np.isfinite(last.action.table) == (last.known.visited & last.known.filled)).all()
    for number, path in enumerate(rollout.paths):
        assert path[-1] in rollout.rows[number]


def test_a_step_holds_what_pictures_need(comb: Comb) -> None:
    episodes = comb.world.begin(comb.examples)
    rollout = walk_episodes(comb.run.agent(), comb.world, episodes, keep=True)
    belief, scores = rollout.steps[0].thought, rollout.steps[0].action.scores
    batch, steps = len(comb.examples), comb.task.model.config.language.steps
    assert belief.mass.shape == (batch, steps + 1, 4, 16, 16)
    torch.testing.assert_close(belief.mass.sum((-3, -2, -1)), torch.ones(batch, steps + 1))
    assert belief.trace.likelihoods.shape == (batch, 1, steps, 4, 16, 16)
    total = scores.values.new_zeros(batch).index_add(0, scores.candidates.episode, scores.values.exp())
    torch.testing.assert_close(total, torch.ones(batch))


def test_step_by_step_beliefs_equal_those_of_training(comb: Comb) -> None:
    """What the agent thinks at each step is what the training batch says of the same walk."""
    examples = comb.examples
    rollout = walk_episodes(comb.run.agent(), comb.world, comb.world.begin(examples), keep=True)
    batch = comb.data.batch(examples, rollout.rows.tolist())
    with torch.no_grad():
        whole = comb.task.model(batch.briefing, batch.seen).filter.beliefs
    for number, step in enumerate(rollout.steps):
        active = torch.from_numpy(step.active)
        torch.testing.assert_close(step.thought.mass[active], whole[active, number], atol=1e-5, rtol=1e-4)


def test_worlds_under_a_symmetry_are_seen_so(comb: Comb) -> None:
    """Mirrored and rotated, the same viewpoints are the same distances apart, mirrored and rotated."""
    examples = comb.examples[:2]
    symmetries = [Symmetry(mirrored=True), Symmetry(quarters=1)]
    plain, changed = comb.world.begin(examples), comb.world.begin(examples, symmetries)
    here, active = plain.start_viewpoint, np.ones(2, bool)
    before, after = (comb.world.neighbours(item, here, active) for item in (plain, changed))
    first, second = before.episode == 0, before.episode == 1
    np.testing.assert_allclose(after.xyz_m[first], before.xyz_m[first] * [-1.0, 1.0, 1.0], atol=1e-9)
    x, y, z = before.xyz_m[second].T
    np.testing.assert_allclose(after.xyz_m[second], np.stack([-y, x, z], 1), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(after.xyz_m, axis=1), STEP_M)


def test_true_beliefs_replace_the_filter(comb: Comb) -> None:
    episodes = comb.world.with_true_beliefs(comb.world.begin(comb.examples), comb.task.model.config)
    rollout = walk_episodes(comb.run.agent(), comb.world, episodes, most=1, keep=True)
    assert rollout.steps[0].thought.trace is None
    assert torch.equal(rollout.steps[0].thought.mass, episodes.beliefs)


def test_only_walkers_that_go_on_think_filled_up_to_a_few_sizes() -> None:
    active = np.zeros(5 * TOGETHER, bool)
    active[3::5] = True  # 16
    assert thinkers(active).tolist() == np.flatnonzero(active).tolist()
    active[0] = True
    chosen = thinkers(active)
    assert len(chosen) == 2 * TOGETHER
    assert set(np.flatnonzero(active)) <= set(chosen.tolist())
    assert thinkers(np.ones(3, bool)).tolist() == [0, 1, 2]


def test_walks_are_the_same_when_stopped_walkers_do_not_think(comb: Comb) -> None:
    examples = [*comb.data.examples(DEV_UNSEEN), *comb.data.examples(TRAIN)][: 3 * TOGETHER]
    agent = comb.run.agent()
    together = walk_episodes(agent, comb.world, comb.world.begin(examples), keep=True)
    alone = [walk_episodes(agent, comb.world, comb.world.begin(examples[at : at + 4])).paths for at in range(0, 48, 4)]
    assert together.paths == [path for part in alone for path in part]
    assert min(len(step.thought.walkers) for step in together.steps) < len(examples)
    for step in together.steps:
        assert len(step.thought.mass) == len(step.thought.walkers)
        np.testing.assert_allclose(step.action.probabilities.sum(1), step.active.astype(float), atol=1e-6)
