"""What is hidden of an episode: words, their own embeddings, labels of the building, and senses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Int64, UInt64

from ghosts.config import TrainConfig
from ghosts.data.examples import Example
from ghosts.data.hiding import Hiding, draw_hiding, hiding_of
from ghosts.mapping.cells import MapCells
from ghosts.mapping.labels import LabelSet
from ghosts.words.tokens import MAX_TOKENS, MISREAD, Vocabulary
from ghosts_sim.episodes import Hidden
from ghosts_sim.senses import Shown


@dataclass(frozen=True, eq=False)
class Drops:
    """What is hidden of b episodes."""

    unknown: Bool[np.ndarray, "b l"]
    """Words replaced by `<unk>`."""
    meant: Bool[np.ndarray, "b l"] | None = None
    """Words read by their meaning alone."""
    misread: Int64[np.ndarray, "b l"] | None = None
    """Columns of `Vocabulary.misread`: words said in another way and read as a model reads those; -1 elsewhere."""
    absent: Bool[np.ndarray, "b labels"] | None = None
    """Labels that the episode's building lacks."""
    hiding: Hiding | None = None
    """Senses that it lacks."""

    def words(self, ids: Int64[np.ndarray, "b l"], vocabulary: Vocabulary) -> Int64[np.ndarray, "b l"]:
        """Word ids with some hidden."""
        width, hidden = ids.shape[1], ids.copy()
        if self.misread is not None:
            columns = self.misread[:, :width]
            said = (columns >= 0) & (ids < len(vocabulary))
            hidden[said] = vocabulary.misread[ids[said], columns[said]]
        if self.meant is not None:
            listed = self.meant[:, :width] & (hidden < len(vocabulary))
            hidden[listed] = vocabulary.by_meaning[hidden[listed]]
        hidden[self.unknown[:, :width] & (ids > 0)] = 1
        return hidden

    def labels(self, cells: MapCells) -> MapCells:
        """Observed cells without the labels that are absent; the cells stay observed."""
        if self.absent is None or cells.labels is None:
            return cells
        found = cells.labels
        kept = ~torch.from_numpy(self.absent)[cells.item[found.cell], found.label]
        return replace(cells, labels=found.only(kept))

    def of(self, episodes: np.ndarray) -> Drops:
        """Of some of the episodes."""
        meant, misread, absent = (
            part if part is None else part[episodes] for part in (self.meant, self.misread, self.absent)
        )
        hiding = self.hiding.of(episodes) if self.hiding is not None else None
        return Drops(self.unknown[episodes], meant, misread, absent, hiding)


def shown_alone(shown: Shown, count: int) -> Drops | None:
    """What is hidden where `count` episodes are shown some senses alone; None where they are shown everything."""
    if shown.everything:
        return None
    return Drops(np.zeros((count, MAX_TOKENS), bool), hiding=hiding_of(shown, count))


def draw_drops(
    config: TrainConfig, chosen: Sequence[tuple[Example, np.random.Generator]], labels: LabelSet | None
) -> Drops:
    """Draw what is hidden of each episode. A speaker's path lacks the labels that were hidden from the speaker.

    Args:
        config: how much.
        chosen: episodes, each with its random numbers.
        labels: of the landmarks; structure (floor, ways, stairs, doorways) is never hidden.
    """
    randoms = [random for _, random in chosen]
    unknown = np.stack([random.random(MAX_TOKENS) < config.word_dropout for random in randoms])
    meant = misread = absent = None
    if config.meaning_dropout:
        meant = np.stack([random.random(MAX_TOKENS) < config.meaning_dropout for random in randoms])
    if config.misread:
        misread = np.stack([_draw_misread(config.misread, random) for random in randoms])
    if config.label_dropout and labels is not None:
        may = _may_hide(labels)
        absent = np.stack([may & (random.random(len(may)) < config.label_dropout) for random in randoms])
    absent = _told_without([example for example, _ in chosen], labels, absent)
    return Drops(unknown, meant, misread, absent, draw_hiding(config, randoms) if labels is not None else None)


def _draw_misread(most: float, random: np.random.Generator) -> Int64[np.ndarray, " l"]:
    """Some instructions are said in quite other words, others in almost the same: each draws its own share."""
    said = random.random(MAX_TOKENS) < most * random.random()
    return np.where(said, random.integers(MISREAD, size=MAX_TOKENS), -1)


def drops_of(examples: Sequence[Example], labels: LabelSet | None) -> Drops | None:
    """Labels to hide from the speaker of each path; None where there are none."""
    absent = _told_without(examples, labels, None)
    return None if absent is None else Drops(np.zeros((len(examples), MAX_TOKENS), bool), absent=absent)


def absent_of(hidden: Hidden, labels: LabelSet) -> Bool[np.ndarray, " labels"]:
    """Which labels are hidden: the same names in every label set, whatever their order and number."""
    draw = _mixed(labels.keys ^ _mixed(np.array([hidden.seed + 1], np.uint64)))
    return _may_hide(labels) & (draw * 2.0**-64 < hidden.share)


def _told_without(
    examples: Sequence[Example], labels: LabelSet | None, absent: Bool[np.ndarray, "b labels"] | None
) -> Bool[np.ndarray, "b labels"] | None:
    """`absent`, with the rows of a speaker's paths replaced by what was hidden from the speaker."""
    told = {number: example.hidden for number, example in enumerate(examples) if example.hidden is not None}
    if labels is None or not told:
        return absent
    rows = np.zeros((len(examples), len(labels.keys)), bool) if absent is None else absent.copy()
    for number, hidden in told.items():
        rows[number] = absent_of(hidden, labels)
    return rows


def _may_hide(labels: LabelSet) -> Bool[np.ndarray, " labels"]:
    """Labels that belong to a building. Words of captions are no names of things: the same word stands for many."""
    return np.array([label.kind in ("room", "object") for label in (*labels.labels, *labels.new)])


def _mixed(values: UInt64[np.ndarray, " n"]) -> UInt64[np.ndarray, " n"]:
    """Every bit of the result depends on every bit of the value (the finaliser of SplitMix64, Steele et al. 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
