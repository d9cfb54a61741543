"""What depth images tell of the space: where a body can go, stairs, frontiers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ghosts.agent.sensors import Views, matrices
from ghosts.driving.occupancy import CELL_M, Reachable, Space, bump, reach, see
from ghosts_houses.body.ground import make_ground
from ghosts_houses.house import House
from ghosts_houses.mesh.renderers import axial_m
from ghosts_houses.render.raycast import cast, upload
from ghosts_houses.solids import Solids
from ghosts_houses.task.simulator import TRAINED_CAMERA
from ghosts_sim.geometry import TAU
from ghosts_sim.types import Intrinsics, Pose
from handmade import STOREY_M, handmade_house

CAMERA = Intrinsics(128, 128, math.pi / 2)
LOOKING_DOWN, TILT_RAD = Intrinsics(128, 128, TRAINED_CAMERA.hfov_rad), TRAINED_CAMERA.elevation_rad


def views(house: House, x: float, y: float, z: float, camera: Intrinsics = CAMERA, tilt: float = 0.0) -> Views:
    """Depth images all around a place, straight from the solids."""
    from ghosts_houses.render.panorama import frames_of

    poses = [Pose(x, y, z, TAU * k / 12, tilt) for k in range(12)]
    distance = cast(upload(Solids.of(house.primitives)), frames_of(poses, camera, "cpu")).distance
    depth_m = axial_m(np.where(np.isinf(distance), 0.0, distance), camera).astype(np.float32)
    return Views(np.zeros((*depth_m.shape, 3), np.uint8), depth_m, matrices(poses), camera)


def looked(house: House, *places: tuple[float, float, float], camera: Intrinsics = CAMERA, tilt: float = 0.0) -> Space:
    space = Space.around(Pose(*places[0], 0.0), 1.25)
    for place in places:
        space = see(space, views(house, *place, camera, tilt))
    return space


def reached(known: Reachable, x: float, y: float) -> bool:
    return bool(np.isfinite(known.distance_m[(slice(None), *known.space.cell(x, y))]).any())


@pytest.fixture(scope="module")
def house() -> House:
    return handmade_house()


def test_what_can_be_reached_is_where_a_body_fits(house: House) -> None:
    space = looked(house, (2.5, 4.5, 1.25))
    known = reach(space, 2.5, 4.5, 0.0, 0.15, 1.5)
    ground = make_ground(house)
    places = known.places_m(*np.nonzero(np.isfinite(known.distance_m)))
    room = np.array([ground.clearance_m(x, y, 0) for x, y, _ in places.tolist()])
    assert len(room) > 800  # 8 m² of the living room and beyond
    # Nobody sees the back of a television above the floor.
    assert (room >= 0.1 - CELL_M / 2).mean() > 0.99
    assert reached(known, 4.5, 4.0)
    assert not reached(known, 1.0, 6.5)  # in the sofa
    assert not reached(known, 5.06, 6.0)  # in the wall
    gap = math.hypot(1.5, 1.0)
    assert gap <= known.distance_m[0][space.cell(4.0, 3.5)] < 1.6 * gap


def test_frontiers_lie_at_the_edge_of_what_is_known(house: House) -> None:
    known = reach(looked(house, (2.5, 4.5, 1.25)), 2.5, 4.5, 0.0, 0.15, 1.5)
    places = known.places_m(*np.nonzero(known.frontier))[:, :2]
    assert len(places) > 3
    # The living room is in sight; unknown is what lies behind its doors.
    inside = (places[:, 0] < 4.9) & (places[:, 1] > 2.9)
    assert inside.mean() < 0.2
    assert np.linalg.norm(places - (2.5, 4.5), axis=1).min() > 1.5


def test_stairs_are_a_way(house: House) -> None:
    space = looked(
        house, (1.2, 0.6, 1.25), (3.2, 0.55, 0.7 + 1.25), (5.0, 0.55, 1.96 + 1.25), (6.9, 0.7, STOREY_M + 1.25)
    )
    known = reach(space, 1.2, 0.6, 0.0, 0.15, 1.5)
    top = known.nearest(6.8, 0.6, STOREY_M)
    assert known.places_m(*np.array([top]).T)[0] == pytest.approx((6.8, 0.6, STOREY_M), abs=0.06)
    way = known.way_m(top)
    assert way[0, 2] == pytest.approx(0.0, abs=0.06)
    assert np.abs(np.diff(way[:, 2])).max() < 0.31
    assert (np.abs(way[(way[:, 0] > 2.4) & (way[:, 0] < 6.0), 1] - 0.55) < 0.5).all()


def test_only_steps_are_climbed() -> None:
    """The front of a chest is seen at every height, which looked like steps."""
    empty = Space.around(Pose(0.0, 0.0, 1.25, 0.0), 1.25)
    row, col = empty.cell(0.0, 0.0)
    floor = 1 << empty.bin(0.0)
    for height, climbed in ((2, True), (3, False), (6, False)):
        columns = empty.columns.copy()
        columns[row - 20 : row + 21, col - 20 : col + 21] = floor
        chest = columns[row + 8 : row + 15, col - 5 : col + 6]
        chest[:] = sum(floor << k for k in range(height + 1))  # its front and sides
        chest[1:-1, 1:-1] = floor << height  # its top
        known = reach(replace(empty, columns=columns, below=columns), 0.0, 0.0, 0.0, 0.15, 1.5)
        assert reached(known, 0.0, 1.7)
        assert reached(known, 0.0, 1.1) == climbed


def test_walls_that_go_on_above_the_eyes_are_no_ledges(house: House) -> None:
    """A camera that looks down sees walls up to its own height, which looked like their tops."""
    space = looked(house, (1.5, 0.55, 1.25), (3.2, 0.55, 0.7 + 1.25), camera=LOOKING_DOWN, tilt=TILT_RAD)
    known = reach(space, 3.2, 0.55, 0.7, 0.15, 1.5)
    x, y, z = known.places_m(*np.nonzero(np.isfinite(known.distance_m))).T
    assert z.max() > 1.5
    on_stairs = (x > 2.2) & (x < 6.3) & (y > 0.0) & (y < 1.3)
    assert z[~on_stairs].max() < 0.25


def test_stairs_are_seen_from_their_head_and_remembered_from_their_foot(house: House) -> None:
    """Whoever stands at the head of stairs does not see the first steps at its feet."""
    head, middle, foot = (6.7, 0.55, STOREY_M + 1.25), (4.0, 0.55, 1.26 + 1.25), (1.5, 0.55, 1.25)
    above = looked(house, head, camera=LOOKING_DOWN, tilt=TILT_RAD)
    down = reach(above, 6.7, 0.55, STOREY_M, 0.15, 1.5)
    lowest = down.places_m(*np.nonzero(np.isfinite(down.distance_m)))[:, 2].min()
    assert lowest < STOREY_M - 1.0
    walked = looked(house, head, middle, foot, camera=LOOKING_DOWN, tilt=TILT_RAD)
    up = reach(walked, 1.5, 0.55, 0.0, 0.15, 1.5)
    back = up.way_m(up.nearest(6.7, 0.55, STOREY_M))
    assert back[-1] == pytest.approx((6.7, 0.55, STOREY_M), abs=0.11)
    assert np.abs(np.diff(back[:, 2])).max() < 0.21


def test_both_storeys_can_be_reached_where_one_lies_above_the_other(house: House) -> None:
    """Whoever has gone upstairs finds the way back down, to places below where it stands."""
    stairs = (1.2, 0.6, 1.25), (3.2, 0.55, 0.7 + 1.25), (5.0, 0.55, 1.96 + 1.25), (6.9, 0.7, STOREY_M + 1.25)
    space = looked(house, *stairs, (6.9, 2.0, STOREY_M + 1.25), (6.9, 1.8, 1.25))
    up = reach(space, 6.9, 0.7, STOREY_M, 0.15, 1.5)
    both = np.isfinite(up.distance_m).sum(0) > 1
    assert both.any()
    row, col = np.argwhere(both)[0]
    low, high = sorted(up.places_m(np.array([0, 1]), np.array([row, row]), np.array([col, col]))[:, 2])
    assert (low, high) == (pytest.approx(0.0, abs=0.35), pytest.approx(STOREY_M, abs=0.35))
    start = up.nearest(1.2, 0.6, 0.0)
    assert up.way_m(start)[-1] == pytest.approx((1.2, 0.6, 0.0), abs=0.1)
    assert up.distance_m[start] > 5.0  # down the stairs, not through the floor


def test_heights_move_along_with_the_storeys(house: House) -> None:
    """One storey up a body's own height was out of what is known, and two storeys up nothing could be added."""
    space = looked(house, (2.5, 4.5, 1.25), (2.5, 4.2, STOREY_M + 1.25))
    known = reach(space, 2.5, 4.2, STOREY_M, 0.15, 1.5)
    assert reached(known, 3.2, 4.0)
    assert not reached(known, 1.2, 5.9)  # in the bed
    here = known.nearest(2.5, 4.2, STOREY_M)
    assert known.places_m(*np.array([here]).T)[0] == pytest.approx((2.5, 4.2, STOREY_M), abs=0.06)
    below = int(space.columns[space.cell(4.2, 4.5)])
    assert below >> space.bin(0.0) & 1  # the floor below is still known
    for far_m in (2 * STOREY_M, 12.0, -12.0):
        seen = views(house, 2.5, 4.5, 1.25)
        up = np.zeros((4, 4))
        up[2, 3] = far_m
        there = see(space, replace(seen, camera_to_world=seen.camera_to_world + up))
        assert 0 <= there.bin(far_m) < 64
        assert reached(reach(there, 2.5, 4.5, far_m, 0.15, 1.5), 3.5, 4.5)


def test_a_place_on_the_border_of_two_cells_belongs_to_the_one_above() -> None:
    space = Space.around(Pose(0.0, 0.0, 1.25, 0.0), 1.25)
    row, col = space.cell(0.0, 0.0)
    # Cells are 0.1 m wide around the start: these are borders, whichever cell has an even number.
    for k in range(-4, 5):
        there = space.corner_m + 0.1 * np.array([col + k, row + k, space.bin(0.0) + k]) + 1e-9
        assert space.cell(*there[:2].tolist()) == (row + k, col + k)
        assert space.bin(float(there[2])) == space.bin(0.0) + k
        below = there - 2e-9
        assert space.cell(*below[:2].tolist()) == (row + k - 1, col + k - 1)


def test_a_bump_closes_a_cell(house: House) -> None:
    space = looked(house, (2.5, 4.5, 1.25))
    x, y = 3.5, 4.5
    known = reach(bump(space, x, y), 2.5, 4.5, 0.0, 0.15, 1.5)
    assert not reached(known, x, y)
    assert reached(known, x + 0.5, y)
