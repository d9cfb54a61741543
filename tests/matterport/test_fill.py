from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from ghosts_sim.depth_fill import fill_depth
from ghosts_sim.matterport.fill import fill_faces
from ghosts_sim.matterport.panorama import PrepareConfig, make_panorama, read_depth, read_skybox
from ghosts_sim.matterport.raw import RawRelease
from ghosts_sim.matterport.warp import face_rays, warp_depth
from matterport.conftest import APART
from matterport.release import (
    DRAWN_STANDS,
    HOUSE,
    SCAN,
    UNITS_PER_M,
    Pictures,
    Shot,
    in_disc,
    make_shots,
    true_faces,
    true_frames,
    write_release,
)

FACE_PX = 192
LARGEST = np.pi * 15.0**2
"""Pixels of a hole 30 pixels wide."""


def hidden(true: Pictures, hole: np.ndarray) -> str:
    """What a hole hides: nothing but one plane, a step in depth, or a bend."""
    inside = np.stack([cv2.dilate(face.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0 for face in hole])
    _, length = face_rays(hole.shape[1])
    inverse = length / true.depth_m
    bend = np.zeros_like(inverse)
    bend[:, 1:-1] = np.abs(np.diff(inverse, 2, axis=1))
    bend[:, :, 1:-1] = np.maximum(bend[:, :, 1:-1], np.abs(np.diff(inverse, 2, axis=2)))
    greatest = float((bend / inverse)[inside].max())
    if greatest > 0.08:
        return "step"
    return "plane" if greatest < 0.004 and len(np.unique(true.solid[inside])) == 1 else "bend"


def holes_filled(release: RawRelease, shots: list[Shot]) -> dict[str, list[np.ndarray]]:
    """Relative errors of each hole of at most 30 pixels by what it hides, after the whole way from raw files."""
    found: dict[str, list[np.ndarray]] = {"plane": [], "bend": [], "step": []}
    for shot in shots:
        rig = release.cameras(SCAN)[shot.viewpoint]
        centre = np.mean([camera.position_m for camera in rig.values()], 0)
        distance = warp_depth(rig, read_depth(release, SCAN, shot.viewpoint), FACE_PX, centre).distance
        filled = fill_faces(distance, read_skybox(release, SCAN, shot.viewpoint, FACE_PX))
        np.testing.assert_array_equal(filled[distance > 0.0], distance[distance > 0.0])
        true = true_faces(shot, FACE_PX)
        error = np.abs(filled / UNITS_PER_M - true.depth_m) / true.depth_m
        rays = true_frames(shot, FACE_PX).rays()
        for disc in shot.holes:
            hole = in_disc(replace(shot, holes=disc[None]), rays) & (distance == 0.0)
            if 0 < hole.sum() <= LARGEST:
                found[hidden(true, hole)].append(error[hole])
    return found


def worst_hole(found: dict[str, list[np.ndarray]]) -> float:
    """The largest mean error of a hole."""
    return max(float(errors.mean()) for kind in found.values() for errors in kind)


def share(errors: list[np.ndarray], limit: float = 0.05) -> float:
    return float((np.concatenate(errors) < limit).mean())


def test_holes_of_30_pixels_are_filled_within_5_percent(release: RawRelease, shots: list[Shot]) -> None:
    """Every pixel on a plane; where an edge is hidden, as far as colour tells where it is."""
    found = holes_filled(release, shots)
    print({kind: (len(errors), share(errors)) for kind, errors in found.items()})
    assert worst_hole(found) < 0.05
    assert len(found["plane"]) >= 10
    assert len(found["step"]) >= 3
    assert sum(errors.size > 0.5 * LARGEST for kind in found.values() for errors in kind) >= 5
    assert share(found["plane"]) == 1.0
    assert share(found["bend"]) > 0.999
    assert share(found["step"]) > 0.979
    assert share(found["plane"] + found["bend"] + found["step"]) > 0.993


def test_holes_in_a_furnished_house(tmp_path: Path) -> None:
    """At drawn stands: among things of a few pixels, colour does not always tell where a hidden step is."""
    shots = make_shots(APART, len(DRAWN_STANDS), house=HOUSE, stands=DRAWN_STANDS)
    write_release(tmp_path, APART, shots)
    found = holes_filled(RawRelease([tmp_path]), shots)
    every = found["plane"] + found["bend"] + found["step"]
    print({kind: (len(errors), share(errors)) for kind, errors in found.items()}, share(every))
    assert sum(errors.mean() >= 0.05 for errors in every) <= 1
    assert len(found["plane"]) >= 8
    assert len(found["step"]) >= 5
    assert share(found["plane"]) > 0.999
    assert share(found["bend"]) > 0.999
    assert share(found["step"]) > 0.88
    assert share(every) > 0.94


@pytest.mark.parametrize("angle", [0.0, 0.5, 1.2])
@pytest.mark.parametrize("noise", [0.0, 12.0])
def test_a_step_is_not_smeared(angle: float, noise: float) -> None:
    """A hole 28 pixels wide across a step: up to one pixel from the edge, every depth is that of its own side."""
    random = np.random.default_rng(4)
    y, x = np.mgrid[:128, :128] - 63.3
    across = x * np.cos(angle) + y * np.sin(angle)
    _, length = face_rays(128)
    truth = np.repeat((np.where(across < 0.0, 8000.0, 16000.0) * length)[None], 6, 0).astype(np.float32)
    shade = np.where(across < 0.0, 90.0, 140.0)[None, ..., None] + random.normal(0.0, noise, (6, 128, 128, 3))
    hole = np.hypot(x, y) < 14.0
    distance = truth.copy()
    distance[:, hole] = 0.0
    filled = fill_faces(distance, np.clip(shade, 0, 255).astype(np.uint8))
    beside = hole & (np.abs(across) > 1.0)
    within = np.abs(filled / truth - 1.0) < 0.05
    assert within[:, beside].mean() >= (1.0 if noise == 0.0 else 0.98)
    # Nothing in between, whichever side a pixel was given to.
    to_sides = np.minimum(np.abs(filled / length / 8000.0 - 1.0), np.abs(filled / length / 16000.0 - 1.0))
    assert (to_sides[:, hole] < 0.05).mean() >= (1.0 if noise == 0.0 else 0.99)


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


def test_single_pixels_beside_the_rims_of_holes_get_nothing_of_their_surfaces() -> None:
    """They belong to no surface and have 1 / z, not shares of a plane; numbers of surfaces are used again after 60."""
    _, length = face_rays(240)
    truth = np.repeat((8000.0 * length)[None], 6, 0).astype(np.float32)
    distance = truth.copy()
    for row in range(8, 240, 24):
        for column in range(8, 240, 24):
            distance[1, row : row + 5, column : column + 5] = 0.0
            distance[1, row + 2, min(column + 14, 239)] = 0.0
    filled = fill_faces(distance, np.full((6, 240, 240, 3), 90, np.uint8))
    np.testing.assert_allclose(filled, truth, rtol=1e-3)


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


def test_small_holes_on_a_step_get_the_depth_of_a_side() -> None:
    """Holes of up to 12 pixels between a wall at 2.98 m and one at 4.46 m: nothing stands at 3.6 m."""
    face, size = 0, 64
    distance = np.ones((6, size, size), np.float32)
    _, length = face_rays(size)
    z = np.where(np.arange(size) < size // 2, np.float32(2.98), np.float32(4.46))
    distance[face] = z * length
    holes = np.zeros((size, size), bool)
    for row in range(4, size - 4, 6):
        holes[row : row + 3, size // 2 - 2 : size // 2 + 2] = True  # 12 pixels
    distance[face][holes] = 0.0
    filled = fill_faces(distance, np.full((6, size, size, 3), 90, np.uint8))
    found = (filled[face] / length)[holes]
    off = np.minimum(np.abs(found / 2.98 - 1.0), np.abs(found / 4.46 - 1.0))
    assert holes.sum() == 120
    assert (off < 0.02).all(), found
