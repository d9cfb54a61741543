from __future__ import annotations

import numpy as np

from ghosts_sim.matterport.surfaces import find_surfaces

SIZE = 96


def scene() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """1 / z, a hole and colours: a wall, a floor, and before them a box, whose right side is at column 50; it stands on
    the floor at row 70."""
    y, x = np.mgrid[:SIZE, :SIZE].astype(np.float32)
    behind = np.maximum(0.5, 0.06 * (y - 45.0))
    box = (x < 50) & (y < 70)
    inverse = np.where(box, 1.5, behind).astype(np.float32)
    colour = np.where(box[..., None], np.uint8(60), np.uint8(160)).repeat(3, -1)
    return inverse, np.hypot(x - 50, y - 32) < 13, colour


def test_surfaces_meet_on_the_edge_that_colour_shows() -> None:
    inverse, missing, colour = scene()
    found = find_surfaces(np.where(missing, 0.0, inverse).astype(np.float32), missing, colour)
    box, wall = found.label[32, 32], found.label[32, 68]
    assert box > 0
    assert wall > 0
    assert box != wall
    x = np.arange(SIZE)[None].repeat(SIZE, 0)
    assert (found.label[missing & (x < 49)] == box).all()
    assert (found.label[missing & (x > 50)] == wall).all()
    np.testing.assert_allclose(found.plane[missing & (x < 49)], 1.5, rtol=1e-3)
    np.testing.assert_allclose(found.plane[missing & (x > 50)], 0.5, rtol=1e-3)


def test_a_box_and_the_floor_it_stands_on_are_two_surfaces() -> None:
    """Depth does not step where they touch (row 70); the planes differ."""
    inverse, _, colour = scene()
    y, x = np.mgrid[:SIZE, :SIZE]
    missing = np.hypot(x - 30, y - 70) < 10
    found = find_surfaces(np.where(missing, 0.0, inverse).astype(np.float32), missing, colour)
    above, below = found.label[57, 30], found.label[83, 30]
    assert above != below
    assert (found.label[missing & (y < 68)] == above).mean() > 0.99
    assert (found.label[missing & (y > 71)] == below).mean() > 0.85  # a square at the side has both


def test_a_pixel_between_two_surfaces_is_a_border() -> None:
    inverse, _, colour = scene()
    inverse[:, 50] = 1.0
    y, x = np.mgrid[:SIZE, :SIZE]
    missing = np.hypot(x - 50, y - 40) < 6
    found = find_surfaces(np.where(missing, 0.0, inverse).astype(np.float32), missing, colour)
    rows = (np.abs(y - 40) > 7) & (np.abs(y - 40) < 9)
    assert found.border[rows & (x == 50)].all()
    assert not found.border[rows & (x != 50)].any()


def test_an_edge_without_contrast_runs_straight_between_its_ends() -> None:
    """Both sides have one colour; the box's side at column 50 is seen above and below the hole."""
    inverse, missing, colour = scene()
    found = find_surfaces(np.where(missing, 0.0, inverse).astype(np.float32), missing, np.full_like(colour, 100))
    x = np.arange(SIZE)[None].repeat(SIZE, 0)
    assert (found.label[missing & (x < 49)] == found.label[32, 32]).all()
    assert (found.label[missing & (x > 50)] == found.label[32, 68]).all()


def test_a_bend_without_contrast_lies_where_the_planes_meet() -> None:
    """The wall at 1 / z = 0.5 and the floor meet at row 53.3, to the right of the box."""
    inverse, _, colour = scene()
    y, x = np.mgrid[:SIZE, :SIZE]
    missing = np.hypot(x - 72, y - 53) < 12
    found = find_surfaces(np.where(missing, 0.0, inverse).astype(np.float32), missing, np.full_like(colour, 100))
    np.testing.assert_allclose(found.plane[missing], inverse[missing], rtol=0.03)


def test_holes_side_by_side_keep_their_own_surfaces() -> None:
    """The rim of one hole reaches into the other."""
    inverse, _, colour = scene()
    y, x = np.mgrid[:SIZE, :SIZE]
    missing = (np.hypot(x - 24, y - 30) < 8) | (np.hypot(x - 50, y - 30) < 14)
    found = find_surfaces(np.where(missing, 0.0, inverse).astype(np.float32), missing, colour)
    beside = missing & (np.abs(x - 49.5) > 1.0)
    np.testing.assert_allclose(found.plane[beside], inverse[beside], rtol=1e-3)


def test_away_from_holes_and_beside_single_pixels_nothing_is_cut() -> None:
    inverse, missing, colour = scene()
    missing = np.zeros_like(missing)
    missing[10, 10:13] = True
    found = find_surfaces(np.where(missing, 0.0, inverse).astype(np.float32), missing, colour)
    assert not found.label.any()
    assert not found.border.any()
    assert (found.plane == 1.0).all()
