"""Learning to act: targets, mixed moves, losses, and that training on the small world finds the goals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from checks import unchecked
from experiments import acting, seq2seq_of, task_of
from ghosts import weights
from ghosts.agent.known import start_graph
from ghosts.config import DataConfig, Experiment, LandmarkConfig, ModelConfig, ModelParts
from ghosts.data.dataset import Dataset, open_dataset
from ghosts.data.drops import Drops
from ghosts.data.examples import TRAIN
from ghosts.data.reading import reading_of
from ghosts.data.symmetry import Symmetry
from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
from ghosts.data.tile_store import TileSettings
from ghosts.evaluate.goal import Execution
from ghosts.evaluate.vln import score_walks, walk_split
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import weights_hash
from ghosts.methods import method, presets
from ghosts.methods.ghost import METHOD
from ghosts.methods.ghost.act import NavBatch, NavigationTask, target_slots
from ghosts.methods.ghost.settings import AgentExperiment, FilterExperiment
from ghosts.methods.seq2seq.settings import DecoderConfig, Seq2SeqExperiment
from ghosts.methods.seq2seq.task import next_slots
from ghosts.precision import choose_precision
from ghosts.run.load import Run, load_run
from ghosts.run.rollout import GraphWalks
from ghosts.train.own_walks import WalkPlan, mixed_choice, sample_slots
from ghosts.train.task import EpisodeTask, Share
from ghosts.train.trainer import RunFiles, train
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError
from ghosts_sim.types import Intrinsics
from image_roots import make_image_root
from landmark_world import load, small_experiment
from trainings import one_process

CPU = torch.device("cpu")


def agent_experiment(step_limit: int = 8, **train: Any) -> AgentExperiment:
    base = small_experiment(agent_steps=5)
    model = replace(base.model, policy=replace(base.model.policy, beyond=True))
    return acting(base, model, step_limit=step_limit, **train)


def seq2seq_experiment(decoder: DecoderConfig, step_limit: int = 8, **train: Any) -> Seq2SeqExperiment:
    return seq2seq_of(small_experiment(agent_steps=5), decoder, step_limit, **train)


def kind_of_agent(kind: str, decoder: DecoderConfig, step_limit: int = 8, **train: Any) -> Experiment:
    """The paper's agent or the sequence-to-sequence one."""
    return (
        agent_experiment(step_limit, **train) if kind == "filter" else seq2seq_experiment(decoder, step_limit, **train)
    )


@pytest.fixture(scope="module")
def data(combs: Path) -> Dataset:
    return load(combs, agent_experiment())


def trained(data: Dataset, out: Path, experiment: Experiment) -> EpisodeTask[Any, Any]:
    """An agent after training."""
    task = task_of(experiment, data)
    with unchecked():
        train(task, one_process(), RunFiles.of(out), threads=0)
    return task


def train_goal(experiment: FilterExperiment, data: Dataset, out: Path) -> dict[str, torch.Tensor]:
    """Weights of a goal predictor, left in `out` too."""
    task = task_of(experiment, data)
    train(task, one_process(), RunFiles.of(out), threads=0)
    return task.model.state_dict()


def run_of(task: EpisodeTask[Any, Any]) -> Run:
    return Run("mine", task.experiment, task.model, task.data.reading)


def success(task: EpisodeTask[Any, Any], data: Dataset, split: str) -> float:
    examples = data.examples(split)
    return score_walks(data.root, examples, walk_split(run_of(task), data, examples)).means()["SR"]


def collected(data: Dataset, own: float) -> tuple[NavigationTask, GraphWalks, WalkPlan, NavBatch]:
    """Walks of an untrained agent, a share of whose moves is its own."""
    task = NavigationTask(agent_experiment(12, own_actions=own), data)
    world, examples = GraphWalks(data, CPU), data.examples(TRAIN)[::9]
    draws = np.stack([np.random.default_rng([0, k]).random((5, 2)) for k in range(len(examples))])
    drops = Drops(np.zeros((len(examples), 80), bool))
    plan = WalkPlan(examples, [Symmetry()] * len(examples), drops, draws, None)
    task.eval()
    batch = task.collect(world, plan)
    assert isinstance(batch, NavBatch)
    return task, world, plan, batch


