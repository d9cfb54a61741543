"""A trained run acts in `ghosts/R2R-v0` on what the environment shows, and walks as it does in evaluation."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import gymnasium
import pytest
import torch
from lightning_fabric import Fabric

import ghosts.run.env  # noqa: F401 (registers the environment)
from experiments import acting, seq2seq_of, task_of
from ghosts.config import DataConfig, Experiment, LandmarkConfig
from ghosts.data.dataset import open_dataset
from ghosts.data.examples import DEV_UNSEEN, Example
from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
from ghosts.data.tile_store import FOLDER, TileSettings
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import load_backbone, save_backbone, weights_hash
from ghosts.methods.build import build_model
from ghosts.methods.ghost.settings import AgentExperiment
from ghosts.methods.seq2seq.settings import DecoderConfig
from ghosts.run.env_agent import EnvAgent
from ghosts.run.load import Run, load_run
from ghosts.run.rollout import GraphWalks, walk_episodes
from ghosts.train.trainer import RunFiles, train
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError
from ghosts_sim.landmarks.format import Landmark, load_scene, write_landmarks
from ghosts_sim.types import Intrinsics
from image_roots import make_image_root
from landmark_world import SCANS, load, make_landmark_root, positions, small_experiment
from makers import viewpoint_id

CAMERA = Intrinsics(80, 64, math.radians(60.0))
CPU = torch.device("cpu")


def trained(root: Path, out: Path, experiment: Experiment) -> Run:
    """A run of a few iterations, as it comes back from its file."""
    train(task_of(experiment, load(root, experiment)), Fabric(accelerator="cpu"), RunFiles.of(out), threads=0)
    return load_run(RunFiles.of(out).last)


def agent_experiment(**train: object) -> AgentExperiment:
    return acting(small_experiment(iterations=4, checkpoint_every=4, agent_steps=4), step_limit=8, **train)


def evaluated(run: Run, root: Path, split: str) -> tuple[list[Example], list[list[str]]]:
    """An instruction for every path of a split, and its walk as evaluation has it."""
    data = open_dataset(DataRoot(root), run.reading)
    examples, world = data.examples(split)[::3], GraphWalks(data, CPU)
    paths = walk_episodes(run.agent(), world, world.begin(examples)).paths
    return examples, [
        [data.root.graph(item.scan).ids[row] for row in path] for item, path in zip(examples, paths, strict=True)
    ]


def walked(agent: EnvAgent, env: gymnasium.Env, example: Example) -> list[str]:
    """The walk in the environment, to the agent's own stop."""
    observation, info = env.reset(options={"instr_id": example.instr_id})
    agent.reset(observation)
    over = cut = False
    while not over:
        assert not cut
        observation, _, over, cut, info = env.step(agent.act(observation))
    return info["path"]


@pytest.fixture(scope="module")
def combs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Buildings of which the held-out one has something that no other has, first in the alphabet, and two viewpoints
    0.2 mm apart, as some of R2R's are."""
    root = make_landmark_root(tmp_path_factory.mktemp("world") / "root")
    file = root / "connectivity" / f"{SCANS[3]}_connectivity.json"
    records = json.loads(file.read_text())
    records[3]["pose"] = [*records[2]["pose"]]
    records[3]["pose"][3] += 2e-4
    file.write_text(json.dumps(records))
    scene, xyz_m = load_scene(DataRoot(root), SCANS[3]), positions(3)
    more = [
        Landmark(f"new{row}", "abbey", tuple(xyz_m[row] + [0.1, 0.3, 0.0]), 0.0, None, "detected", None, (name,))
        for row, name in enumerate(viewpoint_id(300 + row) for row in range(len(xyz_m)))
    ]
    write_landmarks(root / "landmarks" / f"{SCANS[3]}.json", replace(scene, objects=(*scene.objects, *more)))
    return root


