"""What training hides: words, their own embeddings, labels of a building."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from data.makers import contents
from ghosts.config import TrainConfig
from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops, absent_of, draw_drops, drops_of
from ghosts.data.examples import TRAIN, Example
from ghosts.data.symmetry import Symmetry
from ghosts.mapping.labels import LabelSet, build_labels
from ghosts.words.tokens import MAX_TOKENS, MISREAD, Vocabulary
from ghosts_sim.episodes import MOST_SEED, Hidden
from ghosts_sim.tokens import PAD, UNKNOWN
from landmark_world import load, make_landmark_root, small_experiment


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load(make_landmark_root(tmp_path_factory.mktemp("drops") / "root"), small_experiment())


def drawn(data: Dataset, count: int) -> list[tuple[Example, np.random.Generator]]:
    """Episodes with random numbers."""
    return [(data.examples(TRAIN)[number % 8], np.random.default_rng([0, number])) for number in range(count)]


def test_hidden_words_are_unknown_or_read_by_their_meaning() -> None:
    words = Vocabulary((PAD, UNKNOWN, "walk", "couch", "xqzt"), open=True)
    amid = words.id("amid")
    ids = np.array([[2, 3, 4, amid, 0], [2, 3, 0, 0, 0]])
    hidden = np.zeros((2, MAX_TOKENS), bool)
    unknown, meant = hidden.copy(), hidden.copy()
    unknown[0, 0], unknown[1, 1:], meant[0] = True, True, True
    couch = int(words.by_meaning[3])
    assert couch >= len(words)
    # A made-up word has no meaning, one that training never met has no other, and padding stays.
    assert Drops(unknown, meant).words(ids, words).tolist() == [[1, couch, 1, amid, 0], [2, 1, 0, 0, 0]]
    assert Drops(hidden).words(ids, words).tolist() == ids.tolist()
    np.testing.assert_array_equal(words.vectors[couch], words.vectors[3])


def test_listed_words_are_misread_as_their_rows_have_it() -> None:
    words = Vocabulary((PAD, UNKNOWN, "walk", "into", "through", "to"), open=True)
    amid, stroll, nothing = words.id("amid"), words.id("stroll"), np.zeros((3, MAX_TOKENS), bool)
    assert min(amid, stroll) >= len(words)
    table = np.repeat(np.arange(6)[:, None], MISREAD, 1)
    table[2:] = [[3], [4], [5], [2]]
    table[2, 9], table[3, 0], table[4, 7] = stroll, 1, 2
    vars(words)["misread"] = table  # by hand, so that no word is read as itself
    ids = np.array([[3, 2, amid, 5, 1, 0], [3, 3, 4, 0, 0, 0], [2, 4, 3, 2, 0, 0]])
    misread = np.full((3, MAX_TOKENS), -1)
    misread[0], misread[1, 1], misread[2, :4] = 5, MISREAD - 1, (9, 7, 0, 1)
    wanted = [[4, 3, amid, 2, 1, 0], [3, 4, 4, 0, 0, 0], [stroll, 2, 1, 3, 0, 0]]
    drops = Drops(nothing, misread=misread)
    assert drops.words(ids, words).tolist() == wanted
    assert drops.of(np.array([2, 0])).words(ids[[2, 0]], words).tolist() == [wanted[2], wanted[0]]
    assert drops.words(ids, Vocabulary(words.words))[[1, 2]].tolist() == ids[[1, 2]].tolist()  # it has no meanings
    # What is read instead may itself be read by its meaning alone, and `<unk>` covers both.
    meaning = [[words.by_meaning[item] if item < len(words) else item for item in row] for row in wanted]
    assert Drops(nothing, ~nothing, misread).words(ids, words).tolist() == meaning
    unknown = nothing.copy()
    unknown[:, :2] = True
    hidden = Drops(unknown, None, misread).words(ids, words)
    assert hidden.tolist() == [[1, 1, *row[2:]] for row in wanted]


def test_each_episode_draws_its_share_of_misread_words(data: Dataset) -> None:
    def draw(most: float, count: int = 400) -> Drops:
        return draw_drops(TrainConfig(meaning_dropout=0.3, misread=most), drawn(data, count), None)

    drops, again, without, more = draw(0.5), draw(0.5), draw(0.0, 3), draw(1.0)
    assert drops.misread is not None
    assert more.misread is not None
    np.testing.assert_array_equal(drops.misread, again.misread)
    said = drops.misread >= 0
    assert (drops.misread.shape, drops.misread.min(), drops.misread.max()) == ((400, MAX_TOKENS), -1, MISREAD - 1)
    assert drops.misread[said].mean() == pytest.approx((MISREAD - 1) / 2, abs=1.0)
    # Shares are uniform between 0 and 0.5, and each is seen in 80 words.
    shares = said.mean(1)
    assert shares.mean() == pytest.approx(0.25, abs=0.02)
    assert np.quantile(shares, [0.1, 0.5, 0.9]) == pytest.approx([0.05, 0.25, 0.45], abs=0.04)
    assert shares.std() == pytest.approx((0.25 / 12 + (1 / 4 - 1 / 12) / MAX_TOKENS) ** 0.5, abs=0.02)
    assert shares.max() < 0.5 + 4.0 * (0.25 / MAX_TOKENS) ** 0.5
    # The same random numbers: a higher limit only adds words, and what was drawn before stays.
    np.testing.assert_array_equal(more.misread[said], drops.misread[said])
    assert (more.misread >= 0).mean() == pytest.approx(0.5, abs=0.04)
    assert without.misread is None
    for part in ("unknown", "meant"):
        np.testing.assert_array_equal(getattr(without, part), getattr(drops, part)[:3])
    alone = draw_drops(TrainConfig(meaning_dropout=0.3, misread=0.5), drawn(data, 3)[2:], None)
    np.testing.assert_array_equal(alone.misread, drops.misread[2:3])  # whatever the other episodes are
    np.testing.assert_array_equal(drops.of(np.array([3, 3])).misread, drops.misread[[3, 3]])


def test_as_much_is_hidden_as_was_asked_for(data: Dataset) -> None:
    assert data.labels is not None
    settings = TrainConfig(word_dropout=0.2, meaning_dropout=0.3, label_dropout=0.4)
    drops = draw_drops(settings, drawn(data, 200), data.labels)
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
    drops = draw_drops(TrainConfig(word_dropout=0.0), drawn(data, 2), data.labels)
    assert not drops.unknown.any()
    assert drops.meant is None
    assert drops.misread is None
    assert drops.absent is None
    assert draw_drops(TrainConfig(label_dropout=0.5), drawn(data, 2), None).absent is None  # images have no labels
    assert drops.of(np.array([0])).absent is None


def names(hidden: Hidden, labels: LabelSet) -> set[tuple[str, str]]:
    every = (*labels.labels, *labels.new)
    return {(every[number].kind, every[number].name) for number in absent_of(hidden, labels).nonzero()[0]}


def test_the_same_names_are_hidden_whatever_their_numbers(data: Dataset) -> None:
    labels = data.labels
    assert labels is not None
    turned = LabelSet(labels.labels[::-1]).with_new(["couch", "settee"])
    assert len(turned.new) == 2
    share, seeds = 0.3, [0, 1, 7, MOST_SEED, *range(100, 300)]
    found = [names(Hidden(share, seed), labels) for seed in seeds]
    for seed, mine in zip(seeds, found):
        assert {name for name in names(Hidden(share, seed), turned) if name[1] not in ("couch", "settee")} == mine
        assert mine <= names(Hidden(0.6, seed), labels)
        assert not any(kind == "structure" for kind, _ in mine)
    assert len({frozenset(mine) for mine in found}) == len(found)
    may = [(label.kind, label.name) for label in labels.labels if label.kind != "structure"]
    shares = [np.mean([name in mine for mine in found]) for name in may]
    assert np.mean(shares) == pytest.approx(share, abs=0.02)
    assert max(abs(value - share) for value in shares) < 5.0 * (0.21 / len(seeds)) ** 0.5
    # A file of told paths means the same for ever: as recorded when the first was written.
    assert names(Hidden(0.3, 2018), build_labels([])) == {("room", letter) for letter in "dhptwxyC"}


def test_a_told_path_lacks_what_it_was_told_without_and_others_what_they_always_did(data: Dataset) -> None:
    labels = data.labels
    assert labels is not None
    hidden = {1: Hidden(0.4, 3), 4: Hidden(0.2, 9)}
    told = [(replace(item, hidden=hidden.get(place)), _) for place, (item, _) in enumerate(drawn(data, 6))]
    settings = TrainConfig(word_dropout=0.2, meaning_dropout=0.3, label_dropout=0.5)
    plain, found = draw_drops(settings, drawn(data, 6), labels), draw_drops(settings, told, labels)
    np.testing.assert_array_equal(found.unknown, plain.unknown)
    np.testing.assert_array_equal(found.meant, plain.meant)
    assert plain.absent is not None
    assert found.absent is not None
    wanted = [absent_of(hidden[row], labels) if row in hidden else plain.absent[row] for row in range(6)]
    np.testing.assert_array_equal(found.absent, wanted)
    # Also where nothing else is hidden, and for the speaker itself.
    alone = draw_drops(TrainConfig(), told, labels).absent
    speaker = drops_of([example for example, _ in told], labels)
    assert alone is not None
    assert speaker is not None
    np.testing.assert_array_equal(alone[[1, 4]], found.absent[[1, 4]])
    assert not alone[[0, 2, 3, 5]].any()
    np.testing.assert_array_equal(speaker.absent, alone)
    assert not speaker.unknown.any()
    assert drops_of([example for example, _ in told[:1]], labels) is None
    assert drops_of([example for example, _ in told], None) is None


def test_a_label_is_gone_from_the_whole_building_of_one_episode(data: Dataset) -> None:
    """Of every step; its cells stay observed, and the other episode keeps it."""
    labels = data.labels
    assert labels is not None
    examples = data.examples(TRAIN)[:1] * 2
    walks = [list(examples[0].path)] * 2
    chair, corridor = labels.object_id("chair"), labels.room_id("h")
    absent = np.zeros((2, len(labels)), bool)
    absent[0, [chair, corridor]] = True
    drops = Drops(np.zeros((2, MAX_TOKENS), bool), absent=absent)
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
    assert Drops(np.zeros((1, MAX_TOKENS), bool), absent=absent).labels(cells) is cells
