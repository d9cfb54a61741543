"""A body in a house: where it stands, how it moves, how far it has to go."""

from __future__ import annotations

import math

import numpy as np
import pytest

from checks import unchecked
from ghosts_houses.body.geodesic import Geodesic
from ghosts_houses.body.ground import Ground, make_ground
from ghosts_houses.body.moves import BodyPose, forward, stand, turn
from ghosts_houses.graph.viewpoints import HouseGraph
from ghosts_houses.house import House
from ghosts_sim.errors import DataError
from ghosts_sim.motion import Body
from handmade import STOREY_M
from made import graph, house

EAST, NORTH = math.pi / 2, 0.0


@pytest.fixture(scope="module")
def ground(handmade: House) -> Ground:
    return make_ground(handmade)


Made = tuple[House, HouseGraph, Ground]


@pytest.fixture(scope="module")
def made() -> Made:
    """A made house of two storeys, its graph and its ground."""
    with unchecked():
        plan = house(4)
        return plan, graph(4), make_ground(plan)


def walk(ground: Ground, pose: BodyPose, steps: int) -> tuple[BodyPose, int]:
    bumps = 0
    for _ in range(steps):
        pose, bumped = forward(ground, pose, 0.25)
        bumps += bumped
    return pose, bumps


def test_a_free_step_is_a_quarter_metre_and_a_turn_stays(ground: Ground) -> None:
    start = stand(ground, 2.0, 4.0, 0.0, EAST)
    after, bumped = forward(ground, start, 0.25)
    assert (after.x_m, after.y_m, bumped) == (pytest.approx(2.25), pytest.approx(4.0), False)
    turned = turn(start, -math.pi / 12)
    assert (turned.x_m, turned.y_m) == (2.0, 4.0)
    assert turned.heading_rad == pytest.approx(EAST - math.pi / 12)
    assert start.camera(1.25).z_m == 1.25


def test_a_wall_stops_a_body_before_it_touches(ground: Ground) -> None:
    pose, bumps = walk(ground, stand(ground, 0.6, 3.4, 0.0, -EAST), 6)
    assert pose.x_m == pytest.approx(0.1, abs=0.03)  # the wall is at 0
    assert bumps == 4


def test_a_body_slides_along_a_wall_unless_it_may_not(handmade: House, ground: Ground) -> None:
    askew = -EAST + 0.5
    slid, bumps = walk(ground, stand(ground, 0.15, 4.95, 0.0, askew), 4)
    assert slid.y_m - 4.95 == pytest.approx(4 * 0.25 * math.sin(0.5), abs=0.04)
    assert bumps == 4
    stiff = make_ground(handmade, Body(slide=False))
    stuck, _ = walk(stiff, stand(stiff, 0.15, 4.95, 0.0, askew), 4)
    assert stuck.y_m - 4.95 < 0.05


def test_a_body_goes_round_furniture_not_through_it(ground: Ground) -> None:
    # The fridge stands at 8.25..8.95, 6.25..6.95.
    pose, bumps = walk(ground, stand(ground, 8.6, 5.5, 0.0, NORTH), 6)
    assert pose.y_m == pytest.approx(6.25 - 0.1, abs=0.03)
    assert bumps >= 3
    rug, bumps = walk(ground, stand(ground, 1.4, 4.8, 0.0, EAST), 6)
    assert (rug.x_m, bumps) == (pytest.approx(2.9), 0)


def test_stairs_lead_up_and_down_again(ground: Ground) -> None:
    pose, heights = stand(ground, 1.5, 0.55, 0.0, EAST), []
    for _ in range(22):
        pose, bumped = forward(ground, pose, 0.25)
        heights.append(pose.z_m)
        assert not bumped
    assert (pose.layer, pose.z_m) == (1, STOREY_M)
    assert heights == sorted(heights)
    assert heights[8] == pytest.approx(STOREY_M * (1.5 + 9 * 0.25 - 2.2) / 4.0, abs=1e-6)
    pose, bumps = walk(ground, turn(pose, math.pi), 22)
    assert (pose.layer, pose.z_m, bumps) == (0, 0.0, 0)


def test_nobody_falls_off_a_stair_or_into_its_well(ground: Ground) -> None:
    middle, _ = walk(ground, stand(ground, 1.5, 0.55, 0.0, EAST), 10)
    aside, _ = walk(ground, turn(middle, -EAST), 8)
    assert aside.y_m < 1.1  # still on the flight
    assert aside.z_m > 0.5
    edge, bumps = walk(ground, stand(ground, 4.0, 1.8, STOREY_M, math.pi), 8)
    assert edge.y_m == pytest.approx(1.05 + 0.1, abs=0.04)  # the well ends at 1.05
    assert (edge.layer, bumps > 0) == (1, True)


