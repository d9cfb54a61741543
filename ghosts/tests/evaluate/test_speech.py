"""Scores of instructions: published examples, and values worked out by hand from the published formulas."""

from __future__ import annotations

import math

import pytest

from ghosts.evaluate.speech import bleu, cider, rouge_l, score_speech

GUIDE = "It is a guide to action which ensures that the military always obeys the commands of the party"
GUIDES = [
    "It is a guide to action that ensures that the military will forever heed Party commands",
    "It is the guiding principle which guarantees the military forces always being under the command of the Party",
    "It is the practical guide for the army always to heed the directions of the party",
]
BOOK = "he read the book because he was interested in world history"
BOOKS = ["he was interested in world history because he read the book"]
SAID = [
    "walk past the sofa and stop at the door",
    "turn left at the stairs",
    "go up the stairs and wait by the bed",
]
PEOPLE = [
    [
        "walk past the sofa and wait at the door",
        "go past the couch and stop in front of the door",
        "exit the room past the sofa",
    ],
    ["turn left at the stairs", "at the stairs turn left and stop", "make a left"],
    [
        "climb the stairs and stop by the bed",
        "go up the stairs and wait near the bed",
        "go upstairs and wait by the bed",
    ],
]


def words(*texts: str) -> list[list[str]]:
    return [text.split() for text in texts]


def test_bleu_of_papinenis_sentences() -> None:
    """Values that NLTK's documentation gives for them: one sentence, and a corpus of two."""
    assert bleu(words(GUIDE), [words(*GUIDES)]) == pytest.approx(0.5045666840058485, abs=1e-12)
    assert bleu(words(GUIDE, BOOK), [words(*GUIDES), words(*BOOKS)]) == pytest.approx(0.5920778868801042, abs=1e-12)


def test_bleu_clips_counts_and_punishes_brevity() -> None:
    # "the" may count twice, as often as one reference has it: 2/7 unigrams; no bigram is right.
    assert bleu(words("the the the the the the the"), [words("the cat is on the mat")]) == 0.0
    # All n-grams are right, but five words stand for eight: exp(1 − 8/5).
    human = [words("a b c d e f g h")]
    assert bleu(words("a b c d e"), human) == pytest.approx(math.exp(-0.6))
    # 5/6, 4/5, 3/4 and 2/3 of the n-grams; of two equally close lengths the shorter counts, so nothing is punished.
    human = [words("a b c d e", "a b c d e x y")]
    assert bleu(words("a b c d e z"), human) == pytest.approx((5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25)


def test_rouge_of_lins_sentences() -> None:
    """Lin's own: three of four words in order, and two of four."""
    human = [words("police killed the gunman")]
    assert rouge_l(words("police kill the gunman"), human) == pytest.approx(0.75)
    assert rouge_l(words("the gunman kill police"), human) == pytest.approx(0.5)
    # The best precision (2/2, of the first) and the best recall (2/3, of the second) over the references.
    human = [words("a b c d", "a x b")]
    assert rouge_l(words("a b"), human) == pytest.approx((1 + 1.44) * 1.0 * (2 / 3) / (2 / 3 + 1.44 * 1.0))
    assert rouge_l([[], ["a"]], [words("a b"), words("b")]) == 0.0


def test_cider_by_hand() -> None:
    """Two paths: what both have weighs nothing (log 2 − log 2), all else log 2."""
    human = [words("go to the bed"), words("go to the big red sofa")]
    assert cider(words("go to the bed", "go to the big red sofa"), human) == pytest.approx(10.0)
    # Of each order one n-gram is right ("bed", "the bed", …) and one is new ("now", "bed now", …): a cosine of 1/√2.
    # One word too many shrinks it by exp(−1/72).
    said = words("go to the bed now", "x")
    first = 10.0 * math.exp(-1.0 / 72.0) * math.sqrt(0.5)
    assert cider(said, human) == pytest.approx(first / 2.0)
    # A word said twice is clipped: min(2, 1) · 1 / (2 · 1) of the unigrams, and no longer n-gram fits.
    assert cider(words("bed bed", "x"), human) == pytest.approx(10.0 / 4.0 * 0.5 * math.exp(-4.0 / 72.0) / 2.0)
    assert cider(words("bed"), [words("bed")]) == 0.0  # a single path has nothing to be rare among


def test_all_three_on_instructions() -> None:
    """CIDEr-D's value is the one that the formulas of `pycocoevalcap` give on the same words."""
    found = score_speech(SAID, PEOPLE)
    assert found.cider == pytest.approx(4.512487584471568, abs=1e-9)
    assert found.bleu == pytest.approx(0.8421303091301555, abs=1e-9)
    precisions, recalls = [8 / 9, 1.0, 8 / 9], [8 / 9, 1.0, 8 / 9]
    each = [2.44 * p * r / (r + 1.44 * p) for p, r in zip(precisions, recalls)]
    assert found.rouge == pytest.approx(sum(each) / 3.0)


def test_words_are_tokens() -> None:
    """Capitals and spaces do not count, marks do."""
    people = [["turn left."], ["wait here!"]]
    assert score_speech(["Turn  left .", "wait here!"], people) == score_speech(["turn left.", "wait here!"], people)
    assert score_speech(["turn left", "wait here"], people).rouge == pytest.approx(2.44 * 2 / 3 / (2 / 3 + 1.44))
