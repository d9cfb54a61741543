"""Training buildings read when training needs them: thousands of buildings in the memory of a few dozen.

A training split with a file per building (`DataRoot.in_shards`) is never held whole. The seed decides the order of the
buildings. `MIXED` of them are open at a time, and their instructions are shuffled together; a building is left after
`train.visit` instructions. Which instruction a place of a batch gets follows from seed and number alone, as everywhere
in training, so that resuming needs no state. While some buildings are used, the next are read, one by one, by the
threads that make batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from threading import RLock

import numpy as np

from ghosts.config import TrainConfig
from ghosts.data.bank import TileBank, landmark_bank
from ghosts.data.examples import TRAIN, Example, make_examples
from ghosts.data.reading import Reading
from ghosts.mapping.labels import LabelSet
from ghosts.mapping.landmark_views import LandmarkSource
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.graph import NavGraph

MIXED = 64
"""Buildings open at a time."""
KEPT = 2 * MIXED + 16
"""Buildings in memory: those open, the next, and some for batches that are made ahead."""


class StreamedRoot(DataRoot):
    """A data root that keeps only the graphs it was asked for last."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._recent, self._lock = lru_cache(KEPT)(self._load_graph), RLock()

    def graph(self, scan: str) -> NavGraph:
        """Navigation graph of a building; see `DataRoot.graph`."""
        with self._lock:
            return self._recent(scan)


class Stream:
    """The training split of a data root in shards.

    Args:
        root: the data.
        scans: training buildings.
        steps: filter steps T of the examples.
    """

    def __init__(self, root: DataRoot, scans: list[str], steps: int) -> None:
        self.root, self.scans, self._steps = root, scans, steps
        self._recent, self._lock = lru_cache(KEPT)(self._read), RLock()

    def _read(self, scan: str) -> list[Example]:
        return make_examples(self.root, self.root.shard(TRAIN, scan), self._steps)

    def building(self, scan: str) -> list[Example]:
        """All examples of a building; read when it is first asked for, and forgotten after others."""
        with self._lock:
            return self._recent(scan)

    def example(self, config: TrainConfig, number: int) -> Example:
        """The example at a place of the training: iteration × batch + place in the batch."""
        building, turn, place = visited(config.seed, len(self.scans), config.visit, number)
        examples = self.building(self.scans[building])
        order = np.random.default_rng([config.seed, 8, turn, building]).permutation(len(examples))
        return examples[order[place % len(examples)]]

    def next_buildings(self, config: TrainConfig, iteration: int) -> list[str]:
        """Buildings of the next group that are due to be read while an iteration is made."""
        size = MIXED * config.visit
        group, first = divmod(iteration * config.batch, size)
        places = range(first * MIXED // size, min((first + config.batch) * MIXED // size, MIXED))
        return [self.scans[_building(config.seed, len(self.scans), (group + 1) * MIXED + place)] for place in places]


def visited(seed: int, count: int, visit: int, number: int, mixed: int = MIXED) -> tuple[int, int, int]:
    """Which building a place of the training visits.

    Args:
        seed: of the run.
        count: buildings.
        visit: instructions per visit.
        number: iteration × batch + place in the batch.
        mixed: buildings open at a time.

    Returns:
        The building, how often all buildings have been visited before, and the number of the instruction in this visit.
    """
    group, place = divmod(number, mixed * visit)
    turn, of_visit = divmod(int(_shuffled(seed, group, mixed * visit)[place]), visit)
    turn += group * mixed
    return _building(seed, count, turn), turn // count, of_visit


def _building(seed: int, count: int, turn: int) -> int:
    """The building of a visit: all of them in an order, then all in another."""
    return int(_order(seed, turn // count, count)[turn % count])


@lru_cache(maxsize=4)
def _order(seed: int, turn: int, count: int) -> np.ndarray:
    return np.random.default_rng([seed, 9, turn]).permutation(count)


@lru_cache(maxsize=4)
def _shuffled(seed: int, group: int, size: int) -> np.ndarray:
    return np.random.default_rng([seed, 7, group]).permutation(size)


def texts_of(root: DataRoot, scans: Sequence[str]) -> Iterator[str]:
    """Instructions of some buildings of a training split in shards."""
    for scan in scans:
        for episode in root.shard(TRAIN, scan):
            yield from episode.instructions


def streamed_bank(root: DataRoot, labels: LabelSet, reading: Reading) -> Callable[[str], TileBank]:
    """Tiles of one building, made when it is asked for; those asked for last are kept."""
    lock = RLock()

    @lru_cache(KEPT)
    def make(scan: str) -> TileBank:
        source = LandmarkSource(root, labels, reading.landmarks)
        return landmark_bank(source, [scan], reading.grid.cell_m, reading.rotations)

    def get(scan: str) -> TileBank:
        with lock:
            return make(scan)

    return get
