"""The one data object: a data root as a model reads it, for training, evaluation, acting and pictures alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor

from ghosts.agent.interface import Briefing
from ghosts.config import TrainConfig
from ghosts.data.bank import TileBank, landmark_bank, load_tile_bank
from ghosts.data.batches import Batch, coverage
from ghosts.data.drops import Drops
from ghosts.data.examples import (
    SPOKEN,
    TRAIN,
    Example,
    evenly,
    headings_along,
    load_splits,
    load_spoken,
    split_buildings,
)
from ghosts.data.reading import Reading
from ghosts.data.stream import Stream, StreamedRoot, streamed_bank, texts_of
from ghosts.data.symmetry import Symmetry, mirrored_words
from ghosts.data.walks import sample_walk
from ghosts.devices import to_device
from ghosts.mapping.cells import MapCells, place_cells
from ghosts.mapping.labels import LabelSet
from ghosts.mapping.landmark_views import LandmarkSource, training_labels, with_new_labels
from ghosts.mapping.observations import observations_of
from ghosts.words.tokens import Vocabulary, build_vocabulary
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import ConfigError, DataError, UnknownNameError
from ghosts_sim.geometry import snap_origin

SAMPLED = 256
"""Streamed buildings whose words and labels are learned."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data root as a model reads it."""

    root: DataRoot
    reading: Reading
    """With vocabulary, labels and tiles as they were found."""
    splits: dict[str, list[Example]]
    """Examples by split, `train` first."""
    bank: TileBank
    """What every viewpoint shows."""
    stream: Stream | None = None
    """Training buildings that are streamed; `train` is then empty."""

    @property
    def vocabulary(self) -> Vocabulary:
        """Words in the order of their ids."""
        assert self.reading.vocabulary is not None, "a data set knows its words"
        return self.reading.vocabulary

    @property
    def labels(self) -> LabelSet | None:
        """Of landmarks; None with images."""
        return self.reading.labels

    @cached_property
    def scans(self) -> list[str]:
        """Buildings whose viewpoints can be seen."""
        return sorted({scan for scan, _ in self.bank.numbers})

    def examples(self, split: str) -> list[Example]:
        """Examples of a split by name.

        Raises:
            UnknownNameError: no such split.
        """
        if split not in self.splits:
            raise UnknownNameError("split", split, self.splits, str(self.root.path))
        return self.splits[split]

    def to(self, device: torch.device) -> Dataset:
        """This data set with stored features on a device."""
        features = self.bank.features
        return self if features is None else replace(self, bank=replace(self.bank, features=features.to(device)))

    def read_ahead(self, config: TrainConfig, iteration: int) -> None:
        """Read the streamed buildings that training needs next; does nothing where training is not streamed."""
        if self.stream is not None and self.bank.more is not None:
            for scan in self.stream.next_buildings(config, iteration):
                self.stream.building(scan)
                self.bank.more(scan)

    def walk(self, example: Example, steps: int, random: np.random.Generator) -> list[int]:
        """Viewpoints an agent stands at while it builds its map, by the paper's rule (`walks.sample_walk`)."""
        return sample_walk(self.root.graph(example.scan), example.start, example.goal, steps, random)

    def batch(
        self,
        examples: Sequence[Example],
        walks: Sequence[Sequence[int]],
        symmetries: Sequence[Symmetry] | None = None,
        drops: Drops | None = None,
    ) -> Batch:
        """A batch on the CPU.

        Args:
            examples: episodes.
            walks: rows of the viewpoints the agent stands at, equally many per episode.
            symmetries: applied to each episode; none by default.
            drops: what is hidden of each episode, in training.
        """
        symmetries = symmetries or [Symmetry()] * len(examples)
        cells, rows = self.cells(examples, walks, symmetries, drops)
        seen = observations_of(cells, self.reading.kernel, self.reading.pool)
        path_xy_m, path_heading_rad = self.paths(examples, symmetries)
        goal_seen, seen_m2 = coverage(seen.plan, cells.steps, path_xy_m[:, -1], self.reading.grid)
        briefing = self.briefing(examples, symmetries, drops)
        poses = _floats(path_xy_m), _floats(path_heading_rad)
        return Batch(briefing, seen, rows, *poses, goal_seen, seen_m2)

    def briefing(
        self,
        examples: Sequence[Example],
        symmetries: Sequence[Symmetry],
        drops: Drops | None = None,
    ) -> Briefing:
        """What the walkers of episodes are told; see `batch`."""
        ids = self.words(examples, symmetries)
        if drops is not None:
            ids = drops.words(ids, self.vocabulary)
        start, origin = self.starts(examples, symmetries)
        headings = [s.headings(e.start_heading_rad, self.angle(s)) for e, s in zip(examples, symmetries)]
        lengths = torch.from_numpy((ids > 0).sum(1))
        return Briefing(torch.from_numpy(ids), lengths, _floats(start - origin), _floats(headings))

    def words(self, examples: Sequence[Example], symmetries: Sequence[Symmetry]) -> Int64[np.ndarray, "b l"]:
        """Word ids of instructions, padded with 0; left and right change places where episodes are mirrored."""
        ids = self.vocabulary.encode([example.text for example in examples])
        for number, symmetry in enumerate(symmetries):
            if symmetry.mirrored:
                ids[number] = mirrored_words(self.vocabulary)[ids[number]]
        return ids

    def paths(
        self, examples: Sequence[Example], symmetries: Sequence[Symmetry]
    ) -> tuple[Float[np.ndarray, "b t 2"], Float[np.ndarray, "b t"]]:
        """The demonstrators' positions, metres from the maps' origins, and headings at every filter step."""
        _, origin = self.starts(examples, symmetries)
        path = np.stack([s.points(e.path_xy_m, self.angle(s)) for e, s in zip(examples, symmetries)])
        headings = [s.headings(e.path_heading_rad, self.angle(s)) for e, s in zip(examples, symmetries)]
        return path - origin[:, None], np.array(headings)

    def load(self, batch: Batch, device: torch.device) -> Batch:
        """A batch on a device, with stored features; the data set's own must be there already (`to`)."""
        batch = to_device(batch, device)
        return replace(batch, seen=replace(batch.seen, cells=self.fill(batch.seen.cells, batch.rows)))

    def see(
        self,
        examples: Sequence[Example],
        rows: Sequence[int],
        symmetries: Sequence[Symmetry],
        device: torch.device,
        drops: Drops | None = None,
        heading_rad: Float[np.ndarray, " b"] | None = None,
    ) -> MapCells:
        """What one agent step of each episode observes at rows of their graphs, on a device, with stored features."""
        headings = None if heading_rad is None else heading_rad[:, None]
        cells, stored = self.cells(examples, [[row] for row in rows], symmetries, drops, headings)
        return self.fill(to_device(cells, device), to_device(stored, device))

    def cells(
        self,
        examples: Sequence[Example],
        walks: Sequence[Sequence[int]],
        symmetries: Sequence[Symmetry],
        drops: Drops | None = None,
        heading_rad: Float[np.ndarray, "b s"] | None = None,
    ) -> tuple[MapCells, Int[Tensor, " n"] | None]:
        """Observed cells of all steps of all walks, on the CPU: with labels, or with the rows of their features in the
        bank (`fill`). `heading_rad` is where each agent looks at each step; by default the direction of its last move.
        """
        batch, steps = len(examples), len(walks[0])
        bank, tiles = self.bank.part(
            [
                (example.scan, walk[step], symmetry.variant)
                for step in range(steps)
                for example, walk, symmetry in zip(examples, walks, symmetries)
            ]
        )
        owner, rows = bank.gather(tiles)
        step, item = np.divmod(owner, batch)
        lattice = bank.cells[rows].astype(np.int64)
        moves = [replace(symmetry, variant=0, quarters=symmetry.quarters % 4) for symmetry in symmetries]
        for move in {*moves} - {Symmetry()}:
            mine = np.array([other == move for other in moves])[item]
            lattice[mine] = move.cells(lattice[mine])
        _, origin = self.starts(examples, symmetries)
        places, at, of = (torch.from_numpy(part) for part in (lattice, step, item))
        cells, kept = place_cells(places, at, of, steps, origin, self.reading.grid)
        if bank.labels is None:
            return cells, torch.from_numpy(rows)[kept]
        cells = replace(cells, labels=bank.labels.labels_of(rows[kept.numpy()]))
        if drops is not None:
            cells = drops.labels(cells)
            if drops.hiding is not None:
                assert self.labels is not None, "labels of landmarks"
                looked = self.looked_rad(examples, walks) if heading_rad is None else heading_rad
                cells = drops.hiding.apply(cells, self.labels, looked)
        assert cells.labels is not None
        return replace(cells, labels=replace(cells.labels, sectors=None)), None

    def looked_rad(self, examples: Sequence[Example], walks: Sequence[Sequence[int]]) -> Float[np.ndarray, "b s"]:
        """Where agents look at each step of their walks: along the last move, at first along the start's heading."""
        return np.array(
            [
                headings_along(self.root.graph(example.scan), tuple(walk), example.start_heading_rad)
                for example, walk in zip(examples, walks)
            ]
        )

    def starts(
        self, examples: Sequence[Example], symmetries: Sequence[Symmetry]
    ) -> tuple[Float[np.ndarray, "b 2"], Float[np.ndarray, "b 2"]]:
        """Where episodes start, and the origins of their maps."""
        start = np.stack([s.points(e.start_xy_m, self.angle(s)) for e, s in zip(examples, symmetries)])
        return start, snap_origin(start, self.reading.grid)

    def angle(self, symmetry: Symmetry) -> float:
        """How far a symmetry's variant of the world is rotated."""
        return self.bank.angles_rad[symmetry.variant]

    def fill(self, cells: MapCells, rows: Int[Tensor, " n"] | None) -> MapCells:
        """Cells with their stored features, on the data set's device; those with labels stay as they are."""
        if rows is None:
            return cells
        assert self.bank.features is not None, "rows of the bank are rows of its features"
        return replace(cells, features=self.bank.features.index_select(0, rows).float())


