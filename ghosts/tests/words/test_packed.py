"""Files about words: whatever is damaged is refused in words; and what the shipped vectors know."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from ghosts import weights
from ghosts.words import thesaurus, vectors
from ghosts.words.packed import read_packed, read_table
from ghosts.words.vectors import WordVectors, shipped_vectors
from ghosts_sim.errors import DataError
from reference.packing import write_packed, write_table


def make_vectors(path: Path) -> None:
    table = np.array([[1, 2], [3, 4]], np.int8)
    write_packed(path, vectors.FORMAT, ["couch", "sofa"], {"vectors": table, "scale": np.ones(2, np.float16)})


def make_thesaurus(path: Path) -> None:
    write_table(path, thesaurus.FORMAT, {"divan": {"sofa": -1.0}})


def test_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "words.safetensors"
    make_vectors(path)
    words, parts = read_packed(path, vectors.FORMAT, vectors.PARTS, "a file of word vectors")
    assert words == ("couch", "sofa")
    assert parts["vectors"].tolist() == [[1, 2], [3, 4]]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_table_is_written_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "table.safetensors"
    others = {f"w{number:03}": -number / 64 for number in range(300)}  # more than a byte can count
    write_table(path, "table-1", {"b": {"a": -1.0, "c": 0.0}, "a": others})
    table = read_table(path, "table-1", "a table")
    assert table.words == ("a", "b", "c", *others)
    assert table.entry("b") == pytest.approx({"a": np.exp(-1.0), "c": 1.0}, rel=0.02)
    assert table.entry("a") == pytest.approx({word: np.exp(value) for word, value in others.items()}, rel=0.02)
    assert table.entry("c") == table.entry("xqzt") == {}
    assert ("b" in table, "c" in table) == (True, False)


def test_a_table_is_looked_up_the_other_way(tmp_path: Path) -> None:
    path = tmp_path / "table.safetensors"
    # The first word, one in between and the last have no others.
    others = {"b": {"a": -1.0, "c": 0.0}, "d": {"b": -0.5, "a": -2.0, "d": -0.25}, "e": {"g": -3.0}, "f": {"a": 0.0}}
    write_table(path, "table-1", others)
    table = read_table(path, "table-1", "a table")
    assert table.words == tuple("abcdefg")
    for word in table.words:
        assert table.headwords(word) == {
            owner: table.entry(owner)[word] for owner in table.words if word in table.entry(owner)
        }
    assert table.headwords("a") == pytest.approx({"b": np.exp(-1.0), "d": np.exp(-2.0), "f": 1.0})
    assert table.headwords("A") == table.headwords("bb") == table.headwords("h") == table.headwords("") == {}


@pytest.mark.parametrize("damage", ["missing", "empty", "text", "cut", "flipped", "renamed"])
@pytest.mark.parametrize(
    ("make", "read", "form", "what"),
    [
        (make_vectors, vectors.read_vectors, vectors.FORMAT, "a file of word vectors"),
        (
            make_thesaurus,
            partial(read_table, form=thesaurus.FORMAT, what="a thesaurus"),
            thesaurus.FORMAT,
            "a thesaurus",
        ),
    ],
    ids=["vectors", "thesaurus"],
)
def test_a_damaged_file_is_refused(
    tmp_path: Path, make: Callable[[Path], None], read: Callable[[Path], object], form: str, what: str, damage: str
) -> None:
    path = tmp_path / "words.safetensors"
    make(path)
    read(path)
    content = path.read_bytes()
    path.unlink()
    spoilt = {
        "empty": b"",
        "text": b"couch 0.1 0.2\n",
        "cut": content[:-3],
        "flipped": content[:-1] + bytes([content[-1] ^ 1]),
        "renamed": content.replace(form.encode(), form[:-1].encode() + b"9"),
    }
    if damage in spoilt:
        path.write_bytes(spoilt[damage])
    with pytest.raises(DataError) as caught:
        read(path)
    assert str(caught.value) == f"{path}: not {what}, or a damaged one; install the package again"


WORDS = ("couch", "sofa", "stairs")
TABLE = np.array([[1.0, 0.5, -0.25, 0.0], [0.9, 0.6, -0.2, 0.1], [-2.0, 0.0, 1.0, 0.3]], np.float32)


def test_rows_and_means() -> None:
    vectors = WordVectors(WORDS, TABLE)
    np.testing.assert_array_equal(vectors.rows(["sofa", "xqzt", "couch"]), [TABLE[1], np.zeros(4), TABLE[0]])
    assert vectors.rows([]).shape == (0, 4)
    mean = vectors.mean(["xqzt", "couch", "stairs"])
    assert mean is not None
    np.testing.assert_allclose(mean, (TABLE[0] + TABLE[2]) / 2.0)
    assert vectors.mean(["xqzt"]) is None


def test_the_shipped_ones_know_what_words_mean() -> None:
    known = shipped_vectors()
    assert known is shipped_vectors()  # read once
    assert known.table.shape == (len(known.words), 100)
    assert 20_000 < len(known.words) < 30_000
    assert weights.WORDS.stat().st_size < 3_000_000
    unit = known.table / np.linalg.norm(known.table, axis=1, keepdims=True)

    def like(one: str, other: str) -> float:
        return float(unit[known.ids[one]] @ unit[known.ids[other]])

    for word, near, far in [
        *(("couch", "sofa", "stairs"), ("bathroom", "bedroom", "walk"), ("left", "right", "lamp")),
        ("kitchen", "dining", "turn"),
    ]:
        assert like(word, near) > 0.5 > like(word, far), (word, near, far)
