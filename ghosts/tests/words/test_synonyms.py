"""Instructions in other words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors import safe_open

from ghosts.weights import resolve
from ghosts.words.synonyms import reword, synonyms, synonyms_of
from ghosts_sim.errors import UnknownNameError


def test_words_are_replaced_whole_and_the_rest_stays() -> None:
    pairs = synonyms_of("everyday-a")
    assert reword("Walk past the couch, then stop.", pairs) == "stroll past the divan, then halt."
    assert reword("Walkings at the sofa-stand", pairs) == "Walkings at the davenport-stand"
    with pytest.raises(UnknownNameError, match="everyday-a"):
        synonyms_of("rare")


@pytest.mark.parametrize("name", synonyms())
def test_a_list_holds_new_words_alone(name: str) -> None:
    pairs = synonyms()[name]
    assert len(pairs) > 200
    assert all(word.isalpha() and word.islower() for pair in pairs.items() for word in pair)
    # Words that R2R's training uses often are on one side only: saying it twice changes nothing.
    with safe_open(resolve(Path("landmarks-improved")), framework="np") as file:
        often = json.loads(file.metadata()["about"])["vocabulary"]
    assert not {*pairs.values()} & {*pairs, *often}