def _floats(values: Any) -> Tensor:
    return torch.from_numpy(np.asarray(values, dtype=np.float32))


def open_dataset(
    root: DataRoot,
    reading: Reading,
    *,
    also: Sequence[str] = (),
    spoken: Path | None = None,
) -> Dataset:
    """Read a data root with landmarks, or with images whose tiles were made (`ghosts tiles`); nothing is made here.

    Args:
        root: the data.
        reading: what of it.
        also: more buildings to be seen (those of a split without goals).
        spoken: episodes that a speaker told (`ghosts speak --paths`); those of training buildings become `spoken`.

    Raises:
        DataError: the root lacks what is to be read; names the command that makes it.
        ConfigError: the data does not fit the model.
    """
    stream = None
    if root.in_shards(TRAIN):
        root = StreamedRoot(root.path)
        stream = Stream(root, split_buildings(root, reading.hold_out, reading.buildings)[0], reading.steps)
    splits = load_splits(root, reading.steps, reading.hold_out, reading.buildings)
    trained = sorted({example.scan for example in splits[TRAIN]}) if stream is None else stream.scans
    # Of thousands of buildings some know nearly all words and labels; the others are read by their meaning.
    told = evenly(trained, 0 if stream is None else SAMPLED)
    if spoken is not None:
        splits[SPOKEN] = load_spoken(root, spoken, set(trained), reading.steps)
    vocabulary = reading.vocabulary
    if vocabulary is None:
        texts = [example.text for example in splits[TRAIN]] if stream is None else texts_of(root, told)
        vocabulary = build_vocabulary(texts, open=reading.open_words)
    if len(vocabulary) > reading.most_words:
        raise ConfigError(
            f"the data has {len(vocabulary)} words, the model room for {reading.most_words}; "
            f"use --model.language.vocabulary {len(vocabulary)}"
        )
    used = sorted({*also, *(example.scan for examples in splits.values() for example in examples)})
    if choose_source(root, reading) == "landmarks":
        labels = reading.labels or training_labels(root, told, reading.landmarks)
        if reading.landmarks.vectors:
            labels = with_new_labels(root, labels, used, reading.landmarks)
        source = LandmarkSource(root, labels, reading.landmarks)
        bank = landmark_bank(source, used, reading.grid.cell_m, reading.rotations)
        if stream is not None:
            bank = replace(bank, more=streamed_bank(root, labels, reading))
        found = replace(reading, vocabulary=vocabulary, labels=labels, tiles=None)
    else:
        if stream is not None:
            hint = "training splits of images are one file: make the world again without --shards"
            raise DataError("only landmarks are streamed", file=root.path / "r2r" / "R2R_train", hint=hint)
        if spoken is not None and any(example.hidden is not None for example in splits[SPOKEN]):
            hint = "make them again without --label-dropout"
            raise DataError("paths with hidden labels, but images have no labels to hide", file=spoken, hint=hint)
        bank, fingerprint = load_tile_bank(root, used, reading)
        found = replace(reading, vocabulary=vocabulary, labels=None, tiles=fingerprint)
    return Dataset(root, found, splits, bank, stream)


