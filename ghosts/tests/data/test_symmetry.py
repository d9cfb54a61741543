from __future__ import annotations

from ghosts.data.symmetry import mirrored_words
from ghosts.words.tokens import Vocabulary
from ghosts_sim.tokens import PAD, UNKNOWN


def test_mirrored_words() -> None:
    words = Vocabulary((PAD, UNKNOWN, "left", "go", "right", "leftmost", "rightmost", "righthand", "bright"))
    assert mirrored_words(words).tolist() == [0, 1, 4, 3, 2, 6, 5, 7, 8]
