"""Word vectors: packed and read again, and what the shipped ones know."""

from __future__ import annotations

import numpy as np

from ghosts import weights
from ghosts.words.vectors import WordVectors, shipped_vectors

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
