"""How the package's table of word order was made from R2R's training instructions, without those of `dev_unseen`.

`PYTHONPATH=src:tests python -m reference.word_order ROOT src/ghosts/weights/word-order.safetensors`, with R2R's
data root.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from ghosts.data.examples import TRAIN, split_buildings
from ghosts.language.packed import write_table
from ghosts.language.stand_ins import FORMAT, between_stops
from ghosts.language.tokens import MIN_COUNT, tokenise
from ghosts.world.dataroot import DataRoot


def word_order(texts: Iterable[str]) -> dict[str, dict[str, float]]:
    """For each word those that follow it at least `MIN_COUNT` times, with the logarithm of their share."""
    pairs = Counter(pair for text in texts for pair in pairwise(between_stops(tokenise(text))))
    total: Counter[str] = Counter()
    for (before, _), count in pairs.items():
        total[before] += count
    found: dict[str, dict[str, float]] = {}
    for (before, word), count in sorted(pairs.items()):
        if count >= MIN_COUNT:
            found.setdefault(before, {})[word] = math.log(count / total[before])
    return found


if __name__ == "__main__":
    root = DataRoot(Path(sys.argv[1]))
    scans, _ = split_buildings(root, hold_out=8)
    episodes = [episode for episode in root.episodes(TRAIN) if episode.scan in scans]
    write_table(Path(sys.argv[2]), FORMAT, word_order(text for item in episodes for text in item.instructions))
