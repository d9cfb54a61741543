"""Whether the building has what the words name."""

import numpy as np
import pytest

from ghosts.agent.evidence import SeenLabels, fit, names_in, presence
from ghosts_sim.tokens import tokenise

NAMED = names_in("a sofa, a fridge, a bed")
SEEN = SeenLabels(label=np.array([0, 1]), vectors=NAMED.head[:2], step=np.array([0, 2]))


def fit_of(text: str, step: int, seen: SeenLabels = SEEN) -> float:
    return float(fit(names_in(text), np.ones(len(tokenise(text))), seen, (step,))[0])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Go past the small dining table, and wait by an altar.", ["dining table", "altar"]),
        ("Walk straight and turn left.", []),
        ("Wait in the first bathroom on your right", ["bathroom"]),
        ("Wait by the", []),
    ],
)
def test_names_stand_behind_articles(text: str, named: list[str]) -> None:
    words = tokenise(text)
    assert [" ".join(words[one]) for one in names_in(text).words] == named


@pytest.mark.parametrize(
    ("text", "step", "least", "most"),
    [
        ("Wait by the sofa.", 0, 1.0, 1.0),
        ("Wait by the couch.", 0, 0.6, 0.95),  # by meaning
        ("Stop at the fridge.", 2, 1.0, 1.0),
        ("Stop at the fridge.", 1, 0.0, 0.8),  # not yet seen
        ("Wait by the sofa.", -1, 0.0, 0.0),  # nothing is seen
        ("Wait by the altar.", 5, 0.0, 0.5),
        ("Wait by the sofa bed.", 0, 0.7, 0.99),
        ("Turn left.", 0, np.inf, np.inf),  # names nothing
    ],
)
def test_labels_fit_what_is_named(text: str, step: int, least: float, most: float) -> None:
    assert least - 1e-6 <= fit_of(text, step) <= most + 1e-6


def test_attention_weighs_names() -> None:
    names = names_in("a sofa, an altar")
    sofa, altar = (fit(names, np.array(weights), SEEN, (0,))[0] for weights in ((0, 0.9, 0, 0, 0.1), (0, 0.1, 0, 0, 1)))
    assert sofa > 0.9 > 0.5 > altar


def test_what_was_never_seen_is_less_likely_there() -> None:
    there = presence(np.array([0.2, 0.5, 0.75, 1.0, np.inf]))
    assert (np.diff(there) > 0).all()
    assert there[0] < 0.5 < 0.9 < there[2] < there[4] == 1.0


def test_joined_labels_count_once_and_from_the_first_time() -> None:
    both = SEEN.joined(SeenLabels(np.array([1, 0]), NAMED.head[1:], np.array([4, 4])))
    assert sorted(both.step.tolist()) == [0, 2, 4]
    assert len(both.vectors) == 3
    assert fit_of("a sofa, a bed", 4, both) == pytest.approx(1.0)
    assert fit_of("a sofa, a bed", 2, both) < 0.9
