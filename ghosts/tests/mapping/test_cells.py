"""Cells: rows of ragged lists, labels on them, and what lies in which direction of a place."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from ghosts.mapping.cells import (
    CellFeatures,
    CellLabels,
    MapCells,
    place_cells,
    ragged_rows,
    sector_features,
    to_sector,
)
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


GRID = Grid(8, 8, 1.0)


def cells() -> MapCells:
    """Seen from the middle: two cells east, one north; a second panorama sees one west."""
    return MapCells(
        features=torch.tensor([[1.0], [3.0], [5.0], [7.0]]),
        step=torch.tensor([0, 0, 0, 1]),
        item=torch.zeros(4, dtype=torch.long),
        row=torch.tensor([4, 4, 7, 4]),
        col=torch.tensor([6, 7, 4, 0]),
        counts=(3, 1),
        batch=1,
        rows=8,
        cols=8,
    )


def test_sectors_are_centred_on_their_directions() -> None:
    angles = torch.tensor([0.0, 0.7, 0.9, math.pi / 2, math.pi, -math.pi / 2, -0.1])
    assert to_sector(angles, 4).tolist() == [0, 0, 1, 1, 2, 3, 0]


def test_features_average_what_lies_in_a_direction() -> None:
    seen = sector_features(cells(), torch.full((2, 2), 0.5), GRID, 4)
    assert seen[:, :, 0].tolist() == [[2.0, 5.0, 0.0, 0.0], [0.0, 0.0, 7.0, 0.0]]


def test_rings_divide_directions_into_near_and_far() -> None:
    """The near cell east is 2 m away, the far one 3 m, those north and west 3 and 4 m."""
    seen = sector_features(cells(), torch.full((2, 2), 0.5), GRID, 4, (2.5, 3.5))
    near, middle, far = seen[:, :, 0].unflatten(1, (3, 4)).unbind(1)
    assert near.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    assert middle.tolist() == [[3.0, 5.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    assert far.tolist() == [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 7.0, 0.0]]
