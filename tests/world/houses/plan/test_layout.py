"""Walls that two rectangles share."""

from __future__ import annotations

import pytest

from ghosts.world.houses.plan.layout import Rect, shared_wall


@pytest.mark.parametrize(
    ("a", "b", "wall"),
    [
        (Rect(0.0, 0.0, 4.0, 3.0), Rect(1.0, 3.0, 6.0, 5.0), ("x", 3, 1, 4)),
        (Rect(0.0, 0.0, 4.0, 3.0), Rect(4.0, 1.0, 6.0, 5.0), ("y", 4, 1, 3)),
        (Rect(0.0, 0.0, 4.0, 3.0), Rect(4.0, 3.0, 6.0, 5.0), None),
        (Rect(0.0, 0.0, 4.0, 3.0), Rect(0.0, 0.0, 4.0, 3.0), None),
    ],
)
def test_shared_wall(a: Rect, b: Rect, wall: tuple | None) -> None:
    assert shared_wall(a, b) == wall
