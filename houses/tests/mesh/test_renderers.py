"""The renderers agree: baked light and Embree against the exact picture."""

from __future__ import annotations

import builtins
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from checks import unchecked
from ghosts_houses.house import House, Primitive, Room
from ghosts_houses.mesh.bake import bake
from ghosts_houses.mesh.renderers import ExactRenderer, Renderer, axial_m, make_renderer
from ghosts_houses.render.scene import LABELS
from ghosts_sim.errors import ConfigError, MissingExtraError, UnknownNameError
from ghosts_sim.types import Intrinsics, Pose
from made import house, scene

CAMERA = Intrinsics(128, 128, math.pi / 2)
SEED = 7


def poses(count: int) -> list[Pose]:
    """Cameras in rooms, 1.25 m above the floor, in several directions."""
    rooms = house(SEED).rooms[:count]
    return [Pose(*room.center_m, room.floor_z_m + 1.25, 0.7 + 1.3 * k) for k, room in enumerate(rooms)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("baked")


@pytest.fixture(scope="module")
def exact() -> ExactRenderer:
    return ExactRenderer(scene(SEED))


@pytest.fixture(scope="module")
def baked(folder: Path, exact: ExactRenderer) -> Renderer:
    with unchecked(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("ghosts_houses.mesh.bake.prepare", lambda made, device: exact.scene)
        return make_renderer("baked", house(SEED), texel_m=0.1, folder=folder)


def test_torch_bakes_with_one_thread_on_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, used = pytest.importorskip("torch", reason="NumPy shades with one thread"), list[int]()

    def note(made: House, *_: Any) -> np.ndarray:
        used.append(torch.get_num_threads())
        return np.zeros((1, 1, 3), np.uint8)

    monkeypatch.setattr("ghosts_houses.mesh.bake.prepare", lambda made, device: None)
    monkeypatch.setattr("ghosts_houses.mesh.bake.bake_atlas", note)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with unchecked():
            bake(house(SEED), 0.5, torch.device("cpu"), tmp_path)
        assert (used, torch.get_num_threads()) == ([1], 2)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["baked", "fast"])
def test_depth_labels_and_colours_are_near_the_exact_ones(
    name: str, exact: ExactRenderer, baked: Renderer, folder: Path
) -> None:
    if name == "fast":
        pytest.importorskip("embreex", reason="the fast renderer needs ghosts-houses[fast]")
    renderer = baked if name == "baked" else make_renderer(name, house(SEED), texel_m=0.1, folder=folder)
    with unchecked():
        wanted, drawn = exact.render(poses(6), CAMERA), renderer.render(poses(6), CAMERA)
    assert (np.abs(wanted.depth_m - drawn.depth_m) < 0.002).mean() > 0.98
    assert (wanted.label == drawn.label).mean() > 0.998
    # 0.1 m per texel: a quarter of the usual sharpness. 14 levels are 25 dB.
    assert np.sqrt(np.mean((wanted.rgb.astype(float) - drawn.rgb) ** 2)) < 14.0
    sky = wanted.label == LABELS.index("window")
    assert sky.any()
    assert np.abs(wanted.rgb[sky].astype(int) - drawn.rgb[sky]).mean() < 12.0


def test_poses_are_drawn_in_their_order(baked: Renderer) -> None:
    together = baked.render(poses(3), CAMERA)
    for k, pose in enumerate(poses(3)):
        alone = baked.render([pose], CAMERA)
        np.testing.assert_array_equal(together.depth_m[k], alone.depth_m[0])
        np.testing.assert_array_equal(together.rgb[k], alone.rgb[0])


def test_depth_along_the_axis_is_flat_before_a_wall(exact: ExactRenderer) -> None:
    room = house(SEED).rooms[0]
    x, y = room.center_m
    drawn = exact.render([Pose(x, y, room.floor_z_m + 1.9, 0.0)], CAMERA)
    flat = axial_m(drawn.depth_m, CAMERA)[0]
    wall = (drawn.label[0] == LABELS.index("wall")) & (np.abs(flat - (room.y1_m - y)) < 0.002)
    assert wall.sum() > 300
    assert (drawn.depth_m[0][wall] - flat[wall]).max() > 0.1


def test_a_baked_house_is_kept_and_a_damaged_one_baked_again(tmp_path: Path) -> None:
    cell = Room(0, "closet", 0, 0.0, 0.0, 2.0, 2.0, 0.0, 2.5)
    floor = Primitive("box", (1.0, 1.0, -0.1), (1.0, 1.0, 0.1), 0.0, "planks", (0.5, 0.4, 0.3), "floor")
    wall = Primitive("box", (2.05, 1.0, 1.25), (0.05, 1.0, 1.25), 0.0, "paint", (0.8, 0.8, 0.8), "wall")
    made = House("cell", 0, (cell,), (), (), (), (floor, wall))
    first = bake(made, 0.1, folder=tmp_path)
    (kept,) = tmp_path.iterdir()
    before = kept.read_bytes()
    kept.write_bytes(before[:100])
    again = bake(made, 0.1, folder=tmp_path)
    np.testing.assert_array_equal(first.image, again.image)
    assert kept.read_bytes() == before
    # Where nothing can be kept it is baked every time.
    np.testing.assert_array_equal(bake(made, 0.1, folder=kept).image, first.image)
    bake(made, 0.2, folder=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert first.image.shape == (first.atlas.height, first.atlas.width, 3)
    # Lit rooms: what is seen is neither black nor blown out.
    corner, texels = first.atlas.corner, first.atlas.texels
    means = [first.image[y : y + h, x : x + w].mean() for (x, y), (w, h) in zip(corner, texels) if w * h > 40]
    assert 60 < np.median(means) < 230


def test_what_cannot_be_drawn_is_told(handmade: House, baked: Renderer, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="unknown renderer 'embree'; choose one of baked, exact, fast"):
        make_renderer("embree", handmade)
    with pytest.raises(ConfigError, match="needs at least one pose"):
        baked.render([], CAMERA)
    with pytest.raises(ConfigError, match="multiple of 16 pixels, got 100 × 64"):
        baked.render([Pose(0.0, 0.0, 1.0, 0.0)], Intrinsics(100, 64, 1.0))
    with pytest.raises(ConfigError, match="texel_m must be positive, got 0"):
        bake(handmade, 0.0)
    with pytest.raises(ConfigError, match=r"is too large .at most 32000 a side.; choose a larger texel"):
        bake(handmade, 0.0002)
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("embreex"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"fast needs embreex, .*pip install '(\./|ghosts-)houses\[fast\]'"):
        make_renderer("fast", handmade)
