"""Word vectors in a run: embeddings start from them, and labels never seen get their synonyms' features."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from ghosts.errors import ConfigError, DataError
from ghosts.files import sha256_file
from ghosts.learn.bank import landmark_bank
from ghosts.learn.data import load_goal_data
from ghosts.learn.label_words import RECORD, resembling, start_labels
from ghosts.learn.tasks import CellFeatures
from ghosts.presets import GoalExperiment
from ghosts.world.dataroot import DataRoot
from ghosts.world.landmarks.labels import build_labels
from ghosts.world.landmarks.source import LandmarkConfig, LandmarkSource, load_scene
from landmark_world import SCANS, make_landmark_root, small_experiment

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
    return replace(small_experiment(), landmarks=LandmarkConfig(word_vectors=str(path) if path else None))


def test_a_label_never_seen_has_its_synonyms_features(root: DataRoot, vectors: Path) -> None:
    """The set knows no lantern; with vectors it is shown where and as a lamp would be, without them as unknown."""
    labels = build_labels(load_scene(root, scan) for scan in SCANS[:-1])
    assert {item.label for item in load_scene(root, SCANS[-1]).objects} == {"lantern", "sink"}
    unknown = labels.structure_id("unknown object")
    shown = {}
    for path in (None, vectors):
        known = resembling(root, labels, SCANS, str(path) if path else None, training=True)
        entries = landmark_bank(LandmarkSource(root, known), SCANS[-1:], 0.5).entries
        assert entries is not None
        shown[path] = entries
    assert (shown[None].label_id == unknown).any()
    replaced = np.where(shown[None].label_id == unknown, labels.object_id("lamp"), shown[None].label_id)
    assert np.array_equal(np.sort(shown[vectors].label_id), np.sort(replaced))
    assert not (shown[vectors].label_id == unknown).any()


def test_embeddings_start_from_words(
    root: DataRoot, vectors: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = load_goal_data(root, with_vectors(vectors))
    assert data.labels is not None
    torch.manual_seed(0)
    features = CellFeatures(8, len(data.labels))
    assert features.embedding is not None
    before = features.embedding.weight.detach().clone()
    start_labels(features, data.labels, str(vectors), tmp_path)
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
    record = json.loads((tmp_path / RECORD).read_text())
    assert record["sha256"] == sha256_file(vectors)
    assert (record["file"], record["found"], record["dimension"]) == ("vectors.txt", 6, 4)
    start_labels(features, data.labels, str(vectors), tmp_path)  # the same command again
    vectors.write_text(VECTORS + "door 0 0 0 1\n")
    with pytest.raises(DataError, match="a run with other word vectors"):
        start_labels(features, data.labels, str(vectors), tmp_path)


def test_nothing_to_start_from(root: DataRoot, tmp_path: Path) -> None:
    data = load_goal_data(root, with_vectors(None))
    assert data.labels is not None
    features = CellFeatures(8, len(data.labels))
    start_labels(features, data.labels, None, tmp_path)
    start_labels(CellFeatures(8, 0), None, "anything", tmp_path)
    assert not (tmp_path / RECORD).exists()
    strange = tmp_path / "strange.txt"
    strange.write_text("stuhl 1 2\n")
    with pytest.raises(DataError, match="knows no word of any label"):
        start_labels(features, data.labels, str(strange), tmp_path)
    with pytest.raises(ConfigError, match=r"leave out --landmarks\.word-vectors"):
        CellFeatures(8, 0).start_from(np.zeros(1, np.int64), np.zeros((1, 8), np.float32))


def test_a_trained_model_does_without_the_file(root: DataRoot, tmp_path: Path) -> None:
    experiment = with_vectors(tmp_path / "gone.txt")
    with pytest.raises(DataError, match=r"gone\.txt: no such file"):
        load_goal_data(root, experiment)
    with pytest.warns(UserWarning, match="unseen labels go by their head noun alone"):
        assert load_goal_data(root, experiment, training=False).labels is not None
