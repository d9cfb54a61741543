"""The data object: which observation, which buildings, images through stored tiles, and who shares what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ghosts.config import Experiment
from ghosts.data.dataset import Dataset, DataShelf, choose_source, open_dataset
from ghosts.data.examples import split_buildings
from ghosts.data.reading import reading_of
from ghosts.data.tile_maker import TileMaker, build_tiles, plan_work
from ghosts.data.tile_store import JOINED, TileSettings, read_tiles
from ghosts.mapping.backbone import SmallBackbone
from ghosts.mapping.cells import CellFeatures
from ghosts.mapping.saved_backbone import weights_hash
from ghosts.methods import preset
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.types import Intrinsics
from image_roots import make_image_root
from makers import make_root

TRAIN = ("h0", "h1", "h2", "h3", "h4")
CAMERA = Intrinsics(80, 64, 1.0)
"""Smaller than the paper's, for speed."""


def tiny_images() -> Experiment:
    experiment = preset("tiny")
    mapper = replace(experiment.model.mapper, features=8)
    return replace(experiment, model=replace(experiment.model, mapper=mapper))


def opened(root: DataRoot, experiment: Experiment) -> Dataset:
    """As training opens it."""
    return open_dataset(root, reading_of(experiment, training=True))


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
    """The development split takes from training alone: `val_seen` is the release's, whole."""
    assert split_buildings(root) == (["h0", "h1", "h2", "h4"], ["h3"])
    data = opened(root, tiny_images())
    found = {name: {example.scan for example in examples} for name, examples in data.splits.items()}
    trained = {"h0", "h1", "h2", "h4"}
    assert found == {"train": trained, "dev_unseen": {"h3"}, "val_seen": {"h0", "h3"}, "val_unseen": {"u"}}
    assert next(iter(data.splits)) == "train"
    assert len(data.examples("val_unseen")) == 6
    with pytest.raises(UnknownNameError, match="val_unseen"):
        data.examples("val_unsen")


def test_batches_carry_the_tiles_features(root: DataRoot) -> None:
    data = opened(root, tiny_images())
    stored = read_tiles(root.path / "tiles" / JOINED)
    assert data.labels is None
    assert data.bank.features is not None
    assert data.bank.features.dtype == torch.float16
    assert data.reading.tiles == stored.settings.fingerprint
    examples = data.examples("train")[:2]
    batch = data.load(data.batch(examples, [[0, 1], [2, 1]]), torch.device("cpu"))
    cells = batch.seen.cells
    assert CellFeatures(8, 0)(cells) is cells
    building, tiles = stored.tiles(examples[1].scan)
    first = sum(building.counts[:2])
    mine = (cells.item == 1) & (cells.step == 0)
    assert torch.equal(cells.features[mine], tiles.features[first : first + building.counts[2]].float())


def test_observation_follows_experiment_and_root(root: DataRoot, tmp_path: Path) -> None:
    assert choose_source(root, reading_of(preset("tiny"))) == "images"
    assert choose_source(root, reading_of(preset("hand-coded"))) == "images"
    with pytest.raises(DataError, match=r"landmarks-filter needs landmarks/; this data root has images"):
        choose_source(root, reading_of(preset("landmarks-filter")))
    bare = make_root(tmp_path / "bare", images=False)
    (bare / "landmarks").mkdir()
    assert choose_source(DataRoot(bare), reading_of(preset("tiny"))) == "landmarks"
    with pytest.raises(DataError, match=r"houses-filter needs scans/; this data root has landmarks"):
        choose_source(DataRoot(bare), reading_of(preset("houses-filter")))


def test_settings_that_do_not_fit_are_refused(root: DataRoot) -> None:
    with pytest.raises(ConfigError, match="8 channels, the model expects 64"):
        opened(root, preset("houses-filter"))
    opened(root, preset("hand-coded"))  # asks for no features
    experiment = tiny_images()
    with pytest.raises(ConfigError, match=r"train.variants is 3.*--train.quarters"):
        opened(root, replace(experiment, train=replace(experiment.train, variants=3)))
    small = replace(experiment.model, language=replace(experiment.model.language, vocabulary=4))
    with pytest.raises(ConfigError, match=r"--model.language.vocabulary \d+"):
        opened(root, replace(experiment, model=small))
    with pytest.raises(ConfigError, match="another backbone"):
        open_dataset(root, replace(reading_of(experiment), tiles="other"))


def test_only_models_that_read_alike_share_their_data(root: DataRoot) -> None:
    """One key. Another pool means other coarse cells: shared data would not fit the model's maps."""
    shelf, experiment = DataShelf(2), tiny_images()
    reading = reading_of(experiment)
    fine = replace(experiment, model=replace(experiment.model, filter=replace(experiment.model.filter, pool=1)))
    trained_otherwise = replace(experiment, name="other", train=replace(experiment.train, seed=9, learning_rate=0.5))
    assert reading_of(trained_otherwise) == reading
    assert reading_of(fine) != reading
    first = shelf.get(root, reading)
    assert shelf.get(root, reading_of(trained_otherwise)) is first
    second = shelf.get(root, reading_of(fine))
    example = first.examples("train")[0]
    sizes = [data.batch([example], [[0]]).seen.coarse.pool for data in (first, second)]
    assert sizes == [experiment.model.filter.pool, 1] == [2, 1]
    assert shelf.get(root, reading) is first
    shelf.get(
        root, replace(reading, steps=reading.steps + 1)
    )  # the third: of the first two, the one used longest ago goes
    assert shelf.get(root, reading) is first
    assert shelf.get(root, reading_of(fine)) is not second
