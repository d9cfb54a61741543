from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ghosts_sim.matterport.cuts import Energy, least_energy


def grid(random: np.random.Generator, height: int, width: int, labels: int) -> Energy:
    """Random costs on a small image."""
    number = np.arange(height * width).reshape(height, width)
    first = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
    second = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
    weight, tall = random.uniform(0.0, 1.0, first.size), random.normal(size=(first.size, labels))
    return Energy(random.uniform(0.0, 2.0, (number.size, labels)), first, second, weight, tall, 2.0)


@pytest.mark.parametrize("seed", range(5))
def test_two_labels_cost_the_least_possible(seed: int) -> None:
    energy = grid(np.random.default_rng(seed), 3, 3, 2)
    least = min(energy.of(np.array(label)) for label in product(range(2), repeat=9))
    assert energy.of(least_energy(energy, np.zeros(9, int), 1)) == pytest.approx(least, abs=0.01)


@pytest.mark.parametrize("seed", range(5))
def test_three_labels_cost_nearly_the_least_possible(seed: int) -> None:
    """No offer makes the result cheaper, and a cut is never worse than pixel by pixel."""
    energy = grid(np.random.default_rng(seed), 2, 4, 3)
    least = min(energy.of(np.array(label)) for label in product(range(3), repeat=8))
    found = least_energy(energy, energy.own.argmin(1), 5)
    assert least - 1e-9 <= energy.of(found) <= 1.05 * least
    np.testing.assert_array_equal(least_energy(energy, found, 1), found)


def test_a_whole_region_changes_hands() -> None:
    """Every pixel of a block costs a little more with its neighbours' label, and the border costs much more."""
    own = np.zeros((5, 2))
    own[1:4, 1] = 1.0
    own[[0, 4], 0] = 100.0
    energy = Energy(own, np.arange(4), np.arange(1, 5), np.full(4, 2.0), np.zeros((4, 2)), 0.0)
    np.testing.assert_array_equal(least_energy(energy, np.array([1, 0, 0, 0, 1]), 1), np.ones(5, int))


def test_surfaces_meet_where_they_are_equal() -> None:
    """Two planes that cross between pixels 3 and 4 of 10; the ends are fixed."""
    own = np.zeros((10, 2))
    own[0, 1] = own[9, 0] = 100.0
    middle = np.arange(9) + 0.5
    heights = np.stack([np.zeros(9), middle - 3.5], 1)
    energy = Energy(own, np.arange(9), np.arange(1, 10), np.ones(9), heights, 5.0)
    label = least_energy(energy, own.argmin(1), 2)
    np.testing.assert_array_equal(label, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
