"""What a model reads of a data root: its data depends on this key alone."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ghosts.config import Experiment, LandmarkConfig, Source
from ghosts.mapping.labels import LabelSet
from ghosts.words.tokens import Vocabulary
from ghosts_sim.types import Grid


@dataclass(frozen=True)
class Reading:
    """What a model reads: all that its data depends on, and nothing else. Equal readings can share their data."""

    source: Source
    landmarks: LandmarkConfig
    grid: Grid
    """Of the maps."""
    kernel: int
    """Side of the mapper's convolutions."""
    pool: int
    """Belief cells are this many map cells wide."""
    steps: int
    """Filter steps T."""
    channels: int | None
    """Of stored features; None for a model that only asks which cells are seen."""
    height_clip_m: float
    """Points of images more than this above the camera are dropped."""
    vocabulary: Vocabulary | None = None
    """Of a trained model; made from the training split by default."""
    labels: LabelSet | None = None
    """Of a trained model; made from the training buildings by default, None with images."""
    tiles: str | None = None
    """Fingerprint of the tiles that a trained model knows; any by default, None with landmarks."""
    hold_out: int | None = None
    """Every n-th training building is `dev_unseen`; see `config.TrainConfig.hold_out`."""
    buildings: int = 0
    """Training buildings; 0 for all of them (`config.TrainConfig.buildings`)."""
    rotations: tuple[float, ...] = (0.0,)
    """Angles of the rotated copies of every building (landmarks alone, in training)."""
    name: str = field(default="", compare=False)
    """Of the experiment, for messages."""
    most_words: int = field(default=0, compare=False)
    """Words that the model has room for."""
    open_words: bool = False
    """Whether words that training never met are read by their meaning."""


def reading_of(experiment: Experiment, *, training: bool = False) -> Reading:
    """What the model of an experiment reads.

    Args:
        experiment: the model's and its training's settings.
        training: also have the rotated copies that only training uses.
    """
    model, train = experiment.model, experiment.train
    copies = train.variants - 1 if training else 0
    angles = np.random.default_rng(train.seed).uniform(0.0, 2.0 * np.pi, copies).tolist()
    return Reading(
        source=experiment.data.observation,
        landmarks=experiment.data.landmarks,
        grid=model.mapper.grid,
        kernel=model.mapper.kernel,
        pool=model.pool,
        steps=model.language.steps,
        channels=model.channels,
        height_clip_m=model.mapper.height_clip_m,
        hold_out=train.hold_out,
        buildings=train.buildings,
        rotations=(0.0, *angles),
        name=experiment.name,
        most_words=model.language.vocabulary,
        open_words=model.language.vectors,
    )
