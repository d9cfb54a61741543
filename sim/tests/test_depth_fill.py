"""Filling missing depth along the edges of a picture."""

from __future__ import annotations

import numpy as np

from ghosts_sim.depth_fill import fill_depth


def test_fill_keeps_what_is_known_and_follows_the_guide() -> None:
    """Two surfaces with a hole on each side of their border: each is filled from its own side."""
    depth, intensity = np.full((40, 40), 1.0), np.full((40, 40), 0.05)
    depth[:, 20:], intensity[:, 20:] = 3.0, 0.95
    missing = np.zeros((40, 40), bool)
    missing[15:22, 14:26] = True
    filled = fill_depth(np.where(missing, 0.0, depth), intensity, missing)
    np.testing.assert_array_equal(filled[~missing], depth[~missing])
    np.testing.assert_allclose(filled[missing], depth[missing], rtol=0.01)


def test_fill_of_a_large_hole_comes_from_coarser_levels() -> None:
    depth = np.full((80, 80), 2.0)
    missing = np.zeros((80, 80), bool)
    missing[25:55, 25:55] = True
    filled = fill_depth(np.where(missing, 0.0, depth), np.full((80, 80), 0.5), missing)
    assert (filled[missing] > 0).mean() > 0.99
    np.testing.assert_allclose(filled[filled > 0], 2.0, rtol=1e-6)
    assert not fill_depth(np.zeros((9, 9)), np.zeros((9, 9)), np.ones((9, 9), bool)).any()
