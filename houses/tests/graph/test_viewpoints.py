"""Viewpoints stand free, edges can be walked, lines of sight are true."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

import made
from checks import unchecked
from ghosts_houses.graph.obstacles import (
    Obstacles,
    lattice_room_m,
    stair_coordinates,
    stair_length_m,
    standing_room_m,
    walkable_stair,
)
from ghosts_houses.graph.viewpoints import EDGE_MAX_M, HouseGraph, connectivity, distances_m
from ghosts_houses.house import POSE_ROTATION, House, Primitive
from ghosts_sim.graph import parse_graph

SEEDS = (9, 12)


@pytest.fixture(scope="module", params=["handmade", *SEEDS], ids=str)
def case(request: pytest.FixtureRequest, handmade: House, handmade_graph: HouseGraph) -> tuple[House, HouseGraph]:
    if request.param == "handmade":
        return handmade, handmade_graph
    return made.house(request.param), made.graph(request.param)


def inside(part: Primitive, points: np.ndarray, margin_m: float) -> np.ndarray:
    """Whether points lie in a solid grown by a margin, written out shape by shape."""
    delta = points - np.array(part.center_m)
    cos, sin = np.cos(part.yaw_rad), np.sin(part.yaw_rad)
    local = np.stack([delta[:, 0] * cos + delta[:, 1] * sin, delta[:, 1] * cos - delta[:, 0] * sin, delta[:, 2]], 1)
    scaled = np.abs(local) / (np.array(part.half_m) + margin_m)
    if part.shape == "box":
        return (scaled < 1).all(1)
    if part.shape == "cylinder":
        return (np.hypot(scaled[:, 0], scaled[:, 1]) < 1) & (scaled[:, 2] < 1)
    return (scaled**2).sum(1) < 1


def test_no_camera_in_or_near_a_solid(case: tuple[House, HouseGraph]) -> None:
    house, graph = case
    for part in house.primitives:
        assert not inside(part, graph.positions_m, 0.05).any(), part


def test_blocking_things_keep_a_quarter_metre(case: tuple[House, HouseGraph]) -> None:
    house, graph = case
    floor = np.array([[p.x_m, p.y_m] for p in graph.viewpoints if p.stair < 0])
    z = np.array([p.z_m - p.height_m for p in graph.viewpoints if p.stair < 0])
    for thing in house.things:
        if not thing.blocks:
            continue
        level = (thing.center_m[2] - thing.half_m[2] < z + 1.75) & (thing.center_m[2] + thing.half_m[2] > z + 0.08)
        delta = floor - np.array(thing.center_m[:2])
        cos, sin = np.cos(thing.yaw_rad), np.sin(thing.yaw_rad)
        x = np.maximum(np.abs(delta[:, 0] * cos + delta[:, 1] * sin) - thing.half_m[0], 0)
        y = np.maximum(np.abs(delta[:, 1] * cos - delta[:, 0] * sin) - thing.half_m[1], 0)
        assert np.hypot(x, y)[level].min(initial=9.0) >= 0.25 - 1e-3, thing.kind


def test_every_edge_can_be_walked(case: tuple[House, HouseGraph]) -> None:
    """A disc of 0.19 m moved along each edge in 5 cm steps touches no blocking thing, wall or frame at body height."""
    with unchecked():
        _walk_all_edges(*case)


def _walk_all_edges(house: House, graph: HouseGraph) -> None:
    obstacles = Obstacles.of(house)
    for a, b in np.argwhere(np.triu(graph.unobstructed)):
        p, q = graph.viewpoints[a], graph.viewpoints[b]
        length = float(np.linalg.norm(np.array(p.position_m) - q.position_m))
        assert length <= EDGE_MAX_M
        if p.stair >= 0 or q.stair >= 0:
            ends = [(v.x_m, v.y_m, v.z_m - v.height_m) for v in (p, q)]
            assert walkable_stair(obstacles, house.stairs[max(p.stair, q.stair)], *ends)
            continue
        points = np.linspace(p.xy_m, q.xy_m, int(length / 0.05) + 2)
        z = p.z_m - p.height_m
        body = np.tile([z + 0.08, z + 1.75], (len(points), 1))
        assert obstacles.clearance_m(points, points, body).min() >= 0.19


def test_stair_edges_rise_along_the_flight(handmade: House, handmade_graph: HouseGraph) -> None:
    graph = handmade_graph
    stair = handmade.stairs[0]
    on_stair = [k for k, point in enumerate(graph.viewpoints) if point.stair == 0]
    assert on_stair
    for k in on_stair:
        point = graph.viewpoints[k]
        along = stair_coordinates(stair, np.array([point.xy_m]))[0, 0]
        expected = stair.foot_m[2] + along / stair_length_m(stair) * (stair.head_m[2] - stair.foot_m[2])
        assert point.z_m - point.height_m == pytest.approx(expected, abs=1e-3)
    storeys = {
        handmade.rooms[graph.viewpoints[j].room].storey for k in on_stair for j in np.flatnonzero(graph.unobstructed[k])
    }
    assert storeys == {0, 1}
    # From the upper floor beyond the foot of the flight there is no step onto it.
    above_foot, middle = (1.5, 0.55, 2.8), (4.2, 0.55, 1.4)
    assert not walkable_stair(Obstacles.of(handmade), stair, above_foot, middle)
    assert walkable_stair(Obstacles.of(handmade), stair, (1.5, 0.55, 0.0), middle)


def test_visible_is_the_line_of_sight(case: tuple[House, HouseGraph]) -> None:
    """Against points sampled every 2 cm on the lines between cameras."""
    house, graph = case
    rng = np.random.default_rng(3)
    positions = graph.positions_m
    pairs = np.argwhere(np.triu(np.ones_like(graph.visible), 1))
    pairs = pairs[rng.choice(len(pairs), 60, replace=False)]
    length = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    lines = [np.linspace(*positions[pair], int(long / 0.05) + 2) for pair, long in zip(pairs, length)]
    points, line = np.concatenate(lines), np.repeat(np.arange(len(lines)), [len(points) for points in lines])
    blocked, thin = np.zeros(len(lines), bool), np.zeros(len(lines), bool)
    for part in house.primitives:
        near = np.flatnonzero((np.abs(points - part.center_m) < np.linalg.norm(part.half_m) + 0.03).all(1))
        blocked[line[near[inside(part, points[near], 0.0)]]] = True
        thin[line[near[inside(part, points[near], 0.015)]]] = True
    visible = graph.visible[tuple(pairs.T)]
    assert not visible[blocked].any()
    assert visible[~blocked & ~thin].all()
    assert 5 < visible.sum() < 55


def test_graph_is_connected_symmetric_and_reaches_every_room(case: tuple[House, HouseGraph]) -> None:
    house, graph = case
    assert connected_components(csr_matrix(graph.unobstructed), directed=False)[0] == 1
    assert (graph.unobstructed == graph.unobstructed.T).all()
    assert not graph.unobstructed.diagonal().any()
    assert not (graph.unobstructed & ~graph.visible).any()
    assert {point.room for point in graph.viewpoints} == {room.index for room in house.rooms}
    assert all(1.4 <= point.height_m <= 1.6 for point in graph.viewpoints)


def test_connectivity_is_what_the_reader_of_real_files_accepts(case: tuple[House, HouseGraph]) -> None:
    house, graph = case
    records = connectivity(graph)
    assert all(re.fullmatch("[0-9a-f]{32}", record["image_id"]) for record in records)
    read = parse_graph(house.name, records, Path("made.json"))
    np.testing.assert_allclose(read.position_m, graph.positions_m)
    assert (read.adjacent == graph.unobstructed).all()
    assert (read.visible == graph.visible).all()
    np.testing.assert_allclose(read.distance_m, distances_m(graph)[0])
    np.testing.assert_array_equal(read.rotation[0], POSE_ROTATION)


def test_spacing_is_like_r2r() -> None:
    graphs = [made.graph(seed) for seed in (0, 4)]
    lengths = np.concatenate([g.edge_lengths_m()[g.unobstructed] for g in graphs])
    assert 1.9 < lengths.mean() < 2.6  # R2R: 2.25
    assert 2.6 < np.concatenate([g.unobstructed.sum(1) for g in graphs]).mean() < 5.6  # R2R: 4.1
    assert 25 <= np.mean([len(g.viewpoints) for g in graphs]) <= 65


def test_room_on_a_lattice_is_that_of_its_points() -> None:
    """Up to the reach to the bit; beyond it, a distance may be left out."""
    house = made.house(9)
    obstacles, xs, ys = Obstacles.of(house), np.arange(0.0, 12.0, 0.13), np.arange(0.0, 9.0, 0.11)
    points = np.stack(np.meshgrid(xs, ys, indexing="ij"), -1).reshape(-1, 2)
    true = standing_room_m(obstacles, points, 0.0).reshape(len(xs), len(ys))
    found = lattice_room_m(obstacles, xs, ys, 0.0, 0.4)
    np.testing.assert_array_equal(found[true <= 0.4], true[true <= 0.4])
    assert (found[true > 0.4] > 0.4).all()
    assert 0.2 < (true <= 0.4).mean() < 0.9
