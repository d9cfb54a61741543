"""Tokens and vocabulary."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghosts.errors import DataError
from ghosts.language.episodes import each_instruction, load_episodes
from ghosts.language.tokens import PAD, UNKNOWN, Vocabulary, build_vocabulary, tokenise


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Turn left, then STOP.", ["turn", "left", ",", "then", "stop", "."]),
        ("stop!? wait...", ["stop", "!", "?", "wait", "..."]),
        ("it's  a\tcouch\n", ["it", "'", "s", "a", "couch"]),
        ("(2nd door)", ["(", "2nd", "door", ")"]),
        ("", []),
        ("   ", []),
    ],
)
def test_tokens(text: str, tokens: list[str]) -> None:
    assert tokenise(text) == tokens


@given(st.text())
def test_tokens_have_no_space_and_are_stable(text: str) -> None:
    tokens = tokenise(text)
    assert all(token and not any(letter.isspace() for letter in token) for token in tokens)
    assert tokenise(" ".join(tokens)) == tokens


def test_vocabulary_order_and_ids() -> None:
    words = build_vocabulary(["b a a", "c c b a"], min_count=2)
    assert words.words == (PAD, UNKNOWN, "a", "b", "c")
    ids = words.encode(["a zebra", "c b a", ""])
    np.testing.assert_array_equal(ids, [[2, 1, 0], [4, 3, 2], [1, 0, 0]])
    assert words.encode(["a a a a"], max_tokens=2).shape == (1, 2)


def test_save_and_load(tmp_path: Path) -> None:
    words = build_vocabulary(["a b"], min_count=1)
    words.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json") == words
    (tmp_path / "v.json").write_text('{"words": 3}')
    with pytest.raises(DataError, match="list of words"):
        Vocabulary.load(tmp_path / "v.json")
    (tmp_path / "v.json").write_text('{"words": ["a"]}')
    with pytest.raises(DataError, match="starts with"):
        Vocabulary.load(tmp_path / "v.json")


def test_real_vocabulary(r2r_data: Path) -> None:
    train = load_episodes(r2r_data / "r2r" / "R2R_train.json")
    texts = [item.text for item in each_instruction(train)]
    words = build_vocabulary(texts)
    assert len(words) == 988
    assert {"left", "right", "stairs", "bedroom"} <= set(words.words)
    ids = words.encode(texts)
    assert ids.shape[1] <= 80
    assert (ids == 1).sum() / (ids > 0).sum() < 0.02  # few unknown words
