from __future__ import annotations

from dataclasses import replace

import numpy as np

from ghosts.world.depth_fill import fill_depth
from ghosts.world.matterport.fill import fill_faces
from ghosts.world.matterport.panorama import PrepareConfig, make_panorama, read_depth, read_skybox
from ghosts.world.matterport.raw import RawRelease
from ghosts.world.matterport.warp import warp_depth
from world.matterport.release import SCAN, UNITS_PER_M, Shot, in_disc, true_faces, true_frames, two_rooms

FACE_PX = 192
LARGEST = np.pi * 15.0**2
"""Pixels of a hole 30 pixels wide."""


def test_holes_of_30_pixels_are_filled_within_5_percent(release: RawRelease, shots: list[Shot]) -> None:
    on_a_plane, others, large = [], [], 0
    for shot in shots:
        rig = release.cameras(SCAN)[shot.viewpoint]
        distance = warp_depth(rig, read_depth(release, SCAN, shot.viewpoint), FACE_PX).distance
        filled = fill_faces(distance, read_skybox(release, SCAN, shot.viewpoint, FACE_PX))
        np.testing.assert_array_equal(filled[distance > 0.0], distance[distance > 0.0])
        true = true_faces(shot, FACE_PX)
        error = np.abs(filled / UNITS_PER_M - true.depth_m) / true.depth_m
        rays = true_frames(shot, FACE_PX).rays().numpy()
        for disc in shot.holes:
            hole = in_disc(replace(shot, holes=disc[None]), rays) & (distance == 0.0)
            if 0 < hole.sum() <= LARGEST:
                flat = len(np.unique(true.solid[hole])) == 1 and two_rooms()[true.solid[hole][0]].shape == "box"
                (on_a_plane if flat else others).append(error[hole])
                large += hole.sum() > 0.5 * LARGEST
    assert len(on_a_plane) >= 10
    assert len(others) >= 3
    assert large >= 5
    assert (np.concatenate(on_a_plane) < 0.05).all()
    assert (np.concatenate(on_a_plane + others) < 0.05).mean() > 0.9


def test_a_hole_across_a_depth_step_is_filled_from_both_sides() -> None:
    """Before a black and a white surface, a hole 20 pixels wide: 2 pixels from the edge no depth lies in between."""
    distance = np.full((6, 128, 128), 8000.0, np.float32)
    distance[:, :, 64:] = 16000.0
    colour = np.full((6, 128, 128, 3), 20, np.uint8)
    colour[:, :, 64:] = 230
    truth = distance.copy()
    distance[:, 50:70, 54:74] = 0.0
    filled = fill_faces(distance, colour)
    away = np.ones(128, bool)
    away[62:66] = False
    np.testing.assert_allclose(filled[:, :, away], truth[:, :, away], rtol=0.05)


def test_depth_is_not_rounded_to_8_bits() -> None:
    random = np.random.default_rng(3)
    depth = 1000.0 + np.arange(96 * 96, dtype=np.float64).reshape(96, 96) / 7.0
    missing = random.random(depth.shape) < 0.2
    filled = fill_depth(np.where(missing, 0.0, depth), np.full(depth.shape, 0.5), missing, planes=True)
    assert len(np.unique(filled[missing])) > 0.9 * missing.sum()
    np.testing.assert_allclose(filled[~missing], depth[~missing], rtol=0)


def test_a_plane_goes_on_into_a_hole_at_the_border() -> None:
    y, x = np.mgrid[:64, :64].astype(float)
    depth = 100.0 + x - 0.5 * y
    missing = x < 8
    grey = np.full(depth.shape, 0.5)
    np.testing.assert_allclose(fill_depth(np.where(missing, 0, depth), grey, missing, planes=True), depth, rtol=0.025)
    mean = fill_depth(np.where(missing, 0, depth), grey, missing)
    assert np.abs(mean / depth - 1.0).max() > 0.08


def test_faces_without_any_reading_stay_empty() -> None:
    distance = np.zeros((6, 32, 32), np.float32)
    distance[2] = 5.0
    filled = fill_faces(distance, np.zeros((6, 32, 32, 3), np.uint8))
    assert (filled[2] == 5.0).all()
    assert not filled[[0, 1, 3, 4, 5]].any()


def test_figures_of_a_panorama(release: RawRelease, shots: list[Shot]) -> None:
    shot = shots[0]
    rig = release.cameras(SCAN)[shot.viewpoint]
    rgb, depth, found = make_panorama(release, SCAN, shot.viewpoint, rig, PrepareConfig(96))
    assert rgb.shape == (96, 576, 3)
    assert depth.dtype == np.uint16
    assert found.holes_after == (depth == 0).mean().round(6) < found.holes_before < 0.25
    assert found.agreement > 0.99
    assert abs(found.offset_m - 0.002) < 2e-4
    true = true_faces(shot, 96).depth_m
    strip = np.concatenate(list(true), 1)
    assert (np.abs(depth / UNITS_PER_M - strip) < 0.05 * strip).mean() > 0.97
