"""The cube-map camera against the original simulator's recorded answers and an exact reference."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from exact_views import bilinear, off_seams, sample_depth, texels
from ghosts_sim import camera as camera_module
from ghosts_sim.camera import faces_in_view, ray_cosine, sample_depth_m, sample_distance, sample_rgb
from ghosts_sim.graph import load_graph
from ghosts_sim.store import Panorama, PanoramaStore
from ghosts_sim.types import Intrinsics
from makers import upright_rotation

GOLDEN_CASES = [0, 3, 7, 8, *range(10, 19), 25]


@pytest.fixture(params=["native", "opencv"], autouse=True)
def _drawn_by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever draws, the answers are the same."""
    drawing = request.getfixturevalue("kernel" if request.param == "native" else "exact_opencv")
    monkeypatch.setattr(camera_module, "native", lambda: drawing)


@pytest.fixture(scope="module")
def recorded(golden: Path) -> dict[str, dict]:
    return {case["name"]: case for case in json.loads((golden / "simulator/render_cases.json").read_text())["cases"]}


@pytest.mark.parametrize("number", GOLDEN_CASES)
def test_recorded_images(golden: Path, navigation: Path, recorded: dict[str, dict], number: int) -> None:
    case, folder = recorded[f"case{number:02d}"], golden / "simulator"
    every = np.s_[:: case["stride"], :: case["stride"]]  # of large pictures some rows and columns are kept
    camera = Intrinsics(case["width"], case["height"], case["vfov"])
    graph = load_graph(navigation / "connectivity" / f"{case['scan']}_connectivity.json")
    panorama = PanoramaStore(folder / "scans").load(case["scan"], case["viewpoint"])
    rotation = graph.rotation[graph.index(case["viewpoint"])]
    view = faces_in_view(camera, rotation, case["heading"], case["elevation"], panorama.face_px).ready()
    answer = np.load(folder / case["file"])
    picture = sample_rgb(panorama, view)
    off = np.abs(picture[every].astype(int) - answer["rgb"]).max(-1)
    assert (off <= 1).mean() >= 0.9999
    np.testing.assert_array_equal(sample_rgb(panorama, view, bgr=True)[..., ::-1], picture)
    units = (sample_distance(panorama, view) * ray_cosine(camera))[every]
    expected = answer["depth"].reshape(units.shape).astype(float)
    assert (np.abs(np.rint(units) - expected) <= 1).mean() >= 0.999
    np.testing.assert_array_equal(sample_depth(panorama, view)[every], np.rint(units))
    metres = sample_depth_m(panorama, view)[every]
    np.testing.assert_allclose(metres * 4000.0, units, rtol=1e-5)


def face_panorama(face_px: int = 16) -> Panorama:
    """Each face has one colour (its number × 40) and one distance (its number + 1 metres)."""
    number = np.repeat(np.arange(6), face_px)
    rgb = np.broadcast_to((number * 40).astype(np.uint8)[None, :, None], (face_px, 6 * face_px, 3)).copy()
    depth = np.broadcast_to(((number + 1) * 4000).astype(np.uint16)[None], (face_px, 6 * face_px)).copy()
    return Panorama.from_rgb(rgb, depth)


@pytest.mark.parametrize(
    ("heading", "elevation", "face"),
    [
        (0.0, 0.0, 1),
        (math.pi / 2, 0.0, 2),
        (math.pi, 0.0, 3),
        (3 * math.pi / 2, 0.0, 4),
        (0.0, math.pi / 2, 0),
        (0.0, -math.pi / 2, 5),
    ],
)
def test_each_face_is_where_it_should_be(heading: float, elevation: float, face: int) -> None:
    camera, panorama = Intrinsics(8, 6, 0.5), face_panorama()
    view = faces_in_view(camera, upright_rotation(0.0), heading, elevation, panorama.face_px).ready()
    assert (sample_rgb(panorama, view) == face * 40).all()
    depth = sample_depth_m(panorama, view)
    np.testing.assert_allclose(depth, (face + 1) * ray_cosine(camera), rtol=1e-6)


def test_missing_depth_stays_missing_and_is_not_mixed() -> None:
    whole = face_panorama()
    assert whole.depth is not None
    panorama = Panorama.from_rgb(whole.rgb, whole.depth * np.tile(np.array([0, 1], np.uint16), 48))
    camera = Intrinsics(40, 30, 1.2)
    depth = sample_depth_m(panorama, faces_in_view(camera, np.eye(3), 0.4, -0.3, 16).ready())
    metres = depth / ray_cosine(camera)
    assert (depth == 0).mean() > 0.3
    assert np.isin(np.round(metres[depth > 0], 3), np.arange(1, 7)).all()


@pytest.mark.parametrize("seed", range(12))
def test_views_equal_an_exact_reference(seed: int) -> None:
    """White noise, so that a texel beside the right one shows; poses and cameras of all kinds."""
    random = np.random.default_rng(seed)
    rotation, upper = np.linalg.qr(random.normal(size=(3, 3)))
    rotation = rotation * np.sign(np.diag(upper))
    heading, elevation, vfov = random.uniform(0, 6), random.uniform(-1.5, 1.5), random.uniform(0.4, 2.4)
    if seed % 3 == 0:  # every seam vertical or horizontal
        rotation, heading, elevation = upright_rotation(math.pi / 4), 0.0, 0.0
    camera = Intrinsics(int(random.integers(20, 90)), int(random.integers(20, 90)), vfov)
    strip = (64, 6 * 64)
    panorama = Panorama.from_rgb(
        random.integers(0, 256, (*strip, 3), dtype=np.uint8), random.integers(1, 60000, strip, dtype=np.uint16)
    )
    view = faces_in_view(camera, rotation, heading, elevation, 64).ready()
    column, row = texels(camera, rotation, heading, elevation, 64)
    clear = off_seams(camera, rotation, heading, elevation)
    off = np.abs(sample_rgb(panorama, view) - bilinear(panorama, column, row))
    assert off[clear].max() < 0.75  # half a level of rounding, and 1e-3 texels of single precision
    assert panorama.depth is not None
    whole = (np.abs(column % 1 - 0.5) > 1e-3) & (np.abs(row % 1 - 0.5) > 1e-3) & clear  # a tie may fall either way
    nearest = panorama.depth[np.rint(row).astype(int), np.rint(column).astype(int)]
    np.testing.assert_array_equal(sample_distance(panorama, view)[whole], nearest[whole])


def test_a_border_repeats_the_edge_of_its_face() -> None:
    random = np.random.default_rng(0)
    rgb, depth = random.integers(0, 256, (8, 48, 3), np.uint8), random.integers(0, 9, (8, 48), np.uint16)
    panorama = Panorama.from_rgb(rgb, depth)
    assert panorama.face_px == 8
    assert panorama.depth is not None
    np.testing.assert_array_equal(panorama.rgb, rgb)
    np.testing.assert_array_equal(panorama.depth, depth)
    np.testing.assert_array_equal(panorama.faces_rgb[2, 1:-1, 0, :3], rgb[:, 16])
    np.testing.assert_array_equal(panorama.faces_rgb[2, -1, 1:-1, :3], rgb[-1, 16:24])
    assert panorama.faces_depth is not None
    np.testing.assert_array_equal(panorama.faces_depth[5, 0, 1:-1], depth[0, 40:])
    with pytest.raises(ValueError, match="read-only"):
        panorama.depth[0, 0] = 1
