"""The thesaurus and lists of synonyms: kin of words and of their inflected forms, instructions in other words."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open

from ghosts import weights
from ghosts.weights import resolve
from ghosts.words import thesaurus
from ghosts.words.packed import read_table
from ghosts.words.synonyms import reword, synonyms, synonyms_of
from ghosts.words.thesaurus import FORMAT, STRANGER, bases, ending, kin_of, shipped_thesaurus
from ghosts_sim.errors import UnknownNameError
from reference.packing import write_table

KIN = {"divan": {"sofa": -1.0, "couch": -1.5}, "sofa": {"couch": 0.0}}


def test_kin_of_words_and_of_their_inflected_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "thesaurus.safetensors"
    write_table(path, FORMAT, KIN)
    monkeypatch.setattr(thesaurus, "shipped_thesaurus", lambda: read_table(path, FORMAT, "a thesaurus"))
    near = {"sofa": math.exp(-1.0), "couch": math.exp(-1.5)}
    assert kin_of("divan") == pytest.approx(near, rel=0.02)
    assert kin_of("divans") == pytest.approx({"divan": 1.0, **near}, rel=0.02)
    assert kin_of("couch") == kin_of("xqzt") == kin_of("") == {}


@pytest.mark.parametrize(
    ("word", "base", "end"),
    [
        *(("sofas", "sofa", "s"), ("lobbies", "lobby", "s"), ("shelves", "shelf", "s"), ("porches", "porch", "s")),
        *(
            ("strolling", "stroll", "ing"),
            ("pacing", "pace", "ing"),
            ("stopped", "stop", "ed"),
            ("carried", "carry", "ed"),
        ),
        ("leftward", "left", ""),
    ],
)
def test_bases_and_endings(word: str, base: str, end: str) -> None:
    assert base in bases(word)
    assert ending(word) == end
    assert ending(base) == ""


def test_the_shipped_one() -> None:
    known = shipped_thesaurus()
    assert known is shipped_thesaurus()  # read once
    assert 40_000 < len(known.words) < 1 << 16
    assert [*known.words] == sorted(known.words)
    assert weights.THESAURUS.stat().st_size < 1_200_000
    assert weights.THESAURUS.with_suffix(".LICENSE").read_text().count("Princeton") > 3
    assert "thesaurus" not in weights.shipped()
    assert len(known.kin) == len(known.far) == known.count.sum(dtype=np.int64)
    for word, near in (("settee", "couch"), ("lavatory", "bathroom"), ("stroll", "walk"), ("crimson", "red")):
        assert near in kin_of(word), word
    assert all(STRANGER < near <= 1.0 for near in kin_of("go").values())
    assert known.count.max() == 16


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
