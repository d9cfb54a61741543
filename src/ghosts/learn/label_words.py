"""Word vectors in a run: where label embeddings start, and what stands for labels that the model has never seen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ghosts.errors import DataError
from ghosts.files import read_object, write_json
from ghosts.learn.tasks import CellFeatures
from ghosts.world.dataroot import DataRoot
from ghosts.world.landmarks.labels import LabelSet
from ghosts.world.landmarks.source import load_scene
from ghosts.world.landmarks.words import nearest_labels, read_word_vectors, starting_vectors, words_of

RECORD = "word_vectors.json"
"""Kept with a run: which file its labels started from."""


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


def start_labels(features: CellFeatures, labels: LabelSet | None, vectors: str | None, out: Path) -> None:
    """Start label embeddings from word vectors, say how many, and record in the run's folder from which.

    Args:
        features: of the untrained model.
        labels: numbers of its embeddings; None with images, where there is nothing to start.
        vectors: file of word vectors; None leaves the random start.
        out: the run's folder.

    Raises:
        DataError: the file is malformed, knows none of the words, or is another one than the run started with.
    """
    if vectors is None or labels is None:
        return
    path = Path(vectors)
    known = read_word_vectors(path, words_of(labels))
    ids, start = starting_vectors(labels, known, features.channels)
    if not len(ids):
        raise DataError("knows no word of any label", file=path, hint="use word vectors of English, in lower case")
    record = out / RECORD
    if record.is_file() and read_object(record).get("sha256") != known.sha256:
        raise DataError("the folder holds a run with other word vectors", file=record, hint="choose another --out")
    features.start_from(ids, start)
    found = {"labels": len(labels), "found": len(ids), "dimension": known.dimension}
    write_json(record, {"file": path.name, "sha256": known.sha256, **found}, indent=1)
    # Imported here: Lightning takes seconds, and commands that do not train (`ghosts tiles`) do without it.
    from lightning.fabric.utilities.rank_zero import rank_zero_only

    rank_zero_only(print)(f"{path.name}: {len(ids)} of {len(labels)} labels start from the vectors of their words")
