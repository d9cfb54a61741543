"""The data of a goal-prediction run: buildings, examples by split, vocabulary, labels, tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from ghosts.errors import UnknownNameError
from ghosts.language.episodes import each_instruction
from ghosts.language.tokens import Vocabulary, build_vocabulary
from ghosts.learn.bank import landmark_bank
from ghosts.learn.batches import Builder
from ghosts.learn.examples import Example, make_examples, unseen_buildings
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
    stored: Float[Tensor, "n c"] | None = None
    """The bank's features, on the CPU."""


def split_episodes(root: DataRoot) -> tuple[list[str], list[str]]:
    """Training and development-unseen buildings.

    Where the root brings its own `val_unseen`, all training buildings are trained on; R2R's public part here has none,
    so every eighth building is held out.
    """
    scans = sorted({episode.scan for episode in root.episodes("train")})
    if "val_unseen" in root.splits:
        return scans, []
    held_out = unseen_buildings(scans)
    return [scan for scan in scans if scan not in held_out], held_out


def load_goal_data(
    root: DataRoot,
    experiment: GoalExperiment,
    *,
    vocabulary: Vocabulary | None = None,
    labels: LabelSet | None = None,
    training: bool = True,
) -> GoalData:
    """Read a data root with landmarks.

    Args:
        root: the data.
        experiment: what is run on it.
        vocabulary: of a trained model; built from the training split by default.
        labels: of a trained model; built from the training buildings by default.
        training: also make the turned variants that only training uses.
    """
    seen, held_out = split_episodes(root)
    episodes = root.episodes("train")
    steps = experiment.model.language.steps
    train = [episode for episode in episodes if episode.scan in set(seen)]
    if vocabulary is None:
        vocabulary = build_vocabulary(item.text for item in each_instruction(train))
    splits = {
        # Held-out buildings are unseen: their paths do not belong in val_seen.
        name: make_examples(root, [item for item in root.episodes(name) if item.scan not in set(held_out)], steps)
        for name in root.splits
        if name != "train" and all(episode.has_goal for episode in root.episodes(name))
    }
    if held_out:
        splits[DEV_UNSEEN] = make_examples(root, [item for item in episodes if item.scan in set(held_out)], steps)
    labels = labels or training_labels(root, seen)
    source = LandmarkSource(root, labels, experiment.landmarks)
    used = sorted({*seen, *(example.scan for examples in splits.values() for example in examples)})
    variants = experiment.train.variants if training else 1
    angles = (0.0, *np.random.default_rng(experiment.train.seed).uniform(0.0, 2.0 * np.pi, variants - 1).tolist())
    mapper = experiment.model.mapper
    bank = landmark_bank(source, used, mapper.cell_m, angles)
    builder = Builder(bank, vocabulary, mapper.grid, mapper.kernel)
    return GoalData(root, make_examples(root, train, steps), splits, builder, labels)


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
