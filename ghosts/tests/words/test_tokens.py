"""Tokens and vocabulary."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors import safe_open

from ghosts.weights import resolve
from ghosts.words.stand_ins import StandIns
from ghosts.words.tokens import MISREAD, TextRead, Vocabulary, build_vocabulary, unread
from ghosts.words.vectors import shipped_vectors
from ghosts_sim.errors import DataError
from ghosts_sim.tokens import PAD, UNKNOWN, tokenise


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
    amid, couch = words.id("amid"), words.id("couch")  # amid has no kin
    assert couch == 3
    assert amid >= len(words) == 4
    assert words.id("xqzt") == 1
    known = shipped_vectors()
    np.testing.assert_array_equal(words.vectors[amid], known.rows(["amid"])[0])
    np.testing.assert_array_equal(words.vectors[couch], words.vectors[words.by_meaning[couch]])
    assert words.by_meaning.tolist()[:2] == [0, 1]
    assert not words.vectors[:2].any()
    assert len(words.vectors) == 4 + len(known.words)
    assert Vocabulary(words.words).id("amid") == 1


def test_listed_words_stand_in_for_those_that_training_never_met() -> None:
    listed = (PAD, UNKNOWN, "walk", "couch", "to", "the", ".")
    words, texts = Vocabulary(listed, open=True), ["stroll to the settee.", "walk to the couch."]
    assert words.stand_ins(["stroll", "to", "the", "settee"]) == ["walk", None, None, "couch"]
    np.testing.assert_array_equal(*words.encode(texts))
    closed = Vocabulary(listed)
    assert closed.stand_ins(["stroll"]) == [None]
    assert closed.encode(texts)[0].tolist() == [1, 4, 5, 1, 6]


def test_how_listed_words_may_be_misread() -> None:
    listed = (PAD, UNKNOWN, "walk", "into", "through", "xqzt")
    words, again, closed = Vocabulary(listed, open=True), Vocabulary(listed, open=True), Vocabulary(listed)
    assert words.misread.shape == (len(listed), MISREAD)
    np.testing.assert_array_equal(words.misread, again.misread)
    own = np.repeat(np.arange(len(listed))[:, None], MISREAD, 1)
    np.testing.assert_array_equal(closed.misread, own)
    np.testing.assert_array_equal(words.misread[[0, 1, 5]], own[[0, 1, 5]])  # nobody knows another word for xqzt
    for row in (2, 3, 4):
        shares: dict[int, float] = {}
        for name, share in StandIns(listed).misread(listed[row]).items():
            shares[words.id(name)] = shares.get(words.id(name), 0.0) + share
        assert {*words.misread[row].tolist()} <= shares.keys()
        for number, share in shares.items():
            error = (share * (1.0 - share) / MISREAD) ** 0.5
            assert np.mean(words.misread[row] == number) == pytest.approx(share, abs=4.0 * error + 1.0 / MISREAD)
    assert np.mean(words.misread[2] == 2) > 0.9
    assert np.mean(words.misread[3] == 3) < 0.9


def test_marks_are_never_misread() -> None:
    """People say other words; they do not put words where full stops stand."""
    words = Vocabulary((PAD, UNKNOWN, ".", ",", "the", "and"), open=True)
    assert {*words.misread[2].tolist()} == {2}
    assert {*words.misread[3].tolist()} == {3}


def test_what_of_a_text_is_read() -> None:
    words = Vocabulary((PAD, UNKNOWN, "walk", "to", "the", "couch"), open=True)
    read = words.read("Walk to the settee, xqzt", max_tokens=6)
    assert read.words == ("walk", "to", "the", "settee", ",", "xqzt")
    assert read.unknown == ("xqzt",)
    assert read.new == ("settee", ",")
    assert read.stand_ins == (("settee", "couch"),)
    assert read.cut == 0
    assert read.notes() == ["1 of 5 words unknown: xqzt", "words that training never met: settee (read as couch)"]
    assert words.read("walk amid the couch").notes() == ["words that training never met: amid (read by its meaning)"]
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
        "2 of 3 instructions hold words that training never met: settee, divan",
    ]


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
    assert (read.words, read.unknown, read.new, read.cut) == (
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
    met = TextRead(("hello",), (), ("hello",), (), 0)
    assert (met.trust, met.notes()) == (0.0, ["words that training never met: hello (read by its meaning)"])


@pytest.mark.parametrize(
    ("text", "doubts"),
    [
        ("go to the pool", (("pool", "room"),)),
        ("wait by the settees", ()),  # a thesaurus knows them
        ("go to the couchh", ()),  # misspelt
    ],
)
def test_words_read_as_quite_other_ones_are_doubtful(text: str, doubts: tuple[tuple[str, str], ...]) -> None:
    known = ("<pad>", "<unk>", "the", "to", "go", "room", "couch", "wait", "by", "door")
    read = Vocabulary(known, open=True).read(text)
    assert read.stand_ins
    assert read.doubts == doubts
