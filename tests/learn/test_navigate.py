"""Learning to act: targets, mixed moves, losses, and that training on the small world finds the goals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from lightning.fabric import Fabric

from checks import unchecked
from ghosts import weights
from ghosts.act.known import look_around, start_graph
from ghosts.config import Seq2SeqConfig
from ghosts.errors import ConfigError, DataError
from ghosts.evaluate.vln import score_walks, walk_split
from ghosts.learn.backbone import weights_hash
from ghosts.learn.batches import Turn
from ghosts.learn.data import GoalData, load_goal_data
from ghosts.learn.image_tiles import TileMaker, build_tiles, plan_work
from ghosts.learn.loop import Run, train_goal
from ghosts.learn.navigate import NavigationTask, mixed_choice, plan_walks, sample_slots
from ghosts.learn.precision import choose_precision
from ghosts.learn.rollout import World, goal_distances, target_slots
from ghosts.learn.seq2seq import next_slots
from ghosts.learn.vln import load_agent, make_navigation_task, make_walk_plan, prepare_walks, train_vln
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.tile_store import TileSettings
from ghosts.presets import VLN_PRESETS, GoalExperiment, NavigationConfig, VlnExperiment, tiny_agent, vln_preset
from ghosts.types import Intrinsics
from ghosts.world.dataroot import DataRoot
from image_roots import make_image_root
from landmark_world import make_landmark_root, small_experiment

CPU = torch.device("cpu")


def agent_experiment(navigation: NavigationConfig | None = None, **train: Any) -> VlnExperiment:
    base = small_experiment(agent_steps=5, **train)
    model = replace(base.model, policy=replace(base.model.policy, beyond=True))
    return replace(tiny_agent(), model=model, train=base.train, navigation=navigation or NavigationConfig(step_limit=8))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> DataRoot:
    return DataRoot(make_landmark_root(tmp_path_factory.mktemp("navigate") / "root"))


@pytest.fixture(scope="module")
def data(root: DataRoot) -> GoalData:
    return load_goal_data(root, agent_experiment())


def fabric() -> Fabric:
    return Fabric(accelerator="cpu", devices=1)


def run_of(data: GoalData, out: Path, navigation: NavigationConfig | None = None, **train: Any) -> Run:
    return Run(agent_experiment(navigation, **train), data, out, threads=0)


def success(task: Any, data: GoalData, split: str) -> float:
    examples = data.splits[split]
    paths = walk_split(task, data.root, examples, data.builder, stored=None, device=CPU)
    name = "train" if split == "dev_unseen" else split
    return score_walks(data.root, name, examples, paths).means()["SR"]


def collected(data: GoalData, own: float, seed: int = 0) -> tuple[NavigationTask, World, Any, Any]:
    experiment = agent_experiment(NavigationConfig(own_actions=own))
    torch.manual_seed(seed)
    task = make_navigation_task(experiment, len(data.labels or ()))
    assert isinstance(task, NavigationTask)
    world = World(data.root, data.builder, data.root.scans, task.features, None, CPU)
    examples = data.train[::9]
    randoms = [np.random.default_rng([seed, k]) for k in range(len(examples))]
    plan = plan_walks(examples, [Turn()] * len(examples), randoms, 5, 0.0)
    return task, world, plan, task.eval().collect(world, plan)


def test_following_targets_walks_the_shortest_path(data: GoalData) -> None:
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
    assert goal_distances(data.root, episodes).shape == (len(plan.examples), 11)


def test_targets_are_the_closest_candidates(data: GoalData) -> None:
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


def test_moves_are_mixed(data: GoalData) -> None:
    _, world, plan, _ = collected(data, own=0.5)
    episodes = world.begin(plan.examples)
    observed = world.observe(episodes, episodes.start_viewpoint, np.ones(len(plan.examples), bool))
    known = look_around(
        start_graph(episodes.start_viewpoint),
        np.ones(len(plan.examples), bool),
        observed.episode,
        observed.viewpoint,
        observed.xyz_m,
    )
    active = np.ones(len(known.here), bool)
    table = np.where(np.arange(known.viewpoint.shape[1]) == 0, 0.0, -np.inf) + np.zeros(known.viewpoint.shape)
    targets = target_slots(known, episodes.first, goal_distances(data.root, episodes))
    draws = np.zeros((len(active), 1, 2))
    draws[::2, 0, 0] = 0.9  # every second walker does as it is told
    chosen = mixed_choice(lambda _: targets, draws, 0.5)(known, table, active)
    assert (targets > 0).all()
    assert chosen.tolist() == [int(target) if k % 2 == 0 else 0 for k, target in enumerate(targets)]
    expert = next_slots(known, episodes.first, goal_distances(data.root, episodes))
    rows = known.viewpoint_at(expert) - episodes.first
    hops = [data.root.graph(e.scan).next_hop[e.start, e.goal] for e in plan.examples]
    assert rows.tolist() == [int(hop) for hop in hops]


def test_loss_trains_filter_and_policy_and_ignores_looks_that_never_were(data: GoalData) -> None:
    task, _, _, batch = collected(data, own=0.0)
    assert not batch.active.all()
    task.train()
    task.zero_grad()
    loss = task(batch, None, None)
    loss.backward()
    for part in (task.model.policy, task.model.filter, task.model.mapper, task.model.language, task.features):
        assert any(value.grad is not None and value.grad.abs().sum() > 0 for value in part.parameters())
    # Words and poses of looks that never were may be anything: only active looks count.
    task.navigation = replace(task.navigation, policy_weight=0.0)
    weightless = task(batch, None, None)
    task.navigation = replace(task.navigation, policy_weight=1.0)
    heavy = task(batch, None, None)
    task.navigation = replace(task.navigation, policy_weight=0.1)
    torch.testing.assert_close(task(batch, None, None), weightless + 0.1 * (heavy - weightless), rtol=1e-4, atol=1e-4)


def test_plans_do_not_depend_on_how_many_processes_share_them(data: GoalData, tmp_path: Path) -> None:
    run = run_of(data, tmp_path)
    whole = make_walk_plan(run, 3, 0, 1)
    halves = [make_walk_plan(run, 3, rank, 2) for rank in range(2)]
    for rank, half in enumerate(halves):
        assert [e.instr_id for e in half.examples] == [e.instr_id for e in whole.examples[rank::2]]
        assert half.turns == whole.turns[rank::2]
        np.testing.assert_array_equal(half.draws, whole.draws[rank::2])


def test_walking_leaves_the_task_in_training_mode(data: GoalData, tmp_path: Path) -> None:
    run = run_of(data, tmp_path)
    task = make_navigation_task(agent_experiment(), len(data.labels or ())).train()
    before = {name: value.clone() for name, value in task.state_dict().items()}
    batch = prepare_walks(run, task, None, CPU)(make_walk_plan(run, 0, 0, 1))
    assert task.training
    assert batch.active[:, 0].all()
    for name, value in task.state_dict().items():
        torch.testing.assert_close(value, before[name])


def test_training_on_true_beliefs_finds_the_goals(data: GoalData, tmp_path: Path) -> None:
    navigation = NavigationConfig(step_limit=8, true_beliefs=True)
    untrained = make_navigation_task(agent_experiment(navigation), len(data.labels or ()))
    before = success(untrained, data, "dev_unseen")
    run = run_of(data, tmp_path, navigation, iterations=40, batch=16, learning_rate=5e-3, checkpoint_every=40)
    with unchecked():
        after = success(train_vln(run, fabric()), data, "dev_unseen")
    assert after >= 0.75
    assert after > before + 0.3


def test_training_filter_and_policy_learns_the_way(data: GoalData, tmp_path: Path) -> None:
    """Eight paths of one building: filter and policy together learn to walk them."""
    few = replace(data, train=data.train[:24:3], splits={"train": data.train[:24:3]})
    navigation = NavigationConfig(step_limit=8, policy_weight=1.0)
    before = success(make_navigation_task(agent_experiment(navigation), len(data.labels or ())), few, "train")
    settings = {"iterations": 28, "batch": 8, "learning_rate": 1e-2, "checkpoint_every": 28, "mirrored": 0.0}
    with unchecked():
        after = success(train_vln(run_of(few, tmp_path, navigation, **settings), fabric()), few, "train")
    assert after >= before + 0.5


def test_seq2seq_learns_by_student_forcing(data: GoalData, tmp_path: Path) -> None:
    navigation = NavigationConfig("seq2seq", 8, own_actions=0.5, seq2seq=Seq2SeqConfig(32, 8, 0.0))
    run = run_of(data, tmp_path, navigation, iterations=90, batch=16, learning_rate=1e-2, checkpoint_every=90)
    with unchecked():
        assert success(train_vln(run, fabric()), data, "val_seen") >= 0.75


def test_warm_start_takes_the_filter_and_leaves_the_policy(root: DataRoot, tmp_path: Path) -> None:
    goal = small_experiment(iterations=2, checkpoint_every=2)
    goal_data = load_goal_data(root, goal)
    trained = train_goal(Run(goal, goal_data, tmp_path / "goal", threads=0), fabric())
    run = run_of(goal_data, tmp_path / "agent", iterations=0)
    task = train_vln(run, fabric(), tmp_path / "goal" / "last.safetensors")
    own = task.state_dict()
    for name, value in trained.state_dict().items():
        if not name.startswith("model.policy."):
            torch.testing.assert_close(own[name], value, rtol=0, atol=0)
    assert own["model.policy.hidden.weight"].shape != trained.state_dict()["model.policy.hidden.weight"].shape


def test_a_shipped_filter_is_named_without_the_policy_beside_it(
    data: GoalData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`landmarks-improved` and `landmarks-agent` are one file; only the second name means its policy."""
    run = run_of(data, tmp_path / "first", iterations=1, batch=2, checkpoint_every=1)
    trained = train_vln(run, fabric()).state_dict()
    first = tmp_path / "first" / "last.safetensors"
    monkeypatch.setattr(weights, "shipped", lambda: {"landmarks-agent": first, "landmarks-improved": first})
    taken = {}
    for name in ("landmarks-agent", "landmarks-improved"):
        run = run_of(data, tmp_path / name, iterations=0, seed=1)
        own = train_vln(run, fabric(), Path(name)).state_dict()
        taken[name] = {part for part, value in trained.items() if torch.equal(own[part], value)}
    assert taken["landmarks-agent"] == set(trained)
    assert "model.policy.hidden.weight" in taken["landmarks-agent"] - taken["landmarks-improved"]
    assert taken["landmarks-improved"] >= {part for part in trained if not part.startswith("model.policy.")}


