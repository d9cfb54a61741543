"""The compiled kernel: the same pictures as OpenCV's, and nothing beyond them; built where it can be."""

from __future__ import annotations

import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from exact_views import sample_depth
from ghosts_sim import camera, native
from ghosts_sim.camera import faces_in_view, sample_depth_m, sample_rgb, sample_rgbd
from ghosts_sim.store import Panorama
from ghosts_sim.types import Intrinsics
from native_build import build_hook


@pytest.fixture
def panorama() -> Panorama:
    random, strip = np.random.default_rng(1), (40, 240)
    return Panorama.from_rgb(
        random.integers(0, 256, (*strip, 3), dtype=np.uint8), random.integers(0, 65536, strip, dtype=np.uint16)
    )


@pytest.mark.usefixtures("exact_opencv")
@pytest.mark.parametrize("size", [(1, 1), (7, 5), (65, 43), (128, 30)])
def test_equals_opencv(
    size: tuple[int, int], panorama: Panorama, kernel: native.Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    intrinsics = Intrinsics(*size, 1.1)
    for heading, elevation in ((0.3, 0.2), (2.0, -0.8), (4.4, 1.2)):
        view = faces_in_view(intrinsics, np.eye(3), heading, elevation, 40)
        monkeypatch.setattr(camera, "native", lambda: None)
        masked = view.ready()
        rgb, depth, metres = (sample(panorama, masked) for sample in (sample_rgb, sample_depth, sample_depth_m))
        monkeypatch.setattr(camera, "native", lambda: kernel)
        assert view.ready() is view
        assert np.abs(sample_rgb(panorama, view).astype(int) - rgb).max() <= 1
        # A ray through the border of two texels may take either.
        assert (sample_depth(panorama, view) == depth).mean() > 0.995
        assert (sample_depth_m(panorama, view) == metres).mean() > 0.995


def test_colour_and_depth_at_once_touch_only_their_rows(
    panorama: Panorama, kernel: native.Native, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(camera, "native", lambda: kernel)
    view = faces_in_view(Intrinsics(37, 23, 1.1), np.eye(3), 0.7, -0.5, 40).ready()
    expected_rgb, expected_depth = sample_rgb(panorama, view, bgr=True), sample_depth(panorama, view)
    rgb, depth = np.full((23, 37, 3), 7, np.uint8), np.full((23, 37), 7, np.uint16)
    sample_rgbd(panorama, view, rgb, depth, bgr=True, rows=range(4, 9))
    np.testing.assert_array_equal(rgb[4:9], expected_rgb[4:9])
    np.testing.assert_array_equal(depth[4:9], expected_depth[4:9])
    for array in (rgb, depth):
        assert (np.delete(array, np.s_[4:9], axis=0) == 7).all()
    sample_rgbd(panorama, view, rgb, depth)
    np.testing.assert_array_equal(rgb[..., ::-1], expected_rgb)
    np.testing.assert_array_equal(depth, expected_depth)


def test_depth_of_a_panorama_without_is_refused(panorama: Panorama, kernel: native.Native) -> None:
    view = faces_in_view(Intrinsics(8, 6, 1.1), np.eye(3), 0.7, -0.5, 40)
    colour_only = Panorama(panorama.faces_rgb, None)
    with pytest.raises(AssertionError, match="loaded without depth"):
        kernel.draw(colour_only, view, range(6), depth=np.empty((6, 8), np.uint16))
    rgb = np.empty((6, 8, 3), np.uint8)
    kernel.draw(colour_only, view, range(6), rgb=rgb)
    expected = np.empty_like(rgb)
    kernel.draw(panorama, view, range(6), rgb=expected)
    np.testing.assert_array_equal(rgb, expected)


def test_installations_build_it_where_they_can(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook, folder = build_hook(), tmp_path / "src" / "ghosts" / "world"
    folder.mkdir(parents=True)
    (folder / "native.c").write_text("int ghosts_native_version(void) { return 0; }")
    made = hook["NativeHook"]()
    said: list[str] = []
    made.root, made.app = str(tmp_path), SimpleNamespace(display_warning=said.append)
    data: dict[str, object] = {"artifacts": []}
    monkeypatch.setenv("CC", "no-such-compiler")
    made.initialize("standard", data)
    monkeypatch.setenv("CC", "false")
    made.initialize("standard", data)
    assert data == {"artifacts": []}
    assert said == 2 * ["no C compiler: ghosts-sim draws with OpenCV, at a third to a half of the speed"]
    monkeypatch.setenv("GHOSTS_REQUIRE_KERNEL", "1")
    with pytest.raises(SystemExit, match="does not compile"):
        made.initialize("standard", data)
    monkeypatch.undo()
    made.initialize("editable", data)
    if data["artifacts"]:  # there is a compiler
        assert data["artifacts"] == ["src/ghosts/world/_native.so"]
        assert str(data["tag"]).startswith("py3-none-")
        with pytest.raises(OSError, match="not for this version of ghosts"):
            native.Native(folder / "_native.so")


def test_without_a_library_opencv_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "LIBRARY", tmp_path / "missing.so")
    assert native.native.__wrapped__() is None


def test_other_processors_draw_the_same(panorama: Panorama, kernel: native.Native, tmp_path: Path) -> None:
    """The code for ARM, on this processor: bit for bit what AVX2 draws."""
    source, library = native.LIBRARY.with_name("native.c"), tmp_path / "portable.so"
    words = ["cc", "-O3", "-DGHOSTS_PORTABLE", "-mfma", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
    if subprocess.run(words, check=False, capture_output=True).returncode:
        pytest.skip("no compiler for it")
    portable = native.Native(library)
    for heading, elevation in ((0.3, 0.2), (2.0, -0.8), (4.4, 1.2)):
        view = faces_in_view(Intrinsics(65, 43, 1.1), np.eye(3), heading, elevation, 40)
        drawn = []
        for draw in (kernel.draw, portable.draw):
            rgb, depth = np.zeros((43, 65, 3), np.uint8), np.zeros((43, 65), np.uint16)
            factor = camera.ray_cosine(view.intrinsics)
            draw(panorama, view, range(43), rgb=rgb, bgr=True, depth=depth, factor=factor)
            drawn.append((rgb, depth))
        for ours, theirs in zip(*drawn):
            np.testing.assert_array_equal(ours, theirs)