def choose_source(root: DataRoot, reading: Reading) -> Literal["landmarks", "images"]:
    """What the map is made from: what the model wants, or else what the root has (landmarks before images).

    Raises:
        DataError: the root does not have it.
    """
    wanted = reading.source
    if wanted in ("landmarks", "any") and root.has_landmarks:
        return "landmarks"
    if wanted in ("images", "any") and root.has_images:
        return "images"
    folders = {"landmarks": "landmarks/", "images": "scans/", "any": "landmarks/ or scans/"}[wanted]
    others = "images" if root.has_images else "landmarks" if root.has_landmarks else "neither landmarks nor images"
    hint = f"this data root has {others}; choose another preset, run or --data"
    raise DataError(f"preset {reading.name} needs {folders}", file=root.path, hint=hint)


class DataShelf:
    """Data sets that several models share: models with equal readings of a root get the same one.

    Args:
        most: kept at a time; the one used longest ago goes first, since two banks of image features may not fit.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: list[tuple[tuple[Path, Reading], Dataset]] = []

    def get(self, root: DataRoot, reading: Reading) -> Dataset:
        """The data set of `open_dataset`, shared with earlier calls."""
        key = (root.path, reading)
        found = next((item for item in self._kept if item[0] == key), None)
        if found is None:
            del self._kept[self._most - 1 :]  # before the new one is read
            found = (key, open_dataset(root, reading))
        self._kept = [found, *(item for item in self._kept if item is not found)]
        return found[1]
