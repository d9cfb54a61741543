"""Panoramas: the skybox's conventions, true geometry, labels, light and files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import made
from ghosts_houses.house import POSE_ROTATION, House, Primitive
from ghosts_houses.render import panorama as render
from ghosts_houses.render.panorama import Pictures
from ghosts_houses.render.raycast import intersect
from ghosts_houses.render.scene import LABELS, Scene, prepare
from ghosts_sim.camera import faces_in_view, ray_cosine, sample_depth_m, sample_rgb
from ghosts_sim.geometry import direction
from ghosts_sim.images import DEPTH_UNITS_PER_M, read_skybox_labels
from ghosts_sim.store import Panorama, PanoramaStore
from ghosts_sim.types import Intrinsics, Pose

SEED = 7
FACE = 192


@pytest.fixture(scope="module")
def house() -> House:
    return made.house(SEED)


@pytest.fixture(scope="module")
def scene(house: House) -> Scene:
    return made.scene(SEED)


def spots(house: House) -> list[tuple[float, float, float]]:
    """Two points of one room and one of another, 1.5 m above the floor and away from furniture."""
    big = max(house.rooms, key=lambda room: (room.x1_m - room.x0_m) * (room.y1_m - room.y0_m))
    places = []
    for room in (big, house.rooms[0]):
        taken = [t for t in house.things if t.room == room.index and t.blocks]
        xs, ys = np.arange(room.x0_m + 0.4, room.x1_m - 0.4, 0.1), np.arange(room.y0_m + 0.4, room.y1_m - 0.4, 0.1)
        x, y = np.meshgrid(xs, ys)
        gap = np.full(x.shape, 9.0)
        for thing in taken:
            reach = math.hypot(thing.half_m[0], thing.half_m[1])
            gap = np.minimum(gap, np.hypot(x - thing.center_m[0], y - thing.center_m[1]) - reach)
        free = np.argwhere(gap > min(0.1, gap.max() - 1e-6))
        chosen = [free[0], free[-1]] if room is big else [free[len(free) // 2]]
        places += [(float(x[i, j]), float(y[i, j]), room.floor_z_m + 1.5) for i, j in chosen]
    return places


@pytest.fixture(scope="module")
def panoramas(scene: Scene, house: House) -> list[Pictures]:
    return list(render.render_panoramas(scene, np.array(spots(house), np.float32), FACE))


def strip(faces: np.ndarray) -> np.ndarray:
    """Six faces side by side, as the files have them."""
    return np.concatenate(list(faces), axis=1)


def cube_lookup(d: np.ndarray) -> tuple[int, float, float]:
    """Face and (s, t) in 0..1 for a world direction, by the rule of the recorded answers and OpenGL's table."""
    x, y, z = -POSE_ROTATION.T @ d
    major = int(np.argmax(np.abs([x, y, z])))
    if major == 0:
        face, sc, tc, ma = (2, -z, -y, x) if x > 0 else (4, z, -y, -x)
    elif major == 1:
        face, sc, tc, ma = (0, x, z, y) if y > 0 else (5, x, -z, -y)
    else:
        face, sc, tc, ma = (1, x, -y, z) if z > 0 else (3, -x, -y, -z)
    return face, (sc / ma + 1) / 2, (tc / ma + 1) / 2


def pixel_directions(size: int) -> np.ndarray:
    """World directions of all skybox pixels, `6 f f 3`, unit length."""
    rays = render.skybox_frames(np.zeros((1, 3), np.float32), size, "cpu").rays().astype(float)
    return rays / np.linalg.norm(rays, axis=-1, keepdims=True)


def test_faces_follow_the_cube_map_rule() -> None:
    assert np.linalg.det(POSE_ROTATION) == pytest.approx(1.0)
    np.testing.assert_array_equal(POSE_ROTATION @ POSE_ROTATION.T, np.eye(3))
    rays, size = pixel_directions(16), 16
    for face in range(6):
        for i, j in ((0, 0), (3, 11), (15, 7), (8, 8)):
            got, s, t = cube_lookup(rays[face, i, j])
            assert got == face
            assert s * size - 0.5 == pytest.approx(j, abs=1e-4)
            assert t * size - 0.5 == pytest.approx(i, abs=1e-4)


