"""Untrained models and the worlds they read: fixtures of all tests of pictures and pages."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from experiments import acting, lingunet_of, task_of
from ghosts.config import DataConfig, Experiment
from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
from ghosts.data.tile_store import FOLDER, TileSettings
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.saved_backbone import weights_hash
from ghosts.view.inspector import Inspector
from ghosts.view.library import Library
from ghosts.view.record import EpisodeRecord
from ghosts.weights.checkpoint import save_checkpoint
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.types import Intrinsics
from image_roots import make_image_root
from landmark_world import load, small_experiment

SEED = 5


def save_untrained(path: Path, root: Path, experiment: Experiment, seed: int = SEED) -> Path:
    """A checkpoint of random weights: what is shown does not depend on how good a model is."""
    experiment = replace(experiment, train=replace(experiment.train, seed=seed))
    task = task_of(experiment, load(root, experiment))
    weights = {f"model/{name}": value for name, value in task.model.state_dict().items()}
    save_checkpoint(path, weights, {"iteration": 0, **task.about()})
    return path


@pytest.fixture(scope="session")
def run(combs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that reads it."""
    return save_untrained(tmp_path_factory.mktemp("run") / "small.safetensors", combs, small_experiment())


@pytest.fixture(scope="session")
def baseline(combs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a model without a filter."""
    experiment = replace(lingunet_of(small_experiment()), name="lingunet")
    return save_untrained(tmp_path_factory.mktemp("run") / "plain.safetensors", combs, experiment)


@pytest.fixture(scope="session")
def agent(combs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a run that was trained to act, of another seed."""
    return save_untrained(
        tmp_path_factory.mktemp("run") / "agent.safetensors", combs, acting(small_experiment()), seed=7
    )


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with pictures and tiles of them."""
    folder = tmp_path_factory.mktemp("view") / "photos"
    return make_tiles(make_image_root(folder, {"train": ("houseA",), "val_unseen": ("houseB",)}, count=4))


def make_tiles(folder: Path) -> Path:
    """Tiles of a data root's pictures, as `pictured` reads them."""
    root = DataRoot(folder)
    torch.manual_seed(SEED)
    backbone = SmallBackbone(8).eval().requires_grad_(False)
    settings = TileSettings(weights_hash(backbone), 8, 0.5, camera=Intrinsics(80, 64, math.radians(60.0)))
    maker = TileMaker(root, backbone, settings, torch.device("cpu"), batch=4)
    assert build_tiles(maker, folder / FOLDER, plan_work(maker, folder / FOLDER))
    return folder


@pytest.fixture(scope="session")
def pictured(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that reads it."""
    experiment = replace(small_experiment(), data=DataConfig("images"))
    return save_untrained(tmp_path_factory.mktemp("run") / "pictured.safetensors", photos, experiment)


@pytest.fixture(scope="session")
def library(combs: Path, run: Path, baseline: Path, agent: Path) -> Library:
    """All models on the data root, the hand-coded baseline too."""
    return Library([combs], [run, baseline, agent], baseline=True)


@pytest.fixture(scope="session")
def inspector(library: Library) -> Inspector:
    """The filter."""
    return library.inspector("combs", "small")


@pytest.fixture(scope="session")
def record(library: Library, inspector: Inspector) -> EpisodeRecord:
    """An episode of a building no model was trained on."""
    return inspector.record(library.query(inspector, "dev_unseen", "300_0", fixed=True))
