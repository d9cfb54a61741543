"""Known words that stand in for others: what meaning and context say, and the shipped table of word order."""

from __future__ import annotations

import math
from itertools import product

import pytest

from ghosts import weights
from ghosts.words import stand_ins
from ghosts.words.packed import PER_NAT
from ghosts.words.stand_ins import (
    BEAM,
    ENDED,
    MAX_READ,
    MOST,
    SPELT,
    SPELT_ALIKE,
    STAYS,
    STOP,
    StandIns,
    between_stops,
    shipped_word_order,
)

WORDS = "the . turn left right walk stop go and enter exit door bathroom couch large wait at to past hallway blue"
KNOWN = tuple(WORDS.split())
PLACES = "corner stairs room kitchen stove refrigerator doorway bedroom entrance table chair window sink"
HOUSE = StandIns((*KNOWN, *f"in into through around up down by near of {PLACES}".split()))


def told_again(text: str, known: StandIns = HOUSE) -> str:
    """A text with the words that are read."""
    words = text.split()
    return " ".join(other or word for word, other in zip(words, known.read(words)))


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("stroll to the settee .", "walk to the couch ."),
        ("halted at the lavatory", "stop at the bathroom"),
        ("pivot leftward and halt", "turn left and stop"),
        ("proceed to the washroom .", "go to the bathroom ."),
        ("stroll past the enormous divans", "walk past the large couch"),
    ],
)
def test_a_word_is_read_as_a_known_one(told: str, meant: str) -> None:
    words = told.split()
    read = StandIns(KNOWN).read(words)
    assert [other or word for word, other in zip(words, read)] == meant.split()
    assert all(other is None for word, other in zip(words, read) if word in KNOWN)


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("go to the kichen", "go to the kitchen"),
        ("walk thru the dorway .", "walk through the doorway ."),
        ("go to the dorway", "go to the doorway"),  # not the door, which comes more often
        ("wait by the refridgerator", "wait by the refrigerator"),
        ("walk past the xqzt .", "walk past the xqzt ."),
        ("xqzt", "xqzt"),
    ],
)
def test_a_misspelt_word_is_read_as_the_known_one(told: str, meant: str) -> None:
    assert told_again(told) == meant


def test_spelling_counts_pairs_of_letters() -> None:
    """Of ^dorway$ all seven pairs are among the eight of ^doorway$, and three among the five of ^door$."""
    alike = {"doorway": 2 * 7 / (7 + 8), "door": 2 * 3 / (7 + 5)}
    scores = {name: SPELT * (share - SPELT_ALIKE) for name, share in alike.items()}
    assert HOUSE._candidates("dorway") == pytest.approx({"": STAYS} | scores, abs=1e-5)


def test_context_decides_between_meanings() -> None:
    """A bend is a corner, and to bend is to turn; what stands around it tells them apart."""
    assert {"turn", "corner"} < HOUSE._candidates("bend").keys()
    assert told_again("bend left at the door .") == "turn left at the door ."
    assert told_again("walk around the bend .") == "walk around the corner ."


def test_two_words_before_decide_where_one_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """After `the` kitchens are far likelier than stoves; after `by the` they are not."""
    order, texts = shipped_word_order(), ("walk by the cookery .", "walk into the cookery .")
    assert order.entry("the")["kitchen"] > 10 * order.entry("the")["stove"]
    assert order.entry("by the")["kitchen"] < 2 * order.entry("by the")["stove"]
    assert [*map(told_again, texts)] == ["walk by the stove .", "walk into the kitchen ."]
    monkeypatch.setattr(stand_ins, "PAIR", 1.0)  # the word before alone
    assert [*map(told_again, texts)] == ["walk by the kitchen .", "walk into the kitchen ."]


def test_endings_tell_forms_apart() -> None:
    known = StandIns([*HOUSE._often, "couches", "walking", "walked"])
    assert told_again("walk to the divans", known) == "walk to the couches"
    assert told_again("walk to the divan", known) == "walk to the couch"
    scores = known._candidates("strolling")
    assert scores["walking"] - scores["walk"] == pytest.approx(ENDED)
    alone = StandIns(["the", "walk"])
    assert alone._candidates("strolling")["walk"] == pytest.approx(
        scores["walk"]
    )  # inflected forms have the base's kin