def test_warm_start_refuses_other_models(root: DataRoot, data: GoalData, tmp_path: Path) -> None:
    goal = small_experiment(iterations=1, checkpoint_every=1)
    wider = replace(goal, model=replace(goal.model, mapper=replace(goal.model.mapper, channels=4)))
    train_goal(Run(wider, load_goal_data(root, wider), tmp_path / "goal", threads=0), fabric())
    file = tmp_path / "goal" / "last.safetensors"
    with pytest.raises(DataError, match=r"a model of other sizes \(.* has the size .* expected .*\); use the same"):
        train_vln(run_of(data, tmp_path / "a", iterations=0), fabric(), file)
    far = run_of(load_goal_data(root, wider), tmp_path / "d", iterations=0)
    sight = replace(far.experiment.landmarks, sight_m=99.0)
    with pytest.raises(DataError, match=r"other landmarks: landmarks.sight_m .* use the same --landmarks options"):
        train_vln(replace(far, experiment=replace(far.experiment, landmarks=sight)), fabric(), file)
    with pytest.raises(DataError, match="no such run"):
        train_vln(run_of(data, tmp_path / "b", iterations=0), fabric(), tmp_path / "nothing")
    with pytest.raises(ConfigError, match="no filter to start from"):
        train_vln(run_of(data, tmp_path / "c", NavigationConfig("seq2seq")), fabric(), file)


