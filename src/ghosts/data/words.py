"""Word vectors in the data: what stands for labels that a model has never seen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ghosts.world.dataroot import DataRoot
from ghosts.world.landmarks.labels import LabelSet
from ghosts.world.landmarks.source import load_scene
from ghosts.world.landmarks.words import nearest_labels, read_word_vectors, words_of


def resembling(root: DataRoot, labels: LabelSet, scans: Sequence[str], vectors: str | None, training: bool) -> LabelSet:
    """The label set, with an alias for every object label outside it that some known one resembles.

    Args:
        root: the buildings.
        labels: of the model.
        scans: buildings whose labels may be met.
        vectors: file of word vectors; None leaves the set as it is.
        training: whether the file must be there; a trained model does without, and labels outside go by their head
            noun alone.

    Raises:
        DataError: the file is malformed, or missing in training.
    """
    if vectors is None:
        return labels
    path = Path(vectors)
    if not training and not path.is_file():
        warnings.warn(f"no word vectors {path}: unseen labels go by their head noun alone", stacklevel=2)
        return labels
    names = {item.label for scan in scans for item in load_scene(root, scan).objects}
    known = read_word_vectors(path, words_of(labels, names))
    return replace(labels, aliases=nearest_labels(labels, names, known))
