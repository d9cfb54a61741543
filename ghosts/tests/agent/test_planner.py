"""The planner: where mass goes, when it stops, and that it beats random walks on a true belief."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from agent.worlds import make_comb
from ghosts.agent.candidates import Candidates, reach_mass
from ghosts.agent.planner import Planner
from ghosts.agent.walkers import walk_random
from ghosts.belief.histogram import gaussian
from ghosts.config import PlannerConfig, RegionConfig
from ghosts.run.rollout import walk_episodes
from ghosts_sim.metrics import score_paths
from ghosts_sim.types import Grid

GRID = Grid(24, 24, 1.0)
START = torch.zeros(1, 2)


def candidates(*places: tuple[float, float, float, bool], from_agent_m: float = 0.0) -> Candidates:
    """(x, y, walk from the start, visited) of each candidate of one episode."""
    count = len(places)
    return Candidates(
        episode=torch.zeros(count, dtype=torch.long),
        xyz_m=torch.tensor([(x, y, 0.0) for x, y, _, _ in places]),
        from_start_m=torch.tensor([walk for _, _, walk, _ in places]),
        from_agent_m=torch.full((count,), from_agent_m),
        visited=torch.tensor([visited for _, _, _, visited in places]),
    )


def belief(*spots: tuple[float, float, float], steps: int = 2) -> Tensor:
    """Mass at (x, y, weight), the same at all filter steps."""
    mass = sum(weight * gaussian(torch.tensor([x, y]), GRID, 0.5) for x, y, weight in spots)
    return torch.as_tensor(mass)[None, None, None].expand(1, steps, 1, -1, -1)


# Standing at the origin, with a way on to the east and one to the north.
CROSSING = candidates((0.0, 0.0, 0.0, True), (2.0, 0.0, 2.0, False), (0.0, 2.0, 2.0, False))


def test_mass_reached_sums_to_one() -> None:
    random = torch.rand(1, 3, 4, 24, 24, generator=torch.Generator().manual_seed(0))
    through = reach_mass(CROSSING, random / random.sum((-3, -2, -1), keepdim=True), START, GRID, RegionConfig()).through
    torch.testing.assert_close(through.sum(0), torch.ones(3))


@pytest.mark.parametrize(
    ("spot", "owner"),
    [
        ((8.0, 0.5), 1),  # far beyond the eastern frontier
        ((9.0, 4.0), 1),
        ((0.5, 9.0), 2),
        ((0.0, 0.0), 0),  # where the walker stands
        ((2.0, 0.0), 1),
    ],
)
def test_mass_belongs_to_the_candidate_that_leads_there(spot: tuple[float, float], owner: int) -> None:
    through = reach_mass(CROSSING, belief((*spot, 1.0)), START, GRID, RegionConfig()).through
    assert int(through[:, -1].argmax()) == owner
    assert float(through[owner, -1]) > 0.9


def test_deeper_of_two_candidates_in_line_owns_what_lies_beyond() -> None:
    line = candidates((0.0, 0.0, 0.0, True), (2.0, 0.0, 2.0, True), (4.0, 0.0, 4.0, False), (0.0, 2.0, 2.0, False))
    through = reach_mass(line, belief((9.0, 0.0, 1.0)), START, GRID, RegionConfig()).through
    assert float(through[2, -1]) > 0.95


def test_a_long_way_round_does_not_own_what_is_near_it_in_the_air() -> None:
    # The second candidate is nearer to the mass in the air, but 12 m of walking from the start.
    round_about = candidates((0.0, 0.0, 0.0, True), (2.0, 0.0, 2.0, False), (4.0, 1.0, 12.0, False))
    through = reach_mass(round_about, belief((4.0, 0.0, 1.0)), START, GRID, RegionConfig()).through
    assert int(through[:, -1].argmax()) == 1


def test_goes_where_the_mass_is_and_stops_on_it() -> None:
    planner = Planner()
    assert int(planner(CROSSING, belief((8.0, 0.0, 0.7), (0.0, 8.0, 0.3)), START, GRID).argmax()) == 1
    assert int(planner(CROSSING, belief((0.0, 0.0, 1.0)), START, GRID).argmax()) == 0


def test_weighs_exploring_against_stopping() -> None:
    around = belief((0.0, 0.0, 0.5), (8.0, 0.0, 0.5))
    near, far = CROSSING, replace(CROSSING, from_agent_m=torch.tensor([0.0, 15.0, 15.0]))
    bold, tired = PlannerConfig(passing=0.0, sure=0.9), PlannerConfig(passing=0.0, sure=0.9, metre_cost=0.05)
    slightly = belief((0.0, 0.0, 0.4), (8.0, 0.0, 0.6))
    assert int(Planner(bold)(near, slightly, START, GRID).argmax()) == 1
    assert int(Planner(tired)(far, slightly, START, GRID).argmax()) == 0
    assert int(Planner(replace(bold, sure=0.3))(near, around, START, GRID).argmax()) == 0


def test_uses_the_whole_trajectory() -> None:
    """The goal's mass is equal in the east and the north, but the demonstrator passes through the north."""
    goal, passing = belief((8.0, 0.0, 0.5), (0.0, 8.0, 0.5), steps=1), belief((0.0, 3.0, 1.0), steps=1)
    beliefs = torch.cat([belief((0.0, 0.0, 1.0), steps=1), passing, goal], 1)
    assert int(Planner()(CROSSING, beliefs, START, GRID).argmax()) == 2


def test_episodes_of_a_batch_do_not_mix() -> None:
    two = Candidates(
        episode=torch.tensor([0, 0, 0, 1, 1, 1]),
        xyz_m=CROSSING.xyz_m.repeat(2, 1),
        from_start_m=CROSSING.from_start_m.repeat(2),
        from_agent_m=CROSSING.from_agent_m.repeat(2),
        visited=CROSSING.visited.repeat(2),
    )
    beliefs = torch.cat([belief((8.0, 0.0, 1.0)), belief((0.0, 8.0, 1.0))])
    worth = Planner()(two, beliefs, START.repeat(2, 1), GRID)
    assert worth.view(2, 3).argmax(1).tolist() == [1, 2]
    torch.testing.assert_close(worth[:3], Planner()(CROSSING, beliefs[:1], START, GRID))


def test_beats_random_walks_on_true_beliefs(tmp_path_factory: pytest.TempPathFactory) -> None:
    comb = make_comb(tmp_path_factory.mktemp("comb"))
    examples = comb.examples
    episodes = comb.world.with_true_beliefs(comb.world.begin(examples), comb.task.model.config)
    agent = comb.run.agent(planner=True)
    graphs = [comb.data.root.graph(example.scan) for example in examples]
    references = [graph.path(example.start, example.goal) for graph, example in zip(graphs, examples)]
    names = [example.instr_id for example in examples]
    planned = walk_episodes(agent, comb.world, episodes).paths
    found = score_paths(names, graphs, planned, references).means()
    strolls = [
        [
            walk_random(graph, example.start, np.random.default_rng([seed, k]))
            for k, (graph, example) in enumerate(zip(graphs, examples))
        ]
        for seed in range(20)
    ]
    lucky = np.mean([score_paths(names, graphs, stroll, references).means()["SPL"] for stroll in strolls])
    assert found["SR"] == 1.0
    assert found["SPL"] > 0.9 > 0.5 > lucky
