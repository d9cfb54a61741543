"""Known words that stand in for others: what meaning and context say, and the shipped table of word order."""

from __future__ import annotations

import math

import pytest

from ghosts import weights
from ghosts.language.stand_ins import MAX_READ, MOST, STOP, StandIns, between_stops, shipped_word_order
from reference.word_order import word_order

WORDS = "the . turn left right walk stop go and enter exit door bathroom couch large wait at to past hallway blue"
KNOWN = tuple(WORDS.split())


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("stroll to the settee .", "walk to the couch ."),
        ("halted at the lavatory", "stop at the bathroom"),
        ("pivot leftward and halt", "turn left and stop"),
        ("access the washroom .", "enter the bathroom ."),
        ("stroll past the enormous divans", "walk past the large couch"),
    ],
)
def test_a_word_is_read_as_a_known_one(told: str, meant: str) -> None:
    words = told.split()
    read = StandIns(KNOWN).read(words)
    assert [other or word for word, other in zip(words, read)] == meant.split()
    assert all(other is None for word, other in zip(words, read) if word in KNOWN)


def test_context_decides_between_meanings() -> None:
    """Enter, entrance and right are all kin of access; what stands around it tells them apart."""
    known = StandIns(["the", ".", "turn", "walk", "go", "to", "enter", "exit", "bathroom", "entrance", "right"])
    assert known.read(["access", "the", "bathroom", "."])[0] == "enter"
    assert known.read(["walk", "to", "the", "access", "."])[3] in ("entrance", "right")


def test_strangers_stay_what_they_are() -> None:
    read = StandIns(KNOWN).read
    assert read(["turn", "left", "at", "the", "skeleton", "and", "stop", "."]) == [None] * 8
    assert read(["xqzt", ",", "the"]) == [None] * 3
    assert read([]) == []
    assert read(["the", "settee"] * 50_000) == [None, "couch"] * (MAX_READ // 2) + [None] * (100_000 - MAX_READ)
    assert StandIns(()).read(["settee", "."]) == [None, None]
    assert StandIns(("<pad>", "<unk>")).read(["settee"]) == [None]


def test_few_candidates_are_weighed() -> None:
    known = StandIns([name for name in shipped_word_order().words if name.isalpha()])
    assert len(known._candidates("chamber")) == 1 + MOST
    assert all(math.isfinite(score) for score in known._candidates("chamber").values())


def test_word_order_by_hand() -> None:
    texts = ["Turn left."] * 6 + ["turn right"] * 2
    found = word_order(texts)
    assert found == {
        STOP: {"turn": 0.0},
        "turn": {"left": pytest.approx(math.log(6 / 8))},  # right follows it only twice
        "left": {STOP: 0.0},
    }
    assert between_stops(["go", STOP]) == between_stops(["go"]) == [STOP, "go", STOP]


def test_the_shipped_word_order() -> None:
    known = shipped_word_order()
    assert known is shipped_word_order()  # read once
    assert weights.WORD_ORDER.stat().st_size < 30_000
    assert "word-order" not in weights.shipped()
    assert known.of("turn")["left"] > 0.3 > known.of("turn")["around"] > 0.01
    assert all(sum(known.of(word).values()) < 1.05 for word in known.words)  # logarithms are rounded
