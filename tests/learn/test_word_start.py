"""Word vectors in a run: embeddings start from them, and labels never seen get their synonyms' features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning.fabric import Fabric

from ghosts.act.model import CellFeatures
from ghosts.config import GoalExperiment, LandmarkConfig
from ghosts.data.bank import landmark_bank
from ghosts.data.dataset import open_dataset
from ghosts.data.reading import reading_of
from ghosts.data.words import resembling
from ghosts.errors import DataError
from ghosts.files import sha256_file
from ghosts.learn.goal import goal_task
from ghosts.learn.trainer import RunFiles, train
from ghosts.learn.word_start import start_labels
from ghosts.weights.checkpoint import LAST, load_checkpoint
from ghosts.world.dataroot import DataRoot
from ghosts.world.landmarks.labels import build_labels
from ghosts.world.landmarks.source import LandmarkSource, load_scene
from landmark_world import SCANS, load, make_landmark_root, small_experiment

VECTORS = """chair 1.0 0.1 0.0 0.0
lamp 0.0 1.0 0.2 0.0
lantern 0.0 1.1 0.23 0.0
sofa 0.1 0.0 1.0 0.0
bed 0.0 0.0 0.1 1.0
bathroom 0.5 0.5 0.5 0.5
"""


@pytest.fixture
def root(tmp_path: Path) -> DataRoot:
    """The combs, but every lamp of the last building is called a lantern."""
    folder = make_landmark_root(tmp_path / "root")
    file = folder / "landmarks" / f"{SCANS[-1]}.json"
    file.write_text(file.read_text().replace('"lamp"', '"lantern"'))
    return DataRoot(folder)


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text(VECTORS)
    return path


def with_vectors(path: Path | None) -> GoalExperiment:
    return replace(small_experiment(iterations=1), landmarks=LandmarkConfig(word_vectors=str(path) if path else None))


def test_a_label_never_seen_has_its_synonyms_features(root: DataRoot, vectors: Path) -> None:
    """The set knows no lantern; with vectors it is shown where and as a lamp would be, without them as unknown."""
    labels = build_labels(load_scene(root, scan) for scan in SCANS[:-1])
    assert {item.label for item in load_scene(root, SCANS[-1]).objects} == {"lantern", "sink"}
    unknown = labels.structure_id("unknown object")
    shown = {}
    for path in (None, vectors):
        known = resembling(root, labels, SCANS, str(path) if path else None, training=True)
        tiles = landmark_bank(LandmarkSource(root, known), SCANS[-1:], 0.5).labels
        assert tiles is not None
        shown[path] = tiles.label
    assert (shown[None] == unknown).any()
    replaced = np.where(shown[None] == unknown, labels.object_id("lamp"), shown[None])
    assert np.array_equal(np.sort(shown[vectors]), np.sort(replaced))
    assert not (shown[vectors] == unknown).any()


def test_embeddings_start_from_words(root: DataRoot, vectors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = load(root.path, with_vectors(vectors))
    assert data.labels is not None
    torch.manual_seed(0)
    features = CellFeatures(8, len(data.labels))
    assert features.embedding is not None
    before = features.embedding.weight.detach().clone()
    record = start_labels(features, data)
    changed = (features.embedding.weight != before).any(1).nonzero().ravel().tolist()
    names = [(data.labels.labels[number].kind, data.labels.labels[number].name) for number in changed]
    objects = ["bed", "chair", "lamp", "lantern", "sofa"]
    assert sorted(names) == [*(("object", name) for name in objects), ("room", "a")]
    assert (
        capsys.readouterr().out
        == f"vectors.txt: 6 of {len(data.labels)} labels start from the vectors of their words\n"
    )
    unit = torch.nn.functional.normalize(features.embedding.weight.detach(), dim=1)
    cosine = unit @ unit[data.labels.object_id("lantern")]
    assert cosine[data.labels.object_id("lamp")] > 0.95
    assert cosine[data.labels.object_id("bed")] < 0.3
    assert record == {
        "file": "vectors.txt",
        "sha256": sha256_file(vectors),
        "labels": len(data.labels),
        "found": 6,
        "dimension": 4,
    }


def test_a_run_keeps_its_vectors(root: DataRoot, vectors: Path, tmp_path: Path) -> None:
    """They are named in the checkpoint, and it does not go on with others."""

    def trained() -> None:
        experiment = with_vectors(vectors)
        fabric = Fabric(accelerator="cpu", devices=1)
        train(goal_task(experiment, load(root.path, experiment)), fabric, RunFiles.of(tmp_path / "run"), threads=0)

    trained()
    assert load_checkpoint(tmp_path / "run" / LAST).about["word_vectors"]["sha256"] == sha256_file(vectors)
    trained()  # the same command again
    vectors.write_text(VECTORS + "door 0 0 0 1\n")
    with pytest.raises(DataError, match=r"holds another run: word_vectors\.sha256 .* → .*choose another --out"):
        trained()


def test_nothing_to_start_from(root: DataRoot, tmp_path: Path) -> None:
    data = load(root.path, with_vectors(None))
    assert data.labels is not None
    features = CellFeatures(8, len(data.labels))
    assert features.embedding is not None
    before = features.embedding.weight.detach().clone()
    assert start_labels(features, data) is None
    images = replace(data, reading=replace(data.reading, labels=None, landmarks=LandmarkConfig(word_vectors="any")))
    assert start_labels(CellFeatures(8, 0), images) is None
    assert torch.equal(features.embedding.weight, before)
    strange = tmp_path / "strange.txt"
    strange.write_text("stuhl 1 2\n")
    with pytest.raises(DataError, match="knows no word of any label"):
        start_labels(features, load(root.path, with_vectors(strange)))


def test_a_trained_model_does_without_the_file(root: DataRoot, tmp_path: Path) -> None:
    experiment = with_vectors(tmp_path / "gone.txt")
    with pytest.raises(DataError, match=r"gone\.txt: no such file"):
        load(root.path, experiment)
    with pytest.warns(UserWarning, match="unseen labels go by their head noun alone"):
        assert open_dataset(root, reading_of(experiment)).labels is not None
