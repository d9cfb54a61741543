"""Paths as a speaker is shown them, and its words as text."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from ghosts.data.dataset import Dataset
from ghosts.data.drops import Drops
from ghosts.data.examples import TRAIN
from ghosts.data.symmetry import Symmetry
from ghosts.methods.speaker.model import END
from ghosts.methods.speaker.paths import load_batch, make_batch, said, spoken_text
from ghosts.words.tokens import MAX_TOKENS, Vocabulary
from ghosts_sim.geometry import snap_origin
from ghosts_sim.tokens import PAD, UNKNOWN
from landmark_world import load, make_landmark_root, small_experiment


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return load(make_landmark_root(tmp_path_factory.mktemp("telling") / "root"), small_experiment())


def test_stops_and_moves_of_a_path(data: Dataset) -> None:
    """Paths 0, 1, 2, 6 (left at the end), 1, 2, 3, 4, 10 (right) and 5, 0, 1 (left), in a building that is turned."""
    mine = [example for example in data.examples(TRAIN) if example.scan == "comb1"][::3]
    examples = [mine[0], mine[3], mine[6]]
    batch = make_batch(data, examples)
    told = batch.paths
    assert told.stops.tolist() == [[True] * 4 + [False], [True] * 5, [True] * 3 + [False] * 2]
    assert told.cells.steps == 5
    turn = torch.rad2deg(torch.atan2(told.moves[..., 0], told.moves[..., 1]))
    left, right = -90.0, 90.0
    wanted = [[0.0, 0.0, left, 0.0, 0.0], [0.0, 0.0, 0.0, right, 0.0], [0.0, left, 0.0, 0.0, 0.0]]
    assert_close(turn, torch.tensor(wanted), atol=1e-3, rtol=0)
    assert_close(told.moves[1, :, 2], torch.tensor([2.3, 2.3, 2.3, 2.3, 0.0]) / 5.0)
    assert not told.moves[..., 3].any()  # on one storey
    assert told.moves[..., 4].tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1], [0, 0, 1, 0, 0]]
    assert told.moves[..., 5].tolist() == [[1, 0, 0, 0, 0]] * 3
    for row, example in enumerate(examples):
        graph = data.root.graph("comb1")
        xy = graph.position_m[list(example.path), :2]
        places = xy - snap_origin(xy[:1], data.reading.grid)
        np.testing.assert_allclose(told.xy_m[row, : len(xy)].numpy(), places, atol=1e-5)
        assert_close(told.xy_m[row, len(xy) :], told.xy_m[row, len(xy) - 1].expand(5 - len(xy), 2))
        headings = [example.start_heading_rad]
        headings += [math.atan2(*(there - here)) % math.tau for here, there in pairwise(xy)]
        np.testing.assert_allclose(told.heading_rad[row, : len(xy)].numpy() % math.tau, headings, atol=1e-5)


def test_what_a_stop_shows_is_what_a_walker_sees_there(data: Dataset) -> None:
    example = data.examples(TRAIN)[0]
    batch, seen = make_batch(data, [example]), data.batch([example], [list(example.path)]).seen.cells
    assert batch.paths.cells.labels is not None
    assert seen.labels is not None
    assert torch.equal(batch.paths.cells.labels.label, seen.labels.label)
    assert torch.equal(batch.paths.cells.step, seen.step)
    assert data.labels is not None
    absent = np.zeros((1, len(data.labels)), bool)
    absent[0, int(data.labels.room_id("h"))] = True
    hidden = make_batch(data, [example], None, Drops(np.ones((1, MAX_TOKENS), bool), absent=absent))
    assert hidden.paths.cells.labels is not None
    assert data.labels.room_id("h") in batch.paths.cells.labels.label
    assert data.labels.room_id("h") not in hidden.paths.cells.labels.label
    assert torch.equal(hidden.tokens, batch.tokens)  # what is to be said is never hidden
    assert torch.equal(load_batch(data, batch, torch.device("cpu")).tokens, batch.tokens)


def test_a_mirrored_path_turns_the_other_way_and_says_so(data: Dataset) -> None:
    example = data.examples(TRAIN)[0]
    plain, mirrored = make_batch(data, [example]), make_batch(data, [example], [Symmetry(mirrored=True, quarters=1)])
    assert_close(mirrored.paths.moves[..., 0], -plain.paths.moves[..., 0], atol=1e-5, rtol=0)
    assert_close(mirrored.paths.moves[..., 1:], plain.paths.moves[..., 1:], atol=1e-5, rtol=0)
    texts = [spoken_text(batch.tokens[0].tolist(), data.vocabulary) for batch in (plain, mirrored)]
    assert "turn left" in texts[0]
    assert texts[1] == texts[0].replace("left", "right")


def test_listed_words_are_said_then_the_end() -> None:
    words = Vocabulary((PAD, UNKNOWN, "walk", "stop"), open=True)
    ids = words.encode(["walk xqzt settee stop", "stop"])
    assert said(ids, words).tolist() == [[2, 3, END], [3, END, 0]]
    long = said(np.full((1, MAX_TOKENS), 2), words)
    assert long.shape == (1, MAX_TOKENS)
    assert long[0, -2:].tolist() == [2, END]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("walk past the sofa , then stop .", "Walk past the sofa, then stop."),
        ("turn left . wait there ... go !", "Turn left. Wait there... Go!"),
        ("it ' s the step - ladder / stool", "It's the step-ladder/stool"),
        ("go in ( the door ) . 2 steps", "Go in (the door). 2 steps"),
    ],
)
def test_words_become_a_sentence(text: str, wanted: str) -> None:
    listed = (PAD, UNKNOWN, *dict.fromkeys(text.split()))
    ids = [listed.index(word) for word in text.split()]
    assert spoken_text([*ids, END, 0, 0], Vocabulary(listed)) == wanted
    assert spoken_text([END, 0], Vocabulary(listed)) == ""
