"""Rails of a flight of stairs."""

from __future__ import annotations

import math

import numpy as np

from ghosts_houses.plan.shell import TREAD_M, stair_steps
from made import house


def test_one_rail_follows_a_flight_and_its_level_pieces_hold_it() -> None:
    made = house(4)
    stair = made.stairs[0]
    (rail,) = (part for part in made.shell if part.slope)
    count, rise = stair_steps(stair)
    assert math.isclose(rail.slope, rise / TREAD_M)
    ends = np.array([stair.foot_m[1], stair.head_m[1]])
    at = math.sin(rail.yaw_rad) * (ends - rail.center_m[1])
    np.testing.assert_allclose(at, [-rail.half_m[0], rail.half_m[0]], atol=1e-9)
    # 0.9 m above the middle of the first and of the last step.
    middles = np.array([0.5 - (count - 1) / 2, (count - 1) / 2 - 0.5]) * TREAD_M
    over = rail.center_m[2] + rail.slope * middles - stair.foot_m[2]
    np.testing.assert_allclose(over, [rise + 0.9, (count - 1) * rise + 0.9], atol=1e-9)
    posts = [part for part in made.shell if part.label == "railing" and part.shape == "cylinder"]
    mine = [part for part in posts if abs(part.center_m[0] - rail.center_m[0]) < 1e-9]
    for post in mine:
        local = math.sin(rail.yaw_rad) * (post.center_m[1] - rail.center_m[1])
        under = rail.center_m[2] + rail.slope * local - rail.half_m[2]
        assert under <= post.center_m[2] + post.half_m[2] <= under + 2 * rail.half_m[2]  # ends inside the rail
    assert len(mine) == count - 1
    pieces = rail.level_pieces()
    assert len(pieces) == math.ceil(2 * rail.half_m[0] / 0.26)
    assert math.isclose(sum(piece.half_m[0] for piece in pieces), rail.half_m[0])
    for share in np.linspace(-1.0, 1.0, 101):
        away = share * rail.half_m[0]
        y, z = rail.center_m[1] + math.sin(rail.yaw_rad) * away, rail.center_m[2] + rail.slope * away
        assert any(
            abs(y - piece.center_m[1]) <= piece.half_m[0] + 1e-9
            and abs(z - piece.center_m[2]) + rail.half_m[2] <= piece.half_m[2] + 1e-9
            for piece in pieces
        )