@pytest.mark.parametrize(
    "text",
    [
        "approach access entry",
        "stroll thru the dorway",
        "bend rightward past enormous divans",
        "approach the passage . access xqzt",
        "saunter to the settee and halt by the cooker .",
        "xqzt dorway xqzt lavatory",
    ],
)
def test_the_reading_is_the_best_of_all(text: str) -> None:
    words = text.split()
    candidates = [HOUSE._candidates(word) for word in between_stops(words)[1:]]

    def score(reading: tuple[str, ...]) -> float:
        told = (STOP, STOP, *reading)
        order = sum(HOUSE._follows(*three) for three in zip(told, told[1:], reading))
        return order + sum(own[word] for own, word in zip(candidates, reading))

    best = max(product(*candidates), key=score)
    assert HOUSE.read(words) == [other if other not in ("", word) else None for word, other in zip(words, best)]
    if text == "approach access entry":
        assert len(candidates[0]) * len(candidates[1]) > 2 * BEAM  # some readings are given up on the way


def test_strangers_stay_what_they_are() -> None:
    read = StandIns(KNOWN).read
    assert read(["turn", "left", "at", "the", "skeleton", "and", "stop", "."]) == [None] * 8
    assert read(["xqzt", ",", "the"]) == [None] * 3
    assert read([]) == []
    assert read(["the", "settee"] * 50_000) == [None, "couch"] * (MAX_READ // 2) + [None] * (100_000 - MAX_READ)
    assert StandIns(()).read(["settee", "."]) == [None, None]
    assert StandIns(("<pad>", "<unk>")).read(["settee"]) == [None]
    assert HOUSE._candidates("xqzt") == HOUSE._candidates("2nd") == {"": STAYS}
    assert HOUSE._follows("walk", "the", "") == 0.0  # anything may be followed by a stranger


def test_few_candidates_are_weighed() -> None:
    known = StandIns([name for name in shipped_word_order().words if name.isalpha()])
    assert len(known._candidates("chamber")) == 1 + MOST
    assert all(math.isfinite(score) for score in known._candidates("chamber").values())


def test_the_shipped_word_order() -> None:
    known = shipped_word_order()
    assert known is shipped_word_order()  # read once
    assert weights.WORD_ORDER.stat().st_size < 100_000
    assert "word-order" not in weights.shipped()
    assert known.entry("turn")["left"] > 0.3 > known.entry("turn")["around"] > 0.01
    assert known.entry("up the")["stairs"] > 0.3 > 0.1 > known.entry("the")["stairs"]


def test_shares_of_the_shipped_word_order_sum_to_one_at_most() -> None:
    """Nearly: logarithms are rounded. Shares below the least that a table can keep (3 in 10 000) are kept as that."""
    known = shipped_word_order()
    least = 1.01 * math.exp(-255 / PER_NAT)
    sums = {words: sum(share for share in known.entry(words).values() if share > least) for words in known.words}
    assert {words: total for words, total in sums.items() if total > 1.05} == {}


@pytest.mark.parametrize("word", ["walk", "into", "room", "hallway", "stairs"])
def test_what_may_be_read_for_a_word_has_probabilities(word: str) -> None:
    found = HOUSE.misread(word)
    assert sum(found.values()) == pytest.approx(1.0)
    assert min(found.values()) > 0.0
    assert all(name.isalpha() for name in found)
    assert {name for name in found if name not in HOUSE._often} <= HOUSE._said_for(word).keys()


def test_how_a_word_may_be_misread() -> None:
    alone = StandIns(["the", ".", "walk", "couch", "turn"]).misread("walk")
    assert alone["walk"] > 0.97 > 0.02 > alone["turn"]
    assert 0.0 < alone["stroll"] < 1e-3  # read by its vector
    both = StandIns(["the", ".", "walk", "couch", "turn", "stroll"]).misread("walk")
    assert both["stroll"] > 0.03  # now what some of the others are read as
    assert both["walk"] < alone["walk"]
    assert StandIns(["the", "xqzt"]).misread("xqzt") == {}  # nobody knows another word for it