def test_faces_look_where_the_docstring_says() -> None:
    middle = pixel_directions(32)[:, 15:17, 15:17].mean((1, 2))
    expected = (
        [direction(0.0, math.pi / 2)] + [direction(h * math.pi / 2) for h in range(4)] + [direction(0.0, -math.pi / 2)]
    )
    np.testing.assert_allclose(middle / np.linalg.norm(middle, axis=-1, keepdims=True), expected, atol=1e-6)


def test_views_from_the_skybox_equal_direct_views(scene: Scene, house: House, panoramas: list[Pictures]) -> None:
    camera = Intrinsics(160, 128, math.radians(60))
    depth = np.rint(strip(panoramas[0].depth_m) * DEPTH_UNITS_PER_M).astype(np.uint16)
    panorama = Panorama.from_rgb(strip(panoramas[0].rgb), depth)
    errors = []
    for heading, elevation in ((0.3, 0.0), (2.0, 0.5), (4.4, -0.5)):
        frame = render.frames_of([Pose(*spots(house)[0], heading, elevation)], camera, "cpu")
        direct = render.render_frames(scene, frame)
        seen = faces_in_view(camera, POSE_ROTATION, heading, elevation, FACE).ready()
        distance = np.abs(sample_depth_m(panorama, seen) - direct.depth_m[0] * ray_cosine(camera))
        assert np.median(distance) < 0.008
        color = np.abs(sample_rgb(panorama, seen).astype(float) - direct.rgb[0])
        assert np.median(color) <= 3.0
        assert color.mean() < 8.0
        wrong = faces_in_view(camera, POSE_ROTATION, heading + 0.1, elevation, FACE).ready()
        errors.append(np.abs(sample_depth_m(panorama, wrong) - direct.depth_m[0] * ray_cosine(camera)).mean())
        assert errors[-1] > 2 * distance.mean(), "the test must notice a turn of 0.1 rad"


def test_houses_are_closed(panoramas: list[Pictures]) -> None:
    for pictures in panoramas:
        assert (pictures.label > 0).all()
        assert pictures.depth_m.min() > 0.1
        assert pictures.depth_m.max() < 30.0


def surface_distance(p: Primitive, at: np.ndarray) -> np.ndarray:
    """Unsigned distance from points `n 3` to a primitive's surface (exact for boxes, tight near it for the others)."""
    c, s = math.cos(p.yaw_rad), math.sin(p.yaw_rad)
    own = (at - np.array(p.center_m)) @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    half = np.array(p.half_m)
    if p.shape == "box":
        q = np.abs(own) - half
        return np.abs(np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(-1), 0))
    if p.shape == "cylinder":
        ring = (np.linalg.norm(own[:, :2] / half[:2], axis=-1) - 1) * half[:2].min()
        q = np.stack([ring, np.abs(own[:, 2]) - half[2]], -1)
        return np.abs(np.linalg.norm(np.maximum(q, 0), axis=-1) + np.minimum(q.max(-1), 0))
    return np.abs(np.linalg.norm(own / half, axis=-1) - 1) * half.min()


def unproject(pictures: Pictures, spot: tuple[float, float, float], pick: np.ndarray) -> np.ndarray:
    """Points of chosen pixels from depth as the file holds it."""
    stored = np.rint(pictures.depth_m * DEPTH_UNITS_PER_M).astype(np.uint16) / DEPTH_UNITS_PER_M
    return np.array(spot) + (pixel_directions(FACE) * stored[..., None]).reshape(-1, 3)[pick]


def test_labels_name_the_surface_that_is_hit(house: House, panoramas: list[Pictures]) -> None:
    rng = np.random.default_rng(1)
    pick = rng.choice(6 * FACE * FACE, 3000, replace=False)
    for spot, pictures in zip(spots(house), panoramas):
        points, labels = unproject(pictures, spot, pick), pictures.label.reshape(-1)[pick]
        nearest = np.full(len(pick), np.inf)
        for part in house.primitives:
            same = labels == LABELS.index(part.label)
            if same.any():
                nearest[same] = np.minimum(nearest[same], surface_distance(part, points[same]))
        assert np.median(nearest) < 0.0005
        assert np.quantile(nearest, 0.999) < 0.002
    assert len(np.unique(np.concatenate([p.label.reshape(-1) for p in panoramas]))) > 10


