"""Word vectors: packed and read again, and what the shipped ones know."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from ghosts import weights
from ghosts.words.vectors import WordVectors, read_vectors, shipped_vectors
from ghosts_sim.errors import DataError
from reference.word_vectors import pack_vectors

WORDS = ("couch", "sofa", "stairs")
TABLE = np.array([[1.0, 0.5, -0.25, 0.0], [0.9, 0.6, -0.2, 0.1], [-2.0, 0.0, 1.0, 0.3]], np.float32)


def glove(path: Path) -> Path:
    lines = [f"{word} " + " ".join(f"{value:.4f}" for value in row) for word, row in zip(WORDS, TABLE)]
    text = "".join(f"{line}\n" for line in lines)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz"])
def test_packed_vectors_are_centred_and_of_variance_one(tmp_path: Path, name: str) -> None:
    out = tmp_path / "words.safetensors"
    assert pack_vectors(glove(tmp_path / name), out) == 3
    found = read_vectors(out)
    assert found.words == WORDS
    assert found.dimension == 4
    wanted = TABLE - TABLE.mean(0)
    wanted /= np.sqrt((wanted**2).mean())
    np.testing.assert_allclose(found.table, wanted, atol=0.02)  # eight bits per number
    np.testing.assert_allclose(found.table.mean(0), 0.0, atol=1e-6)
    assert (found.table**2).mean() == pytest.approx(1.0, abs=1e-5)
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([name, out.name])


def test_vectors_that_unpack_to_gigabytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GHOSTS_MAX_BYTES", "50")
    with pytest.raises(DataError, match=r"vectors\.txt\.gz: it would take .* of memory"):
        pack_vectors(glove(tmp_path / "vectors.txt.gz"), tmp_path / "words.safetensors")


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
