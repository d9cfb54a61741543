"""Rays of one object meet where it is; a wrong heading convention makes them miss."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from ghosts.geometry import camera_to_world
from ghosts.world.graph import load_graph
from ghosts.world.landmarks.build import gather_rays
from ghosts.world.landmarks.place import near, on_ray
from ghosts.world.landmarks.regions import read_regions
from ghosts.world.landmarks.reverie import Sighting, parse_listing, read_listings
from ghosts.world.landmarks.triangulate import (
    CUT_SIGMA_RAD,
    WHOLE_SIGMA_RAD,
    Bearings,
    bearing,
    ray_distance,
    triangulate,
    view_rotations,
)

REAL_SCANS = ("17DRP5sb8fy", "pRbA3pwrgk9")


def rotations(mirrored: bool = False, turned_rad: float = 0.0) -> np.ndarray:
    """View rotations of another convention."""
    view = np.arange(36)
    heading = view % 12 * math.pi / 6 * (-1.0 if mirrored else 1.0) + turned_rad
    return camera_to_world(np.zeros(3), heading, (view // 12 - 1) * math.pi / 6)[:, :3, :3]


WRONG = {
    "mirrored": rotations(mirrored=True),
    "turned by 30°": rotations(turned_rad=math.pi / 6),
    "turned by 90°": rotations(turned_rad=math.pi / 2),
    "turned by 180°": rotations(turned_rad=math.pi),
}


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


def real_objects(data: Path, scan: str) -> dict[str, dict[str, Sighting]]:
    listings = read_listings(data / "reverie" / "BBox.tar.gz")[scan]
    objects: dict[str, dict[str, Sighting]] = defaultdict(dict)
    for viewpoint, content in listings.items():
        for sighting in parse_listing(content, viewpoint, scan):
            objects[sighting.object_id][viewpoint] = sighting
    return objects


def residuals(data: Path, scan: str, table: np.ndarray | None) -> list[float]:
    graph = load_graph(data / "connectivity" / f"{scan}_connectivity.json")
    found = []
    for seen in real_objects(data, scan).values():
        rays = gather_rays(graph, seen, table)
        if len(rays.sigma_rad) >= 2:
            found.append(float(np.sqrt((triangulate(rays).residual_m ** 2).mean())))
    return found


@pytest.mark.parametrize("scan", REAL_SCANS)
def test_real_rays_meet_and_wrong_conventions_do_not(r2r_data: Path, scan: str) -> None:
    right = residuals(r2r_data, scan, None)
    assert len(right) > 50
    print(f"{scan}: {len(right)} objects, median residual {np.median(right):.4f} m")
    assert np.median(right) < 0.03
    for name, table in WRONG.items():
        wrong = np.median(residuals(r2r_data, scan, table))
        print(f"  {name}: {wrong:.3f} m, {wrong / np.median(right):.0f} times")
        assert wrong > 5.0 * np.median(right), name


def test_real_placements_without_rays_are_as_uncertain_as_they_say(r2r_data: Path) -> None:
    """Hide what is known of well triangulated objects: error² over claimed variance averages about 1."""
    on_one_ray, without_ray, ray_error = [], [], []
    for scan in REAL_SCANS:
        graph = load_graph(r2r_data / "connectivity" / f"{scan}_connectivity.json")
        regions = read_regions(r2r_data / "regions" / f"{scan}.panorama_to_region.txt")
        for seen in real_objects(r2r_data, scan).values():
            rays = gather_rays(graph, seen)
            if len(rays.sigma_rad) < 2:
                continue
            met = triangulate(rays)
            if met.residual_m.max() > 0.03 or met.covariance_m2[:2, :2].trace() > 0.02:
                continue
            room = {regions[name].region for name in seen}
            peers = [row for row, name in enumerate(graph.ids) if graph.included[row]]
            absent = [row for row in peers if regions[graph.ids[row]].region in room and graph.ids[row] not in seen]
            for name, sighting in seen.items():
                here = graph.position_m[[graph.index(name)]]
                if len(sighting.views):
                    one = gather_rays(graph, {name: sighting})
                    mean, covariance = on_ray(one, here, graph.position_m[absent])
                    error = (mean - met.position_m)[:2]
                    ray_error.append(float(np.linalg.norm(error)))
                    on_one_ray.append(error @ error / covariance[:2, :2].trace())
            everyone = graph.position_m[[graph.index(name) for name in seen]]
            mean, covariance = near(everyone, graph.position_m[absent])
            error = (mean - met.position_m)[:2]
            without_ray.append(error @ error / covariance[:2, :2].trace())
    print(f"one ray: median error {np.median(ray_error):.3f} m over {len(ray_error)}; error² / variance:")
    print(f"  one ray {np.mean(on_one_ray):.2f}, no ray {np.mean(without_ray):.2f}")
    assert np.median(ray_error) < 0.3
    assert 0.5 < np.mean(on_one_ray) < 1.6
    assert 0.5 < np.mean(without_ray) < 1.6
