"""Rays of one object meet where it is; a wrong heading convention makes them miss."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ghosts_sim.graph import NavGraph, load_graph
from ghosts_sim.landmarks.place import LISTING_RADIUS_M
from ghosts_sim.landmarks.reverie import Sighting, parse_listing
from ghosts_sim.landmarks.triangulate import (
    CUT_SIGMA_RAD,
    WHOLE_SIGMA_RAD,
    Bearings,
    bearing,
    ray_distance,
    triangulate,
    view_rotations,
)
from landmarks.conftest import boxes_of
from landmarks.rays import WRONG, hide, residuals


def random_rays(seed: int, count: int, noise_rad: float) -> tuple[np.ndarray, Bearings]:
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    point = rng.normal(size=3)
    origin = point + rng.normal(size=(count, 3)) * np.array([1.0, 1.0, 0.3])
    way = point - origin
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    way += rng.normal(size=way.shape) * noise_rad
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    return point, Bearings(origin, way, np.full(count, WHOLE_SIGMA_RAD))


@pytest.mark.parametrize("count", [2, 3, 6])
def test_exact_rays_meet_at_the_object(count: int) -> None:
    for seed in range(20):
        point, rays = random_rays(seed, count, 0.0)
        met = triangulate(rays)
        assert np.linalg.norm(met.position_m - point) < 0.01
        assert met.residual_m.max() < 0.005


def test_one_wrong_ray_of_five_is_outvoted() -> None:
    for seed in range(20):
        point, rays = random_rays(seed, 5, 0.0)
        rays.direction[0] = -rays.direction[0]
        met = triangulate(rays)
        assert np.linalg.norm(met.position_m - point) < 0.03
        assert met.residual_m[0] > 0.1  # behind the camera: as far as the camera itself


def test_covariance_covers_the_error() -> None:
    squared = []
    for seed in range(300):
        point, rays = random_rays(seed, 4, WHOLE_SIGMA_RAD)
        met = triangulate(rays)
        error = met.position_m - point
        squared.append(error @ np.linalg.solve(met.covariance_m2, error) / 3.0)
    # 1 when calibrated; the covariance never shrinks below the assumed noise and grows with bad luck.
    assert 0.4 < np.mean(squared) < 1.5


def test_parallel_rays_keep_a_large_covariance() -> None:
    rays = Bearings(
        np.array([[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]),
        np.array([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]),
        np.full(2, WHOLE_SIGMA_RAD),
    )
    met = triangulate(rays)
    assert np.isfinite(met.position_m).all()
    assert math.sqrt(met.covariance_m2[1, 1]) > 5.0
    assert math.sqrt(met.covariance_m2[0, 0]) < 0.05


def test_distance_to_a_ray_counts_from_the_camera_when_behind() -> None:
    rays = Bearings(np.zeros((1, 3)), np.array([[0.0, 1.0, 0.0]]), np.array([0.01]))
    assert ray_distance(np.array([0.5, 2.0, 0.0]), rays)[0] == pytest.approx(0.5)
    assert ray_distance(np.array([0.0, -2.0, 0.0]), rays)[0] == pytest.approx(2.0)


def test_view_numbers_are_heading_then_elevation() -> None:
    forward = view_rotations()[:, :, 2]
    np.testing.assert_allclose(forward[12], [0, 1, 0], atol=1e-12)  # level, north
    np.testing.assert_allclose(forward[15], [1, 0, 0], atol=1e-12)  # three steps right: east
    np.testing.assert_allclose(forward[3], [math.sqrt(0.75), 0, -0.5], atol=1e-12)  # the same, looking down
    np.testing.assert_allclose(forward[27], [math.sqrt(0.75), 0, 0.5], atol=1e-12)


def test_whole_boxes_count_alone() -> None:
    # View 12 shows the object whole, straight ahead; view 13 cuts it at its left edge.
    boxes = np.array([[310.0, 230.0, 20.0, 20.0], [0.0, 100.0, 300.0, 300.0]])
    way, sigma = bearing(Sighting("1", "chair", np.array([12, 13]), boxes), view_rotations())
    np.testing.assert_allclose(way, [0, 1, 0], atol=1e-12)
    assert sigma == WHOLE_SIGMA_RAD


def test_cut_boxes_count_by_area_and_are_less_certain() -> None:
    boxes = np.array([[0.0, 140.0, 640.0, 200.0], [0.0, 239.0, 1.0, 2.0]])
    way, sigma = bearing(Sighting("1", "wall", np.array([12, 13]), boxes), view_rotations())
    np.testing.assert_allclose(way, [0, 1, 0], atol=1e-3)
    assert sigma == CUT_SIGMA_RAD


@dataclass(frozen=True)
class MadeUp:
    """Objects in a real building's graph, listed as REVERIE lists them."""

    graph: NavGraph
    regions: dict[str, str]
    objects: dict[str, dict[str, Sighting]]


