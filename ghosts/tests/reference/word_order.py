"""How the package's table of word order was made from R2R's training instructions, without those of `dev_unseen`.

`make script RUN="ghosts/tests/reference/word_order.py ROOT FILE"`, with R2R's data root and the file to write.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from ghosts.data.examples import TRAIN, split_buildings
from ghosts.words.stand_ins import FORMAT, STOP, between_stops
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.tokens import tokenise
from reference.packing import write_table

LEAST = 3
"""How often a word must follow others to be listed."""
LEAST_TWO = 10
"""How often two words must stand together to be listed."""


def word_order(texts: Iterable[str]) -> dict[str, dict[str, float]]:
    """For each word, and each two words with a space between them, those that follow: logarithms of their shares."""
    follows: Counter[tuple[str, str]] = Counter()
    for text in texts:
        words = [STOP, *between_stops(tokenise(text))]
        follows.update(pairwise(words[1:]))
        follows.update((f"{first} {second}", third) for first, second, third in zip(words, words[1:], words[2:]))
    total: Counter[str] = Counter()
    for (before, _), count in follows.items():
        total[before] += count
    found: dict[str, dict[str, float]] = {}
    for (before, word), count in sorted(follows.items()):
        if count >= LEAST and (" " not in before or total[before] >= LEAST_TWO):
            found.setdefault(before, {})[word] = math.log(count / total[before])
    return found


if __name__ == "__main__":
    root = DataRoot(Path(sys.argv[1]))
    scans, _ = split_buildings(root, hold_out=8)
    episodes = [episode for episode in root.episodes(TRAIN) if episode.scan in scans]
    write_table(Path(sys.argv[2]), FORMAT, word_order(text for item in episodes for text in item.instructions))
