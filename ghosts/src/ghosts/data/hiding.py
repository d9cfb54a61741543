"""Senses that episodes lack, and how wide they see: drawn in training, chosen in an evaluation.

What is hidden leaves no trace: a cell of which nothing else is said is not observed. (Labels that are dropped so that a
building looks new, `data.drops`, leave their cells observed.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int

from ghosts.config import TrainConfig
from ghosts.mapping.cells import MapCells
from ghosts.mapping.labels import LabelSet
from ghosts.mapping.landmark_views import ALL_ROUND
from ghosts_sim.geometry import turn_rad
from ghosts_sim.senses import CAPTIONS, DETECTIONS, DOORWAYS, OBJECTS, ROOMS, SECTORS, SENSES, WAYS, Shown

_NUMBER = {name: number for number, name in enumerate(SENSES)}
FEWER_OBJECTS, FEWER_CAPTIONS = 0.8, 0.55
"""Objects are hidden a little less often than other senses. Captions are hidden only where objects are not, and about
half as often: one of the two tells what is where."""
NARROW = (6, 3, 2)
"""Sectors of the narrow fields of view: 180, 90 and 60 degrees."""


@dataclass(frozen=True, eq=False)
class Hiding:
    """What b episodes lack."""

    absent: Bool[np.ndarray, "b senses"]
    """Senses that are hidden, in the order of `senses.SENSES`."""
    sectors: Int[np.ndarray, " b"]
    """Width of the field of view, in `senses.SECTORS`."""

    def of(self, episodes: np.ndarray) -> Hiding:
        """Of some of the episodes."""
        return Hiding(self.absent[episodes], self.sectors[episodes])

    def apply(self, cells: MapCells, labels: LabelSet, heading_rad: Float[np.ndarray, "b s"]) -> MapCells:
        """Observed cells with what is left to each episode.

        Args:
            cells: with labels and their directions.
            labels: of which they are.
            heading_rad: in which each agent looks at each step, in the world.
        """
        found = cells.labels
        if found is None or not (self.absent.any() or (self.sectors < SECTORS).any()):
            return cells
        item = cells.item[found.cell]
        kept = ~torch.from_numpy(self.absent[:, labels.senses])[item, found.label]
        if found.sectors is not None:
            view = torch.from_numpy(view_bits(heading_rad, self.sectors))[item, cells.step[found.cell]]
            whole = (found.sectors == ALL_ROUND) | (view == ALL_ROUND)
            share = _BITS[found.sectors & view] / _BITS[found.sectors].clamp(min=1)
            kept &= whole | (share > 0.0)
            # A word that several views say weighs by how many of them are seen.
            found = replace(found, weight=found.weight * torch.where(whole, 1.0, share))
        return replace(cells, labels=found.only(kept)).labelled()


_BITS = torch.tensor([bin(number).count("1") for number in range(ALL_ROUND + 1)], dtype=torch.float32)


def view_bits(heading_rad: Float[np.ndarray, "b s"], sectors: Int[np.ndarray, " b"]) -> Int[np.ndarray, "b s"]:
    """Bits of the directions that a field of view covers: those whose middle lies in it.

    Args:
        heading_rad: middle of the field of view.
        sectors: its width.
    """
    middles = np.arange(SECTORS) * (2.0 * np.pi / SECTORS)
    half = sectors[:, None, None] * (np.pi / SECTORS)
    away = turn_rad(heading_rad[..., None], middles)
    inside = ((away >= -half - 1e-9) & (away < half - 1e-9)) | (sectors[:, None, None] >= SECTORS)
    return (inside << np.arange(SECTORS)).sum(-1).astype(np.int32)


def hiding_of(shown: Shown, count: int) -> Hiding:
    """The same for `count` episodes: all have what is shown."""
    absent = np.array([name not in shown.senses for name in SENSES])
    return Hiding(np.tile(absent, (count, 1)), np.full(count, shown.sectors))


def draw_hiding(config: TrainConfig, randoms: Sequence[np.random.Generator]) -> Hiding | None:
    """What episodes of training lack; None where nothing is ever hidden."""
    if not (config.hide or config.narrow):
        return None
    absent = np.stack([_draw_absent(config, random) for random in randoms])
    sectors = [int(random.choice(NARROW)) if random.random() < config.narrow else SECTORS for random in randoms]
    return Hiding(absent, np.array(sectors))


def _draw_absent(config: TrainConfig, random: np.random.Generator) -> Bool[np.ndarray, " senses"]:
    absent = np.zeros(len(SENSES), bool)
    for name in (WAYS, DOORWAYS, ROOMS, DETECTIONS):
        absent[_NUMBER[name]] = random.random() < config.hide
    absent[_NUMBER[OBJECTS]] = random.random() < FEWER_OBJECTS * config.hide
    absent[_NUMBER[CAPTIONS]] = not absent[_NUMBER[OBJECTS]] and random.random() < FEWER_CAPTIONS * config.hide
    return absent
