from __future__ import annotations

import numpy as np

from ghosts_sim.matterport.planes import find_planes


def pixels(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    y, x = np.mgrid[:height, :width].astype(float)
    return x.ravel(), y.ravel()


def test_one_plane() -> None:
    x, y = pixels(20, 30)
    planes, members = find_planes(x, y, 1.0 + 0.02 * x - 0.01 * y)
    np.testing.assert_allclose(planes, [[1.0, 0.02, -0.01]], rtol=1e-2)
    assert members.all()


def test_planes_of_many_pixels_come_first_and_noise_makes_no_more() -> None:
    random = np.random.default_rng(0)
    x, y = pixels(30, 30)
    wall, box = 1.0 + 0.01 * x, np.full_like(x, 2.0)
    value = np.where(y < 20, wall, box) * (1.0 + 0.002 * random.normal(size=x.size))
    planes, members = find_planes(x, y, value)
    np.testing.assert_allclose(planes, [[1.0, 0.01, 0.0], [2.0, 0.0, 0.0]], atol=5e-3)
    np.testing.assert_array_equal(members[0], y < 20)
    np.testing.assert_array_equal(members[1], y >= 20)


def test_both_ends_of_a_narrow_plane_are_one() -> None:
    """A slanted strip 4 pixels wide, seen above and below a gap of 26 rows, beside a wall."""
    x, y = pixels(40, 20)
    seen = (y < 7) | (y >= 33)
    x, y = x[seen], y[seen]
    strip = (x >= 8) & (x < 12)
    planes, members = find_planes(x, y, np.where(strip, 1.0 + 0.04 * (x - 8), 0.5))
    assert len(planes) == 2
    np.testing.assert_array_equal(members[1], strip)


def test_few_pixels_that_lie_on_a_plane_by_accident_are_not_part_of_it() -> None:
    """A foot of 9 pixels before a wall crosses the plane of a slanted table."""
    x, y = pixels(40, 40)
    table, foot = y >= 30, (x >= 9) & (x < 12) & (y >= 21) & (y < 24)
    value = np.select([table, foot], [1.0 + 0.02 * (y - 30), np.full_like(x, 0.84)], 0.5)
    planes, members = find_planes(x, y, value)
    assert members[:, foot].any(1).sum() == 1
    on = members[members[:, foot].any(1)][0]
    np.testing.assert_array_equal(on, foot)
    np.testing.assert_allclose(planes[members[:, foot].any(1)][0] @ [1.0, 10.0, 22.0], 0.84, rtol=1e-3)


def test_too_few_pixels() -> None:
    planes, members = find_planes(np.arange(3.0), np.arange(3.0), np.ones(3))
    assert planes.shape == (0, 3)
    assert members.shape == (0, 3)
