from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from ghosts.config import TrainConfig
from ghosts.data.hiding import Hiding, draw_hiding, hiding_of, view_bits
from ghosts.mapping.cells import CellLabels, MapCells
from ghosts.mapping.labels import CAPTION, STRUCTURE, Label, LabelSet
from ghosts.mapping.landmark_views import ALL_ROUND, sectors_of
from ghosts_sim.landmarks.regions import ROOM_NAMES
from ghosts_sim.senses import CAPTIONS, OBJECTS, SENSES, Shown

FLOOR, CHAIR, SOFA = 0, len(STRUCTURE) + len(ROOM_NAMES), len(STRUCTURE) + len(ROOM_NAMES) + 1


def labels() -> LabelSet:
    base = [Label("structure", name, ()) for name in STRUCTURE] + [Label("room", letter, ()) for letter in ROOM_NAMES]
    return LabelSet((*base, Label("object", "chair", ()), Label(CAPTION, "sofa", ())))


def seen(sectors: list[int]) -> MapCells:
    """Two episodes see floor and a chair in one cell, and a caption's word in another."""
    zero = torch.zeros(4, dtype=torch.long)
    found = CellLabels(
        cell=torch.tensor([0, 0, 1, 2, 2, 3]),
        label=torch.tensor([FLOOR, CHAIR, SOFA] * 2),
        weight=torch.ones(6),
        sectors=torch.tensor(sectors * 2, dtype=torch.int32),
    )
    place = torch.tensor([0, 1, 0, 1])
    return MapCells(torch.zeros(4, 0), zero, torch.tensor([0, 0, 1, 1]), place, place, (4,), 2, 8, 8, found)


def test_a_cell_of_which_nothing_is_left_is_not_observed():
    hidden = hiding_of(Shown(("objects", "floor")), 2)
    hidden.absent[0] = False  # the first episode sees everything
    left = hidden.apply(seen([ALL_ROUND] * 3), labels(), np.zeros((2, 1)))
    assert left.item.tolist() == [0, 0, 1]
    assert left.row.tolist() == [0, 1, 0]
    assert left.counts == (3,)
    assert left.labels is not None
    assert left.labels.label.tolist() == [FLOOR, CHAIR, SOFA, FLOOR, CHAIR]
    assert left.labels.cell.tolist() == [0, 0, 1, 2, 2]


def test_a_field_of_view_shows_what_lies_ahead_and_weighs_words_by_their_views():
    north, east = 1 << 0, 1 << 3
    view = Hiding(np.zeros((2, len(SENSES)), bool), np.array([3, 12]))
    left = view.apply(seen([ALL_ROUND, east, north | east]), labels(), np.array([[0.0], [0.0]]))
    assert left.labels is not None
    mine = left.item[left.labels.cell] == 0
    assert left.labels.label[mine].tolist() == [FLOOR, SOFA]
    assert left.labels.weight[mine].tolist() == [1.0, 0.5]
    assert left.labels.weight[~mine].tolist() == [1.0, 1.0, 1.0]


def test_view_bits_are_the_sectors_around_the_heading():
    bits = view_bits(np.array([[0.0, np.pi / 2, np.pi / 12 + 0.01]]), np.array([3]))
    assert bits[0, 0] == (1 << 11 | 1 << 0 | 1 << 1)
    assert bits[0, 1] == (1 << 2 | 1 << 3 | 1 << 4)
    assert bits[0, 2] == (1 << 0 | 1 << 1 | 1 << 2)
    every = view_bits(np.random.default_rng(0).uniform(0, 7, (4, 50)), np.array([2, 3, 6, 12]))
    counts = [[bin(int(bit)).count("1") for bit in row] for row in every]
    assert all(set(row) == {width} for row, width in zip(counts, (2, 3, 6, 12)))


def test_sectors_of_points_follow_their_bearing():
    away = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, -2.0, 1.0], [0.1, 0.1, 0.0]])
    assert sectors_of(away).tolist() == [1, 1 << 3, 1 << 6, ALL_ROUND]


def test_senses_are_drawn_with_their_shares():
    config = TrainConfig(hide=0.5, narrow=0.25)
    randoms = [np.random.default_rng([3, number]) for number in range(4000)]
    drawn = draw_hiding(config, randoms)
    assert drawn is not None
    shares = dict(zip(SENSES, drawn.absent.mean(0)))
    for name, share in {"rooms": 0.5, "ways": 0.5, "floor": 0.0, OBJECTS: 0.4, CAPTIONS: 0.6 * 0.275}.items():
        assert shares[name] == pytest.approx(share, abs=0.03), name
    assert not (drawn.absent[:, 0] & drawn.absent[:, list(SENSES).index(CAPTIONS)]).any()
    assert (drawn.sectors < 12).mean() == pytest.approx(0.25, abs=0.03)
    assert draw_hiding(replace(config, hide=0.0, narrow=0.0), randoms) is None
