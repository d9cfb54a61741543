"""What training hides: words, their own embeddings, labels of a building."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.data.makers import contents

from ghosts.config import TrainConfig
from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops, draw_drops
from ghosts.data.examples import TRAIN
from ghosts.data.symmetry import Symmetry
from ghosts.language.tokens import MAX_TOKENS, PAD, UNKNOWN, Vocabulary
from landmark_world import load, make_landmark_root, small_experiment


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load(make_landmark_root(tmp_path_factory.mktemp("drops") / "root"), small_experiment())


def randoms(count: int) -> list[np.random.Generator]:
    return [np.random.default_rng([0, number]) for number in range(count)]


def test_hidden_words_are_unknown_or_read_by_their_meaning() -> None:
    words = Vocabulary((PAD, UNKNOWN, "walk", "couch", "xqzt"), open=True)
    settee = words.id("settee")
    ids = np.array([[2, 3, 4, settee, 0], [2, 3, 0, 0, 0]])
    hidden = np.zeros((2, MAX_TOKENS), bool)
    unknown, meant = hidden.copy(), hidden.copy()
    unknown[0, 0], unknown[1, 1:], meant[0] = True, True, True
    couch = int(words.by_meaning[3])
    assert couch >= len(words)
    # A made-up word has no meaning, one that training never met has no other, and padding stays.
    assert Drops(unknown, meant).words(ids, words).tolist() == [[1, couch, 1, settee, 0], [2, 1, 0, 0, 0]]
    assert Drops(hidden).words(ids, words).tolist() == ids.tolist()
    np.testing.assert_array_equal(words.vectors[couch], words.vectors[3])


def test_as_much_is_hidden_as_was_asked_for(data: Dataset) -> None:
    assert data.labels is not None
    settings = TrainConfig(word_dropout=0.2, meaning_dropout=0.3, label_dropout=0.4)
    drops = draw_drops(settings, randoms(200), data.labels)
    assert drops.meant is not None
    assert drops.absent is not None
    kinds = np.array([label.kind for label in data.labels.labels])
    assert not drops.absent[:, kinds == "structure"].any()
    assert drops.unknown.mean() == pytest.approx(0.2, abs=0.02)
    assert drops.meant.mean() == pytest.approx(0.3, abs=0.02)
    for kind in ("room", "object"):
        assert drops.absent[:, kinds == kind].mean() == pytest.approx(0.4, abs=0.03), kind
    some = drops.of(np.array([3, 3]))
    for part in ("unknown", "meant", "absent"):
        np.testing.assert_array_equal(getattr(some, part), getattr(drops, part)[[3, 3]])


def test_nothing_is_drawn_that_is_not_asked_for(data: Dataset) -> None:
    drops = draw_drops(TrainConfig(word_dropout=0.0), randoms(2), data.labels)
    assert not drops.unknown.any()
    assert drops.meant is None
    assert drops.absent is None
    assert draw_drops(TrainConfig(label_dropout=0.5), randoms(2), None).absent is None  # images have no labels
    assert drops.of(np.array([0])).absent is None


def test_a_label_is_gone_from_the_whole_building_of_one_episode(data: Dataset) -> None:
    """Of every step; its cells stay observed, and the other episode keeps it."""
    labels = data.labels
    assert labels is not None
    examples = data.examples(TRAIN)[:1] * 2
    walks = [list(examples[0].path)] * 2
    chair, corridor = labels.object_id("chair"), labels.room_id("h")
    absent = np.zeros((2, len(labels)), bool)
    absent[0, [chair, corridor]] = True
    drops = Drops(np.zeros((2, MAX_TOKENS), bool), None, absent)
    plain, found = contents(data.batch(examples, walks)), contents(data.batch(examples, walks, None, drops))
    assert found.keys() == plain.keys()
    gone = {chair, corridor}
    assert any(gone & kept.keys() for kept in plain.values())
    for key, kept in plain.items():
        wanted = {label: weight for label, weight in kept.items() if not (key[1] == 0 and label in gone)}
        assert found[key] == wanted
    # What a walker sees is what its batch shows.
    for item, seen in enumerate((found, plain)):
        cells = data.see(examples[:1], [walks[0][0]], [Symmetry()], torch.device("cpu"), drops.of(np.array([item])))
        assert cells.labels is not None
        first = [label for key, kept in seen.items() if key[:2] == (0, item) for label in kept]
        assert sorted(cells.labels.label.tolist()) == sorted(first)


def test_stored_features_are_left_alone(data: Dataset) -> None:
    cells = replace(data.batch(data.examples(TRAIN)[:1], [[0]]).seen.cells, labels=None)
    absent = np.ones((1, 50), bool)
    assert Drops(np.zeros((1, MAX_TOKENS), bool), None, absent).labels(cells) is cells
