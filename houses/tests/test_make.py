"""Houses of many seeds: sizes, kinds, ways between rooms, stairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from checks import unchecked
from ghosts_houses.house import House, Opening, Room
from ghosts_houses.make import house_name, make_house
from ghosts_houses.plan.rooms import ROOM_KINDS, WALL_M
from ghosts_houses.plan.shell import VIEWS, stair_hole, stair_steps
from ghosts_houses.plan.slots import HouseSize
from ghosts_sim.errors import ConfigError
from made import house

SEEDS = range(20)


def doors(plan: House) -> list[Opening]:
    return [o for o in plan.openings if o.kind != "window" and o.rooms[1] >= 0]


def test_same_seed_same_house() -> None:
    with unchecked():
        assert make_house(11) == make_house(11) == house(11)
    assert house(11).rooms != house(12).rooms


def test_names_are_unique_and_long_enough() -> None:
    names = {house_name(seed) for seed in range(5000)}
    assert len(names) == 5000
    assert {len(name) for name in names} == {11}


@pytest.mark.parametrize("seed", SEEDS)
def test_rooms(seed: int) -> None:
    plan = house(seed)
    assert 6 <= len(plan.rooms) <= 16
    assert {room.kind for room in plan.rooms} <= set(ROOM_KINDS)
    assert [room.index for room in plan.rooms] == list(range(len(plan.rooms)))
    assert {"kitchen", "bedroom", "bathroom", "living room"} <= {room.kind for room in plan.rooms}
    for room in plan.rooms:
        assert min(room.x1_m - room.x0_m, room.y1_m - room.y0_m) >= 1.4, room
        assert 2.5 <= round(room.ceiling_z_m - room.floor_z_m, 3) <= 3.0
    for a in plan.rooms:
        for b in plan.rooms[: a.index]:
            apart = a.storey != b.storey or all(
                min(x1, right) + WALL_M / 2 <= max(x0, left) or min(y1, top) + WALL_M / 2 <= max(y0, bottom)
                for x0, y0, x1, y1 in a.rects()
                for left, bottom, right, top in b.rects()
            )
            assert apart, f"seed {seed}: {a} and {b} overlap"


@pytest.mark.parametrize("seed", SEEDS)
def test_openings_lie_in_the_walls_of_their_rooms(seed: int) -> None:
    plan = house(seed)
    fronts = [o for o in plan.openings if o.kind == "door" and o.rooms[1] < 0]
    assert len(fronts) == 1
    for opening in plan.openings:
        if opening.kind == "door":
            assert opening.width_m == pytest.approx(0.9)
            assert opening.top_z_m - opening.bottom_z_m == pytest.approx(2.05)
        for index in opening.rooms:
            if index < 0:
                continue
            at, level = (opening.x_m, opening.y_m) if opening.along == "x" else (opening.y_m, opening.x_m)
            walls = [wall for wall in plan.rooms[index].walls if wall.along == opening.along]
            wall = min(walls, key=lambda wall: abs(wall.level_m - level))
            assert abs(wall.level_m - level) == pytest.approx(WALL_M / 2, abs=0.011)
            assert wall.low_m < at - opening.width_m / 2
            assert at + opening.width_m / 2 < wall.high_m


def test_stairs_are_comfortable_and_open_above() -> None:
    found = 0
    for seed in SEEDS:
        plan = house(seed)
        for stair in plan.stairs:
            found += 1
            lower, upper = (plan.rooms[index] for index in stair.rooms)
            assert (lower.kind, upper.kind) == ("stair hall", "stair hall")
            assert stair.foot_m[2] == lower.floor_z_m
            assert stair.head_m[2] == upper.floor_z_m
            assert 0.17 <= stair_steps(stair)[1] <= 0.20
            hole_x, hole_y = stair_hole(stair)
            middle = ((hole_x[0] + hole_x[1]) / 2, (hole_y[0] + hole_y[1]) / 2)
            over = [
                p
                for p in plan.shell
                if p.label in ("floor", "ceiling")
                and abs(p.center_m[0] - middle[0]) < p.half_m[0]
                and abs(p.center_m[1] - middle[1]) < p.half_m[1]
                and lower.floor_z_m + 0.1 < p.center_m[2] < upper.ceiling_z_m - 0.1
            ]
            assert not over, f"seed {seed}: a slab closes the stair"
    assert found >= 10


def test_houses_differ() -> None:
    counts = {len(house(seed).rooms) for seed in SEEDS}
    kinds = {room.kind for seed in SEEDS for room in house(seed).rooms}
    assert len(counts) >= 7
    assert kinds == set(ROOM_KINDS)
    heights = {round(room.ceiling_z_m - room.floor_z_m, 2) for seed in SEEDS for room in house(seed).rooms}
    assert len(heights) >= 5
    views = {part.material for seed in SEEDS for part in house(seed).shell} & set(VIEWS)
    assert views == set(VIEWS)
    loops = sum(len(doors(house(seed))) + len(house(seed).stairs) >= len(house(seed).rooms) for seed in SEEDS)
    assert loops >= 12, "many houses need a cycle"
    ells = [room for seed in SEEDS for room in house(seed).rooms if room.notch_m is not None]
    assert len(ells) >= 8
    assert len({room.kind for room in ells}) >= 3
    assert {len(house(seed).stairs) for seed in SEEDS} == {0, 1, 2}


def test_doors_are_open_shut_and_of_glass() -> None:
    """Shut doors stand in their frames and close no room off; glass doors reach the floor; open plans the ceiling."""
    shut = glass = wide = 0
    for seed in SEEDS:
        plan = house(seed)
        for opening in plan.openings:
            floor, ceiling = (getattr(plan.rooms[opening.rooms[0]], name) for name in ("floor_z_m", "ceiling_z_m"))
            glass += opening.kind == "window" and opening.bottom_z_m < floor + 0.1
            wide += opening.kind == "passage" and opening.top_z_m == pytest.approx(ceiling)
        leaves = {(*t.center_m[:2], plan.rooms[t.room].storey) for t in plan.things if t.kind == "door"}
        closed = [o for o in doors(plan) if (o.x_m, o.y_m, plan.rooms[o.rooms[0]].storey) in leaves]
        shut += len(closed)
        left = [o.rooms for o in doors(plan) if o not in closed] + [s.rooms for s in plan.stairs]
        reached = {0}
        for _ in plan.rooms:
            reached |= {b for a, b in left if a in reached} | {a for a, b in left if b in reached}
        assert reached == set(range(len(plan.rooms))), f"seed {seed}"
    assert shut >= 10
    assert glass >= 5
    assert wide >= 5


def test_seats_stand_at_angles() -> None:
    """Armchairs across corners and chairs as people left them: many are not square to the walls."""
    kinds = ("armchair", "chair", "office chair")
    turns = [t.yaw_rad / (math.pi / 2) for seed in SEEDS for t in house(seed).things if t.kind in kinds]
    askew = sum(abs(turn - round(turn)) > 0.02 for turn in turns)
    assert 0.3 * len(turns) < askew < len(turns)


@pytest.mark.parametrize(
    ("size", "seeds"),
    [
        (HouseSize(storeys=(2, 2)), (1,)),
        (HouseSize(storeys=(3, 3)), (3,)),
        (HouseSize(storeys=(1, 1), rooms=(6, 8)), (0, 2)),
        (HouseSize(area_m2=(90.0, 130.0)), (0, 2)),
    ],
)
def test_houses_are_as_large_as_wished(size: HouseSize, seeds: tuple[int, ...]) -> None:
    with unchecked():
        plans = [make_house(seed, size) for seed in seeds]
    for plan in plans:
        assert size.storeys[0] <= len({room.storey for room in plan.rooms}) <= size.storeys[1]
        assert size.rooms[0] <= len(plan.rooms) <= size.rooms[1]
        walled = sum((x1 - x0) * (y1 - y0) for room in plan.rooms for x0, y0, x1, y1 in room.rects(WALL_M / 2))
        assert size.area_m2[0] - 0.1 <= walled <= size.area_m2[1] + 0.1


@pytest.mark.parametrize(
    "notch", [(0.0, 0.0, 2.0, 1.0), (3.0, 0.0, 5.0, 1.0), (3.0, 3.0, 5.0, 4.0), (0.0, 3.0, 2.0, 4.0)]
)
def test_an_ell_is_a_rectangle_without_a_corner(notch: tuple[float, float, float, float]) -> None:
    """Its parts, its outline, its walls and the points that it holds tell of the same 18 m²."""
    room = Room(0, "bedroom", 0, 0.0, 0.0, 5.0, 4.0, 0.0, 2.6, notch)
    assert room.area_m2 == pytest.approx(18.0)
    corners = room.corners()
    twice = sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1]))
    assert twice / 2 == pytest.approx(18.0)
    points = np.stack(np.meshgrid(np.arange(0.05, 5.0, 0.1), np.arange(0.05, 4.0, 0.1)), -1).reshape(-1, 2)
    inside = [any(a < x < c and b < y < d for a, b, c, d in room.rects()) for x, y in points]
    assert room.holds(points).tolist() == inside
    assert sum(inside) == 1800
    assert sum(wall.high_m - wall.low_m for wall in room.walls) == pytest.approx(18.0)
    assert len(room.walls) == 6
    for wall in room.walls:  # just before each wall is the room, just behind it is not
        middle, way = (wall.low_m + wall.high_m) / 2, sum(wall.inward)
        places = [(middle, wall.level_m + way * off) for off in (0.01, -0.01)]
        both = np.array([place if wall.along == "x" else place[::-1] for place in places])
        assert room.holds(both).tolist() == [True, False], wall
        assert min(room.gaps_m(*both[0].tolist())) == pytest.approx(0.01)


def test_sizes_that_cannot_be_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ghosts_houses.make._MISSES", 2)
    with pytest.raises(ConfigError, match=r"storeys must be two numbers, rising, in 1..3"):
        HouseSize(storeys=(2, 1))
    with pytest.raises(ConfigError, match=r"no plan gives a house of .*; widen --storeys, --rooms or --area"):
        make_house(0, HouseSize(area_m2=(1.0, 2.0)))
