"""The thesaurus: made from files of WordNet's and Moby's form, and what the shipped one knows."""

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
from reference.word_kin import (
    IN_WORDNET,
    LEAST,
    LEAST_SUM,
    LISTED,
    MOST,
    NEAREST,
    TOGETHER,
    UNUSED,
    _nearest,
    in_wordnet,
    kinship,
    read_moby,
    together,
)

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


def moby(folder: Path) -> Path:
    """Couch and divan stand in two lists, of which divan's is couch's own."""
    path = folder / "moby.txt"
    path.write_text("Couch,divan,bed,day bed\nseat,couch,divan,bench\nbench,seat\n")
    return path


def test_kinship_in_wordnet_by_hand(tmp_path: Path) -> None:
    found = in_wordnet(wordnet(tmp_path))
    used = (3 + UNUSED) / (3 + 2 * UNUSED)  # how often sofa is a seat
    assert found.keys() == {"sofa", "couch", "divan"}  # words of one part
    sums = {"couch": used + math.exp(-1.0), "divan": (used + 1.0) * math.exp(-2.0), "sofa": used * (1 + math.exp(-1.0))}
    assert min(sums.values()) < LEAST_SUM < sorted(sums.values())[1]
    assert found["sofa"] == pytest.approx(
        {"couch": used / sums["couch"], "divan": used * math.exp(-2.0) / max(LEAST_SUM, sums["divan"])}
    )
    assert found["divan"] == pytest.approx(
        {"couch": math.exp(-1.0) / sums["couch"], "sofa": used * math.exp(-1.0) / sums["sofa"]}
    )


def test_words_of_mobys_lists_by_hand(tmp_path: Path) -> None:
    lists = read_moby(moby(tmp_path))
    assert lists == {"couch": {"divan", "bed"}, "seat": {"couch", "divan", "bench"}, "bench": {"seat"}}  # no phrases
    found = together(lists, ["couch", "xqzt"])
    assert found == {"divan": {"couch": pytest.approx(1 / math.sqrt(2 * 1))}, "bench": {"couch": 1.0}}


def test_kinship_by_hand(tmp_path: Path) -> None:
    near = in_wordnet(wordnet(tmp_path))["divan"]
    found = kinship(tmp_path, moby(tmp_path), {"couches": 9, "sofa": 1})
    by_wordnet = {name: IN_WORDNET * math.log1p(share / 3e-4) for name, share in near.items()}
    by_moby = LISTED + TOGETHER * math.log1p(100 / math.sqrt(2))
    assert found["divan"] == pytest.approx(
        {"couch": by_wordnet["couch"] + by_moby - NEAREST, "sofa": by_wordnet["sofa"] - NEAREST}
    )
    assert "bench" not in {name for others in found.values() for name in others}  # directions do not use it
    assert found["bench"] == {"couch": pytest.approx(TOGETHER * math.log1p(100) - NEAREST)}  # not in couch's own list
    assert "bed" not in found  # in couch's list alone, without another list that has both


def test_the_nearest_kin_are_kept_and_frequent_ones_preferred() -> None:
    found = {f"w{row}": -0.1 * row for row in range(2 * MOST)}
    assert [name for name, _ in _nearest(found, {})] == [f"w{row}" for row in range(MOST)]
    rare = f"w{MOST}"
    assert rare in dict(_nearest(found, {rare: 50}))


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
    assert math.exp(LEAST) > STRANGER
    assert known.count.max() == MOST
