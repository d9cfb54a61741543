"""Panoramas, painted maps and colours: right pixels in the right places."""

from __future__ import annotations

import json
import math
from pathlib import Path

import cv2
import numpy as np
import pytest

from exact_views import texels
from ghosts.view import images
from ghosts.view.library import Library
from ghosts.view.paint import paint
from ghosts.view.panorama import cube_texels, equirect, equirect_rays, straight_ahead
from ghosts.view.report import static_text
from ghosts_houses.draw import style
from ghosts_sim import geometry
from ghosts_sim.camera import CUBE_FACES
from ghosts_sim.cli import main
from ghosts_sim.dataroot import DataRoot
from ghosts_sim.errors import DataError
from ghosts_sim.graph import NavGraph
from ghosts_sim.images import DEPTH_UNITS_PER_M
from ghosts_sim.store import Panorama, PanoramaStore
from ghosts_sim.types import Intrinsics
from makers import SCAN, upright_rotation


@pytest.mark.parametrize(("heading", "elevation"), [(0.3, -0.5), (2.0, 0.4), (4.0, 0.0)])
def test_texels_are_the_cameras(heading: float, elevation: float) -> None:
    """The same rays look at the same texels as those of the cameras' reference."""
    camera, rotation = Intrinsics(24, 18, 1.0), upright_rotation(0.7)
    expected = texels(camera, rotation, heading, elevation, 64)
    turn = geometry.camera_to_world(np.zeros(3), heading, elevation)[:3, :3]
    column, row = cube_texels(geometry.pixel_rays(camera) @ turn.T, rotation, 64)
    np.testing.assert_allclose(column, expected[0], atol=2e-3)
    np.testing.assert_allclose(row, expected[1], atol=2e-3)


def test_rays_of_the_panorama() -> None:
    rays = equirect_rays(8, 4)
    np.testing.assert_allclose(rays[:, :, 2], np.sin(np.radians([67.5, 22.5, -22.5, -67.5]))[:, None].repeat(8, 1))
    east = rays[1, 6]  # three quarters of the way from south: heading 90° + half a pixel
    assert geometry.heading_of(east) == pytest.approx(math.radians(112.5))


def _texel_directions(face_px: int, rotation: np.ndarray) -> np.ndarray:
    """World direction of every texel of a strip, from OpenGL's rule."""
    at = (np.arange(face_px) + 0.5) / face_px * 2.0 - 1.0
    strip = np.zeros((face_px, 6 * face_px, 3))
    for face, ((major, sign), (s_axis, s_sign), (t_axis, t_sign)) in enumerate(CUBE_FACES):
        cube = np.zeros((face_px, face_px, 3))
        cube[..., major] = sign
        cube[..., s_axis] = s_sign * at[None, :]
        cube[..., t_axis] = t_sign * at[:, None]
        strip[:, face * face_px : (face + 1) * face_px] = cube @ -rotation.T
    return strip / np.linalg.norm(strip, axis=-1, keepdims=True)


class _Flat(PanoramaStore):
    """Open ground without end: red east of x = 0.5 m, blue west of it; above a table at 1 m height, green."""

    def __init__(self, graph: NavGraph, face_px: int = 128) -> None:
        super().__init__(Path("flat"))
        self.graph, self.face_px = graph, face_px

    def load(self, scan: str, viewpoint: str) -> Panorama:
        row = self.graph.index(viewpoint)
        rays = _texel_directions(self.face_px, self.graph.rotation[row])
        eye, down = self.graph.position_m[row], np.minimum(rays[..., 2], -1e-3)
        distance = -eye[2] / down
        table = -(eye[2] - 1.0) / down
        on_table = np.abs(eye[:2] + rays[..., :2] * table[..., None] - [2.0, 0.0]).max(-1) < 0.5
        distance = np.where(on_table, table, distance)
        xy = eye[:2] + rays[..., :2] * distance[..., None]
        rgb = np.where(xy[..., :1] > 0.5, [200, 0, 0], [0, 0, 200])
        rgb = np.where(on_table[..., None], [0, 200, 0], rgb).astype(np.uint8)
        depth = np.where((rays[..., 2] < -1e-2) & (distance < 15.0), distance * DEPTH_UNITS_PER_M, 0.0)
        return Panorama.from_rgb(rgb, depth.astype(np.uint16))


