"""The thesaurus: kin of words and of their inflected forms, and what the shipped one knows."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ghosts import weights
from ghosts.words import thesaurus
from ghosts.words.packed import read_table
from ghosts.words.thesaurus import FORMAT, STRANGER, bases, ending, kin_of, shipped_thesaurus
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
