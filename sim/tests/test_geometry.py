"""Frames and units: values by hand, and properties that must hold everywhere."""

from __future__ import annotations

import doctest
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ghosts_sim import errors, geometry, rotations, types
from ghosts_sim.errors import ConfigError
from ghosts_sim.mattersim import minstd
from ghosts_sim.types import Grid, Intrinsics, Pose

angles = st.floats(-50.0, 50.0)


@pytest.mark.parametrize("module", [geometry, errors, minstd, types])
def test_examples_in_docstrings(module: object) -> None:
    failed, tried = doctest.testmod(module)
    assert tried > 0
    assert failed == 0


@given(angles, st.floats(-1.6, 1.6))
def test_rotation_of_one_view_is_that_of_many(heading: float, elevation: float) -> None:
    expected = geometry.camera_to_world(np.zeros(3), heading, elevation)[:3, :3]
    np.testing.assert_allclose(geometry.camera_rotation(heading, elevation), expected, atol=1e-12)


@given(angles)
def test_wrap_is_in_range_and_equal_modulo_a_turn(angle: float) -> None:
    wrapped = float(geometry.wrap_rad(angle))
    assert 0.0 <= wrapped < geometry.TAU
    assert math.cos(wrapped) == pytest.approx(math.cos(angle), abs=1e-9)
    assert math.sin(wrapped) == pytest.approx(math.sin(angle), abs=1e-9)


def test_wrap_of_a_tiny_negative_angle_is_zero() -> None:
    assert geometry.wrap_rad(-1e-20) == 0.0


@pytest.mark.parametrize(
    ("heading", "expected"),
    [(0.0, (0, 1, 0)), (math.pi / 2, (1, 0, 0)), (math.pi, (0, -1, 0)), (3 * math.pi / 2, (-1, 0, 0))],
)
def test_heading_is_clockwise_from_north(heading: float, expected: tuple[int, int, int]) -> None:
    np.testing.assert_allclose(geometry.direction(heading), expected, atol=1e-15)
    assert geometry.heading_of(expected[:2]) == pytest.approx(heading)


def test_elevation_is_up() -> None:
    np.testing.assert_allclose(geometry.direction(0.0, math.pi / 2), (0, 0, 1), atol=1e-15)


def test_turning_right_is_positive() -> None:
    assert geometry.turn_rad(0.0, math.pi / 2) == pytest.approx(math.pi / 2)
    assert geometry.turn_rad(0.1, geometry.TAU - 0.1) == pytest.approx(-0.2)


def test_camera_frame_facing_east_looking_down() -> None:
    matrix = geometry.camera_to_world((1.0, 2.0, 3.0), math.pi / 2, -math.pi / 2)
    np.testing.assert_allclose(matrix[:3, 0], (0, -1, 0), atol=1e-15)  # right of east is south
    np.testing.assert_allclose(matrix[:3, 1], (-1, 0, 0), atol=1e-15)  # the image's lower edge points back west
    np.testing.assert_allclose(matrix[:3, 2], (0, 0, -1), atol=1e-15)  # forward is down
    np.testing.assert_allclose(matrix[:3, 3], (1, 2, 3))


@given(angles, st.floats(-1.5, 1.5))
def test_camera_to_world_is_a_rotation(heading: float, elevation: float) -> None:
    rotation = geometry.camera_to_world(np.zeros(3), heading, elevation)[:3, :3]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(rotation) == pytest.approx(1.0)


def test_pixel_rays_span_the_field_of_view() -> None:
    camera = Intrinsics(width=4, height=2, vfov_rad=math.pi / 2)
    rays = geometry.pixel_rays(camera)
    assert camera.focal_px == pytest.approx(1.0)
    np.testing.assert_allclose(rays[0, :, 0], [-1.5, -0.5, 0.5, 1.5])
    np.testing.assert_allclose(rays[:, 0, 1], [-0.5, 0.5])
    np.testing.assert_allclose(rays[..., 2], 1.0)


K = [[585.0, 0.0, 325.5], [0.0, 580.0, 253.5], [0.0, 0.0, 1.0]]
TUM_1 = (0.2624, -0.9531, -0.0054, 0.0026, 1.1633)  # the lens of TUM's first Kinect


