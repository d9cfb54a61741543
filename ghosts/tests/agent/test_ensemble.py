"""Several models as one."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from experiments import acting, hand_coded_of
from ghosts.agent.ensemble import Ensemble, EnsembleAgent
from ghosts.data.dataset import Dataset
from ghosts.methods.build import build_model
from ghosts.methods.ghost.model import GoalModel
from ghosts.run.load import Run, ensemble_of
from ghosts.run.rollout import GraphWalks, walk_episodes
from ghosts_sim.errors import ConfigError
from ghosts_sim.geometry import from_cells
from landmark_world import load, make_landmark_root, small_experiment

CPU = torch.device("cpu")
EXPERIMENT = acting(small_experiment(), step_limit=6)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load(make_landmark_root(tmp_path_factory.mktemp("world") / "root"), EXPERIMENT)


def run_of(data: Dataset, seed: int) -> Run:
    torch.manual_seed(seed)
    model = build_model(EXPERIMENT, data.vocabulary, data.labels).eval()
    assert isinstance(model, GoalModel)
    return Run(f"seed{seed}", EXPERIMENT, model, data.reading)


def test_predictions_are_the_mean(data: Dataset) -> None:
    examples = data.examples("val_seen")[:3]
    batch = data.load(data.batch(examples, [[item.start] * 2 for item in examples]), CPU)
    one, other = run_of(data, 0), run_of(data, 1)
    both = ensemble_of([one, other]).model
    assert isinstance(both, Ensemble)
    found, first, second = (model.predict(batch.briefing, batch.seen) for model in (both, one.model, other.model))
    torch.testing.assert_close(found.goal, (first.goal + second.goal) / 2)
    assert (first.goal - second.goal).abs().max() > 1e-3
    cell = found.goal.flatten(-2).argmax(-1)
    there = from_cells(torch.stack([cell % found.grid.cols, cell // found.grid.cols], -1).float(), found.grid)
    assert ((found.goal_xy_m - there).abs() <= 1.5 * found.grid.cell_m).all()


def test_twice_the_same_model_walks_like_one(data: Dataset) -> None:
    run, world, examples = run_of(data, 0), GraphWalks(data, CPU), data.examples("val_seen")[::4]
    twins = ensemble_of([run, replace(run, name="again")]).agent()
    assert isinstance(twins, EnsembleAgent)
    walks = [walk_episodes(agent, world, world.begin(examples)).paths for agent in (run.agent(), twins)]
    assert walks[0] == walks[1]
    mixed = ensemble_of([run, run_of(data, 3)]).agent()
    assert walk_episodes(mixed, world, world.begin(examples)).paths != walks[0]


def test_what_cannot_be_one_is_refused(data: Dataset) -> None:
    run = run_of(data, 0)
    with pytest.raises(ConfigError, match=r"an ensemble needs two runs or more; repeat --run"):
        ensemble_of([run])
    blind = replace(run, name="blind", reading=replace(run.reading, labels=None))
    with pytest.raises(ConfigError, match=r"blind and seed0 read different words or labels"):
        ensemble_of([run, blind])
    rule = hand_coded_of(small_experiment())
    hand = Run("hand", rule, build_model(rule), data.reading)
    with pytest.raises(ConfigError, match=r"hand has no filter for an ensemble"):
        ensemble_of([run, hand])


def test_an_ensemble_acts_by_the_planner_too(data: Dataset) -> None:
    both = ensemble_of([run_of(data, 0), run_of(data, 1)])
    world, examples = GraphWalks(data, CPU), data.examples("val_seen")[:2]
    assert walk_episodes(both.agent(planner=True), world, world.begin(examples)).stopped.all()
