"""What training hides of an episode: words, their own embeddings, and labels of the building."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Int64

from ghosts.config import TrainConfig
from ghosts.language.tokens import MAX_TOKENS, Vocabulary
from ghosts.mapping.cells import MapCells
from ghosts.world.landmarks.labels import LabelSet


@dataclass(frozen=True, eq=False)
class Drops:
    """What is hidden of b episodes."""

    unknown: Bool[np.ndarray, "b l"]
    """Words replaced by `<unk>`."""
    meant: Bool[np.ndarray, "b l"] | None = None
    """Words read by their meaning alone."""
    absent: Bool[np.ndarray, "b labels"] | None = None
    """Labels that the episode's building lacks."""

    def words(self, ids: Int64[np.ndarray, "b l"], vocabulary: Vocabulary) -> Int64[np.ndarray, "b l"]:
        """Word ids with some hidden."""
        width, hidden = ids.shape[1], ids.copy()
        if self.meant is not None:
            listed = self.meant[:, :width] & (ids < len(vocabulary))
            hidden[listed] = vocabulary.by_meaning[ids[listed]]
        hidden[self.unknown[:, :width] & (ids > 0)] = 1
        return hidden

    def labels(self, cells: MapCells) -> MapCells:
        """Observed cells without the labels that are absent; the cells stay observed."""
        if self.absent is None or cells.labels is None:
            return cells
        found = cells.labels
        kept = ~torch.from_numpy(self.absent)[cells.item[found.cell], found.label]
        left = replace(found, cell=found.cell[kept], label=found.label[kept], weight=found.weight[kept])
        return replace(cells, labels=left)

    def of(self, episodes: np.ndarray) -> Drops:
        """Of some of the episodes."""
        parts = (self.unknown, self.meant, self.absent)
        return Drops(*(part if part is None else part[episodes] for part in parts))  # type: ignore[arg-type]


def draw_drops(config: TrainConfig, randoms: list[np.random.Generator], labels: LabelSet | None) -> Drops:
    """Draw what is hidden of each episode.

    Args:
        config: how much.
        randoms: random numbers of each episode.
        labels: of the landmarks; structure (floor, ways, stairs, doorways) is never hidden.
    """
    unknown = np.stack([random.random(MAX_TOKENS) < config.word_dropout for random in randoms])
    meant = absent = None
    if config.meaning_dropout:
        meant = np.stack([random.random(MAX_TOKENS) < config.meaning_dropout for random in randoms])
    if config.label_dropout and labels is not None:
        every = (*labels.labels, *labels.met)
        may = np.array([label.kind != "structure" for label in every])
        absent = np.stack([may & (random.random(len(every)) < config.label_dropout) for random in randoms])
    return Drops(unknown, meant, absent)