def test_flights_above_each_other_lead_up_and_down_again() -> None:
    plan = house(12)
    assert len(plan.stairs) == 2
    with unchecked():
        ground = make_ground(plan)
        for layer, stair in enumerate(plan.stairs):
            x, foot, head = stair.foot_m[0], stair.foot_m[1], stair.head_m[1]
            up, steps = math.copysign(1.0, head - foot), math.ceil((abs(head - foot) + 1.0) / 0.25)
            below = stand(ground, x, foot - 0.5 * up, stair.foot_m[2], NORTH if up > 0 else math.pi)
            above, bumps = walk(ground, below, steps)
            assert (above.layer, above.z_m, bumps) == (layer + 1, stair.head_m[2], 0)
            back, bumps = walk(ground, turn(above, math.pi), steps)
            assert (back.layer, back.z_m, bumps) == (layer, stair.foot_m[2], 0)
            half, _ = walk(ground, below, steps // 2)
            aside, bumps = walk(ground, turn(half, math.pi / 2), 8)
            assert bumps > 0
            assert abs(aside.x_m - x) < stair.width_m / 2


def test_a_random_walk_stays_in_the_house(made: Made) -> None:
    plan, graph, ground = made
    with unchecked():
        rng, start = np.random.default_rng(0), graph.viewpoints[0]
        pose, layers, nowhere = stand(ground, start.x_m, start.y_m, start.z_m - start.height_m, 0.0), set(), 0
        doors = np.array([(o.x_m, o.y_m) for o in plan.openings if o.inner])
        for _ in range(3000):
            pose, bumped = forward(ground, pose, 0.25)
            if bumped or rng.random() < 0.2:
                pose = turn(pose, float(rng.uniform(-math.pi, math.pi)))
            assert ground.clearance_m(pose.x_m, pose.y_m, pose.layer) >= ground.body.radius_m
            layers.add(pose.layer)
            on_floor = pose.z_m == ground.layers[pose.layer].floor_z_m
            if on_floor and plan.rooms_at(np.array([[pose.x_m, pose.y_m, pose.z_m + 0.5]]))[0] < 0:
                nowhere += 1
                assert np.linalg.norm(doors - (pose.x_m, pose.y_m), axis=1).min() < 1.5
    assert layers == {0, 1}
    assert nowhere < 300


def test_distances_are_those_of_the_shortest_walk(handmade: House, ground: Ground) -> None:
    geodesic = Geodesic(ground)
    field = geodesic.field(1.0, 3.2, 0)
    straight = math.hypot(3.0, 2.0)
    assert field.at(4.0, 5.2, 0) == pytest.approx(straight, rel=0.03)
    # From the hallway round the left edge of the passage, at 1.7, with a radius of 0.1.
    around = math.dist((1.0, 3.2), (1.8, 2.72)) + 0.12 + math.dist((1.8, 2.6), (0.5, 1.7))
    assert field.at(0.5, 1.7, 0) == pytest.approx(around, rel=0.04)
    upstairs = geodesic.field(6.8, 0.55, 1)
    flight = math.hypot(4.0, STOREY_M)
    assert upstairs.at(1.6, 0.55, 0) == pytest.approx(0.6 + flight + 0.6, rel=0.03)
    way = upstairs.way_m(1.6, 0.55, 0)
    assert np.linalg.norm(np.diff(way, axis=0), axis=1).sum() == pytest.approx(0.6 + flight + 0.6, rel=0.04)
    assert way[0, 2] == 0.0
    assert way[-1, 2] == STOREY_M


def test_every_viewpoint_of_a_house_can_be_reached_by_a_body(made: Made) -> None:
    _, graph, ground = made
    with unchecked():
        places = [stand(ground, p.x_m, p.y_m, p.z_m - p.height_m, 0.0) for p in graph.viewpoints]
        field = Geodesic(ground).field(places[0].x_m, places[0].y_m, places[0].layer)
    distances = [field.at(place.x_m, place.y_m, place.layer) for place in places]
    apart = np.linalg.norm(graph.positions_m - graph.positions_m[0], axis=1)
    assert np.isfinite(distances).all()
    assert (np.array(distances) > apart - 0.45).all()  # cameras differ in height on stairs
    assert {place.layer for place in places} == {0, 1}


def test_where_nobody_can_stand_is_told(ground: Ground) -> None:
    with pytest.raises(DataError, match=r"pose \(5.06, 3.0, 0.0\): a body of radius 0.1 m does not fit here.*slimmer"):
        stand(ground, 5.06, 3.0, 0.0, 0.0)
    with pytest.raises(DataError, match="does not fit here"):
        stand(ground, 200.0, 3.0, 0.0, 0.0)
    with pytest.raises(DataError, match="no floor at this height; choose a place in a room"):
        stand(ground, 2.0, 4.0, 1.4, 0.0)
    with pytest.raises(DataError, match=r"no room for a body within 0.5 m"):
        Geodesic(ground).field(200.0, 3.0, 0)