def test_two_viewpoints_see_the_same_surfaces(scene: Scene, house: House, panoramas: list[Pictures]) -> None:
    """Points of one panorama, looked at from another viewpoint, lie where its rays end (or are hidden)."""
    rng = np.random.default_rng(2)
    here, there = spots(house)[:2]
    pick = rng.choice(6 * FACE * FACE, 1500, replace=False)
    points = unproject(panoramas[0], here, pick).T.astype(np.float32)
    origin = np.repeat(np.array(there, np.float32)[:, None], len(pick), 1)
    ray = points - origin
    first = np.full(len(pick), np.inf)
    for k in range(len(scene.solids.form)):
        first = np.minimum(first, intersect(scene.solids, np.full(len(pick), k), origin, ray))
    gap_m = (first - 1.0) * np.linalg.norm(ray, axis=0)
    visible = gap_m > -0.02
    assert visible.mean() > 0.4
    assert np.median(abs(gap_m[visible])) < 0.001
    assert (abs(gap_m[visible]) < 0.005).mean() > 0.98


def test_light_is_neither_black_nor_burnt(panoramas: list[Pictures]) -> None:
    for pictures in panoramas:
        luma = pictures.rgb.astype(float) @ [0.299, 0.587, 0.114]
        assert 90 < luma.mean() < 200
        assert (luma > 250).mean() < 0.1
        assert (luma < 8).mean() < 0.05


def test_same_point_same_color_from_two_views(scene: Scene, house: House) -> None:
    """Light belongs to the house: a patch of matte floor is as bright from anywhere."""
    camera = Intrinsics(32, 32, 0.02)
    target = np.array(spots(house)[0]) * [1, 1, 0] + [0.35, 0.0, house.rooms[0].floor_z_m]
    seen = []
    for spot in spots(house)[:1] * 2:
        offset = np.array([0.0, 0.3 * len(seen), 0.0])
        delta = target - (np.array(spot) + offset)
        heading = math.atan2(delta[0], delta[1])
        elevation = math.atan2(delta[2], math.hypot(delta[0], delta[1]))
        where = Pose(*(np.array(spot) + offset).tolist(), heading, elevation)
        seen.append(render.render_frames(scene, render.frames_of([where], camera, "cpu")).rgb.mean())
    assert abs(seen[0] - seen[1]) < 12


def test_files(tmp_path: Path, house: House, panoramas: list[Pictures]) -> None:
    pictures, store = panoramas[0], PanoramaStore(tmp_path)
    store.write(house.name, "vp", pictures.rgb, pictures.depth_m, pictures.label)
    names = sorted(path.name for path in (tmp_path / house.name / "matterport_skybox_images").iterdir())
    assert names == ["vp_skybox_depth_small.png", "vp_skybox_label_small.png", "vp_skybox_small.jpg"]
    panorama = store.load(house.name, "vp")
    assert panorama.depth is not None
    np.testing.assert_allclose(panorama.depth / DEPTH_UNITS_PER_M, strip(pictures.depth_m), atol=0.000126)
    difference = np.abs(panorama.rgb.astype(float) - strip(pictures.rgb))
    assert difference.mean() < 4.0
    labels = read_skybox_labels(store.paths(house.name, "vp").labels)
    np.testing.assert_array_equal(labels, strip(pictures.label))


def test_label_table_fits_a_byte() -> None:
    assert len(LABELS) == len(set(LABELS)) <= 256
    assert LABELS[0] == "nothing"


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_torch_gives_the_same_pictures(device: str, house: House, panoramas: list[Pictures]) -> None:
    """The libraries' sines differ in the last bit, which moves a few shadows' grain."""
    scene = prepare(house, pytest.importorskip("torch").device(device))
    for mine, theirs in zip(render.render_panoramas(scene, np.array(spots(house), np.float32), FACE), panoramas):
        assert (mine.label == theirs.label).mean() > 0.999
        assert np.median(np.abs(mine.depth_m - theirs.depth_m)) < 1e-5
        levels = np.abs(mine.rgb.astype(int) - theirs.rgb).max(-1)
        assert (levels > 1).mean() < 0.001
        assert (levels > 0).mean() < (0.05 if device == "cpu" else 0.2)
