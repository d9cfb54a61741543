"""The listing rule, used both ways."""

from __future__ import annotations

import numpy as np

from ghosts_sim.landmarks.place import near, on_ray, place
from ghosts_sim.landmarks.triangulate import WHOLE_SIGMA_RAD, Bearings

NONE = np.zeros((0, 3))
CAMERA = np.zeros((1, 3))


def rays(*pairs: tuple[list[float], list[float]]) -> Bearings:
    origin = np.array([pair[0] for pair in pairs], float).reshape(-1, 3)
    way = np.array([pair[1] for pair in pairs], float).reshape(-1, 3)
    return Bearings(origin, way / np.linalg.norm(way, axis=1, keepdims=True), np.full(len(pairs), WHOLE_SIGMA_RAD))


def test_one_ray_alone_has_the_mean_of_a_linear_density() -> None:
    mean, covariance = on_ray(rays(([0, 0, 0], [0, 1, 0])), CAMERA, NONE)
    # Density ∝ r on [0, 2]: mean 4/3, variance 2/9; the soft edge and the 2 % of exceptions add a little.
    assert abs(mean[1] - 4 / 3) < 0.06
    assert abs(covariance[1, 1] - 2 / 9) < 0.04
    assert abs(covariance[0, 0] - (mean[1] * WHOLE_SIGMA_RAD) ** 2) < 1e-9


def test_a_silent_viewpoint_pushes_the_object_away() -> None:
    silent = np.array([[0.0, 3.0, 0.0]])  # covers y from 1 m on
    mean, covariance = on_ray(rays(([0, 0, 0], [0, 1, 0])), CAMERA, silent)
    assert 0.55 < mean[1] < 0.8
    assert covariance[1, 1] < 0.12


def test_a_second_listing_viewpoint_pulls_it_near() -> None:
    mean, _ = on_ray(rays(([0, 0, 0], [0, 1, 0])), np.array([[0, 0, 0], [0, 3.4, 0]], float), NONE)
    assert 1.6 < mean[1] < 1.8


def test_without_bearing_it_lies_around_its_viewpoint() -> None:
    mean, covariance = near(CAMERA, NONE)
    np.testing.assert_allclose(mean[:2], 0.0, atol=1e-9)
    assert 0.7 < np.sqrt(covariance[0, 0]) < 1.2  # a full ball of 2 m has 0.89


def test_without_bearing_it_keeps_away_from_silent_viewpoints() -> None:
    mean, _ = near(CAMERA, np.array([[1.5, 0.0, 0.0]]))
    assert mean[0] < -0.6
    assert abs(mean[1]) < 1e-9


def test_methods_by_what_is_known() -> None:
    crossing = rays(([0, 0, 0], [1, 0, 0]), ([1, -1, 0], [0, 1, 0]))
    cameras = crossing.origin_m
    met = place(crossing, cameras, NONE)
    assert met.method == "triangulated"
    np.testing.assert_allclose(met.position_m, [1, 0, 0], atol=0.001)
    assert met.residual_m is not None
    assert met.residual_m < 0.001
    assert met.uncertainty_m < 0.05

    along = rays(([0, 0, 0], [1, 0, 0]), ([-0.2, 0, 0], [1, 0, 0]))
    alone = place(along, along.origin_m, NONE)
    assert alone.method == "ray"  # parallel rays say no more than one
    assert 0.2 < alone.uncertainty_m < 0.5

    apart = rays(([0, 0, 0], [1, 0, 0]), ([0, 1.5, 0], [0, 1, 0]))
    assert place(apart, apart.origin_m, NONE).method == "ray"

    lost = place(rays(), CAMERA, NONE)
    assert lost.method == "near"
    assert lost.residual_m is None
