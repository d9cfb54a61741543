"""Shading: even light, mirrors that show the room, edges without steps and thin parts without gaps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ghosts_houses.house import House, Primitive, Room, Thing
from ghosts_houses.render.panorama import frames_of, render_frames
from ghosts_houses.render.raycast import cast
from ghosts_houses.render.scene import LABELS, prepare
from ghosts_houses.render.shade import even_light
from ghosts_sim.types import Intrinsics, Pose

CAMERA = Intrinsics(96, 64, math.radians(60))
GREY = (0.6, 0.6, 0.6)


def test_light_is_evened_within_a_face_only() -> None:
    """Grain on two faces beside each other: each keeps its mean, and a constant light is left as it is."""
    face = np.zeros((1, 16, 16), np.int64)
    face[:, :, 8:] = 1
    grain = np.random.default_rng(0).random((3, 1, 16, 16)) + 10.0 * face
    even = even_light(grain, face)
    for half in (slice(0, 8), slice(8, 16)):
        assert even[..., half].std() < 0.5 * grain[..., half].std()
        assert abs(even[..., half].mean() - grain[..., half].mean()) < 0.03
    flat = np.full_like(grain, 0.3)
    np.testing.assert_allclose(even_light(flat, face), flat)


def solid(low: tuple[float, ...], high: tuple[float, ...], material: str, color: tuple, label: str) -> Primitive:
    center = tuple((a + b) / 2 for a, b in zip(low, high, strict=True))
    half = tuple((b - a) / 2 for a, b in zip(low, high, strict=True))
    return Primitive("box", center, half, 0.0, material, color, label)  # type: ignore[arg-type]


def chamber(part: Primitive, *, behind: tuple = GREY, right: tuple = GREY) -> House:
    """One room of 4 × 4 m, grey but for two walls, with one thing of one part."""
    room = Room(0, "hallway", 0, 0.0, 0.0, 4.0, 4.0, 0.0, 2.6)
    shell = (
        solid((0, 0, -0.2), (4, 4, 0), "matte", GREY, "floor"),
        solid((0, 0, 2.6), (4, 4, 2.8), "matte", GREY, "ceiling"),
        solid((0, -0.1, 0), (4, 0, 2.6), "matte", behind, "wall"),
        solid((0, 4, 0), (4, 4.1, 2.6), "matte", GREY, "wall"),
        solid((-0.1, 0, 0), (0, 4, 2.6), "matte", GREY, "wall"),
        solid((4, 0, 0), (4.1, 4, 2.6), "matte", right, "wall"),
    )
    thing = Thing(part.label, 0, part.center_m, part.half_m, 0.0, "", False, (part,))
    return House("h", 0, (room,), (), (), (thing,), shell)


@pytest.mark.parametrize(("eye_m", "heading_rad"), [((2.0, 2.0, 1.5), 0.0), ((0.6, 3.2, 1.5), 1.0)])
def test_a_mirror_shows_the_room_before_it(eye_m: tuple[float, float, float], heading_rad: float) -> None:
    """Red walls behind and beside a walker who looks into a mirror on a grey one, straight or past the mirror's edge:
    the mirror is red, and its label stays."""
    grey, red = GREY, (0.7, 0.03, 0.03)
    glass = solid((1.5, 3.95, 1.0), (2.5, 4.0, 2.0), "mirror", (0.8, 0.8, 0.8), "mirror")
    house = chamber(glass, behind=red, right=red if heading_rad else grey)
    picture = render_frames(prepare(house), frames_of([Pose(*eye_m, heading_rad)], CAMERA, "cpu"))
    shown = picture.label[0] == LABELS.index("mirror")
    inside = shown & np.roll(shown, 2, 0) & np.roll(shown, -2, 0) & np.roll(shown, 2, 1) & np.roll(shown, -2, 1)
    color = picture.rgb[0][inside].mean(0)
    assert inside.sum() > 100
    assert color[0] > 2 * color[1]
    if heading_rad:
        return
    beside = picture.rgb[0][picture.label[0] == LABELS.index("wall")].mean(0)
    assert beside[0] < 1.3 * beside[1]
    assert abs(float(picture.depth_m[0][32, 48]) - 1.95) < 0.01


@pytest.mark.parametrize(
    ("low", "high"), [((0.3, 3.97, 1.75), (3.7, 4.0, 1.765)), ((0.3, 3.6, 1.7), (3.7, 4.0, 2.0))], ids=["bar", "slab"]
)
def test_edges_have_no_steps_and_thin_parts_no_gaps(low: tuple[float, ...], high: tuple[float, ...]) -> None:
    """A bar less than half a pixel high, and the edge between front and underside of a slab, seen at a slant: column by
    column a small picture has the mean colours of one 8 times as fine. Depth and labels are those of each pixel."""
    scene = prepare(chamber(solid(low, high, "matte", (0.7, 0.03, 0.03), "sideboard")))
    fine_camera = Intrinsics(8 * CAMERA.width, 8 * CAMERA.height, CAMERA.vfov_rad)
    frames = [frames_of([Pose(2.0, 2.0, 1.5, 0.35)], camera, "cpu") for camera in (CAMERA, fine_camera)]
    coarse, fine = (render_frames(scene, frame) for frame in frames)
    mean = fine.rgb[0].astype(float).reshape(64, 8, 96, 8, 3).mean((1, 3))
    shown = (fine.label[0] == LABELS.index("sideboard")).reshape(64, 8, 96, 8).any((1, 3))
    columns = shown.any(0).nonzero()[0][2:-2]
    error = np.abs((coarse.rgb[0] - mean)[:, columns] * shown[:, columns, None]).sum(0).max(-1)
    redness = [(image[..., 0] - image[..., 1])[:, columns] for image in (coarse.rgb[0].astype(float), mean)]
    drawn, true = ((red - np.median(red[~shown[:, columns]])).sum(0) for red in redness)
    # Outlines of solids alone, blended as before, gave mean errors of 43 (bar) and 49 (slab) and columns without a bar.
    assert error.mean() < 32.0
    assert (drawn / true).min() > 0.3
    hits = cast(scene.solids, frames[0])
    np.testing.assert_array_equal(coarse.depth_m, hits.distance)
    np.testing.assert_array_equal(coarse.label, scene.label[hits.index])