@pytest.mark.parametrize("vectors", [False, True], ids=["labels", "word vectors"])
def test_it_walks_on_landmarks_as_in_evaluation(combs: Path, tmp_path: Path, vectors: bool) -> None:
    """In a building that no label was counted in: numbers are those of training, and an abbey is known by its name."""
    experiment = agent_experiment()
    if vectors:
        model = replace(experiment.model, language=replace(experiment.model.language, vectors=True))
        experiment = replace(experiment, model=model, data=DataConfig(landmarks=LandmarkConfig(vectors=True)))
    run = trained(combs, tmp_path / "run", experiment)
    examples, paths = evaluated(run, combs, DEV_UNSEEN)
    assert len({len(path) for path in paths}) > 2  # they do walk, and not all alike
    file = tmp_path / "run" / "last.safetensors"
    env = gymnasium.make("ghosts/R2R-v0", root=combs, observation="landmarks", run=file)
    agent = EnvAgent(run, labels=env.unwrapped.labels if vectors else None)
    assert [walked(agent, env, example) for example in examples] == paths
    observation, _ = env.reset(options={"instr_id": examples[0].instr_id})
    assert agent.reset(observation) == ()
    assert agent.reset(observation | {"instruction": "Xyzzy."}) == ("1 of 1 words unknown: xyzzy",)
    shown = observation["landmark_label"][observation["landmark_weight"] > 0]
    assert run.reading.labels is not None
    unknown = run.reading.labels.structure_id("unknown object")
    assert ((shown >= len(run.reading.labels)).any(), unknown in shown) == (vectors, not vectors)
    if vectors:
        assert [label.name for label in env.unwrapped.labels.new] == ["abbey"]
        with pytest.raises(ConfigError, match=r"reads labels by their words; give it labels=env\.unwrapped\.labels"):
            EnvAgent(run)


def test_labels_are_numbered_as_in_training(combs: Path) -> None:
    env = gymnasium.make("ghosts/R2R-v0", root=combs, observation="landmarks")
    labels = load(combs, agent_experiment()).labels
    assert env.unwrapped._observer.labels == labels
    assert env.observation_space["landmark_label"].high.max() == len(labels) - 1


def test_it_walks_on_images_as_in_evaluation(tmp_path: Path) -> None:
    """Evaluation reads stored tiles (float16), the environment shows pictures."""
    root = make_image_root(tmp_path / "root", {"train": ("a", "b", "c"), "val_unseen": ("u",)}, count=5)
    torch.manual_seed(0)
    save_backbone(tmp_path / "backbone.safetensors", SmallBackbone(8), [], {})
    backbone = load_backbone(tmp_path / "backbone.safetensors")
    settings = TileSettings(weights_hash(backbone), 8, 0.5, camera=CAMERA)
    maker = TileMaker(DataRoot(root), backbone, settings, CPU)
    assert build_tiles(maker, root / FOLDER, plan_work(maker, root / FOLDER))
    run = trained(root, tmp_path / "run", replace(agent_experiment(), data=DataConfig("images")))
    examples, paths = evaluated(run, root, "val_unseen")
    assert len({len(path) for path in paths}) > 1
    env = gymnasium.make("ghosts/R2R-v0", root=root, split="val_unseen", camera=CAMERA)
    agent = EnvAgent(run, tmp_path / "backbone.safetensors", CAMERA)
    assert [walked(agent, env, example) for example in examples] == paths
    with pytest.raises(ConfigError, match="last needs its backbone, such as houses-backbone"):
        EnvAgent(run)


def test_runs_that_cannot_act_are_named(combs: Path) -> None:
    with pytest.raises(ConfigError, match="landmarks-agent needs no backbone"):
        EnvAgent(load_run("landmarks-agent"), "houses-backbone")
    data = load(combs, agent_experiment())
    assert data.labels is not None
    for experiment, message in (
        (seq2seq_of(small_experiment(), DecoderConfig()), "r has no map to act on here; name a run of the filter"),
        (agent_experiment(true_beliefs=True), "r acts on true trajectories, which are not shown here"),
    ):
        run = Run("r", experiment, build_model(experiment, data.vocabulary, data.labels), data.reading)
        with pytest.raises(ConfigError, match=message):
            EnvAgent(run)