def test_following_targets_walks_the_shortest_path(data: Dataset) -> None:
    _, world, plan, batch = collected(data, own=0.0)
    episodes = world.begin(plan.examples)
    steps = batch.active.shape[1]
    for number, example in enumerate(plan.examples):
        graph = data.root.graph(example.scan)
        path = graph.path(example.start, example.goal)
        looks = int(batch.active[number].sum())
        assert looks == min(len(path), steps)  # every viewpoint is new; the last look sees it is there and stops
        for step in range(looks):
            chosen = batch.target[number * steps + step]
            assert int(batch.candidates.episode[chosen]) == number * steps + step
            visited, goal = bool(batch.candidates.visited[chosen]), graph.position_m[example.goal]
            if path[step] == example.goal:
                assert visited
                offset = goal - graph.position_m[example.start]
                np.testing.assert_allclose(batch.candidates.xyz_m[chosen].numpy(), offset, atol=1e-4)
            else:
                assert not visited
    assert world.goal_distances(episodes).shape == (len(plan.examples), 11)


def test_targets_are_the_closest_candidates(data: Dataset) -> None:
    _, _, plan, batch = collected(data, own=1.0)
    steps = batch.active.shape[1]
    for number in range(len(plan.examples)):
        for step in range(steps):
            index = number * steps + step
            assert (int(batch.target[index]) >= 0) == bool(batch.active[number, step])
    mine = batch.candidates.episode == 0
    example = plan.examples[0]
    graph = data.root.graph(example.scan)
    offsets = graph.position_m - graph.position_m[example.start]
    rows = [int(np.abs(offsets - xyz).sum(1).argmin()) for xyz in batch.candidates.xyz_m[mine].numpy()]
    best = min(rows, key=lambda row: graph.distance_m[row, example.goal])
    chosen = batch.candidates.xyz_m[batch.target[0]].numpy()
    assert int(np.abs(offsets - chosen).sum(1).argmin()) == best


def test_sampled_slots_follow_the_distribution() -> None:
    table = np.log(np.array([[0.2, 0.5, 0.3]]))
    draws = np.linspace(0.0, 1.0, 1000, endpoint=False)
    slots = np.array([sample_slots(table, np.array([True]), np.array([draw]))[0] for draw in draws])
    np.testing.assert_allclose(np.bincount(slots) / 1000, [0.2, 0.5, 0.3], atol=2e-3)
    barred = np.array([[0.0, -np.inf, -np.inf]])
    assert sample_slots(barred, np.array([True]), np.array([1.0 - 1e-16]))[0] == 0


def test_moves_are_mixed(data: Dataset) -> None:
    _, world, plan, _ = collected(data, own=0.5)
    episodes = world.begin(plan.examples)
    active = np.ones(len(plan.examples), bool)
    known = world.observe(episodes, start_graph(episodes.start_viewpoint), active).places
    assert known is not None
    table = np.where(np.arange(known.viewpoint.shape[1]) == 0, 0.0, -np.inf) + np.zeros(known.viewpoint.shape)
    targets = target_slots(known, episodes.first, world.goal_distances(episodes))
    draws = np.zeros((len(active), 1, 2))
    draws[::2, 0, 0] = 0.9  # every second walker does as it is told
    chosen = mixed_choice(lambda _: targets, draws, 0.5)(known, table, active)
    assert (targets > 0).all()
    assert chosen.tolist() == [int(target) if k % 2 == 0 else 0 for k, target in enumerate(targets)]
    expert = next_slots(known, episodes.first, world.goal_distances(episodes))
    rows = known.viewpoint[np.arange(len(expert)), expert] - episodes.first
    hops = [data.root.graph(e.scan).next_hop[e.start, e.goal] for e in plan.examples]
    assert rows.tolist() == [int(hop) for hop in hops]


