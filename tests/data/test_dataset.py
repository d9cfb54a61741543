"""Data of a run: which observation, which buildings, and images through stored tiles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ghosts.errors import ConfigError, DataError, UnknownNameError
from ghosts.learn.backbone import weights_hash
from ghosts.learn.data import choose_observation, examples_of, load_goal_data, split_episodes
from ghosts.learn.image_tiles import TileMaker, build_tiles, plan_work
from ghosts.learn.pixels import PixelTask
from ghosts.learn.tasks import GoalTask
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.tile_store import JOINED, TileSettings, read_tiles
from ghosts.presets import PRESETS, GoalExperiment, preset
from ghosts.types import Intrinsics
from ghosts.world.dataroot import DataRoot
from image_roots import make_image_root
from makers import make_root

TRAIN = ("h0", "h1", "h2", "h3", "h4")
CAMERA = Intrinsics(80, 64, 1.0)
"""Smaller than the paper's, for speed."""


def tiny_images() -> GoalExperiment:
    experiment = preset("tiny")
    mapper = replace(experiment.model.mapper, features=8)
    return replace(experiment, model=replace(experiment.model, mapper=mapper))


def small_backbone() -> SmallBackbone:
    torch.manual_seed(3)
    return SmallBackbone(8).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> DataRoot:
    """Five training houses and one that is unseen, with tiles."""
    splits = {"train": TRAIN, "val_seen": ("h0", "h3"), "val_unseen": ("u",)}
    data = DataRoot(make_image_root(tmp_path_factory.mktemp("data") / "root", splits))
    model = small_backbone()
    settings = TileSettings(weights_hash(model), 8, 0.5, camera=CAMERA)
    maker = TileMaker(data, model, settings, torch.device("cpu"))
    assert build_tiles(maker, data.path / "tiles", plan_work(maker, data.path / "tiles"))
    return data


def test_houses_hold_out_a_fixed_part(root: DataRoot) -> None:
    assert split_episodes(root) == (["h0", "h1", "h2", "h4"], ["h3"])
    data = load_goal_data(root, tiny_images())
    assert {example.scan for example in data.train} == {"h0", "h1", "h2", "h4"}
    found = {name: {example.scan for example in examples} for name, examples in data.splits.items()}
    assert found == {"val_seen": {"h0"}, "val_unseen": {"u"}, "dev_unseen": {"h3"}}
    assert len(examples_of(data, "val_unseen")) == 6
    with pytest.raises(UnknownNameError, match="val_unseen"):
        examples_of(data, "val_unsen")


def test_batches_carry_the_tiles_features(root: DataRoot) -> None:
    data = load_goal_data(root, tiny_images())
    stored = read_tiles(root.path / "tiles" / JOINED)
    assert data.labels is None
    assert data.stored is not None
    assert data.stored.dtype == torch.float16
    assert data.tiles == stored.settings.fingerprint
    batch = data.builder.build(data.train[:2], [[0, 1], [2, 1]])
    task = GoalTask("filter", tiny_images().model)
    features = task.features(batch, data.stored).features
    scan, row = data.train[1].scan, 2
    building, tiles = stored.tiles(scan)
    first = sum(building.counts[:row])
    mine = (batch.cells.item == 1) & (batch.cells.step == 0)
    assert torch.equal(features[mine], tiles.features[first : first + building.counts[row]].float())


def test_observation_follows_experiment_and_root(root: DataRoot, tmp_path: Path) -> None:
    assert choose_observation(root, preset("tiny")) == "images"
    assert choose_observation(root, preset("hand-coded")) == "images"
    with pytest.raises(DataError, match=r"landmarks-filter needs landmarks/; this data root has images"):
        choose_observation(root, preset("landmarks-filter"))
    bare = make_root(tmp_path / "bare", images=False)
    (bare / "landmarks").mkdir()
    assert choose_observation(DataRoot(bare), preset("tiny")) == "landmarks"
    with pytest.raises(DataError, match=r"houses-filter needs scans/; this data root has landmarks"):
        choose_observation(DataRoot(bare), preset("houses-filter"))