def test_a_painted_map_shows_the_highest_point_at_its_place(root: Path) -> None:
    graph = DataRoot(root).graph(SCAN)
    painting = paint(graph, _Flat(graph), 0, rows=[0], pixel_m=0.1)
    left, _, _, top = painting.extent_m

    def colour(x: float, y: float) -> list[int]:
        pixel = painting.rgba[int((top - y) / 0.1), int((x - left) / 0.1)]
        assert pixel[3] == 255
        return pixel[:3].tolist()

    assert colour(2.0, 0.0) == [0, 200, 0]
    assert colour(1.2, 1.0) == [200, 0, 0]
    assert colour(-0.5, 1.0) == [0, 0, 200]
    assert colour(1.2, -0.9) == [200, 0, 0]
    # Without what is higher than half a metre, the table is gone; nobody saw the ground under it.
    low = paint(graph, _Flat(graph), 0, rows=[0], pixel_m=0.1, cut_m=0.5)
    assert not (low.rgba[..., 1] == 200).any()


def test_painting_refuses_what_is_not_there(root: Path) -> None:
    data = DataRoot(root)
    with pytest.raises(DataError, match=r"has no viewpoint on storey 3; storeys are 0..0"):
        paint(data.graph(SCAN), data.panoramas(), 3)
    with pytest.raises(DataError, match="no depth"):
        paint(data.graph(SCAN), data.panoramas(depth=False), 0)


def test_a_panorama_looks_north_in_its_middle(root: Path) -> None:
    data = DataRoot(root)
    graph, flat = data.graph(SCAN), _Flat(data.graph(SCAN))
    picture = equirect(flat.load(SCAN, graph.ids[0]), graph.rotation[0], 256)
    assert picture.shape == (128, 256, 3)
    assert picture[100, 192].tolist() == [200, 0, 0]  # east, half-way down
    assert picture[100, 64].tolist() == [0, 0, 200]  # west


def test_what_lies_straight_ahead() -> None:
    """A picture whose colour is the heading of its columns, in degrees from −180."""
    columns = np.broadcast_to(np.arange(360)[None, :, None] % 256, (180, 360, 3)).astype(np.uint8)
    for degrees in (0, 90, 350, 180):
        view = straight_ahead(columns, math.radians(degrees))
        assert view.shape == (48, 120, 3)
        assert view[0, 60, 0] == (180 + degrees) % 360 % 256


def test_the_documentation_s_pictures(
    combs: Path, photos: Path, run: Path, pictured: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a world of landmarks is taken; of the others, what there would be."""
    pytest.importorskip("fastapi", reason="the viewer's server needs ghosts[web]")
    pytest.importorskip("playwright", reason="photographs need playwright (ghosts[dev])")
    pytest.importorskip("matplotlib", reason="figures need ghosts[viz]")
    if images.find_chromium() is None:
        pytest.skip("no Chromium here")
    monkeypatch.setattr(images, "_REST_MS", 0)
    where = ["--data", str(combs), "--run", str(run), "--episode", "300_0", "--out", str(tmp_path / "report.html")]
    main(["report", *where, "--figures", str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {"belief.png", "viewer-landmarks.jpg", "report.html"}
    picture = cv2.imread(str(tmp_path / "viewer-landmarks.jpg"))
    assert picture.shape == (1000, 1400, 3)
    assert picture.std() > 10
    library = Library([photos], [pictured], baseline=True)
    inspector = library.inspector("photos", "pictured")
    record = inspector.header(library.query(inspector, "val_unseen", fixed=True))
    names = [shot.name for shot in images._shots(library, "photos", record)]
    assert names == ["viewer.jpg", "viewer-dark.jpg", "viewer-phone.jpg", "viewer-compare.jpg", "report.jpg"]


def test_heat_gets_darker_and_denser() -> None:
    rgba = style.heat_rgba(np.linspace(0.0, 1.0, 50)[None], 1.0)[0]
    assert rgba[0, 3] == 0.0
    assert (np.diff(rgba[:, 3]) >= 0.0).all()
    lightness = rgba[:, :3] @ [0.2126, 0.7152, 0.0722]
    assert (np.diff(lightness) < 0.0).all()
    assert not style.heat_rgba(np.zeros((2, 2)), 0.0)[..., 3].any()


def test_scripts_have_the_colours_of_figures() -> None:
    first = static_text("heat.js").partition("Ghosts.colours = ")[2].partition(";")[0]
    assert json.loads(first)["AGENT"] == style.AGENT
    assert json.loads(first)["BELIEF"] == [list(stop) for stop in style.BELIEF]
