"""The speaker: what it sees of a path, and that telling, scoring and learning are one distribution."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from experiments import speaker_of
from ghosts.data.dataset import Dataset
from ghosts.data.examples import TRAIN
from ghosts.data.symmetry import Symmetry
from ghosts.methods.build import build_model
from ghosts.methods.speaker.model import END, Speaker
from ghosts.methods.speaker.paths import SpeakerBatch, load_batch, make_batch
from ghosts.methods.speaker.settings import SpeakerConfig, SpeakerExperiment
from ghosts_sim.errors import DataError
from landmark_world import load, make_landmark_root, small_experiment

SETTINGS = SpeakerConfig(hidden=12, encoded=10, sectors=8, rings_m=(1.5,), dropout=0.3)


def speaker_experiment(vectors: bool = True) -> SpeakerExperiment:
    base = small_experiment()
    model = replace(base.model, language=replace(base.model.language, vectors=vectors))
    data = replace(base.data, landmarks=replace(base.data.landmarks, vectors=vectors))
    return speaker_of(replace(base, model=model, data=data), SETTINGS)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load(make_landmark_root(tmp_path_factory.mktemp("speaker") / "root"), speaker_experiment())


@pytest.fixture(scope="module")
def speaker(data: Dataset) -> Speaker:
    torch.manual_seed(0)
    model = build_model(speaker_experiment(), data.vocabulary, data.labels)
    assert isinstance(model, Speaker)
    with torch.no_grad():
        model.leave.weight *= 3.0  # so that likelier words are much likelier
    return model.eval()


def batch_of(data: Dataset, numbers: list[int], symmetry: Symmetry | None = None) -> SpeakerBatch:
    examples = [data.examples(TRAIN)[number] for number in numbers]
    batch = make_batch(data, examples, [symmetry or Symmetry()] * len(examples))
    return load_batch(data, batch, torch.device("cpu"))


def test_each_words_scores_depend_on_the_words_before_alone(data: Dataset, speaker: Speaker) -> None:
    batch = batch_of(data, [0, 9])
    scores = speaker(batch.paths, batch.tokens)
    assert scores.shape == (*batch.tokens.shape, 40)
    other = batch.tokens.clone()
    other[:, 4] = 7
    changed = (speaker(batch.paths, other) - scores).abs().amax((0, 2)) > 1e-6
    assert changed.tolist() == [False] * 5 + [True] * (batch.tokens.shape[1] - 5)


def test_the_likelihood_of_an_instruction_is_the_sum_over_its_words(data: Dataset, speaker: Speaker) -> None:
    batch = batch_of(data, [0, 20])
    found = speaker.log_likelihood(batch.paths, batch.tokens)
    scores = speaker(batch.paths, batch.tokens).log_softmax(-1)
    for row, words in enumerate(batch.tokens.tolist()):
        count = words.index(END) + 1  # the end mark counts, padding does not
        assert_close(found[row], sum(scores[row, at, words[at]] for at in range(count)))
    longer = torch.nn.functional.pad(batch.tokens, (0, 3))
    assert_close(speaker.log_likelihood(batch.paths, longer), found)


def test_what_it_tells_is_likeliest_word_by_word(data: Dataset, speaker: Speaker) -> None:
    batch = batch_of(data, [0, 9, 20])
    words = speaker.tell(batch.paths, longest=12)
    assert words.shape[1] <= 12
    scores = speaker(batch.paths, words)
    scores[..., 0] = -torch.inf
    for row in words.tolist():
        assert 0 not in row[: row.index(END)] if END in row else 0 not in row
        assert not any(row[row.index(END) + 1 :]) if END in row else True
    kept = words > 0
    assert torch.equal(scores.argmax(-1)[kept], words[kept])
    cold = speaker.tell(batch.paths, longest=12, temperature=1e-4, generator=torch.Generator().manual_seed(1))
    assert torch.equal(cold, words)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_that_are_not_finite_are_an_error(data: Dataset, speaker: Speaker, temperature: float) -> None:
    huge = copy.deepcopy(speaker)
    for value in huge.parameters():
        value.data *= 1e30
    with pytest.raises(DataError, match="the scores of the words are not finite"):
        huge.tell(batch_of(data, [0]).paths, longest=3, temperature=temperature)


def test_samples_follow_the_distribution_and_the_seed(data: Dataset, speaker: Speaker) -> None:
    batch = batch_of(data, [0] * 64)
    drawn = [
        speaker.tell(batch.paths, longest=1, temperature=1.0, generator=torch.Generator().manual_seed(seed))[:, 0]
        for seed in (0, 0, *range(1, 20))
    ]
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[1], drawn[2])
    counts = torch.bincount(torch.cat(drawn[1:]), minlength=40) / (64 * 20)
    scores = speaker(batch_of(data, [0]).paths, torch.zeros(1, 1, dtype=torch.long))[0, 0]
    scores[0] = -torch.inf
    assert_close(counts, scores.softmax(0).detach(), atol=0.04, rtol=0)


def test_padding_of_shorter_paths_does_not_matter(data: Dataset, speaker: Speaker) -> None:
    """A path of three viewpoints beside one of five."""
    both, alone = batch_of(data, [18, 6]), batch_of(data, [18])
    assert both.paths.stops.sum(1).tolist() == [3, 5]
    width = alone.tokens.shape[1]
    assert_close(
        speaker(both.paths, both.tokens)[0, :width], speaker(alone.paths, alone.tokens)[0], atol=1e-5, rtol=1e-5
    )


def test_a_turned_world_is_told_alike_and_a_mirrored_one_is_not(data: Dataset, speaker: Speaker) -> None:
    plain = batch_of(data, [0, 9])
    scores = speaker(plain.paths, plain.tokens)
    for quarters in (1, 2, 3):
        turned = batch_of(data, [0, 9], Symmetry(quarters=quarters))
        assert not torch.allclose(turned.paths.xy_m, plain.paths.xy_m)
        assert_close(speaker(turned.paths, plain.tokens), scores, atol=1e-4, rtol=1e-4)
    mirrored = batch_of(data, [0, 9], Symmetry(mirrored=True))
    assert not torch.allclose(speaker(mirrored.paths, plain.tokens), scores, atol=1e-3)


def test_directions_are_counted_from_where_the_walker_looks(speaker: Speaker) -> None:
    """Eight sectors from +x on, counter-clockwise, near then far; looking north, east and south-west."""
    around = torch.arange(16.0)[None, None, :, None].expand(1, 3, 16, 1)
    heading = torch.tensor([[0.0, math.pi / 2, 1.25 * math.pi]])
    near, far = speaker._ahead_first(around, heading)[0, :, :, 0].unflatten(1, (2, 8)).unbind(1)
    assert near[:, 0].tolist() == [2.0, 0.0, 5.0]  # ahead
    assert near[:, 2].tolist() == [4.0, 2.0, 7.0]  # left
    assert near[:, 6].tolist() == [0.0, 6.0, 3.0]  # right
    assert torch.equal(far, near + 8.0)


def test_it_attends_to_no_direction_in_which_nothing_is_seen(data: Dataset, speaker: Speaker) -> None:
    scenery = speaker.look(batch_of(data, [18, 6]).paths)
    views = 5 * 16
    assert scenery.values.shape == (2, views + 5, 10)
    assert scenery.penalty[:, views:].isinf().tolist() == [[False] * 3 + [True] * 2, [False] * 5]
    assert scenery.penalty[0, 3 * 16 : views].isinf().all()
    hidden = scenery.penalty[1, :views].isinf()
    assert 0 < int(hidden.sum()) < views
    assert not scenery.values[1, :views][hidden].any()


def test_labels_that_training_never_met_are_told_by_their_meaning(data: Dataset, speaker: Speaker) -> None:
    """A lamp becomes a settee, with a number after those of training, then with the vector of a lamp."""
    batch = batch_of(data, [0])
    labels, cells = data.labels, batch.paths.cells
    assert labels is not None
    assert cells.labels is not None
    lamp = next(number for number in cells.labels.label.tolist() if labels.labels[number].kind == "object")
    met = labels.with_new(["settee"])
    vectors = torch.from_numpy(met.vectors)
    label = torch.where(cells.labels.label == lamp, len(labels), cells.labels.label)
    scores = speaker(batch.paths, batch.tokens)

    def told_with(vectors: torch.Tensor) -> torch.Tensor:
        assert cells.labels is not None
        found = replace(cells.labels, label=label, vectors=vectors)
        return speaker(replace(batch.paths, cells=replace(cells, labels=found)), batch.tokens)

    assert not torch.allclose(told_with(vectors), scores, atol=1e-5)
    same = vectors.clone()
    same[-1] = vectors[lamp]
    assert_close(told_with(same), scores, atol=1e-5, rtol=1e-5)


def test_without_vectors_it_has_embeddings_of_its_own(data: Dataset) -> None:
    model = build_model(speaker_experiment(vectors=False), data.vocabulary, data.labels)
    assert isinstance(model, Speaker)
    assert isinstance(model.words.embedding, torch.nn.Embedding)
    assert isinstance(model.features.embedding, torch.nn.Embedding)
    batch = batch_of(data, [0])
    assert torch.isfinite(model(batch.paths, batch.tokens)).all()