def test_nothing_is_made_silently(tmp_path: Path) -> None:
    data = DataRoot(make_image_root(tmp_path / "root", {"train": TRAIN}, count=2, face_px=16))
    with pytest.raises(DataError, match=r"no tiles of this data root; make them with: ghosts tiles --data"):
        load_goal_data(data, preset("houses-filter"))
    assert not (data.path / "tiles").exists()


def test_settings_that_do_not_fit_are_refused(root: DataRoot) -> None:
    with pytest.raises(ConfigError, match="8 channels, the model expects 64"):
        load_goal_data(root, preset("houses-filter"))
    load_goal_data(root, preset("hand-coded"))  # asks for no features
    experiment = tiny_images()
    with pytest.raises(ConfigError, match=r"train.variants is 3.*--train.quarters"):
        load_goal_data(root, replace(experiment, train=replace(experiment.train, variants=3)))
    small = replace(experiment.model, language=replace(experiment.model.language, vocabulary=4))
    with pytest.raises(ConfigError, match=r"--model.language.vocabulary \d+"):
        load_goal_data(root, replace(experiment, model=small))
    with pytest.raises(ConfigError, match="another backbone"):
        load_goal_data(root, experiment, tiles="other")


def test_every_preset_says_what_it_observes() -> None:
    images = {"houses-filter", "houses-filter-xy", "houses-filter-joint", "houses-lingunet", "paper"}
    assert {name for name in PRESETS if preset(name).observation == "images"} == images
    assert {name for name in PRESETS if preset(name).observation == "any"} == {"hand-coded", "tiny"}
    assert {preset(name).model.mapper.features for name in images - {"paper"}} == {64}


def test_paper_preset_has_the_papers_numbers() -> None:
    paper = preset("paper")
    language, mapper, motion, train = paper.model.language, paper.model.mapper, paper.model.filter.motion, paper.train
    assert (language.embedding, language.hidden, language.attention, language.decoder_context) == (
        300,
        256,
        "dot",
        False,
    )
    assert (mapper.features, mapper.channels, mapper.rows, mapper.cols, mapper.cell_m) == (768, 128, 96, 96, 0.5)
    assert (mapper.convolution, mapper.kernel, mapper.dropout) == ("sparse", 3, 0.5)
    assert (motion.kind, motion.kernel, paper.model.filter.headings) == ("joint", 7, 4)
    assert (train.optimiser, train.learning_rate, train.weight_decay) == ("adam", 1e-3, 1e-7)
    assert (train.batch, train.iterations, train.schedule) == (5, 8000, "constant")


def test_training_from_pixels(root: DataRoot) -> None:
    experiment = tiny_images()
    data = load_goal_data(root, experiment)
    assert data.stored is not None
    torch.manual_seed(0)
    goal = GoalTask("filter", experiment.model)
    backbone = small_backbone()
    settings = read_tiles(root.path / "tiles" / JOINED).settings
    task = PixelTask(goal, backbone, root, data.builder.bank, settings)
    batch = data.builder.build(data.train[:3], [[0, 1], [2, 1], [0, 0]])
    fresh, features = task.features(batch)
    # With the weights the tiles were made with, pixels give what is stored.
    torch.testing.assert_close(features[fresh.rows], data.stored[batch.rows].float(), atol=2e-3, rtol=2e-3)
    torch.testing.assert_close(task(batch, None, None), goal(batch, data.stored, None), atol=1e-2, rtol=1e-2)
    other = PixelTask(goal, backbone, root, data.builder.bank, replace(settings, height_clip_m=-1.0))
    with pytest.raises(DataError, match="the tiles do not show the cells the pictures show; make them again"):
        other.features(batch)

    backbone.requires_grad_(True)
    before = {name: value.detach().clone() for name, value in backbone.named_parameters()}
    optimiser = torch.optim.Adam(backbone.parameters(), 1e-2)  # the backbone alone: what it learns is its own merit
    losses = []
    for _ in range(6):
        optimiser.zero_grad()
        loss = task(batch, None, None)
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    print("losses", losses)
    assert losses[-1] < losses[0]
    assert all(not torch.equal(value, before[name]) for name, value in backbone.named_parameters())
    assert np.isfinite(losses).all()
