"""The cube against the ray caster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ghosts_sim.matterport import warp
from ghosts_sim.matterport.colour import warp_colour
from ghosts_sim.matterport.panorama import (
    PrepareConfig,
    make_panorama,
    read_colour,
    read_depth,
    read_skybox,
    rig_rotation,
)
from ghosts_sim.matterport.raw import RawRelease
from ghosts_sim.matterport.warp import Eye, face_rays, warp_depth, world_from_cube
from matterport.release import SCAN, UNITS_PER_M, ReleaseConfig, Shot, make_shots, true_faces, write_release

FACE_PX = 96


@pytest.fixture(autouse=True)
def _fresh_rays() -> Iterator[None]:
    face_rays.cache_clear()
    yield
    face_rays.cache_clear()


def right_share(distance: np.ndarray, shot: Shot) -> np.ndarray:
    """Share of each face's observed pixels that lie within 1 % of the truth."""
    truth = true_faces(shot, distance.shape[1]).depth_m * UNITS_PER_M
    seen = distance > 0.0
    good = seen & (np.abs(distance - truth) < 0.01 * truth)
    return good.sum((1, 2)) / np.maximum(seen.sum((1, 2)), 1)


def test_depth_is_right_on_every_face(release: RawRelease, shots: list[Shot]) -> None:
    rigs = release.cameras(SCAN)
    for shot in shots:
        warped = warp_depth(rigs[shot.viewpoint], read_depth(release, SCAN, shot.viewpoint), FACE_PX)
        truth = true_faces(shot, FACE_PX).depth_m * UNITS_PER_M
        seen = warped.distance > 0.0
        assert seen[1:5].mean() > 0.85
        assert seen.mean() > 0.8
        assert (np.abs(warped.distance - truth) < 0.01 * truth)[seen].mean() >= 0.99
        assert (right_share(warped.distance, shot) > 0.98).all()
        assert warped.overlap > 0.3 * seen.size
        assert warped.agreeing > 0.99 * warped.overlap


def test_depth_of_a_furnished_house(house_release: RawRelease, house_shots: list[Shot]) -> None:
    """Thin things, grazing floors, and a doorway in which cameras 5 cm apart look past the frame on both sides."""
    for shot in house_shots:
        rig = house_release.cameras(SCAN)[shot.viewpoint]
        centre = np.mean([camera.position_m for camera in rig.values()], 0)
        warped = warp_depth(rig, read_depth(house_release, SCAN, shot.viewpoint), FACE_PX, centre)
        truth = true_faces(shot, FACE_PX).depth_m * UNITS_PER_M
        seen = warped.distance > 0.0
        right = float((np.abs(warped.distance - truth) < 0.01 * truth)[seen].mean())
        print(shot.viewpoint[-2:], right, seen.mean())
        assert right >= 0.99
        assert seen.mean() > 0.75


def test_distance_is_euclidean(release: RawRelease, shots: list[Shot]) -> None:
    """Left as z of the face or of the camera, it would be short by up to 42 % in a corner."""
    rig, depth = release.cameras(SCAN)[shots[0].viewpoint], read_depth(release, SCAN, shots[0].viewpoint)
    distance = warp_depth(rig, depth, FACE_PX).distance
    _, length = face_rays(FACE_PX)
    assert right_share(distance / length, shots[0]).max() < 0.3
    # A camera's own z, warped without conversion: two cameras that see the same point would not agree on it.
    view = Eye(rig[1, 5], depth[1, 5].shape, world_from_cube(rig), FACE_PX).view(1)
    assert view is not None
    found = warp._sample(depth[1, 5], view, length[view.box], np.zeros(3)).distance
    plain = warp._sample(depth[1, 5], view, view.ahead, np.zeros(3)).distance
    canvas = np.zeros((2, 6, FACE_PX, FACE_PX), np.float32)
    for number, part in enumerate((found, plain)):
        canvas[number, 1][view.box] = part
    assert right_share(canvas[0], shots[0])[1] > 0.98
    assert right_share(canvas[1], shots[0])[1] < 0.3


def test_pose_for_the_simulator(release: RawRelease, shots: list[Shot]) -> None:
    for shot in shots:
        np.testing.assert_allclose(rig_rotation(release.cameras(SCAN)[shot.viewpoint]), shot.pose_rotation, atol=1e-6)


def test_nothing_lies_between_two_sides_of_an_edge(release: RawRelease, shots: list[Shot]) -> None:
    """Every reading near a depth step is the depth of one side, nothing in between."""
    compared = 0
    for shot in shots:
        rig, depth = release.cameras(SCAN)[shot.viewpoint], read_depth(release, SCAN, shot.viewpoint)
        distance = warp_depth(rig, depth, FACE_PX).distance[:, 1:-1, 1:-1]
        truth = true_faces(shot, FACE_PX).depth_m * UNITS_PER_M
        around = np.stack(
            [truth[:, 1 + dy : FACE_PX - 1 + dy, 1 + dx : FACE_PX - 1 + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1)]
        )
        step = (around.max(0) > 1.3 * around.min(0)) & (distance > 0.0)
        height = (around.max(0) - around.min(0))[step]
        nearest = np.abs(distance - around).min(0)[step] / height
        compared += step.sum()
        assert (nearest < 0.1).mean() > 0.995
        # The mean of both sides, which a linear filter gives, is far from either.
        mixed = 0.5 * (around.max(0) + around.min(0))[step]
        assert (np.abs(mixed - around[:, step]).min(0) / height < 0.1).mean() < 0.3
    assert compared > 300


