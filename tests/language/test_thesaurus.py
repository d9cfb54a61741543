"""The thesaurus: made from files of WordNet's form, and what the shipped one knows."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ghosts import weights
from ghosts.language import thesaurus
from ghosts.language.packed import write_table
from ghosts.language.thesaurus import FORMAT, kin_of, read_thesaurus, shipped_thesaurus
from reference.word_kin import UNUSED, kinship

KIN = {"divan": {"sofa": -1.0, "couch": -1.5}, "sofa": {"couch": 0.0}}


def wordnet(folder: Path) -> Path:
    """Two synsets: a divan is a kind of sofa. Sofa has a second sense that nobody uses."""
    licence = "  1 This is a licence.\n"
    synsets = [
        "00000001 06 n 02 sofa 0 couch 0 001 ~ 00000002 n 0000 | a seat",
        "00000002 06 n 01 divan 0 001 @ 00000001 n 0000 | a long one",
        "00000003 09 n 01 sofa 0 000 | a plan",
    ]
    index = [
        *("sofa n 2 0 2 1 00000001 00000003", "couch n 1 0 1 1 00000001", "divan n 1 0 1 0 00000002"),
        "dining_chair n 1 0 1 0 00000002",
    ]
    (folder / "cntlist.rev").write_text("sofa%1:06:00:: 1 3\ncouch%1:06:00:: 1 4\n")
    for name in ("noun", "verb", "adj", "adv"):
        (folder / f"data.{name}").write_text(licence + "".join(f"{s}\n" for s in synsets if name == "noun"))
        (folder / f"index.{name}").write_text(licence + "".join(f"{s} \n" for s in index if name == "noun"))
    return folder


def test_kinship_by_hand(tmp_path: Path) -> None:
    found = kinship(wordnet(tmp_path))
    used = (3 + UNUSED) / (3 + 2 * UNUSED)  # how often sofa is a seat
    assert found.keys() == {"sofa", "couch", "divan"}  # words of one part
    assert found["sofa"] == {"couch": pytest.approx(math.log(used)), "divan": pytest.approx(math.log(used) - 2.0)}
    assert found["divan"] == {"couch": pytest.approx(-1.0), "sofa": pytest.approx(math.log(used) - 1.0)}


def test_kin_of_words_and_of_their_inflected_forms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "thesaurus.safetensors"
    write_table(path, FORMAT, KIN)
    monkeypatch.setattr(thesaurus, "shipped_thesaurus", lambda: read_thesaurus(path))
    assert kin_of("divan") == pytest.approx({"sofa": math.exp(-1.0), "couch": math.exp(-1.5)}, rel=0.02)
    assert kin_of("divans") == pytest.approx(
        {"divan": 1.0, "sofa": 0.5 * math.exp(-1.0), "couch": 0.5 * math.exp(-1.5)}, rel=0.02
    )
    assert kin_of("couch") == kin_of("xqzt") == kin_of("") == {}


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
    assert all(0.0 < near <= 1.0 for near in kin_of("go").values())