@pytest.fixture(scope="module")
def made_up(navigation: Path) -> MadeUp:
    """Small objects on the floor, the walls and between, within 2 m of a viewpoint; boxes off by 0.5°."""
    rng = np.random.default_rng(0)
    graph = load_graph(navigation / "connectivity" / "17DRP5sb8fy_connectivity.json")
    position = graph.position_m
    # Rooms: whoever is nearest to one of ten viewpoints.
    middles = position[rng.choice(np.flatnonzero(graph.included), 10, replace=False)]
    room_of = lambda point: int(np.linalg.norm(middles - point, axis=1).argmin())  # noqa: E731
    regions = {name: str(room_of(at)) for name, at in zip(graph.ids, position)}
    objects: dict[str, dict[str, Sighting]] = {}
    while len(objects) < 120:
        beside = position[rng.choice(np.flatnonzero(graph.included))]
        point = beside + rng.uniform([-2.0, -2.0, -1.4], [2.0, 2.0, 1.2])
        seen = {}
        for row in np.flatnonzero(graph.included):
            same_room = regions[graph.ids[row]] == str(room_of(point))
            if same_room and np.linalg.norm(position[row] - point) < LISTING_RADIUS_M:
                moved = point + rng.normal(size=3) * math.radians(0.5) * np.linalg.norm(point - position[row])
                views, boxes = boxes_of(position[row], moved)
                whole = [[round(edge) for edge in box] for box in boxes]
                record = {"name": "lamp", "visible_pos": views, "bbox2d": whole}
                content = json.dumps({graph.ids[row]: {str(len(objects)): record}}).encode()
                (seen[graph.ids[row]],) = parse_listing(content, graph.ids[row], "made up")
        if seen:
            objects[str(len(objects))] = seen
    return MadeUp(graph, regions, objects)


def test_rays_meet_and_wrong_conventions_do_not(made_up: MadeUp) -> None:
    right = residuals(made_up.graph, made_up.objects)
    assert len(right) > 40
    print(f"{len(right)} objects, median residual {np.median(right):.4f} m")
    assert np.median(right) < 0.03
    for name, table in WRONG.items():
        wrong = np.median(residuals(made_up.graph, made_up.objects, table))
        print(f"  {name}: {wrong:.3f} m, {wrong / np.median(right):.0f} times")
        assert wrong > 5.0 * np.median(right), name


def test_placements_without_rays_are_as_uncertain_as_they_say(made_up: MadeUp) -> None:
    """Hide what is known of well triangulated objects: error² over claimed variance averages about 1."""
    hidden = hide(made_up.graph, made_up.regions, made_up.objects)
    print(f"one ray: median error {np.median(hidden.ray_error_m):.3f} m over {len(hidden.ray_error_m)}")
    print(f"error² / variance: one ray {np.mean(hidden.one_ray):.2f}, no ray {np.mean(hidden.no_ray):.2f}")
    assert len(hidden.no_ray) > 20
    assert np.median(hidden.ray_error_m) < 0.3
    assert 0.5 < np.mean(hidden.one_ray) < 1.6
    assert 0.5 < np.mean(hidden.no_ray) < 1.6