@pytest.mark.parametrize("distortion", [(), (-0.28, 0.07), TUM_1, [*TUM_1, 0.0, 0.0, 0.0]])
def test_rays_of_a_calibrated_camera_hit_their_pixels(distortion: tuple[float, ...]) -> None:
    camera = Intrinsics.from_k(np.ravel(K), 640, 480, distortion)
    x, y, _ = geometry.pixel_rays(camera)[::37, ::41].reshape(-1, 3).T
    k1, k2, p1, p2, k3 = (*distortion[:5], *[0.0] * (5 - len(distortion[:5])))
    square = x**2 + y**2  # OpenCV's documentation of projectPoints
    radial = 1 + k1 * square + k2 * square**2 + k3 * square**3
    u = 585.0 * (x * radial + 2 * p1 * x * y + p2 * (square + 2 * x**2)) + 325.5
    v = 580.0 * (y * radial + p1 * (square + 2 * y**2) + 2 * p2 * x * y) + 253.5
    rows, cols = np.mgrid[0:480:37, 0:640:41].reshape(2, -1)
    np.testing.assert_allclose([u, v], [cols, rows], atol=0.1)


def test_a_calibrated_camera_in_the_middle_is_the_plain_one() -> None:
    plain = Intrinsics(64, 48, 1.0)
    same = Intrinsics.from_focal(64, 48, *plain.k_px)
    np.testing.assert_allclose(geometry.pixel_rays(same), geometry.pixel_rays(plain), atol=1e-12)
    assert same.vfov_rad == pytest.approx(1.0)


poses = st.builds(Pose, *[st.floats(-9, 9)] * 3, angles, st.floats(-1.5, 1.5), st.floats(-3.1, 3.1))


@given(poses, st.sampled_from([rotations.OPTICAL, rotations.BODY]))
def test_poses_come_back_from_matrices_and_from_ros(pose: Pose, frame: str) -> None:
    for back in (Pose.from_matrix(pose.matrix), Pose.from_ros(*pose.to_ros(frame), frame)):
        np.testing.assert_allclose(back.matrix, pose.matrix, atol=1e-7)
        assert back.roll_rad == pytest.approx(pose.roll_rad, abs=1e-6)


@pytest.mark.parametrize(
    ("yaw", "heading"), [(0.0, math.pi / 2), (math.pi / 2, 0.0), (math.pi, 3 * math.pi / 2), (-math.pi / 2, math.pi)]
)
def test_yaw_of_ros_counts_the_other_way_from_east(yaw: float, heading: float) -> None:
    pose = Pose.from_ros((1.0, 2.0, 0.5), (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)), "body")
    assert (pose.x_m, pose.y_m, pose.z_m) == (1.0, 2.0, 0.5)
    assert pose.heading_rad == pytest.approx(heading)
    assert (pose.elevation_rad, pose.roll_rad) == pytest.approx((0.0, 0.0))


def test_a_tiny_negative_heading_is_zero() -> None:
    assert Pose.from_matrix(Pose(0.0, 0.0, 0.0, -1e-17).matrix).heading_rad == 0.0


def test_roll_lowers_the_right_side_and_messages_have_fields() -> None:
    class Message:
        x, y, z, w = math.sin(0.2), 0.0, 0.0, math.cos(0.2)  # 0.4 rad about x, forward in a body frame

    pose = Pose.from_ros(Message, Message, "body")
    assert pose.roll_rad == pytest.approx(0.4)
    assert pose.matrix[2, 0] == pytest.approx(-math.sin(0.4))
    assert pose.to_ros("body")[1] == pytest.approx((Message.x, 0.0, 0.0, Message.w))


@given(st.tuples(*[st.floats(-1, 1)] * 3).filter(lambda up: math.hypot(*up) > 0.1))
def test_a_world_that_is_not_level_is_levelled(up: tuple[float, float, float]) -> None:
    turn = rotations.level(up)
    np.testing.assert_allclose(turn @ up, [0, 0, math.hypot(*up)], atol=1e-7)
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-7)
    down = np.eye(4)  # a camera that looks along gravity
    down[:3, :3] = rotations.level(up).T @ np.diag([1, -1, -1])
    assert Pose.from_matrix(down, up).elevation_rad == pytest.approx(-math.pi / 2, abs=1e-6)


def test_even_grid_has_its_origin_on_a_corner() -> None:
    grid = Grid(rows=4, cols=6, cell_m=0.5)
    np.testing.assert_allclose(geometry.to_cells(np.array([0.0, 0.0]), grid), [2.5, 1.5])
    np.testing.assert_allclose(geometry.to_cells(np.array([0.25, 0.25]), grid), [3.0, 2.0])


def test_odd_grid_has_its_origin_in_a_cell() -> None:
    np.testing.assert_allclose(geometry.to_cells(np.array([0.0, 0.0]), Grid(3, 5, 1.0)), [2.0, 1.0])


@given(st.floats(-30, 30), st.floats(-30, 30), st.integers(1, 9), st.integers(1, 9), st.floats(0.1, 2.0))
def test_cells_and_metres_are_inverse(x: float, y: float, rows: int, cols: int, cell: float) -> None:
    grid = Grid(rows, cols, cell)
    back = geometry.from_cells(geometry.to_cells(np.array([x, y]), grid), grid)
    np.testing.assert_allclose(back, [x, y], atol=1e-9)


