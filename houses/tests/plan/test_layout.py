"""Walls that rooms share, of rectangles and of an L."""

from __future__ import annotations

import pytest

from ghosts_houses.plan.slots import Rect, Slot, shared_walls

ROOM = Rect(0.0, 0.0, 4.0, 3.0)


def slot(rect: Rect, notch: Rect | None = None) -> Slot:
    return Slot(rect, "room", 0, notch=notch)


@pytest.mark.parametrize(
    ("other", "walls"),
    [
        (Rect(1.0, 3.0, 6.0, 5.0), [("x", 3, 1, 4)]),
        (Rect(4.0, 1.0, 6.0, 5.0), [("y", 4, 1, 3)]),
        (Rect(4.0, 3.0, 6.0, 5.0), []),
        (ROOM, []),
    ],
)
def test_shared_walls(other: Rect, walls: list[tuple]) -> None:
    assert shared_walls(slot(ROOM), slot(other)) == walls


def test_an_ell_shares_two_walls_with_the_room_in_its_corner() -> None:
    corner = Rect(2.5, 1.0, 4.0, 3.0)
    ell = slot(ROOM, corner)
    assert shared_walls(ell, slot(corner)) == [("y", 2.5, 1, 3), ("x", 1.0, 2.5, 4.0)]
    assert shared_walls(ell, slot(Rect(0.0, 3.0, 4.0, 5.0))) == [("x", 3.0, 0.0, 2.5)]
    assert shared_walls(ell, slot(Rect(4.0, 0.0, 6.0, 3.0))) == [("y", 4.0, 0.0, 1.0)]
    assert ell.area == pytest.approx(12.0 - 3.0)