def test_a_goal_predictor_can_be_loaded_for_the_planner(root: DataRoot, tmp_path: Path) -> None:
    goal = small_experiment(iterations=1, checkpoint_every=1)
    train_goal(Run(goal, load_goal_data(root, goal), tmp_path, threads=0), fabric())
    agent = load_agent(tmp_path / "last.safetensors")
    assert not agent.acts
    assert agent.iteration == 1
    assert isinstance(agent.experiment, VlnExperiment)


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match=r"navigation.own_actions must lie in \[0, 1\], got 1.5"):
        NavigationConfig(own_actions=1.5)
    with pytest.raises(ConfigError, match=r"true_beliefs needs navigation.agent filter"):
        NavigationConfig("seq2seq", true_beliefs=True)


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


@pytest.mark.parametrize("name", sorted(VLN_PRESETS))
def test_every_preset_trains_and_walks(name: str, root: DataRoot, houses: DataRoot, tmp_path: Path) -> None:
    """Two iterations of each, with small layers, on landmarks or on images' tiles."""
    whole, small = vln_preset(name), agent_experiment()
    images = whole.observation == "images"
    mapper = replace(small.model.mapper, features=8, convolution=whole.model.mapper.convolution)
    motion = replace(small.model.filter.motion, kind=whole.model.filter.motion.kind)
    experiment = replace(
        whole,
        model=replace(small.model, mapper=mapper, filter=replace(small.model.filter, motion=motion)),
        train=replace(whole.train, iterations=2, batch=4, agent_steps=3, precision="32-true"),
        navigation=replace(whole.navigation, step_limit=3, seq2seq=Seq2SeqConfig(8, 4)),
    )
    data = load_goal_data(houses if images else root, experiment)
    assert (data.stored is not None) == images
    warm = None
    if experiment.navigation.freeze_filter:
        goal = GoalExperiment(
            "goal", "filter", experiment.model, train=experiment.train, landmarks=experiment.landmarks
        )
        train_goal(Run(goal, data, tmp_path / "goal", threads=0), fabric())
        warm = tmp_path / "goal" / "last.safetensors"
    task = train_vln(Run(experiment, data, tmp_path, threads=0), fabric(), warm)
    split = "val_unseen" if images else "dev_unseen"
    examples = data.splits[split][:4]
    paths = walk_split(task, data.root, examples, data.builder, stored=data.stored, device=CPU)
    assert [path[0] for path in paths] == [example.start for example in examples]
    loaded = load_agent(tmp_path / "last.safetensors")
    assert loaded.experiment == experiment
    assert walk_split(loaded.task, data.root, examples, data.builder, stored=data.stored, device=CPU) == paths


@pytest.mark.parametrize("place", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("agent", ["filter", "seq2seq"])
def test_half_precision_trains_and_walks(agent: Any, place: str, data: GoalData, tmp_path: Path) -> None:
    device, half = torch.device(place), "bf16-mixed"
    navigation = NavigationConfig(agent, step_limit=4, seq2seq=Seq2SeqConfig(8, 4))
    run = run_of(data, tmp_path, navigation, iterations=2, precision=half)
    task = train_vln(run, Fabric(accelerator=place, devices=1, precision=choose_precision(half, device)))
    examples = data.splits["dev_unseen"][:6]
    paths = walk_split(task, data.root, examples, data.builder, stored=None, device=device, precision=half)
    assert [path[0] for path in paths] == [example.start for example in examples]
    assert all(value.isfinite().all() for value in task.state_dict().values())