@given(st.floats(-30, 30), st.floats(-30, 30), st.integers(1, 9), st.integers(1, 9))
def test_snapped_maps_share_cells(x: float, y: float, rows: int, cols: int) -> None:
    grid = Grid(rows, cols, 0.5)
    origin = geometry.snap_origin(np.array([x, y]), grid)
    assert np.abs(origin - [x, y]).max() <= 0.25 + 1e-9
    corner = geometry.from_cells(np.array([-0.5, -0.5]), grid) + origin  # the outer corner of cell (0, 0)
    np.testing.assert_allclose(corner / 0.5, np.round(corner / 0.5), atol=1e-9)


def test_cells_of_even_and_odd_grids() -> None:
    xy_m = np.array([[0.1, -0.1], [-1.4, 0.9], [1.6, 0.0]])
    grid = Grid(4, 6, 0.5)
    cells = geometry.map_cells(xy_m, grid)
    assert geometry.on_map(cells, grid).tolist() == [True, True, False]
    assert cells[:2].tolist() == [[3, 1], [0, 3]]
    assert geometry.map_cells(np.array([0.2, -0.2]), Grid(5, 3, 0.5)).tolist() == [1, 2]


@pytest.mark.parametrize("grid", [Grid(8, 8, 0.5), Grid(9, 9, 0.5), Grid(9, 6, 0.5)])
def test_a_border_belongs_to_the_cell_above_it_on_every_grid(grid: Grid) -> None:
    """The one rule of lattice, maps and beliefs: cell k covers [k, k + 1), so that (0.5, 0.5) m lies in (1, 1)."""
    points = [[0.5, 0.5], [1.0, 1.0], [0.0, -0.5], [0.49, 0.99], [-1.5, 0.25]]
    lattice = [[1, 1], [2, 2], [0, -1], [0, 1], [-3, 0]]
    assert geometry.lattice_cells(np.array(points), 0.5).tolist() == lattice
    origin = geometry.snap_origin(np.array([0.1, 0.1]), grid)
    on_map = geometry.map_cells(np.array(points) - origin, grid)
    assert (on_map + geometry.lattice_corner(origin, grid)).tolist() == lattice


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Intrinsics(0, 4, 1.0), "width 0"),
        (lambda: Intrinsics(4, 4, 4.0), "4.0"),
        (lambda: Grid(0, 3, 1.0), "0 rows"),
        (lambda: Grid(3, 3, -1.0), "-1.0"),
        (lambda: Grid(5, 4, 1.0).coarser(2), "5 × 4"),
        (lambda: Pose(0.0, float("nan"), 0.0, 0.0), "y_m"),
        (lambda: Pose(0.0, 0.0, 0.0, 0.0, -30.0), "elevation_rad.*-30; these look like degrees"),
        (lambda: Pose(0.0, 0.0, 0.0, 0.0, 0.0, 5.0), "roll_rad"),
        (lambda: Pose.from_matrix(np.eye(4).T[:3]), "4 × 4"),
        (lambda: Pose.from_matrix(Pose(1.0, 2.0, 3.0, 0.0).matrix.T), "transposed"),
        (lambda: Pose.from_matrix(np.diag([1000.0, 1000, 1000, 1])), "not a rotation"),
        (lambda: Pose.from_matrix(np.diag([1.0, 1, -1, 1])), "mirrors"),
        (lambda: Pose.from_matrix(np.eye(4), up=(0, 0, 0)), "direction"),
        (lambda: Pose.from_ros((0, 0, 0), (0, 0, 0, 0)), "length 1"),
        (lambda: Pose.from_ros((0, 0), (0, 0, 0, 1)), "x y z"),
        (lambda: Pose.from_ros((0, 0, 0), (0, 0, 0, 1), "camera_link"), "optical.*camera_link"),
        (lambda: Intrinsics.from_k(K, 320, 240), "325.5.*another image size"),
        (lambda: Intrinsics.from_k(np.transpose(K), 640, 480), "transposed"),
        (lambda: Intrinsics.from_k(np.array(K) + np.eye(3, k=1) * 9, 640, 480), "skew"),
        (lambda: Intrinsics.from_focal(640, 480, 0.0, 1.0, 1.0, 1.0), "fx_px"),
        (lambda: Intrinsics.from_k(K, 640, 480, [1, 2, 3, 4, 5, 6]), "rectify"),
        (lambda: geometry.pixel_rays(Intrinsics.from_k(K, 640, 480, [-3.0])), "rectify the image first"),
        (lambda: Intrinsics.from_k(K, 640, 480).focal_px, "cannot draw"),
    ],
)
def test_bad_values_are_quoted(make: object, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make()  # type: ignore[operator]