@pytest.mark.parametrize("source", ["depth", "skybox", "undistorted"])
def test_colour_and_depth_lie_on_the_true_pixels(release: RawRelease, shots: list[Shot], source: str) -> None:
    """Moved by one pixel in any direction, every face would fit the truth less well."""
    shot = shots[1]
    rig = release.cameras(SCAN)[shot.viewpoint]
    true = true_faces(shot, FACE_PX)
    skybox = read_skybox(release, SCAN, shot.viewpoint, FACE_PX)
    if source == "depth":
        found = warp_depth(rig, read_depth(release, SCAN, shot.viewpoint), FACE_PX).distance
        expected, seen = true.depth_m, found > 0.0
        found = found / UNITS_PER_M
    else:
        found = skybox if source == "skybox" else warp_colour(rig, read_colour(release, SCAN, shot.viewpoint), skybox)
        expected, seen = true.rgb.astype(float).mean(-1), np.ones(found.shape[:3], bool)
        found = found.astype(float).mean(-1)
        assert np.abs(found - expected).mean() < 3.0
    limit = 0.1 if source == "depth" else 40.0

    def misfit(face: int, dy: int, dx: int) -> float:
        inner = slice(2, FACE_PX - 2)
        moved = found[face, 2 + dy : FACE_PX - 2 + dy, 2 + dx : FACE_PX - 2 + dx]
        there = seen[face, 2 + dy : FACE_PX - 2 + dy, 2 + dx : FACE_PX - 2 + dx]
        error = np.abs(moved - expected[face, inner, inner])
        error = error / expected[face, inner, inner] if source == "depth" else error
        return float(np.minimum(error, limit)[there].mean())

    for face in range(6):
        moves = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if (dy, dx) != (0, 0)]
        assert misfit(face, 0, 0) < min(misfit(face, *move) for move in moves), face


def test_undistorted_colour_shows_the_skybox_where_no_camera_looks(release: RawRelease, shots: list[Shot]) -> None:
    rig = release.cameras(SCAN)[shots[0].viewpoint]
    marker = np.zeros((6, 48, 48, 3), np.uint8)
    marker[..., 0] = 255
    found = warp_colour(rig, read_colour(release, SCAN, shots[0].viewpoint), marker)
    assert (found[[0, 5], 23:25, 23:25] == [255, 0, 0]).all()
    assert not (found[1:5, 12:36] == [255, 0, 0]).all(-1).any()


def test_cameras_apart_are_brought_to_one_centre(tmp_path: Path) -> None:
    """With cameras 5 cm from the tripod's axis; by rotation alone, hardly any distance is right."""
    config = ReleaseConfig(offset_m=0.05)
    [shot] = make_shots(config, 1, first=1)
    write_release(tmp_path, config, [shot])
    release = RawRelease([tmp_path])
    rig, depth = release.cameras(SCAN)[shot.viewpoint], read_depth(release, SCAN, shot.viewpoint)
    centre = np.mean([camera.position_m for camera in rig.values()], 0)
    np.testing.assert_allclose(centre, shot.position_m, atol=1e-6)
    right, rotated = warp_depth(rig, depth, FACE_PX, centre), warp_depth(rig, depth, FACE_PX)
    assert (right.distance > 0.0).mean() > (rotated.distance > 0.0).mean() - 0.03
    truth = true_faces(shot, FACE_PX).depth_m * UNITS_PER_M
    seen = right.distance > 0.0
    assert (np.abs(right.distance - truth) < 0.01 * truth)[seen].mean() >= 0.99
    assert right.agreeing > 0.99 * right.overlap
    assert right_share(rotated.distance, shot).mean() < 0.2
    # Colour of the undistorted images follows depth to the centre as well.
    colours = [
        make_panorama(release, SCAN, shot.viewpoint, rig, PrepareConfig(FACE_PX, "undistorted", parallax=parallax))[0]
        for parallax in (True, False)
    ]
    expected = np.concatenate(list(true_faces(shot, FACE_PX).rgb), 1).astype(float)
    error, rotated_error = (np.abs(colour - expected)[:, FACE_PX : 5 * FACE_PX].mean() for colour in colours)
    assert error < 3.0
    assert error < 0.85 * rotated_error
    _, made, found = make_panorama(release, SCAN, shot.viewpoint, rig, PrepareConfig(FACE_PX))
    strip = np.concatenate(list(truth), 1)
    assert found.offset_m == pytest.approx(0.05, abs=1e-4)
    assert (np.abs(made - strip) < 0.02 * strip).mean() > 0.95
