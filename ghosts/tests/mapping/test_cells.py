from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ghosts.mapping.cells import CellFeatures, CellLabels, place_cells, ragged_rows
from ghosts_sim.errors import ConfigError
from ghosts_sim.types import Grid


def test_ragged_rows() -> None:
    owner, rows = ragged_rows(np.array([0, 2, 2, 5]), np.array([2, 0, 1, 2]))
    assert owner.tolist() == [0, 0, 0, 1, 1, 3, 3, 3]
    assert rows.tolist() == [2, 3, 4, 0, 1, 2, 3, 4]


def test_labels_become_the_weighted_sum_of_their_embeddings() -> None:
    features = CellFeatures(2, 3)
    features.load_state_dict({"embedding.weight": torch.tensor([[1.0, 2.0], [10.0, 20.0], [5.0, 7.0]])})
    places = torch.tensor([0, 0]), torch.tensor([0, 0]), 1, np.zeros((1, 2)), Grid(4, 4, 0.5)
    cells, _ = place_cells(torch.tensor([[0, 0], [1, 0]]), *places)
    cell, label, weight = torch.tensor([0, 1, 0]), torch.tensor([1, 2, 0]), torch.tensor([1.0, 1.0, 0.5])
    labelled = features(replace(cells, labels=CellLabels(cell, label, weight)))
    assert labelled.features.tolist() == [[10.5, 21.0], [5.0, 7.0]]
    with pytest.raises(ConfigError, match="reads landmarks, but the data has tiles of images"):
        features(cells)
    with pytest.raises(ConfigError, match="reads tiles of images, but the data has landmarks"):
        CellFeatures(2, 0)(labelled)