def test_loss_trains_filter_and_policy_and_ignores_looks_that_never_were(data: Dataset) -> None:
    task, _, _, batch = collected(data, own=0.0)
    assert not batch.active.all()
    model = task.train().model
    task.zero_grad()
    loss = task(batch)
    loss.backward()
    for part in (model.policy, model.filter, model.mapper, model.language, model.features):
        assert any(value.grad is not None and value.grad.abs().sum() > 0 for value in part.parameters())
    # Words and poses of looks that never were may be anything: only active looks count.
    task.settings = replace(task.settings, policy_weight=0.0)
    weightless = task(batch)
    task.settings = replace(task.settings, policy_weight=1.0)
    heavy = task(batch)
    task.settings = replace(task.settings, policy_weight=0.1)
    torch.testing.assert_close(task(batch), weightless + 0.1 * (heavy - weightless), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("agent", ["filter", "seq2seq"])
def test_plans_do_not_depend_on_how_many_processes_share_them(data: Dataset, agent: Any) -> None:
    task = task_of(kind_of_agent(agent, DecoderConfig(8, 4), 12), data)
    whole = task.draw(3, Share())
    for rank in range(2):
        half = task.draw(3, Share(rank, 2))
        assert [e.instr_id for e in half.examples] == [e.instr_id for e in whole.examples[rank::2]]
        assert half.symmetries == whole.symmetries[rank::2]
        np.testing.assert_array_equal(half.draws, whole.draws[rank::2])
        np.testing.assert_array_equal(half.drops.unknown, whole.drops.unknown[rank::2])
        assert (half.masks is None) == (whole.masks is None) == (agent == "seq2seq")
        if half.masks is not None and whole.masks is not None:
            assert torch.equal(half.masks.input, whole.masks.input[rank::2])
            assert torch.equal(half.masks.state, whole.masks.state[rank::2])


def test_walking_leaves_the_task_in_training_mode(data: Dataset) -> None:
    task = NavigationTask(agent_experiment(), data)
    task.train()
    before = {name: value.clone() for name, value in task.state_dict().items()}
    batch = task.ready(task.draw(0, Share()), one_process())
    assert task.training
    assert batch.active[:, 0].all()
    for name, value in task.state_dict().items():
        torch.testing.assert_close(value, before[name])


def test_training_on_true_beliefs_finds_the_goals(data: Dataset, tmp_path: Path) -> None:
    settings = {"iterations": 15, "batch": 16, "learning_rate": 1e-2, "checkpoint_every": 15}
    experiment = agent_experiment(true_beliefs=True, seed=2, **settings)
    before = success(task_of(experiment, data), data, "dev_unseen")
    task = trained(data, tmp_path, experiment)
    after = success(task, data, "dev_unseen")
    assert after >= 0.75
    assert after > before + 0.3


@pytest.mark.parametrize("agent", ["filter", "seq2seq"])
def test_training_learns_the_way(data: Dataset, tmp_path: Path, agent: Any) -> None:
    """A few paths of one building: filter and policy together learn to walk them, and so does student forcing."""
    learning = {
        "filter": (agent_experiment(policy_weight=1.0), 6, 18, 3e-2),
        "seq2seq": (seq2seq_experiment(DecoderConfig(32, 8, 0.0)), 3, 45, 2e-2),
    }
    experiment, nth, iterations, rate = learning[agent]
    few = replace(data, splits={TRAIN: data.examples(TRAIN)[:24:nth]})
    before = success(task_of(experiment, few), few, TRAIN)
    settings = {"iterations": iterations, "batch": 24 // nth, "learning_rate": rate, "mirrored": 0.0}
    longer = replace(experiment, train=replace(experiment.train, **settings, checkpoint_every=iterations))
    after = success(trained(few, tmp_path, longer), few, TRAIN)
    assert after >= before + 0.5


def test_warm_start_takes_the_filter_and_leaves_the_policy(combs: Path, tmp_path: Path) -> None:
    goal = small_experiment(iterations=2, checkpoint_every=2)
    goal_data = load(combs, goal)
    before = train_goal(goal, goal_data, tmp_path / "goal")
    own = task_of(agent_experiment(), goal_data, warm_start=tmp_path / "goal" / "last.safetensors")
    after = own.model.state_dict()
    for name, value in before.items():
        if not name.startswith("policy."):
            torch.testing.assert_close(after[name], value, rtol=0, atol=0)
    assert after["policy.hidden.weight"].shape != before["policy.hidden.weight"].shape


def test_a_fresh_policy_is_not_the_one_of_the_warm_start(data: Dataset, tmp_path: Path) -> None:
    before = trained(data, tmp_path, agent_experiment(iterations=2, checkpoint_every=2)).model.state_dict()
    file = tmp_path / "last.safetensors"
    taken = task_of(agent_experiment(), data, warm_start=file).model.state_dict()
    fresh = task_of(agent_experiment(fresh_policy=True), data, warm_start=file)
    for name, value in fresh.model.state_dict().items():
        torch.testing.assert_close(taken[name], before[name], rtol=0, atol=0)
        same = torch.equal(value, before[name])
        assert same or name.startswith("policy."), name
    assert not torch.equal(fresh.model.policy.hidden.weight, before["policy.hidden.weight"])


def test_a_shipped_filter_is_named_without_the_policy_beside_it(
    data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`landmarks-improved` and `landmarks-agent` are one file; only the second name means its policy."""
    before = trained(data, tmp_path, agent_experiment(iterations=1, batch=2, checkpoint_every=1)).model.state_dict()
    file = tmp_path / "last.safetensors"
    monkeypatch.setattr(weights, "shipped", lambda: {"landmarks-agent": file, "landmarks-improved": file})
    taken = {}
    for name in ("landmarks-agent", "landmarks-improved"):
        own = task_of(agent_experiment(seed=1), data, warm_start=Path(name)).model.state_dict()
        taken[name] = {part for part, value in before.items() if torch.equal(own[part], value)}
    assert taken["landmarks-agent"] == set(before)
    assert "policy.hidden.weight" in taken["landmarks-agent"] - taken["landmarks-improved"]
    assert taken["landmarks-improved"] >= {part for part in before if not part.startswith("policy.")}


def test_warm_start_refuses_other_models(combs: Path, data: Dataset, tmp_path: Path) -> None:
    goal = small_experiment(iterations=1, checkpoint_every=1)
    wider = replace(goal, model=replace(goal.model, mapper=replace(goal.model.mapper, channels=4)))
    wide_data = load(combs, wider)
    train_goal(wider, wide_data, tmp_path / "goal")
    file = tmp_path / "goal" / "last.safetensors"
    with pytest.raises(DataError, match=r"a model of other sizes \(.* has the size .* expected .*\); use the same"):
        task_of(agent_experiment(), data, warm_start=file)
    far = replace(agent_experiment(), data=DataConfig(landmarks=LandmarkConfig(sight_m=99.0)))
    with pytest.raises(DataError, match=r"other landmarks: landmarks.sight_m .* use the same --landmarks options"):
        task_of(far, wide_data, warm_start=file)
    with pytest.raises(DataError, match="no such run"):
        METHOD.check_start(agent_experiment(), tmp_path / "a", tmp_path / "nothing")
    with pytest.raises(ConfigError, match="a sequence-to-sequence agent starts from no other weights; leave out"):
        method("seq2seq").check_start(seq2seq_experiment(DecoderConfig()), tmp_path / "a", file)


def test_a_goal_predictor_acts_through_the_planner_alone(combs: Path, tmp_path: Path) -> None:
    goal = small_experiment(iterations=1, checkpoint_every=1)
    train_goal(goal, load(combs, goal), tmp_path)
    run = load_run(tmp_path / "last.safetensors")
    assert not run.experiment.acts
    assert run.iteration == 1
    assert run.agent(planner=True).step_limit == run.experiment.model.step_limit == 12
    with pytest.raises(ConfigError, match="predicts goals and was not trained to act; add --planner"):
        run.agent()


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> DataRoot:
    """Five small buildings with pictures, and their tiles from a small backbone of random weights."""
    splits = {"train": ("h0", "h1", "h2", "h3", "h4"), "val_unseen": ("u",)}
    made = DataRoot(make_image_root(tmp_path_factory.mktemp("houses") / "root", splits))
    torch.manual_seed(3)
    backbone = SmallBackbone(8).eval().requires_grad_(False)
    maker = TileMaker(made, backbone, TileSettings(weights_hash(backbone), 8, 0.5, camera=Intrinsics(80, 64, 1.0)), CPU)
    assert build_tiles(maker, made.path / "tiles", plan_work(maker, made.path / "tiles"))
    return made


def shrunk(whole: Experiment) -> ModelParts:
    """The same kinds of everything, in small."""
    small = agent_experiment(step_limit=3).model
    mapper = replace(small.mapper, features=8, convolution=whole.model.mapper.convolution)
    if isinstance(whole, Seq2SeqExperiment):
        return replace(whole.model, language=small.language, mapper=mapper, decoder=DecoderConfig(8, 4), step_limit=3)
    assert isinstance(whole, AgentExperiment)
    motion = replace(small.filter.motion, kind=whole.model.filter.motion.kind)
    return replace(small, mapper=mapper, filter=replace(small.filter, motion=motion))


@pytest.mark.parametrize("name", sorted(presets("vln")))
def test_every_preset_trains_and_walks(name: str, combs: Path, houses: DataRoot, tmp_path: Path) -> None:
    """Two iterations of each, with small layers, on landmarks or on images' tiles."""
    whole = presets("vln")[name]()
    images = whole.data.observation == "images"
    train_config = replace(whole.train, iterations=2, batch=4, agent_steps=2, precision="32-true")
    experiment = replace(whole, model=shrunk(whole), train=train_config)
    data = open_dataset(houses if images else DataRoot(combs), reading_of(experiment, training=True))
    assert (data.bank.features is not None) == images
    warm = None
    if isinstance(experiment, AgentExperiment) and experiment.train.freeze_filter:
        parts, short = experiment.model, small_experiment(iterations=2, batch=4, agent_steps=2).train
        model = ModelConfig(parts.language, parts.mapper, parts.filter, parts.policy)
        goal = FilterExperiment("goal", model, short, experiment.data)
        train_goal(goal, data, tmp_path / "goal")
        warm = tmp_path / "goal" / "last.safetensors"
    task = task_of(experiment, data, warm_start=warm)
    train(task, one_process(), RunFiles.of(tmp_path), threads=0)
    examples = data.examples("val_unseen" if images else "dev_unseen")[:4]
    paths = walk_split(run_of(task), data, examples)
    assert [path[0] for path in paths] == [example.start for example in examples]
    loaded = load_run(tmp_path / "last.safetensors")
    assert loaded.experiment == experiment
    assert walk_split(loaded, data, examples) == paths


@pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("agent", ["filter", "seq2seq"])
def test_half_precision_trains_and_walks(agent: Any, place: str, data: Dataset, tmp_path: Path) -> None:
    half = "bf16-mixed"
    task = task_of(kind_of_agent(agent, DecoderConfig(8, 4), 4, iterations=2, precision=half), data)
    processes = Fabric(accelerator=place, devices=1, precision=choose_precision(half, torch.device(place)))
    train(task, processes, RunFiles.of(tmp_path), threads=0)
    examples = data.examples("dev_unseen")[:6]
    paths = walk_split(run_of(task), data, examples, Execution(processes, precision=half))
    assert [path[0] for path in paths] == [example.start for example in examples]
    assert all(value.isfinite().all() for value in task.model.state_dict().values())
