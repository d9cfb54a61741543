"""Tokens and vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from ghosts.errors import DataError
from ghosts.language.tokens import (
    MOST_NEAR,
    NEAR,
    PAD,
    UNKNOWN,
    TextRead,
    Vocabulary,
    build_vocabulary,
    tokenise,
    unread,
)
from ghosts.language.vectors import shipped_vectors
from ghosts.weights import resolve


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


def test_a_list_that_is_no_vocabulary_is_refused() -> None:
    with pytest.raises(DataError, match="starts with"):
        Vocabulary(("a",))
    with pytest.raises(DataError, match=r"a word is listed twice.*'a'"):
        Vocabulary((PAD, UNKNOWN, "a", "a"))


def test_an_open_vocabulary_reads_other_words_by_their_meaning() -> None:
    words = Vocabulary((PAD, UNKNOWN, "walk", "couch"), open=True)
    settee, couch = words.id("settee"), words.id("couch")
    assert couch == 3
    assert settee >= len(words) == 4
    assert words.id("xqzt") == 1
    known = shipped_vectors()
    np.testing.assert_array_equal(words.vectors[settee], known.rows(["settee"])[0])
    np.testing.assert_array_equal(words.vectors[couch], words.vectors[words.by_meaning[couch]])
    assert words.by_meaning.tolist()[:2] == [0, 1]
    assert not words.vectors[:2].any()
    assert len(words.vectors) == 4 + len(known.words)
    assert Vocabulary(words.words).id("settee") == 1


def test_near_words_are_not_listed_and_stand_for_one_listed_word_each() -> None:
    listed = ("the", ".", "left", "right", "up", "down", "couch", "sofa", "window", "kitchen", "xqzt", "2")
    words = Vocabulary((PAD, UNKNOWN, *listed), open=True)
    every = (*words.words, *shipped_vectors().words)
    unit = words.vectors / np.maximum(np.linalg.norm(words.vectors, axis=1, keepdims=True), 1e-9)
    found = {word: [row for row in options if row >= 0] for word, options in zip(words.words, words.near)}
    for number, word in enumerate(words.words):
        for row in found[word]:
            assert every[row] not in words.words
            cosines = unit[row] @ unit[: len(words)].T
            assert cosines[number] == cosines[[word.isalpha() and word != "the" for word in words.words]].max()
            assert cosines[number] >= NEAR
        cosines = [float(unit[row] @ unit[number]) for row in found[word]]
        assert cosines == sorted(cosines, reverse=True)
    near = [row for rows in found.values() for row in rows]
    assert len(set(near)) == len(near)
    assert len(found["couch"]) == MOST_NEAR
    assert words.id("windows") in found["window"]
    # Marks, little words and those without a vector have none, nor has a closed vocabulary.
    for word in (PAD, UNKNOWN, "the", ".", "xqzt", "2"):
        assert not found[word], word
    assert (Vocabulary(words.words).near == -1).all()
    assert (Vocabulary((PAD, UNKNOWN), open=True).near == -1).all()


def test_what_of_a_text_is_read() -> None:
    words = Vocabulary((PAD, UNKNOWN, "walk", "to", "the", "couch"), open=True)
    read = words.read("Walk to the settee, xqzt", max_tokens=6)
    assert read.words == ("walk", "to", "the", "settee", ",", "xqzt")
    assert read.unknown == ("xqzt",)
    assert read.met == ("settee", ",")
    assert read.cut == 0
    assert read.notes() == ["1 of 5 words unknown: xqzt", "read by their meaning alone: settee"]
    assert words.read("walk to the couch", max_tokens=2).notes() == ["cut after 2 words (2 left out)"]
    assert words.read("walk").notes() == []


def test_what_of_many_texts_is_not_read() -> None:
    vocabulary = Vocabulary(("<pad>", "<unk>", "go", "left"))
    assert unread(vocabulary, ["go left", "Go"]) == []
    texts = ["go zig zig", "zag", "go " * 81, *(f"go a{number}" for number in range(6))]
    assert unread(vocabulary, texts) == [
        "8 of 9 instructions hold unknown words: zig, zag, a0, a1, a2, a3 and 2 more",
        "1 of 9 instructions are cut after 80 words",
    ]
    texts = ["go settee xqzt, divan", "left settee", "go"]
    assert unread(Vocabulary(vocabulary.words, open=True), texts) == [
        "1 of 3 instructions hold unknown words: xqzt",
        "2 of 3 instructions hold words read by their meaning alone: settee, divan",
    ]


def test_a_vocabulary_of_the_real_size() -> None:
    """Words as often as Zipf has it: those seen five times stay, and few words are unknown."""
    words = [f"w{number}" for number in range(3000)]
    counts = [max(1, 40_000 // (number + 1)) for number in range(len(words))]
    stream = np.repeat(words, counts)
    np.random.default_rng(0).shuffle(stream)
    texts = [" ".join(stream[at : at + 26]) + "." for at in range(0, len(stream), 26)]
    kept = [word for word, count in zip(words, counts) if count >= 5]
    vocabulary = build_vocabulary(texts)
    assert len(vocabulary) == 2 + 1 + len(kept)  # padding, unknown, the full stop
    assert set(vocabulary.words[3:]) | {vocabulary.words[2]} == {*kept, "."}
    ids = vocabulary.encode(texts)
    assert ids.shape == (len(texts), 27)
    assert (ids == 1).sum() == sum(count for count in counts if count < 5)


def test_the_vocabulary_of_real_instructions() -> None:
    """As the shipped weights have it, which were trained on all of R2R's public training buildings."""
    with safe_open(resolve(Path("landmarks-improved")), framework="np") as file:
        vocabulary = Vocabulary(tuple(json.loads(file.metadata()["about"])["vocabulary"]))
    assert len(vocabulary) == 988
    text = "Walk past the dining table, turn left and stop at the stairs beside the bedroom door."
    assert 1 not in vocabulary.encode([text])
    assert vocabulary.encode(["Turn left."]).tolist() == [[vocabulary.id(word) for word in ("turn", "left", ".")]]


def test_how_far_a_text_is_understood() -> None:
    words = Vocabulary((PAD, UNKNOWN, "walk", "past", "the", "."))
    read = words.read("Walk past the zebra, zebra.")
    assert (read.words, read.unknown, read.met, read.cut) == (
        *(("walk", "past", "the", "zebra", ",", "zebra", "."), ("zebra", ",", "zebra"), (), 0),
    )  # fmt: skip
    assert read.notes() == ["2 of 5 words unknown: zebra"]
    assert read.understood == 3 / 5  # marks do not count
    assert read.trust == pytest.approx(1 - 0.4**3)
    assert (words.read("前进 🙂").trust, words.read("walk past").trust) == (0.0, 1.0)
    short = words.read("walk past the walk", max_tokens=3)
    assert (short.words, short.cut, short.understood) == (("walk", "past", "the"), 1, 3 / 4)
    assert short.notes() == ["cut after 3 words (1 left out)"]
    assert (words.read("...").understood, words.read("walk").notes()) == (0.0, [])
    assert words.read("?! ...").notes() == ["there are no words in it"]
    assert words.read("走，停").notes() == ["2 of 2 words unknown: 走, 停"]
    # Little words alone lead nowhere, however many of them are known.
    assert words.read("the walk").trust > 0.5
    assert words.read("the snarfle the").trust == words.read("the the the").trust == 0.0
    read_by_meaning = TextRead(("hello",), (), ("hello",), 0)
    assert (read_by_meaning.trust, read_by_meaning.notes()) == (0.0, ["read by their meaning alone: hello"])
