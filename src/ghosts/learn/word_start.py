"""Where label embeddings start: from the vectors of their words, where a file of them is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lightning.fabric.utilities.rank_zero import rank_zero_only

from ghosts.act.model import CellFeatures
from ghosts.data.dataset import Dataset
from ghosts.errors import DataError
from ghosts.world.landmarks.words import read_word_vectors, starting_vectors, words_of


@torch.no_grad()
def start_labels(features: CellFeatures, data: Dataset) -> dict[str, Any] | None:
    """Start label embeddings from word vectors, and say how many.

    Args:
        features: of the untrained model.
        data: its labels and settings; with images, or where no file is named, the random start stays.

    Returns:
        Which file, for the checkpoint's description; None where there is none.

    Raises:
        DataError: the file is malformed, or knows none of the words.
    """
    labels, vectors = data.labels, data.reading.landmarks.word_vectors
    if vectors is None or labels is None or features.embedding is None:
        return None
    path = Path(vectors)
    known = read_word_vectors(path, words_of(labels))
    ids, start = starting_vectors(labels, known, features.channels)
    if not len(ids):
        raise DataError("knows no word of any label", file=path, hint="use word vectors of English, in lower case")
    features.embedding.weight[torch.from_numpy(ids)] = torch.from_numpy(start)
    rank_zero_only(print)(f"{path.name}: {len(ids)} of {len(labels)} labels start from the vectors of their words")
    found = {"labels": len(labels), "found": len(ids), "dimension": known.dimension}
    return {"file": path.name, "sha256": known.sha256, **found}
