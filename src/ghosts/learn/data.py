"""The data of a goal-prediction run: buildings, examples by split, vocabulary, labels, tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float
from torch import Tensor

from ghosts.errors import ConfigError, DataError, UnknownNameError
from ghosts.language.tokens import Vocabulary, build_vocabulary
from ghosts.learn.bank import TileBank, landmark_bank
from ghosts.learn.batches import Builder
from ghosts.learn.examples import Example, make_examples, unseen_buildings
from ghosts.learn.image_tiles import load_tile_bank
from ghosts.learn.label_words import resembling
from ghosts.presets import GoalExperiment
from ghosts.world.dataroot import DataRoot
from ghosts.world.landmarks.labels import LabelSet
from ghosts.world.landmarks.source import LandmarkSource, training_labels

DEV_UNSEEN = "dev_unseen"
"""Name of the development split: buildings of train that no model is trained on."""


@dataclass(frozen=True, eq=False)
class GoalData:
    """Everything a run reads."""

    root: DataRoot
    train: list[Example]
    splits: dict[str, list[Example]]
    """Evaluation splits by name."""
    builder: Builder
    labels: LabelSet | None
    """Of landmarks."""
    stored: Float[Tensor, "n c"] | None = None
    """The bank's features, float16, memory-mapped; None with landmarks."""
    tiles: str | None = None
    """Fingerprint of the tiles, recorded with a model so that it is never shown another backbone's."""


def split_episodes(root: DataRoot) -> tuple[list[str], list[str]]:
    """Training and development-unseen buildings.

    The best checkpoint is chosen on buildings that no model is trained on and no table reports. R2R's public part here
    has no `val_unseen`, so every eighth building is held out to stand for it; a root that brings its own gives up every
    sixteenth (none where there are fewer than four).

    Raises:
        DataError: the root has no training split, without which nobody knows which buildings are unseen.
    """
    if "train" not in root.splits:
        hint = "it says which buildings are unseen, so evaluation needs it as well; copy it there from the release"
        raise DataError("no such file", file=root.path / "r2r" / "R2R_train.json", hint=hint)
    scans = sorted({episode.scan for episode in root.episodes("train")})
    held_out = unseen_buildings(scans, every=16 if "val_unseen" in root.splits else 8)
    return [scan for scan in scans if scan not in set(held_out)], held_out


def load_splits(root: DataRoot, steps: int) -> tuple[list[Example], dict[str, list[Example]]]:
    """Training examples, and those of every split that has goals.

    Args:
        root: the data.
        steps: filter steps T.
    """
    seen, held_out = split_episodes(root)
    episodes = root.episodes("train")
    splits = {
        # Held-out buildings are unseen: their paths do not belong in val_seen.
        name: make_examples(root, [item for item in root.episodes(name) if item.scan not in set(held_out)], steps)
        for name in root.splits
        if name != "train" and all(episode.has_goal for episode in root.episodes(name))
    }
    if held_out:
        splits[DEV_UNSEEN] = make_examples(root, [item for item in episodes if item.scan in set(held_out)], steps)
    return make_examples(root, [item for item in episodes if item.scan in set(seen)], steps), splits


def choose_observation(root: DataRoot, experiment: GoalExperiment) -> Literal["landmarks", "images"]:
    """What the map is made from: what the experiment says, or else what the root has (landmarks before images).

    Raises:
        DataError: the root does not have it.
    """
    wanted = experiment.observation
    if wanted in ("landmarks", "any") and root.has_landmarks:
        return "landmarks"
    if wanted in ("images", "any") and root.has_images:
        return "images"
    folders = {"landmarks": "landmarks/", "images": "scans/", "any": "landmarks/ or scans/"}[wanted]
    others = "images" if root.has_images else "landmarks" if root.has_landmarks else "neither landmarks nor images"
    hint = f"this data root has {others}; choose another preset, run or --data"
    raise DataError(f"preset {experiment.name} needs {folders}", file=root.path, hint=hint)


def load_goal_data(
    root: DataRoot,
    experiment: GoalExperiment,
    *,
    vocabulary: Vocabulary | None = None,
    labels: LabelSet | None = None,
    tiles: str | None = None,
    tiles_folder: Path | None = None,
    training: bool = True,
    also: Sequence[str] = (),
) -> GoalData:
    """Read a data root with landmarks, or with images whose tiles were made (`ghosts tiles`); nothing is made here.

    Args:
        root: the data.
        experiment: what is run on it.
        vocabulary: of a trained model; built from the training split by default.
        labels: of a trained model; built from the training buildings by default.
        tiles: fingerprint of the tiles a trained model knows; any by default.
        tiles_folder: where tiles lie; `tiles/` of the root by default.
        training: also make the turned variants that only training uses.
        also: more buildings to have tiles of (those of a split without goals).

    Raises:
        DataError: the root lacks what the experiment needs; names the command that makes it.
        ConfigError: the data does not fit the model.
    """
    train, splits = load_splits(root, experiment.model.language.steps)
    if vocabulary is None:
        vocabulary = build_vocabulary(example.text for example in train)
    _check_vocabulary(vocabulary, experiment)
    seen = sorted({example.scan for example in train})
    used = sorted({*seen, *also, *(example.scan for examples in splits.values() for example in examples)})
    mapper, fingerprint = experiment.model.mapper, None
    if choose_observation(root, experiment) == "landmarks":
        labels = labels or training_labels(root, seen)
        labels = resembling(root, labels, used, experiment.landmarks.word_vectors, training)
        bank = _landmarks(root, experiment, labels, used, training)
    else:
        bank, fingerprint = _images(root, experiment, used, tiles, tiles_folder)
    builder = Builder(bank, vocabulary, mapper.grid, mapper.kernel, experiment.model.filter.pool)
    return GoalData(root, train, splits, builder, labels, bank.features, fingerprint)


def _landmarks(
    root: DataRoot, experiment: GoalExperiment, labels: LabelSet, scans: list[str], training: bool
) -> TileBank:
    source = LandmarkSource(root, labels, experiment.landmarks)
    variants = experiment.train.variants if training else 1
    angles = (0.0, *np.random.default_rng(experiment.train.seed).uniform(0.0, 2.0 * np.pi, variants - 1).tolist())
    return landmark_bank(source, scans, experiment.model.mapper.cell_m, angles)


def _images(
    root: DataRoot, experiment: GoalExperiment, scans: list[str], tiles: str | None, folder: Path | None
) -> tuple[TileBank, str]:
    if experiment.train.variants > 1:
        raise ConfigError(
            f"train.variants is {experiment.train.variants}, but images cannot be turned by any angle; "
            "use --train.variants 1 (and --train.quarters for quarter turns)"
        )
    needed = experiment.kind != "hand-coded"
    bank, settings = load_tile_bank(
        root, scans, experiment.model.mapper, folder=folder, fingerprint=tiles, features=needed
    )
    return bank, settings.fingerprint


def _check_vocabulary(vocabulary: Vocabulary, experiment: GoalExperiment) -> None:
    if len(vocabulary) > experiment.model.language.vocabulary:
        raise ConfigError(
            f"the data has {len(vocabulary)} words, the model room for {experiment.model.language.vocabulary}; "
            f"use --model.language.vocabulary {len(vocabulary)}"
        )


def examples_of(data: GoalData, split: str) -> list[Example]:
    """Examples of a split by name.

    Raises:
        UnknownNameError: no such split.
    """
    if split == "train":
        return data.train
    if split not in data.splits:
        raise UnknownNameError("split", split, [*data.splits, "train"], str(data.root.path))
    return data.splits[split]
