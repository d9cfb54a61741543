"""Instructions in other words."""

from __future__ import annotations

from ghosts.language.synonyms import SYNONYMS, reword
from ghosts.language.vectors import shipped_vectors


def test_words_are_replaced_whole_and_the_rest_stays() -> None:
    assert reword("Walk past the couch, then stop.") == "stroll past the divan, afterwards halt."
    assert reword("Walkway at the sinks; TV-stand") == "Walkway at the sinks; monitor-stand"


def test_there_are_enough_and_all_can_be_read_by_their_meaning() -> None:
    assert len(SYNONYMS) >= 60
    known = shipped_vectors().ids
    assert all(word in known and other in known for word, other in SYNONYMS.items())
    # What replaces a word is not replaced itself: saying it twice changes nothing.
    assert not set(SYNONYMS) & set(SYNONYMS.values())
